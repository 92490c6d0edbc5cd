# SPDX-License-Identifier: BSD-2-Clause
"""Shapes and dtypes: runs the user's abstract function, checks what it says, makes avals.

Owns the difference that batching makes to shapes. A loop-batched operator's abstract function sees one batch element; a
natively batching one sees the batched arrays and names, in the third entry of each output, the output's newest batch
axis.
"""

from __future__ import annotations

import operator as op
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.core import ShapedArray

from jaxbind import _bridge, _errors
from jaxbind._jax_compat import is_symbolic, make_aval
from jaxbind._kwargs import Kwargs
from jaxbind._operator import Record
from jaxbind._primitive import Axes

_VIEWABLE = frozenset(_bridge.viewable_dtypes())


class Output(NamedTuple):
    """What an abstract function says of one output."""

    shape: tuple[Any, ...]
    dtype: np.dtype[Any]
    axis: Any  # The third entry, None if there is none.


def abstract_eval(*avals: Any, operator: Record, kwargs: Kwargs, axes: Axes) -> list[ShapedArray]:
    """Avals of the outputs of a call.

    Parameters
    ----------
    avals
        Of the arguments, batch dimensions included.
    operator, kwargs, axes
        The parameters of the primitive.

    Returns
    -------
    list
        One aval per output, batch dimensions included.

    Raises
    ------
    TypeError, ValueError
        If the user's abstract function returns something else than output descriptions.
    """
    for position, aval in enumerate(avals):
        _check_viewable(operator, f"argument {position}", aval.dtype)
    outputs = _run(operator, kwargs, axes, avals)
    for k, output in enumerate(outputs):
        _check_viewable(operator, f"output {k}", output.dtype)
    sizes = () if operator.can_batch else loop_sizes(axes, avals)
    shapes = [(*sizes, *output.shape) for output in outputs]
    positions = [absolute(levels) for levels in output_axes(operator, kwargs, axes, avals)]
    specs = [_explicit_spec(len(shape), held, avals, axes) for shape, held in zip(shapes, positions, strict=True)]
    # Constants have no mesh; any argument that has one speaks for all.
    like = next((aval for aval in avals if not aval.sharding.mesh.empty), avals[0])
    return [
        make_aval(shape, output.dtype, like, spec) for shape, output, spec in zip(shapes, outputs, specs, strict=True)
    ]


def _explicit_spec(rank: int, positions: Sequence[int | None], avals: Sequence[Any], axes: Axes) -> list[Any]:
    """Explicit sharding of an output: batch dimensions follow the arguments, core dimensions are whole."""
    spec: list[Any] = [None] * rank
    for level, position in enumerate(positions):
        if position is not None:
            sources = ((aval, absolute(levels)[level]) for aval, levels in zip(avals, axes, strict=True))
            found = (aval.sharding.spec[source] for aval, source in sources if source is not None)
            spec[position] = next((entry for entry in found if entry is not None), None)
    return spec


def output_axes(operator: Record, kwargs: Kwargs, axes: Axes, avals: Sequence[Any]) -> Axes:
    """Where each vmap level's dimension is in each output, in the convention of `Axes`.

    A loop puts the newest dimension to the front. A natively batching operator is asked again for every level, with the
    later levels taken off the arguments, because its abstract function names the newest axis only.
    """
    depth = len(axes[0])
    if not operator.can_batch or depth == 0:
        count = len(_run(operator, kwargs, axes, avals))
        return ((0,) * depth,) * count
    per_level: list[tuple[int, ...]] = []
    for level in range(depth, 0, -1):
        axes = tuple(levels[:level] for levels in axes)
        per_level.insert(0, _native_axes(operator, axes, avals, _run(operator, kwargs, axes, avals)))
        avals = [_without(aval, levels[-1]) for aval, levels in zip(avals, axes, strict=True)]
    return tuple(zip(*per_level, strict=True))


def absolute(levels: Sequence[int | None]) -> tuple[int | None, ...]:
    """Positions of the batch dimensions in the array as it arrives, one per level; None where it is not mapped."""
    positions: list[int | None] = []
    for axis in levels:
        if axis is not None:
            positions = [p + 1 if p is not None and p >= axis else p for p in positions]
        positions.append(axis)
    return tuple(positions)


def without_batch(aval: Any, levels: Sequence[int | None]) -> jax.ShapeDtypeStruct:
    """The shape and dtype of one batch element of an array."""
    batch = absolute(levels)
    return jax.ShapeDtypeStruct(tuple(n for i, n in enumerate(aval.shape) if i not in batch), aval.dtype)


