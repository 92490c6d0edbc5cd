# SPDX-License-Identifier: BSD-2-Clause
"""Fourier transforms: `jaxbind_ducc.fft` beside direct calls of ducc0 and `jax.numpy.fft`, as ratios.

Every round times one call of each, in an order that changes, so that what else the machine does, and what the call
before leaves behind, meet all of them alike. The result is the median over the rounds of the ratio within a round.
Direct calls return a new array each time, as JAX does.

Run it as ``python benchmarks/fft.py [--rounds 51] [--json results/fft.json]`` in an environment with `jaxbind-ducc`.
"""

from __future__ import annotations

import argparse
import importlib.metadata
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
from jaxbind_ducc import fft

PROMISE = 1.03  # times the direct call, from 1 ms of work on
SHAPES = [(8,), (64, 64), (256, 256), (512, 512), (1024, 1024), (64, 64, 64)]
TRANSFORMS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any], bool]] = {
    "c2c": (fft.c2c, ducc0.fft.c2c, jnp.fft.fftn, True),
    "r2c": (fft.r2c, ducc0.fft.r2c, jnp.fft.rfftn, False),
    "genuine_fht": (fft.genuine_fht, ducc0.fft.genuine_fht, lambda x: ((1 + 1j) * jnp.fft.fftn(x)).real, False),
}


def measure(name: str, shape: tuple[int, ...], rounds: int) -> dict[str, Any]:
    """Time one transform of one shape.

    Returns
    -------
    dict
        Median times in milliseconds, and the median ratios to the direct call.
    """
    ours, direct, native, is_complex = TRANSFORMS[name]
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if is_complex else 0)
    on_device, jitted, jitted_native = jnp.asarray(x), jax.jit(ours), jax.jit(native)
    contenders: dict[str, Callable[[], Any]] = {
        "jaxbind_ducc": lambda: jitted(on_device).block_until_ready(),
        "ducc0": lambda: direct(x, nthreads=0),
        "jnp.fft": lambda: jitted_native(on_device).block_until_ready(),
    }
    times: dict[str, list[float]] = {contender: [] for contender in contenders}
    order = random.Random(0)
    for round_number in range(rounds + 2):
        for contender, call in order.sample(list(contenders.items()), len(contenders)):
            start = time.perf_counter()
            call()
            if round_number >= 2:  # The first rounds compile and fill caches.
                times[contender].append(1e3 * (time.perf_counter() - start))
    ratios = [a / b for a, b in zip(times["jaxbind_ducc"], times["ducc0"], strict=True)]
    quartiles = statistics.quantiles(ratios, n=4)
    medians = {contender: statistics.median(values) for contender, values in times.items()}
    return {
        "transform": name,
        "shape": shape,
        "ms": medians,
        "ratio": quartiles[1],
        "spread": quartiles[2] - quartiles[0],
    }


def main() -> None:
    """Print the table, and write it where `--json` says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=51)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    rows = [measure(name, shape, options.rounds) for name in TRANSFORMS for shape in SHAPES]
    print(f"{'transform':12} {'shape':16} {'ducc0 ms':>9} {'ours ms':>9} {'jnp ms':>9} {'ratio':>9} {'spread':>9}")
    for row in rows:
        ms = row["ms"]
        promised = "" if ms["ducc0"] < 1 else "met" if row["ratio"] <= PROMISE else "not met"
        shape = "x".join(map(str, row["shape"]))
        numbers = [ms["ducc0"], ms["jaxbind_ducc"], ms["jnp.fft"], row["ratio"], row["spread"]]
        print(f"{row['transform']:12} {shape:16}", *(f"{number:9.3f}" for number in numbers), promised)
    if options.json:
        versions = {name: importlib.metadata.version(name) for name in ("jax", "ducc0", "jaxbind-core", "jaxbind-ducc")}
        options.json.write_text(json.dumps({"versions": versions, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
