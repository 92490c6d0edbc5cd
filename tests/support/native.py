# SPDX-License-Identifier: BSD-2-Clause
"""Natively batching versions of any host function, written from the protocol's description alone.

Outputs keep their batch dimensions at the end, newest last, so that they are never where the inputs have theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxbind import load_kwargs

Axes = tuple[tuple[int, ...], ...] | None


def _batch_shape(shapes: list[tuple[int, ...]], axes: Axes) -> tuple[int, ...]:
    """Sizes of the vmap levels, oldest first; an argument is mapped at all of them or at none."""
    for shape, held in zip(shapes, axes or (), strict=False):
        if held:
            return tuple(shape[axis] for axis in held)
    return ()


def _at(array: Any, axes: tuple[int, ...], index: tuple[int, ...]) -> Any:
    """One batch element of an argument."""
    if not axes:
        return array
    where: list[Any] = [slice(None)] * array.ndim
    for axis, i in zip(axes, index, strict=True):
        where[axis] = i
    return array[tuple(where)]


def _without(array: Any, axes: tuple[int, ...]) -> Any:
    """An array like one batch element of an argument."""
    return np.empty([size for axis, size in enumerate(array.shape) if axis not in axes], array.dtype)


def batching(host: Callable[..., None]) -> Callable[..., None]:
    """A host function that loops over the batch itself."""

    def native(out: Any, args: Any, kwargs_dump: Any) -> None:
        axes = load_kwargs(kwargs_dump)["batch_axes"]
        held = axes or ((),) * len(args)
        for index in np.ndindex(_batch_shape([a.shape for a in args], axes)):
            core = tuple(_at(a, h, index) for a, h in zip(args, held, strict=True))
            host(tuple(o[(..., *index)] for o in out), core, kwargs_dump)

    native.__name__ = native.__qualname__ = f"native_{host.__name__}"
    return native


def describing(abstract: Callable[..., Any]) -> Callable[..., Any]:
    """The abstract function that goes with `batching`."""

    def native(*args: Any, batch_axes: Axes = None, **kwargs: Any) -> Any:
        held = batch_axes or ((),) * len(args)
        core = [_without(a, h) for a, h in zip(args, held, strict=False)]
        sizes = _batch_shape([a.shape for a in args], batch_axes)
        outputs = abstract(*core, **kwargs)
        return tuple(((*shape, *sizes), dtype, len(shape) + len(sizes) - 1) for shape, dtype in outputs)

    return native
