# SPDX-License-Identifier: BSD-2-Clause
"""Lowering on every platform but CPU: the arrays travel to the host and back.

Owns the Python twin of the bridge's batch loop. It costs a transfer and a `jax.pure_callback` per call, and a Python
loop per batch element; what it computes is the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np
from jax.interpreters import mlir

from jaxbind import _errors
from jaxbind._kwargs import Kwargs
from jaxbind._lowering import loop_masks, target_of
from jaxbind._operator import Record
from jaxbind._primitive import Axes
from jaxbind._targets import CallTarget


def lower_elsewhere(ctx: Any, *operands: Any, operator: Record, kwargs: Kwargs, axes: Axes) -> Sequence[Any]:
    """Lowering rule for platforms on which XLA cannot call the bridge."""
    target = target_of(operator, kwargs, axes)
    ndim, masks = loop_masks(operator, axes)
    outputs = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in ctx.avals_out]
    host = _host_call(target, ndim, masks, operator.batch_threads, outputs)
    rule = mlir.lower_fun(lambda *args: jax.pure_callback(host, outputs, *args), multiple_results=True)
    results: Sequence[Any] = rule(ctx, *operands)
    return results


def _host_call(
    target: CallTarget, ndim: int, masks: Sequence[int], threads: int, outputs: Sequence[jax.ShapeDtypeStruct]
) -> Callable[..., list[np.ndarray[Any, Any]]]:
    """The callback: arrays with their batch dimensions in, arrays with all batch dimensions out."""

    def host(*args: Any) -> list[np.ndarray[Any, Any]]:
        inputs = [np.asarray(arg) for arg in args]
        results = [np.empty(out.shape, out.dtype) for out in outputs]

        def element(index: tuple[int, ...]) -> None:
            views = tuple(_element(array, index, mask) for array, mask in zip(inputs, masks, strict=True))
            place: tuple[Any, ...] = (*index, ...)  # With the ellipsis, an array of no dimensions is a view too.
            returned = target.function.call(tuple(result[place] for result in results), views, target.kwargs)
            if returned is not None:
                raise _errors.returned_value(target.function.name, returned)

        indices = np.ndindex(results[0].shape[:ndim])
        if threads == 1:
            for index in indices:
                element(index)
        else:
            with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
                list(pool.map(element, indices))  # Raises the error of the first element that failed.
        return results

    return host


def _element(array: np.ndarray[Any, Any], index: tuple[int, ...], mask: int) -> np.ndarray[Any, Any]:
    mapped: Any = tuple(i for d, i in enumerate(index) if mask >> d & 1)
    view = array[(*mapped, ...)].view()
    view.flags.writeable = False
    return view
