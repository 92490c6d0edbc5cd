# SPDX-License-Identifier: BSD-2-Clause
"""When several threads are worth it.

FINUFFT reads ``nthreads=0`` as "all threads". Waking and joining them can cost a thousand times what a small transform
takes, so zero means here: as many threads as the work pays for. Any other number is passed on.
"""

from __future__ import annotations

import math
import os

# Operations, as `work` counts them, that each further thread must get.
WORTH_A_THREAD = 20_000_000


def work(points: int, modes: float, ndim: int, eps: float, transforms: int) -> float:
    """Rough number of operations of a transform.

    Parameters
    ----------
    points
        Number of non-uniform points.
    modes
        Number of modes, or what takes their place in type 3.
    ndim
        Number of dimensions.
    eps
        Relative accuracy.
    transforms
        How many arrays are transformed.

    Returns
    -------
    float
        ``w^d`` operations per point, where the kernel is w = log10(1 / eps) + 1 cells wide, and those of an FFT of the
        fine grid, ``5 n log2 n`` with n = 2^d modes.
    """
    width = 1 + max(1.0, -math.log10(max(eps, 1e-16)))
    fine = max(2.0, modes * 2**ndim)
    return float(transforms * (points * width**ndim + 5 * fine * math.log2(fine)))


def available() -> int:
    """How many threads FINUFFT would take by itself."""
    wanted = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def choose(nthreads: int, operations: float) -> int:
    """The number of threads to ask FINUFFT for.

    Parameters
    ----------
    nthreads
        What the caller asked for; 0 leaves the choice to this function.
    operations
        What `work` says.

    Returns
    -------
    int
        At least 1.
    """
    if nthreads:
        return nthreads
    if operations < 2 * WORTH_A_THREAD:  # most calls of small transforms; the question to the system takes longer
        return 1
    return max(1, min(available(), int(operations / WORTH_A_THREAD)))
