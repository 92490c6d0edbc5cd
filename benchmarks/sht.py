# SPDX-License-Identifier: BSD-2-Clause
"""Spherical harmonic transforms: `jaxbind_ducc.sht` beside direct calls of ducc0, and `s2fft` where it is installed.

Direct calls return a new array each time, as JAX does. See `_timing.side_by_side` for how times are taken. "xla" is a
jitted function that only fills an array of the size of the result: what a program in JAX pays for every new array.

Run it as ``python benchmarks/sht.py [--quick] [--rounds 21] [--json results/sht.json]``.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _timing
import ducc0
import jax
import jax.numpy as jnp
import numpy as np
import report
from jaxbind_ducc import alm, healpix, pointing, sht

TRANSFORMS = ("synthesis_2d", "transpose_2d", "healpix", "synthesis_general")
SIZES = ((128, 1), (256, 1), (512, 1), (128, 8))  # band limit, maps in a batch
Calls = dict[str, Callable[[], Any]]


def jitted(f: Callable[..., Any], x: Any) -> Callable[[], Any]:
    """A call that waits for the result; compiled here."""
    compiled = jax.jit(f).lower(x).compile()
    return lambda: jax.block_until_ready(compiled(x))


def each(call: Callable[..., Any], x: Any, like: Any, batch: int) -> Any:
    """Call ducc0 for each element of a batch: these transforms take one map."""
    out = np.empty(like.shape, like.dtype)
    for element, place in zip(x, out, strict=True) if batch > 1 else ((x, out),):
        call(element, place)
    return out


def contenders(name: str, L: int, dtype: str, nthreads: int, batch: int) -> Calls:  # noqa: N803  # the field's name
    """The calls that are compared: one transform at the band limit L, that is lmax = L - 1, or a batch of them."""
    lmax, info = L - 1, ducc0.healpix.Healpix_Base(L // 2, "RING").sht_info()
    grid: dict[str, Any] = {"geometry": "MW", "ntheta": L, "nphi": 2 * L - 1}
    loc = healpix.pixel_centres(L // 2)
    options: dict[str, Any] = {"spin": 0, "lmax": lmax, "nthreads": nthreads}
    at_points = options | {"epsilon": 1e-5 if dtype == "float32" else 1e-6}
    x = alm.random_alm(jax.random.key(0), jnp.ones((*(batch,) * (batch > 1), 1, L), dtype), lmax)
    a = np.asarray(x)

    def ours(z: Any) -> Any:
        if name == "healpix":
            return healpix.synthesis(z, nside=L // 2, lmax=lmax, nthreads=nthreads)
        if name == "synthesis_general":
            return pointing.synthesis_general(z, jnp.asarray(loc), **at_points)
        return sht.synthesis_2d(z, **options, **grid)

    if name == "transpose_2d":
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        maps = jax.jit(ours)(x)
        host = np.asarray(maps)
        return {
            "ours": jitted(lambda y: jax.linear_transpose(ours, shape)(y)[0], maps),
            "ducc0": lambda: each(
                lambda pixels, out: ducc0.sht.adjoint_synthesis_2d(map=pixels, alm=out, geometry="MW", **options),
                host,
                a,
                batch,
            ),
        }
    result = jax.eval_shape(ours, x)
    direct: dict[str, Callable[[], Any]] = {
        "synthesis_2d": lambda: each(
            lambda alm, out: ducc0.sht.synthesis_2d(alm=alm, map=out, geometry="MW", **options), a, result, batch
        ),
        "healpix": lambda: ducc0.sht.synthesis(alm=a, **options, **info),
        "synthesis_general": lambda: each(
            lambda alm, out: ducc0.sht.synthesis_general(alm=alm, map=out, loc=loc, **at_points), a, result, batch
        ),
    }
    fill = jitted(lambda v: jnp.full(result.shape, v, result.dtype), jnp.ones((), result.dtype))
    return {"ours": jitted(ours, x), "ducc0": direct[name], "xla": fill}


def s2fft_call(L: int, nthreads: int) -> Calls:  # noqa: N803
    """The transform of `synthesis_2d` by s2fft, where it is installed, after a check that it gives the same map."""
    if not importlib.util.find_spec("s2fft"):
        return {}
    import s2fft  # noqa: PLC0415  # optional

    x = alm.random_alm(jax.random.key(0), jnp.ones((1, L)), L - 1)
    expected = sht.synthesis_2d(x, spin=0, lmax=L - 1, geometry="MW", ntheta=L, nphi=2 * L - 1, nthreads=nthreads)[0]
    degrees, orders = alm.degrees_and_orders(L - 1)
    full = np.zeros((L, 2 * L - 1), complex)
    full[degrees, L - 1 + orders] = x[0]
    full[degrees, L - 1 - orders] = (-1.0) ** orders * np.asarray(x[0]).conj()
    pre = s2fft.generate_precomputes_jax(L, sampling="mw", forward=False)
    inverse = lambda f: s2fft.inverse_jax(f, L, sampling="mw", reality=True, precomps=pre)  # noqa: E731
    call = jitted(inverse, jnp.asarray(full))
    difference = float(np.abs(call().real - expected).max() / np.abs(expected).max())
    if difference > 1e-8:
        raise RuntimeError(f"s2fft and ducc0 differ by {difference} of the largest value: no fair comparison.")
    return {"s2fft": call}


def main() -> None:
    """Print the table, and write it where `--json` says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--quick", action="store_true", help="one precision, few rounds")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    dtypes, rounds = (["float64"], 5) if options.quick else (["float64", "float32"], options.rounds)
    heads = ["ducc0 ms", "ours ms", "xla ms", "s2fft ms", "ratio", "spread"]
    print(f"{'transform':18} {'L':>5} batch {'dtype':8} threads", *(f"{head:>9}" for head in heads))
    rows = []
    for dtype, nthreads, name in itertools.product(dtypes, (1, 2), TRANSFORMS):
        for L, batch in SIZES:
            calls = contenders(name, L, dtype, nthreads, batch)
            if (name, dtype, nthreads, batch) == ("synthesis_2d", "float64", 2, 1):
                calls |= s2fft_call(L, nthreads)
            row = {"transform": name, "L": L, "batch": batch, "dtype": dtype, "nthreads": nthreads}
            rows.append(row | _timing.side_by_side(calls, "ours", "ducc0", rounds))
            ms, ratio = rows[-1]["ms"], rows[-1]["ratio"]
            figures = [
                *(ms.get(way, float("nan")) for way in ("ducc0", "ours", "xla", "s2fft")),
                ratio,
                rows[-1]["spread"],
            ]
            label = f"{name:18} {L:5} {batch:5} {dtype:8} {nthreads:7}"
            print(label, *(f"{figure:9.3f}" for figure in figures), report.beside_direct(rows[-1]), flush=True)
    if options.json:
        peers = ["s2fft"] if importlib.util.find_spec("s2fft") else []
        result = _timing.circumstances("ducc0", "jaxbind-ducc", *peers) | {"rows": rows}
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
