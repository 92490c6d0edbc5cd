# SPDX-License-Identifier: BSD-2-Clause
"""Fourier transforms: `jaxbind_ducc.fft` beside direct calls of ducc0 and `jax.numpy.fft`, as ratios.

Direct calls return a new array each time, as JAX does. See `_timing.side_by_side` for how times are taken.

Run it as ``python benchmarks/fft.py [--quick] [--rounds 41] [--json results/fft.json]``.
"""

from __future__ import annotations

import argparse
import functools
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
from jaxbind_ducc import fft

SHAPES = [(64, 64), (512, 512), (1024, 1024), (2048, 2048), (128, 128, 128)]
BATCH = (16, 256, 256)  # the first axis is mapped
TRANSFORMS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any], bool]] = {
    "c2c": (fft.c2c, ducc0.fft.c2c, jnp.fft.fftn, True),
    "r2c": (fft.r2c, ducc0.fft.r2c, jnp.fft.rfftn, False),
    "genuine_fht": (fft.genuine_fht, ducc0.fft.genuine_fht, lambda x: ((1 + 1j) * jnp.fft.fftn(x)).real, False),
}


def measure(name: str, shape: tuple[int, ...], dtype: str, nthreads: int, rounds: int, batch: bool) -> dict[str, Any]:
    """Time one transform of one shape; with `batch`, of each element of the first axis."""
    ours, direct, native, is_complex = TRANSFORMS[name]
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if is_complex else 0)
    x = x.astype(np.result_type(dtype, np.complex64) if is_complex else dtype)
    on_device = jnp.asarray(x)
    f = functools.partial(ours, nthreads=nthreads)
    jitted, jitted_native = (jax.jit(jax.vmap(g) if batch else g) for g in (f, native))
    axes = tuple(range(1, x.ndim)) if batch else None
    contenders: dict[str, Callable[[], Any]] = {
        "ours": lambda: jitted(on_device).block_until_ready(),
        "ducc0": lambda: direct(x, axes, nthreads=nthreads),
        "jnp.fft": lambda: jitted_native(on_device).block_until_ready(),
    }
    row = {"transform": name + (" mapped" if batch else ""), "shape": shape, "dtype": dtype, "nthreads": nthreads}
    return row | _timing.side_by_side(contenders, "ours", "ducc0", rounds)


def main() -> None:
    """Print the table, and write it where `--json` says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--quick", action="store_true", help="one transform, few rounds")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    transforms, rounds = (["c2c"], 7) if options.quick else (list(TRANSFORMS), options.rounds)
    print(f"{'transform':18} {'shape':12} {'dtype':8} threads  ducc0 ms   ours ms    jnp ms     ratio    spread")
    rows = []
    for dtype in ("float64", "float32"):
        for nthreads in (1, 2):
            for name in transforms:
                for shape in [*SHAPES, BATCH]:
                    rows.append(row := measure(name, shape, dtype, nthreads, rounds, shape == BATCH))
                    ms = row["ms"]
                    numbers = [ms["ducc0"], ms["ours"], ms["jnp.fft"], row["ratio"], row["spread"]]
                    label = f"{row['transform']:18} {'x'.join(map(str, shape)):12} {dtype:8} {nthreads:7}"
                    print(label, *(f"{number:9.3f}" for number in numbers), report.beside_direct(row), flush=True)
    if options.json:
        result = _timing.circumstances("ducc0", "jaxbind-ducc") | {"rows": rows}
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
