# SPDX-License-Identifier: BSD-2-Clause
"""How fine the grid is that points are spread on, where FINUFFT's own choice is slow.

A grid that is s times as fine as the modes costs, per transform, with a kernel of w(s) cells that shrinks with s,

    points (w^d + const)  +  5 n log2 n,    n = modes s^d

FINUFFT takes s = 1.25 or 2, and leaves much time where s in between is better or where its rule of thumb errs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

# Measured with FINUFFT 2.5.1, one thread of an AMD EPYC, fastest of several runs; s = 1.25, 1.5, 1.6, 1.75 and 2 beside
# FINUFFT's choice, 340 cases of types 1 and 2. Time with the choice below over that with FINUFFT's, first type 1:
#   double, 1e-6   8^3 modes, 0.4 points each  0.35, 0.38    20^3, 1.6  0.46, 1.00    50^3, 0.4  0.68, 0.48
#                  64^3, 1.5  0.66, 0.86    100^3, 1.0  0.60, 0.74    64 x 64, 1.6  0.84, 0.78    256 x 256, 1.6  0.96
#   single, 1e-6   20^3, 0.4  0.46, 0.63    40^3, 0.4  0.34, 0.44    40^3, 1.6  0.55, 0.67
# From 1e-9 on FINUFFT chooses 2 itself, for 1e-4 and more its choice is good, and so it is for few points per mode,
# where the FFT is what counts.
LOOSEST, TIGHT, TIGHTEST = 1e-5, 1e-7, 1e-9
LARGEST_2D = 256**2
SMALL_3D, MEDIUM_3D = 30**3, 40**3


def choose(modes: Sequence[int], points: int, eps: float, dtype: str) -> float:
    """The option `upsampfac` of types 1 and 2.

    Parameters
    ----------
    modes
        Numbers of modes.
    points
        Number of points.
    eps
        Relative accuracy.
    dtype
        Of the strengths.

    Returns
    -------
    float
        What was measured to be faster than FINUFFT's choice, else 0: FINUFFT's choice.
    """
    if dtype == "complex64":
        # The FFTs of 40^3 and 80^3 numbers take two to three times as long per number as those of powers of two.
        return 1.6 if len(modes) == 3 and all(map(_has_quick_grid, modes)) else 0.0
    count = math.prod(modes)
    if len(modes) == 1 or not TIGHTEST < eps <= LOOSEST:
        return 0.0
    density = points / max(count, 1)
    if len(modes) == 2:
        worth, best = density >= 0.7 and count <= LARGEST_2D, 1.5
    else:
        worth = density >= (0.1 if count <= SMALL_3D else 0.3)
        best = 2.0 if density >= 1 and count <= MEDIUM_3D else 1.6
    return (2.0 if eps <= TIGHT else best) if worth else 0.0


def _has_quick_grid(n: int) -> bool:
    """Whether the grid with 1.6 times the modes is a power of two, from 32 on."""
    # FINUFFT takes the next even number without prime factors above 5; below 32, 64, 128 ... that is 30, 60, 120 ...
    power = 1 << math.ceil(math.log2(max(1.6 * n, 1)))
    return power >= 32 and 1.6 * n > power * 15 / 16
