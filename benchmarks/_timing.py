# SPDX-License-Identifier: BSD-2-Clause
"""How times are taken and put together. Knows nothing of what is timed; used by `worker.py` and `report.py`."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

NOISY = 0.10  # a spread above this marks a figure as noisy


def interleaved(programs: Mapping[str, tuple[Callable[[], Any], int]], repetitions: int) -> dict[str, float]:
    """Time programs in turns, A B C A B C, so that a drift of the machine meets all of them.

    Parameters
    ----------
    programs
        Name -> (what to run, how many calls one run makes).
    repetitions
        Runs of each, after one that compiles and fills caches.

    Returns
    -------
    dict
        Name -> seconds per call in the fastest run: what else the machine does can only add to it.
    """
    for run, _ in programs.values():
        run()
    best = dict.fromkeys(programs, float("inf"))
    for _ in range(repetitions):
        for name, (run, calls) in programs.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], (time.perf_counter() - start) / calls)
    return best


def spread(values: Sequence[float]) -> float:
    """Distance of the quartiles over the median; 0 for a single value, which says nothing about noise."""
    if len(values) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / middle if middle else 0.0


def side_by_side(contenders: Mapping[str, Callable[[], Any]], ours: str, direct: str, rounds: int) -> dict[str, Any]:
    """Time one call of each in every round, in an order that changes, and compare two of them within a round.

    What else the machine does, and what the call before leaves behind, meet all of them alike.

    Parameters
    ----------
    contenders
        Name -> what to run.
    ours, direct
        The names that are compared.
    rounds
        Timed ones, after two that compile and fill caches.

    Returns
    -------
    dict
        ``ms``: name -> median milliseconds; ``ratio``: median over the rounds of ours over direct; ``spread``: distance
        of the quartiles of that ratio.
    """
    times: dict[str, list[float]] = {name: [] for name in contenders}
    order = random.Random(0)
    for number in range(rounds + 2):
        for name, call in order.sample(list(contenders.items()), len(contenders)):
            start = time.perf_counter()
            call()
            if number >= 2:
                times[name].append(1e3 * (time.perf_counter() - start))
    low, middle, high = statistics.quantiles([a / b for a, b in zip(times[ours], times[direct], strict=True)], n=4)
    medians = {name: statistics.median(values) for name, values in times.items()}
    return {"ms": medians, "ratio": middle, "spread": high - low}


def machine() -> dict[str, Any]:
    """What the figures depend on, without anything that names the machine."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    models = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return {
        "processor": models[0] if models else platform.machine(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def today() -> str:
    """The day on which something was measured, as ``2026-12-31``."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def circumstances(*distributions: str) -> dict[str, Any]:
    """Day, machine, and versions of JAX, NumPy, the core and other distributions, as a file of results has them."""
    names = ("jax", "jaxlib", "numpy", "jaxbind-core", *distributions)
    versions = {name: importlib.metadata.version(name) for name in names}
    return {"date": today(), "machine": machine(), "versions": versions}
