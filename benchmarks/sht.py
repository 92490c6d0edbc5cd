# SPDX-License-Identifier: BSD-2-Clause
"""Spherical harmonic transforms: `jaxbind_ducc.sht` beside direct calls of ducc0, and `s2fft` where it is installed.

Every round times one call of each, in an order that changes, so that what else the machine does meets all of them
alike. The result is the median over the rounds of the ratio within a round. "xla" is a jitted function that only fills
an array of the size of the result: what a program in JAX pays for every new array, before any work.

Run it as ``python benchmarks/sht.py [--rounds 21] [--json results/sht.json]`` in an environment with `jaxbind-ducc`.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ducc0
import jax
import jax.numpy as jnp
import numpy as np
from jaxbind_ducc import alm, healpix, pointing, sht

PROMISE = 1.03  # times the direct call, from 1 ms of work on
Calls = dict[str, Callable[[], Any]]


def jitted(f: Callable[..., Any], x: Any) -> Callable[[], Any]:
    """A call that waits for the result; compiled here."""
    compiled = jax.jit(f).lower(x).compile()
    return lambda: jax.block_until_ready(compiled(x))


def contenders(name: str, L: int) -> Calls:  # noqa: N803  # the band limit's name in the field
    """The calls that are compared: one transform at the band limit L, that is lmax = L - 1."""
    lmax, grid = L - 1, {"geometry": "MW", "ntheta": L, "nphi": 2 * L - 1}
    x = alm.random_alm(jax.random.key(0), jnp.ones((1, L)), lmax)
    a = np.asarray(x)
    if name == "synthesis_2d":
        result, calls = grid_calls(x, a, lmax, grid)
    elif name == "its transpose":
        maps = sht.synthesis_2d(x, spin=0, lmax=lmax, **grid)
        host, shape = np.asarray(maps), jax.ShapeDtypeStruct(x.shape, x.dtype)
        transpose = jax.linear_transpose(lambda z: sht.synthesis_2d(z, spin=0, lmax=lmax, **grid), shape)
        result, calls = (
            shape,
            {
                "ours": jitted(lambda y: transpose(y)[0], maps),
                "ducc0": lambda: ducc0.sht.adjoint_synthesis_2d(map=host, spin=0, lmax=lmax, geometry="MW", nthreads=0),
            },
        )
    elif name == "healpix":
        info = ducc0.healpix.Healpix_Base(L // 2, "RING").sht_info()
        result = jax.ShapeDtypeStruct((1, healpix.npix(L // 2)), float)
        calls = {
            "ours": jitted(lambda z: healpix.synthesis(z, nside=L // 2, lmax=lmax), x),
            "ducc0": lambda: ducc0.sht.synthesis(alm=a, spin=0, lmax=lmax, nthreads=0, **info),
        }
    else:
        loc = healpix.pixel_centres(L // 2)
        points, options = jnp.asarray(loc), {"spin": 0, "lmax": lmax, "epsilon": 1e-6}
        result = jax.ShapeDtypeStruct((1, len(loc)), float)
        calls = {
            "ours": jitted(lambda z: pointing.synthesis_general(z, points, **options), x),
            "ducc0": lambda: ducc0.sht.synthesis_general(alm=a, loc=loc, nthreads=0, **options),
        }
    return calls | {"xla": jitted(lambda v: jnp.full(result.shape, v, result.dtype), jnp.ones((), result.dtype))}


def grid_calls(x: Any, a: Any, lmax: int, grid: dict[str, Any]) -> tuple[Any, Calls]:
    """A synthesis on the grid that s2fft has too."""
    calls: Calls = {
        "ours": jitted(lambda z: sht.synthesis_2d(z, spin=0, lmax=lmax, **grid), x),
        "ducc0": lambda: ducc0.sht.synthesis_2d(alm=a, spin=0, lmax=lmax, nthreads=0, **grid),
    }
    if importlib.util.find_spec("s2fft"):
        import s2fft  # noqa: PLC0415  # optional

        L = lmax + 1
        degrees, orders = alm.degrees_and_orders(lmax)
        full = np.zeros((L, 2 * L - 1), complex)
        full[degrees, lmax + orders] = a[0]
        full[degrees, lmax - orders] = (-1.0) ** orders * a[0].conj()
        pre = s2fft.generate_precomputes_jax(L, sampling="mw", forward=False)
        inverse = lambda f: s2fft.inverse_jax(f, L, sampling="mw", reality=True, precomps=pre)  # noqa: E731
        calls["s2fft"] = jitted(inverse, jnp.asarray(full))
        expected = calls["ours"]()[0]
        difference = np.abs(calls["s2fft"]().real - expected).max() / np.abs(expected).max()
        if difference > 1e-8:
            raise RuntimeError(
                f"s2fft and ducc0 differ by {difference} of the largest value: the comparison would not be fair."
            )
    return jax.ShapeDtypeStruct((1, grid["ntheta"], grid["nphi"]), float), calls


def measure(name: str, L: int, rounds: int) -> dict[str, Any]:  # noqa: N803
    """Time one transform at one band limit: medians in milliseconds, and the median ratio to the direct call."""
    calls = contenders(name, L)
    times: dict[str, list[float]] = {contender: [] for contender in calls}
    order = random.Random(0)
    for round_number in range(rounds + 2):
        for contender, call in order.sample(list(calls.items()), len(calls)):
            start = time.perf_counter()
            call()
            if round_number >= 2:  # The first rounds fill caches.
                times[contender].append(1e3 * (time.perf_counter() - start))
    ratios = [ours / direct for ours, direct in zip(times["ours"], times["ducc0"], strict=True)]
    quartiles = statistics.quantiles(ratios, n=4)
    medians = {contender: statistics.median(values) for contender, values in times.items()}
    return {"transform": name, "L": L, "ms": medians, "ratio": quartiles[1], "spread": quartiles[2] - quartiles[0]}


def main() -> None:
    """Print the table, and write it where `--json` says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    heads = ["ducc0 ms", "ours ms", "xla ms", "s2fft ms", "ratio", "spread"]
    print(f"{'transform':18} {'L':>5}", *(f"{head:>9}" for head in heads))
    rows = []
    for name in ("synthesis_2d", "its transpose", "healpix", "synthesis_general"):
        for L in (32, 128, 256, 512):
            rows.append(row := measure(name, L, options.rounds))
            ms = row["ms"]
            promised = "" if ms["ducc0"] < 1 else "met" if row["ratio"] <= PROMISE else "not met"
            numbers = [ms["ducc0"], ms["ours"], ms["xla"], ms.get("s2fft", float("nan")), row["ratio"], row["spread"]]
            print(f"{name:18} {L:5}", *(f"{number:9.3f}" for number in numbers), promised)
    if options.json:
        versions = {name: importlib.metadata.version(name) for name in ("jax", "ducc0", "jaxbind-core", "jaxbind-ducc")}
        options.json.write_text(json.dumps({"versions": versions, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
