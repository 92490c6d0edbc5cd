# SPDX-License-Identifier: BSD-2-Clause
"""Directional derivatives from function values alone, with an estimate of their own error.

Mathematics. Along the direction d, with real h also where arguments are complex,

    D(h) = (f(x + h d) - f(x - h d)) / 2h,      R(h) = (4 D(h/2) - D(h)) / 3,

where R(h) is off by O(h^4) (Richardson). Truncation falls with h and rounding rises as eps |f| / h, and where they meet
depends on the function. So h is halved several times; the value taken is the one that its neighbours confirm best, and
their distance, plus the rounding, is its error.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxbind._checks.distance import Array, difference, largest, wide
from jaxbind._checks.subject import Subject, replaced

HALVINGS = 8


class Slope(NamedTuple):
    """A directional derivative of one output, and how far off it may be."""

    value: Array
    error: float


def slopes(subject: Subject, args: Sequence[Array], tangents: Mapping[int, Array]) -> list[Slope]:
    """Derivatives of the real or complex outputs along tangents of some arguments.

    Parameters
    ----------
    subject
        The operator.
    args
        Where.
    tangents
        Along what, by position of the argument.

    Returns
    -------
    list
        One slope per output that is real or complex.
    """
    eps = subject.precision.eps
    # Four times where D(h)'s errors would meet for a function that varies on the scale of its arguments.
    steps = [min(4 * eps**0.2, 1.0) / 2**n for n in range(HALVINGS)]
    quotients = [_quotients(subject, args, tangents, step) for step in steps]
    return [
        _extrapolate([(values[n][0], eps * values[n][1] / step) for values, step in zip(quotients, steps, strict=True)])
        for n in range(len(subject.paired))
    ]


def _quotients(
    subject: Subject, args: Sequence[Array], tangents: Mapping[int, Array], step: float
) -> list[tuple[Array, float]]:
    """D(h) of every paired output, and the size of the output."""
    ends = []
    for sign in (1, -1):
        moved = {
            i: (wide(args[i]) + sign * step * wide(tangent)).astype(args[i].dtype) for i, tangent in tangents.items()
        }
        try:
            outs = subject.evaluate(*replaced(args, moved))
            ends.append([wide(outs[k]) for k in subject.paired])
        except Exception:  # Outside of the domain: a smaller step may stay in it.
            ends.append([np.full(subject.outputs[k].shape, np.nan) for k in subject.paired])
    with np.errstate(invalid="ignore"):
        return [((a - b) / (2 * step), max(largest(a), largest(b))) for a, b in zip(*ends, strict=True)]


def _extrapolate(quotients: Sequence[tuple[Array, float]]) -> Slope:
    better = [(4 * fine - coarse) / 3 for (coarse, _), (fine, _) in itertools.pairwise(quotients)]
    candidates = []
    for n in range(1, len(better) - 1):
        near = better[n - 1 : n + 2]
        finite = all(np.isfinite(value).all() for value in near)
        spread = max(difference(better[n], value)[0] for value in near) if finite else np.inf
        candidates.append(Slope(better[n], spread + quotients[n + 1][1]))
    return min(candidates, key=lambda slope: slope.error)
