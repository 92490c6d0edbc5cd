# SPDX-License-Identifier: BSD-2-Clause
"""Nonlinear operators: the first derivative as a linear operator.

Owns the step from f to its derivative; everything after it is `jaxbind._linear`'s, or JAX's where the derivative is a
rule written in JAX. Mathematics: at primals p the tangent is

    dy = J(p) dx,        cotangent:  J(p)^T c,

where J(p) acts on the tangents of the non-fixed arguments. For fixed p that is a linear operator with the functions
(jvp, vjp): its fixed arguments are all the primals, its one slot holds the tangents. Its derivative with respect to the
primals would be of second order, which a pair of host functions does not give.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax.interpreters import ad

from jaxbind import _errors, _linear
from jaxbind._jax_compat import instantiate, zero_tangent
from jaxbind._kwargs import Kwargs
from jaxbind._operator import LinearOperator, NonlinearOperator
from jaxbind._primitive import Axes, bind
from jaxbind._traced_rule import apply_rule


def derivative(operator: NonlinearOperator, count: int) -> LinearOperator:
    """The derivative of an operator as a linear operator.

    Parameters
    ----------
    operator
        The nonlinear operator.
    count
        Its number of arguments.

    Returns
    -------
    LinearOperator
        Takes all `count` primals, then the tangents of the non-fixed arguments.
    """
    if operator.jvp is None or operator.vjp is None or operator.abstract_reverse is None:
        raise _errors.no_derivative(operator.name)
    return LinearOperator(
        f=operator.jvp,
        T=(operator.vjp,),
        abstract=operator.abstract,
        abstract_T=(operator.abstract_reverse,),
        first_n_args_fixed=count,
        can_batch=operator.can_batch,
        batch_threads=operator.batch_threads,
        transpose_describer="abstract_reverse",
        remedy=_errors.second_order(operator.name),
    )


def jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, operator: NonlinearOperator, kwargs: Kwargs, axes: Axes
) -> tuple[list[Any], list[Any]]:
    """Forward-mode rule: one call of f and one of its derivative."""
    outs = bind(operator, kwargs, axes, primals)
    _linear.check_fixed(operator, tangents)
    moving = range(operator.first_n_args_fixed, len(primals))
    if all(type(tangents[i]) is ad.Zero for i in moving):
        return outs, [zero_tangent(out) for out in outs]
    if operator.rule is not None:
        known = [None if type(t) is ad.Zero else t for t in tangents]
        changes = apply_rule(operator.rule, primals, known, operator=operator, kwargs=kwargs, axes=axes)
        return outs, [_linear.tangent_of(out, change) for out, change in zip(outs, changes, strict=True)]
    args = [*primals, *(instantiate(tangents[i], primals[i]) for i in moving)]
    new_axes = (*axes, *(axes[i] for i in moving))
    changes = bind(derivative(operator, len(primals)), kwargs, new_axes, args)
    return outs, [_linear.tangent_of(out, change) for out, change in zip(outs, changes, strict=True)]


def transpose(cotangents: Sequence[Any], *args: Any, operator: NonlinearOperator, **_: Any) -> list[Any]:
    """Refuse: the operator itself is not linear in anything."""
    raise _errors.not_linear(operator.name, [i for i, arg in enumerate(args) if ad.is_undefined_primal(arg)])
