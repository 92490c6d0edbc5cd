# SPDX-License-Identifier: BSD-2-Clause
"""Lowering on CPU: one call of an operator becomes one FFI custom call.

Owns the attributes of the custom call (`bridge/attributes.h` is their other side) and registers the bridge with XLA.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jax.interpreters import mlir

from jaxbind import _bridge, _errors
from jaxbind._abstract import batch_axes
from jaxbind._kwargs import Kwargs
from jaxbind._operator import Record
from jaxbind._primitive import Axes
from jaxbind._targets import CallTarget, call_target

# The number rises when the attributes change, so that an old artifact is refused and never misread.
FFI_TARGET = "jaxbind_call_v1"

# The bridge refuses calls that ask for more.
MOST_BATCH_THREADS = _bridge.MOST_BATCH_THREADS

jax.ffi.register_ffi_target(FFI_TARGET, _bridge.handler(), platform="cpu")


def target_of(operator: Record, kwargs: Kwargs, axes: Axes) -> CallTarget:
    """The call target of an operator; a natively batching function is told the batch axes as a keyword argument."""
    if operator.can_batch:
        kwargs = kwargs.with_batch_axes(batch_axes(operator, axes))
    return call_target(operator.host, kwargs)


def loop_masks(operator: Record, axes: Axes) -> tuple[int, list[int]]:
    """Number of batch dimensions that the bridge walks, and which of them each argument has.

    Bit d of a mask stands for batch dimension d; the newest vmap level is the outermost dimension, 0.
    """
    if operator.can_batch:
        return 0, [0] * len(axes)
    newest_first = [levels[::-1] for levels in axes]
    masks = [sum(1 << d for d, axis in enumerate(levels) if axis is not None) for levels in newest_first]
    return len(axes[0]), masks


def lower_cpu(ctx: Any, *operands: Any, operator: Record, kwargs: Kwargs, axes: Axes) -> Sequence[Any]:
    """Lowering rule for CPU."""
    target = target_of(operator, kwargs, axes)
    if ctx.module_context.lowering_parameters.for_export:
        # jax.export refuses programs that keep anything alive. Such a program finds its host functions by name.
        if not target.is_portable:
            raise _errors.not_exportable(operator.name, target.function.name)
        target.keep()
    else:
        ctx.module_context.add_keepalive(target)  # The executable keeps it; nothing else needs to.
    ndim, masks = loop_masks(operator, axes)
    integer = mlir.ir.IntegerType.get_signless(64)
    attributes = {
        "id": mlir.ir.IntegerAttr.get(integer, target.id),
        "name": mlir.ir.StringAttr.get(target.function.name),
        "kwargs": mlir.ir.StringAttr.get(target.encoded),
        "batch_ndim": mlir.ir.IntegerAttr.get(integer, ndim),
        "batch_masks": mlir.ir.DenseI64ArrayAttr.get(masks),
        "batch_threads": mlir.ir.IntegerAttr.get(integer, operator.batch_threads),
    }
    rule = jax.ffi.ffi_lowering(FFI_TARGET, backend_config=attributes)
    results: Sequence[Any] = rule(ctx, *operands)
    return results
