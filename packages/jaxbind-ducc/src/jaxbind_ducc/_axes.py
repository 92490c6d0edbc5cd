# SPDX-License-Identifier: BSD-2-Clause
"""Checks of what all transforms along axes share: the axes, the normalisation, the work."""

from __future__ import annotations

import math
import operator as op
from collections.abc import Sequence
from typing import Any

from jaxbind_ducc import _errors, _threads


def checked_axes(operator: str, a: Any, axes: Sequence[int] | int | None) -> tuple[int, ...]:
    """The axes of an array as non-negative numbers.

    Parameters
    ----------
    operator
        Name for the message.
    a
        The array.
    axes
        What the caller passed: one axis, several, or None for all.

    Returns
    -------
    tuple of int
        In the order of `axes`.

    Raises
    ------
    ValueError
        If an axis does not exist, is given twice, or has length 0.
    """
    if axes is None:
        axes = range(a.ndim)
    given = tuple(map(op.index, axes)) if hasattr(axes, "__iter__") else (op.index(axes),)
    remedy = f"Give distinct axes between {-a.ndim} and {a.ndim - 1}"
    if any(not -a.ndim <= axis < a.ndim for axis in given):
        raise _errors.bad_value(operator, "axes", given, f"axes of an array of shape {a.shape}", remedy)
    found = tuple(axis % a.ndim for axis in given)
    if len(set(found)) < len(found):
        raise _errors.bad_value(operator, "axes", given, "each axis once", remedy)
    if any(a.shape[axis] == 0 for axis in found):
        raise _errors.bad_shape(operator, "a", a, "at least one element along each transformed axis", "Leave it out")
    return found


def checked_inorm(operator: str, inorm: int) -> int:
    """The normalisation, which is 0, 1 or 2."""
    if inorm not in (0, 1, 2):
        raise _errors.bad_value(operator, "inorm", inorm, "0, 1 or 2", "Pass 0 for no normalisation")
    return int(inorm)


def threads(nthreads: int, shape: Sequence[int], axes: Sequence[int]) -> int:
    """Threads for Fourier transforms along some axes of an array of this shape."""
    if nthreads:
        return nthreads
    length = math.prod(shape[axis] for axis in axes)
    return _threads.choose(nthreads, 5 * math.prod(shape) * math.log2(max(length, 2)))
