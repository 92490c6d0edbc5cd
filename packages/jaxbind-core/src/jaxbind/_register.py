# SPDX-License-Identifier: BSD-2-Clause
"""Which rule serves which kind of operator; imported last, and the only module that knows every rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax.interpreters import ad, batching, mlir

from jaxbind import _abstract, _batching, _host_fallback, _inspection, _linear, _lowering, _nonlinear, _sharding
from jaxbind._operator import LinearOperator, NonlinearOperator, Record
from jaxbind._primitive import call_p

# Kind of record -> (jvp, transpose).
DERIVATIVES: dict[type[Record], tuple[Callable[..., Any], Callable[..., Any]]] = {
    LinearOperator: (_linear.jvp, _linear.transpose),
    NonlinearOperator: (_nonlinear.jvp, _nonlinear.transpose),
}


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    return DERIVATIVES[type(params["operator"])][0](primals, tangents, **params)


def _transpose(cotangents: Sequence[Any], *args: Any, **params: Any) -> Any:
    return DERIVATIVES[type(params["operator"])][1](cotangents, *args, **params)


def register_lowering(lower: _inspection.Lowering, platform: str | None) -> None:
    """Lower calls on a platform (None: on all others) by a rule for one device, split over devices and named."""
    mlir.register_lowering(call_p, _inspection.named(_sharding.partitioned(lower)), platform=platform)


call_p.def_abstract_eval(_abstract.abstract_eval)
ad.primitive_jvps[call_p] = _jvp
ad.primitive_transposes[call_p] = _transpose
batching.primitive_batchers[call_p] = _batching.batch
register_lowering(_lowering.lower_cpu, "cpu")
register_lowering(_host_fallback.lower_elsewhere, None)
