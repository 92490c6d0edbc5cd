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
# FINUFFT's choice. Time with the choice below over that with FINUFFT's, types 1 and 2; the second number is of points
# per mode:
#   double, 1e-6   10^3, 0.4  0.34, 0.28    20^3, 0.4  0.51, 0.44    40^3, 0.4  0.62, 0.50    64^3, 0.4  0.75, 0.58
#                  16^2, 1.6  0.88, 0.69    64^2, 1.6  0.87, 0.82    64^2, 2.5  0.85, 0.75    128^2, 2.5  0.87, 0.85
#   single, 1e-6   20^3, 0.4  0.40, 0.86    20^3, 1.6  0.70, 1.00    40^3, 0.4  0.41, 0.61    40^3, 1.6  0.71, 1.00
#   single, 1e-4   20^3, 0.4  0.41, 0.67    20^3, 1.0  0.50, 0.90    40^3, 0.4  0.85, 0.45    40^3, 1.0  0.78, 0.68
# In double precision FINUFFT chooses 2 itself from 1e-9 on, and its choice is good for 1e-4 and more; so it is for few
# points per mode, where the FFT is what counts.
LOOSEST, TIGHT, TIGHTEST = 1e-5, 1e-7, 1e-9
LARGEST_2D = 256**2
SMALLEST_3D, SMALL_3D, MEDIUM_3D = 16**3, 30**3, 40**3


def choose(kind: int, modes: Sequence[int], points: int, eps: float, dtype: str) -> float:
    """The option `upsampfac` of types 1 and 2.

    Parameters
    ----------
    kind
        1 or 2.
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
    count = math.prod(modes)
    density = points / max(count, 1)
    if dtype == "complex64":
        # The FFTs of 40^3 and 80^3 numbers take two to three times as long per number as those of powers of two.
        quick = len(modes) == 3 and all(map(_has_quick_grid, modes))
        return 1.6 if quick and density <= _largest_density(kind, count, eps) else 0.0
    if len(modes) == 1 or not TIGHTEST < eps <= LOOSEST:
        return 0.0
    if len(modes) == 2:
        worth = density >= 0.7 and count <= LARGEST_2D
        # Many points pay for a larger FFT: 1.5 and 2 take the same time at 2 points per mode on 64 x 64 modes.
        best = 2.0 if density >= max(1.5, 2 * count / 64**2) else 1.5
    else:
        worth = density >= (0.1 if count <= SMALL_3D else 0.3)
        best = 2.0 if count <= SMALLEST_3D or (density >= 1 and count <= MEDIUM_3D) else 1.6
    return (2.0 if eps <= TIGHT else best) if worth else 0.0


def _largest_density(kind: int, count: int, eps: float) -> float:
    """Points per mode above which, in single precision, the wider kernel costs more than the quick FFT saves."""
    if kind == 1:
        return 3.0 if eps >= 1e-6 else 1.5
    side: float = count ** (1 / 3)
    return side / 40 * (2.2 if eps > LOOSEST else 1.1 if eps >= 1e-6 else 0.5)


def _has_quick_grid(n: int) -> bool:
    """Whether the grid with 1.6 times the modes is a power of two, from 32 on."""
    # FINUFFT takes the next even number without prime factors above 5; below 32, 64, 128 ... that is 30, 60, 120 ...
    power = 1 << math.ceil(math.log2(max(1.6 * n, 1)))
    return power >= 32 and 1.6 * n > power * 15 / 16