def batch_axes(operator: Record, axes: Axes) -> tuple[tuple[int, ...], ...] | None:
    """The ``batch_axes`` of a natively batching function: mapped axes of each argument, oldest level first."""
    if not axes[0]:
        return None
    return tuple(tuple(p for p in absolute(levels) if p is not None) for levels in axes)


def loop_sizes(axes: Axes, avals: Sequence[Any]) -> tuple[Any, ...]:
    """Sizes of the batch dimensions of a call, newest level (the outermost dimension of a loop) first."""
    return tuple(_level_size(axes, avals, level) for level in reversed(range(len(axes[0]))))


def _level_size(axes: Axes, avals: Sequence[Any], level: int) -> Any:
    for aval, levels in zip(avals, axes, strict=True):
        position = absolute(levels)[level]
        if position is not None:
            return aval.shape[position]
    raise _errors.broken_invariant("a vmap level maps no argument")


def _without(aval: Any, axis: int | None) -> Any:
    if axis is None:
        return aval
    return jax.ShapeDtypeStruct((*aval.shape[:axis], *aval.shape[axis + 1 :]), aval.dtype)


def _run(operator: Record, kwargs: Kwargs, axes: Axes, avals: Sequence[Any]) -> list[Output]:
    """Call the user's abstract function and check the form of what it returns."""
    keywords = kwargs.load()
    if operator.can_batch:
        keywords["batch_axes"] = batch_axes(operator, axes)
        drop = [0] * len(avals)
    else:
        drop = [sum(axis is not None for axis in levels) for levels in axes]
    arguments = [jax.ShapeDtypeStruct(aval.shape[n:], aval.dtype) for aval, n in zip(avals, drop, strict=True)]
    with jax.core.eval_context():  # So that sizes may be computed with jax.numpy, also while JAX traces the call.
        described = operator.describe(*arguments, **keywords)
    if not isinstance(described, (tuple, list)):
        raise _errors.bad_abstract(operator.name, operator.describe_name, f"returned {described!r}")
    if not described:
        raise _errors.bad_abstract(operator.name, operator.describe_name, "described no output")
    return [_read(operator, k, entry) for k, entry in enumerate(described)]


def _read(operator: Record, position: int, entry: Any) -> Output:
    if not isinstance(entry, (tuple, list)) and hasattr(entry, "shape") and hasattr(entry, "dtype"):
        entry = (entry.shape, entry.dtype)
    if not isinstance(entry, (tuple, list)) or len(entry) not in (2, 3):
        found = f"returned {entry!r} for output {position}"
        raise _errors.bad_abstract(operator.name, operator.describe_name, found)
    return Output(
        _read_shape(operator, position, entry[0]),
        _read_dtype(operator, position, entry[1]),
        entry[2] if len(entry) == 3 else None,
    )


def _read_shape(operator: Record, position: int, shape: Any) -> tuple[Any, ...]:
    found = f"gave output {position} the shape {shape!r}"
    try:
        sizes = tuple(size if is_symbolic(size) else op.index(size) for size in shape)
    except TypeError as error:  # Not a sequence, a float, or a traced size.
        raise _errors.bad_abstract(operator.name, operator.describe_name, found) from error
    if not all(0 <= size < 2**63 for size in sizes if isinstance(size, int)):
        raise _errors.bad_abstract(operator.name, operator.describe_name, found)
    return sizes


def _read_dtype(operator: Record, position: int, dtype: Any) -> np.dtype[Any]:
    found = f"gave output {position} the dtype {dtype!r}"
    if dtype is None:  # NumPy would read it as float64.
        raise _errors.bad_abstract(operator.name, operator.describe_name, found)
    try:
        found_dtype: np.dtype[Any] = np.dtype(dtype)
    except TypeError as error:
        raise _errors.bad_abstract(operator.name, operator.describe_name, found) from error
    return found_dtype


def _native_axes(operator: Record, axes: Axes, avals: Sequence[Any], outputs: Sequence[Output]) -> tuple[int, ...]:
    """Check the third entries of a batched call's outputs and return them."""
    size = _level_size(axes, avals, -1)
    for k, output in enumerate(outputs):
        name = (operator.name, operator.describe_name, k, output.axis)
        if not isinstance(output.axis, (int, np.integer)) or not 0 <= output.axis < len(output.shape):
            raise _errors.bad_output_axis(*name, f"an axis of its shape {output.shape}")
        if output.shape[output.axis] != size:
            raise _errors.bad_output_axis(*name, f"an axis of size {size} in its shape {output.shape}")
    return tuple(int(output.axis) for output in outputs)


def _check_viewable(operator: Record, where: str, dtype: Any) -> None:
    if str(dtype) not in _VIEWABLE:
        raise _errors.unviewable_dtype(operator.name, where, dtype)
