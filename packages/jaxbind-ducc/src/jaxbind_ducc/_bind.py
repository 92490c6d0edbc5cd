# SPDX-License-Identifier: BSD-2-Clause
"""How a ducc0 call becomes a host function that takes batches, and a shape rule one that knows of them.

ducc0 has two ways to process many arrays at once, and each has a pair of decorators here:

``along_axes`` / ``same_layout``
    The transform runs along some axes of an array and leaves all others alone (the FFT family). Batch axes stay where
    they are.
``over_batch`` / ``batched_shapes``
    The transform takes one leading axis of independent arrays (``ntrans`` in the SHT and the NUFFT). Batch axes are
    moved to the front, newest first, and flattened to one. Fixed arguments (points, angles) have no such axis in
    ducc0; where they are mapped too, the elements are processed one by one.

The decorated functions keep their module and name, so that compiled programs find them again in another process.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jaxbind import load_kwargs

from jaxbind_ducc import _errors

BatchAxes = tuple[tuple[int, ...], ...] | None
Shapes = tuple[tuple[Any, ...], ...]
Operator = functools.partial[list[jax.Array]]
HostFunction = Callable[[Sequence[Any], Sequence[Any], Any], None]


def along_axes(kernel: Callable[..., None]) -> HostFunction:
    """Make a host function of ``kernel(out, a, axes=..., **kwargs)``, which transforms one array along axes.

    The kernel gets the positions of the transformed axes in the array as it arrives, non-negative, batch axes excluded.
    """

    @functools.wraps(kernel)
    def host(out: Sequence[Any], args: Sequence[Any], kwargs_dump: Any) -> None:
        kwargs = load_kwargs(kwargs_dump)
        axes = transformed_axes(args[0].ndim, kwargs.pop("axes", None), kwargs.pop("batch_axes", None))
        if args[0].size:
            kernel(out[0], args[0], axes=axes, **kwargs)

    return host


def same_layout(shape: Callable[..., tuple[tuple[int, ...], Any]]) -> Callable[..., Shapes]:
    """Make an abstract function of ``shape(a, axes=..., **kwargs) -> (shape, dtype)`` for a transform along axes."""

    @functools.wraps(shape)
    def abstract(a: Any, *, axes: Any = None, batch_axes: BatchAxes = None, **kwargs: Any) -> Shapes:
        described = shape(a, axes=transformed_axes(len(a.shape), axes, batch_axes), **kwargs)
        return ((*described, batch_axes[0][-1] if batch_axes else None),)

    return abstract


def transformed_axes(ndim: int, axes: Any, batch_axes: BatchAxes) -> list[int]:
    """Positions in a batched array of the axes that a transform runs along.

    Parameters
    ----------
    ndim
        Of the array as it arrives.
    axes
        Axes of one batch element, negative ones too; None for all.
    batch_axes
        What a natively batching function receives.

    Returns
    -------
    list of int
        In the order of `axes`.
    """
    batch = batch_axes[0] if batch_axes else ()
    own = [axis for axis in range(ndim) if axis not in batch]
    if axes is None:
        return own
    return [own[axis] for axis in ([axes] if isinstance(axes, int) else axes)]


def over_batch(fixed: int = 0) -> Callable[[Callable[..., None]], HostFunction]:
    """Make a host function of ``kernel(outs, *args, **kwargs)``, which transforms a stack of arrays.

    Parameters
    ----------
    fixed
        How many leading arguments have no axis for the stack.

    Returns
    -------
    callable
        The decorator. The kernel gets a tuple of outputs and the other arguments with exactly one leading axis, the
        stack, which has length 1 outside vmap; fixed arguments come as they are for one batch element.
    """

    def decorate(kernel: Callable[..., None]) -> HostFunction:
        @functools.wraps(kernel)
        def host(out: Sequence[Any], args: Sequence[Any], kwargs_dump: Any) -> None:
            kwargs = load_kwargs(kwargs_dump)
            axes = kwargs.pop("batch_axes", None)
            if not axes:  # Most calls; a few microseconds matter where a transform takes some ten.
                kernel(tuple(o[None] for o in out), *args[:fixed], *(arg[None] for arg in args[fixed:]), **kwargs)
                return
            sizes = batch_sizes(kernel.__name__, args, axes)
            if 0 in sizes:
                return
            moved = [_batch_first(arg, own) for arg, own in zip(args, axes, strict=True)]
            if not any(axes[:fixed]):
                stacks = [_stack(arg, bool(own), sizes) for arg, own in zip(moved[fixed:], axes[fixed:], strict=True)]
                kernel(tuple(_stack(o, True, sizes) for o in out), *moved[:fixed], *stacks, **kwargs)
                return
            for index in np.ndindex(*sizes):
                one = [arg[index] if own else arg for arg, own in zip(moved, axes, strict=True)]
                kernel(tuple(o[index][None] for o in out), *one[:fixed], *(arg[None] for arg in one[fixed:]), **kwargs)

        return host

    return decorate


def batched_shapes(shapes: Callable[..., Shapes]) -> Callable[..., Shapes]:
    """Make an abstract function of one that describes a single batch element: ``shapes(*args, **kwargs)``."""

    @functools.wraps(shapes)
    def abstract(*args: Any, batch_axes: BatchAxes = None, **kwargs: Any) -> Shapes:
        axes = batch_axes or ((),) * len(args)
        sizes = batch_sizes(shapes.__name__, args, axes)
        own = [
            jax.ShapeDtypeStruct(tuple(n for k, n in enumerate(arg.shape) if k not in mapped), arg.dtype)
            for arg, mapped in zip(args, axes, strict=True)
        ]
        return tuple(((*sizes, *shape), dtype, 0) for shape, dtype, *_ in shapes(*own, **kwargs))

    return abstract


def batch_sizes(name: str, args: Sequence[Any], axes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Sizes of the batch dimensions, newest first, from the axes of each argument, oldest first."""
    found = {tuple(arg.shape[axis] for axis in reversed(own)) for arg, own in zip(args, axes, strict=True) if own}
    if len(found) > 1:
        raise _errors.mixed_levels(name, tuple(axes))
    return found.pop() if found else ()


def _batch_first(array: Any, axes: Sequence[int]) -> Any:
    """A view with the batch axes in front, newest first."""
    return np.moveaxis(array, axes, range(len(axes) - 1, -1, -1)) if axes else array


def _stack(array: Any, mapped: bool, sizes: tuple[int, ...]) -> Any:
    """The array with its batch axes, which are in front, flattened to one; broadcast if it has none."""
    if not mapped:
        array = np.broadcast_to(array, (*sizes, *array.shape))
    return array.reshape(math.prod(sizes), *array.shape[len(sizes) :])
