# SPDX-License-Identifier: BSD-2-Clause
"""How times are taken and put together. Knows nothing of what is timed; used by `worker.py` and `report.py`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
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
