# SPDX-License-Identifier: BSD-2-Clause
"""How strengths and points with leading axes make one set of transforms. Pure: shapes in, shapes out.

Leading axes of the strengths are a batch. All points of a call are broadcast against each other, and so are all
targets. Their leading axes belong to the *first* leading axes of the strengths; those that they lack are shared:

    strengths (b, t, m), points (b, m)    b sets of points, t transforms with each
    strengths (t, m),    points (m,)      one set of points, t transforms

Sizes of 1 are broadcast. Axes of the batch along which no point changes make the *stack*, which FINUFFT transforms in
one go; the others are *looped* over.

Source: the stacking rules of `jax_finufft`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxbind_finufft import _errors

Shape = tuple[int, ...]


class Layout(NamedTuple):
    """Where the axes of a call go.

    Parameters
    ----------
    batch
        Sizes of the leading axes of the result.
    looped, stacked
        Which of these axes are looped over, and which are transformed in one go.
    source
        Shape of the strengths before they are broadcast, all leading axes there.
    points
        The same for each array of points or targets.
    """

    batch: Shape
    looped: Shape
    stacked: Shape
    source: Shape
    points: tuple[Shape, ...]

    def sizes(self, axes: Sequence[int]) -> Shape:
        """Sizes of some of the leading axes of the result."""
        return tuple(self.batch[axis] for axis in axes)


def arrange(operator: str, source: Shape, core: int, groups: Sequence[tuple[str, Sequence[Shape]]]) -> Layout:
    """Lay out the axes of a call.

    Parameters
    ----------
    operator
        For messages.
    source
        Shape of the strengths.
    core
        How many of its last axes belong to one transform.
    groups
        Name and shapes of the points; for type 3 also those of the targets.

    Returns
    -------
    Layout
        For the whole call.

    Raises
    ------
    ValueError
        If shapes do not fit together.
    """
    leading = source[: len(source) - core]
    full = [shape for name, shapes in groups for shape in _align(operator, name, shapes, len(leading))]
    sizes = []
    for axis, own in enumerate(leading):
        found = {own, *(shape[axis] for shape in full)} - {1}
        if len(found) > 1:
            wanted = f"{own} or 1 along axis {axis}, as source has"
            name, shape = next(
                (name, shape)
                for name, shapes in groups
                for shape in _align(operator, name, shapes, len(leading))
                if shape[axis] not in {1, own}
            )
            remedy = "Leading axes of points belong to the first leading axes of source; those of size 1 are repeated"
            raise _errors.bad_shape(operator, name, shape, wanted, remedy)
        sizes.append(found.pop() if found else 1)
    looped = tuple(axis for axis in range(len(leading)) if any(shape[axis] != 1 for shape in full))
    stacked = tuple(axis for axis in range(len(leading)) if axis not in looped)
    return Layout(tuple(sizes), looped, stacked, source, tuple(full))


def _align(operator: str, name: str, shapes: Sequence[Shape], leading: int) -> list[Shape]:
    """Shapes of the points of a group with all leading axes and their common length."""
    for number, shape in enumerate(shapes):
        if not shape:
            argument = f"{name}[{number}]"
            raise _errors.bad_shape(operator, argument, shape, "at least one axis", "Give a vector of points")
    try:
        group = np.broadcast_shapes(*shapes)
    except ValueError:
        remedy = "Give as many coordinates in every dimension"
        found = ", ".join(map(str, shapes))
        raise _errors.bad_value(operator, name, f"arrays of shapes {found}", "equal lengths", remedy) from None
    if len(group) - 1 > leading:
        remedy = "Add leading axes to source, of size 1 where the strengths are the same for all sets of points"
        raise _errors.bad_shape(operator, name, group, f"at most {leading} leading axes, as source has", remedy)
    filled = [(1,) * (len(group) - len(shape)) + shape[:-1] for shape in shapes]
    return [(*own, *(1,) * (leading - len(own)), group[-1]) for own in filled]
