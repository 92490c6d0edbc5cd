# SPDX-License-Identifier: BSD-2-Clause
"""Derivative rules that the user wrote in JAX: ``(primals, tangents, **kwargs) -> tangents_out``.

Owns how such a rule, which is written for one plain call, serves a batched call and the transposes of a linear
operator. Because the rule is traced like any other JAX code, what it gives can be differentiated again, to every order.

Mathematics. For a linear operator A(p) with fixed arguments p the rule gives the change of the result along a change of
p,

    R(p, dp, x) = (dA(p)/dp . dp) x,

which is linear in x. The transpose changes by the transpose of R in x, so A(p)^T needs no rule of its own. A
multilinear operator is linear in each slot, and the same holds for the slot that is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax

from jaxbind import _errors
from jaxbind._abstract import abstract_eval, output_axes
from jaxbind._kwargs import Kwargs
from jaxbind._operator import Record
from jaxbind._primitive import Axes

Rule = Callable[..., Any]


def apply_rule(
    rule: Rule, primals: Sequence[Any], tangents: Sequence[Any], *, operator: Record, kwargs: Kwargs, axes: Axes
) -> list[Any]:
    """Tangents of the outputs of a call, by the user's rule.

    Parameters
    ----------
    rule
        Takes the primals and tangents of one plain call; returns one tangent per output.
    primals
        All arguments of the call, batch axes included.
    tangents
        One per leading argument, None where it does not change.
    operator, kwargs, axes
        The parameters of the call.

    Returns
    -------
    list
        One tangent per output, batch axes included; None where the rule said that there is none.
    """
    out_axes = output_axes(operator, kwargs, axes, [jax.typeof(primal) for primal in primals])

    def run(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, ...]:
        found = rule(tuple(primals), tuple(tangents), **kwargs.load())
        if not isinstance(found, (tuple, list)) or len(found) != len(out_axes):
            raise _errors.bad_rule(operator.name, found, len(out_axes))
        return tuple(found)

    for level in range(len(axes[0])):
        in_axes = tuple(levels[level] for levels in axes)
        moved = tuple(None if t is None else axis for t, axis in zip(tangents, in_axes, strict=False))
        run = jax.vmap(run, in_axes=(in_axes, moved), out_axes=tuple(levels[level] for levels in out_axes))
    changes = list(run(tuple(primals), tuple(tangents)))
    outputs = abstract_eval(*map(jax.typeof, primals), operator=operator, kwargs=kwargs, axes=axes)
    for k, (change, output) in enumerate(zip(changes, outputs, strict=True)):
        if change is not None and (change.shape, change.dtype) != (output.shape, output.dtype):
            raise _errors.bad_rule_tangent(operator.name, k, *map(_errors.spell_aval, (change, output)))
    return changes
