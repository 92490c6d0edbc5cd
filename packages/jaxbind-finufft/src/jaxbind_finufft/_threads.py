# SPDX-License-Identifier: BSD-2-Clause
"""When several threads are worth it.

FINUFFT reads ``nthreads=0`` as "all threads". Waking and joining them can cost a thousand times what a small transform
takes, so zero means here: as many threads as the work pays for. Any other number is passed on.
"""

from __future__ import annotations

import math
import os

# Operations, as `work` counts them, that each thread must get; one takes some 0.4 ns. Measured on two cores with
# FINUFFT 2.5, fastest of 300 runs with one thread and with two: 0.10 and 0.18 ms for 1,000 points on 32 x 32 modes
# (0.3 million operations), 0.74 and 0.94 ms for 10,000 on 64 x 64 (2 million). When other programs want the cores too,
# a second thread waits for a time slice of the system, and the median of the same runs was 4 ms and more.
WORTH_A_THREAD = 5_000_000


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
        ``w^d + 60`` operations per point, where the kernel is w = log10(1 / eps) + 1 cells wide, and those of an FFT of
        the fine grid, ``5 n log2 n`` with n = 2^d modes.
    """
    width = 1 + max(1.0, -math.log10(max(eps, 1e-16)))
    fine = max(2.0, modes * 2**ndim)
    return float(transforms * (points * (width**ndim + 60) + 5 * fine * math.log2(fine)))


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
