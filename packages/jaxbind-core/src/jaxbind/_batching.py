# SPDX-License-Identifier: BSD-2-Clause
"""vmap, for both ways of batching.

Every vmap level inserts one axis into each argument that it maps. A loop-batched operator gets its axes moved to the
front, so that the bridge can walk them; a natively batching one gets the arrays as they are. Everything else is the
same: a call's `axes` list what was inserted, and a transposed call starts from the axes of its own arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxbind._abstract import absolute, loop_sizes, output_axes
from jaxbind._kwargs import Kwargs
from jaxbind._operator import Record
from jaxbind._primitive import Axes, bind


def batch(
    args: Sequence[Any], dims: Sequence[int | None], *, operator: Record, kwargs: Kwargs, axes: Axes
) -> tuple[list[Any], list[int | None]]:
    """Batching rule: one more level, in the same call.

    Parameters
    ----------
    args
        Arguments with the new axis.
    dims
        Position of the new axis in each, None where there is none.
    operator, kwargs, axes
        The parameters of the primitive.

    Returns
    -------
    outs, out_dims
        The outputs and where the new axis is in each.
    """
    if operator.can_batch:
        args, new_axes = _complete(args, dims, axes)
    else:
        args = [arg if dim is None else jnp.moveaxis(arg, dim, 0) for arg, dim in zip(args, dims, strict=True)]
        new_axes = tuple((*levels, None if dim is None else 0) for levels, dim in zip(axes, dims, strict=True))
    outs = bind(operator, kwargs, new_axes, args)
    out_axes = output_axes(operator, kwargs, new_axes, [jax.typeof(arg) for arg in args])
    return outs, [levels[-1] for levels in out_axes]


def _complete(args: Sequence[Any], dims: Sequence[int | None], axes: Axes) -> tuple[list[Any], Axes]:
    """Let every argument of a natively batched call be mapped at all levels or at none.

    ``batch_axes`` lists the axes of an argument without saying which level each belongs to. An argument that is mapped
    at some levels only would make that ambiguous, so it is repeated along those that it lacks.
    """
    size = next(arg.shape[dim] for arg, dim in zip(args, dims, strict=True) if dim is not None)
    old = loop_sizes(axes, [_unmapped(arg, dim) for arg, dim in zip(args, dims, strict=True)])
    completed, new_axes = [], []
    for arg, dim, levels in zip(args, dims, axes, strict=True):
        mapped = any(axis is not None for axis in levels)
        if dim is None and mapped:
            completed.append(jnp.broadcast_to(arg, (size, *arg.shape)))
            new_axes.append((*levels, 0))
        elif dim is not None and not mapped:
            completed.append(jnp.broadcast_to(arg, (*old, *arg.shape)))
            new_axes.append((*(0 for _ in old), dim + len(old)))
        else:
            completed.append(arg)
            new_axes.append((*levels, dim))
    return completed, tuple(new_axes)


def _unmapped(arg: Any, dim: int | None) -> jax.ShapeDtypeStruct:
    shape = arg.shape if dim is None else (*arg.shape[:dim], *arg.shape[dim + 1 :])
    return jax.ShapeDtypeStruct(shape, arg.dtype)


def rebatch(array: Any, have: Sequence[int | None], want: Sequence[int | None]) -> jax.Array:
    """Bring a batched array into the form of another: move its batch axes, and sum over those that the other lacks.

    The cotangent of an argument that was shared by a whole batch is the sum of the cotangents of the batch elements.

    Parameters
    ----------
    array
        The array.
    have, want
        Inserted axes, one per level, that the array has and should have.

    Returns
    -------
    jax.Array
        With the axes of `want`.
    """
    present, target = absolute(have), absolute(want)
    summed = [p for p, t in zip(present, target, strict=True) if t is None and p is not None]
    kept = [(p, t) for p, t in zip(present, target, strict=True) if t is not None and p is not None]
    if summed:
        array = jnp.sum(array, axis=tuple(summed), dtype=array.dtype)
    source = [p - sum(s < p for s in summed) for p, _ in kept]
    return jnp.moveaxis(array, source, [t for _, t in kept]) if kept else array
