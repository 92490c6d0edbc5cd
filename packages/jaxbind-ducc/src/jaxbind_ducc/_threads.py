# SPDX-License-Identifier: BSD-2-Clause
"""When many threads are worth it.

ducc0 reads ``nthreads=0`` as "all threads of the machine". Waking them costs some ten microseconds, which a small
problem does not earn back, so zero means here: all threads if the problem is large, else one. Any other number is
passed on.
"""

from __future__ import annotations

# Floating-point operations from which on more threads win. Measured on two cores, one thread against two: 0.31 and
# 0.22 ms for a Fourier transform of 256 x 256 numbers (5.2 million), 0.73 and 0.81 ms for a NUFFT with 1.2, 6.3 and
# 4.4 with 10.
WORTH_THREADS = 4_000_000


def choose(nthreads: int, work: float) -> int:
    """The number of threads to ask ducc0 for.

    Parameters
    ----------
    nthreads
        What the caller asked for; 0 leaves the choice to this function.
    work
        Rough number of floating-point operations, for example ``5 n log2 n`` for a Fourier transform of n numbers.

    Returns
    -------
    int
        1 for a small problem, 0 (all) for a large one, `nthreads` itself if it is not 0.
    """
    if nthreads != 0:
        return nthreads
    return 0 if work >= WORTH_THREADS else 1
