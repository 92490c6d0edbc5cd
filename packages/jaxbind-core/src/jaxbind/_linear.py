# SPDX-License-Identifier: BSD-2-Clause
"""Linear and multilinear operators: derivatives of every order from the functions that the user gave.

Owns the rules of both kinds, because a linear operator is the multilinear one with a single slot. Knows nothing of how
a call is lowered, and of batching only how a batched cotangent is brought into the form of its argument.

Mathematics. Fix the leading arguments p. A multilinear operator y = B(x_1, .., x_n) is one multilinear form

    F(c, x_1, .., x_n) = <c, B(x_1, .., x_n)>,      <a, b> = sum_k a_k b_k (no conjugation),

in n + 1 slots; slot 0 holds the cotangents c, one per output. The functions that the user gave are its partial
gradients: B is the gradient with respect to slot 0, T_i the one with respect to slot i. So "the operator with slot s
missing" is B or one of the T_i, and takes all other slots as arguments: x_1 .. x_n in order, then c. From this follows
everything.

    jvp         sum over the slots j of the arguments: the same operator with x_j replaced by its tangent.
    transpose   of the operator with slot s missing, with respect to slot t, applied to g: the gradient with respect to
                t of F with g in slot s. That is the operator with slot t missing, and g in slot s.

The transpose is in the family again, so the rules close at every order. A linear operator y = A x has one slot, which
holds all its non-fixed arguments together: slots (c, x), functions A and A^T. First derivatives of a nonlinear operator
are such a linear operator too, with the primals as fixed arguments (`jaxbind._nonlinear`).

Source: the rules for bilinear primitives in R. Frostig, M. J. Johnson, D. Maclaurin, A. Paszke, A. Radul, "Decomposing
reverse-mode automatic differentiation" (arXiv:2105.09469), extended from two slots to n + 1.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad

from jaxbind import _errors
from jaxbind._abstract import abstract_eval, output_axes, without_batch
from jaxbind._batching import rebatch
from jaxbind._jax_compat import instantiate, zero_tangent
from jaxbind._kwargs import Kwargs
from jaxbind._operator import LinearOperator, Record
from jaxbind._primitive import Axes, bind
from jaxbind._traced_rule import apply_rule


def slots(operator: LinearOperator, count: int) -> dict[int, range]:
    """Positions of the arguments that each slot holds, in the order of the arguments.

    Every slot holds one argument, except the last, which takes the rest: the cotangents of all outputs, or all the
    arguments of a linear operator.

    Parameters
    ----------
    operator
        The operator, with one slot missing.
    count
        Number of arguments of the call.

    Returns
    -------
    dict
        Slot number to range of positions.
    """
    order = [*range(1, len(operator.T) + 1), 0]
    order.remove(operator.missing)
    first = operator.first_n_args_fixed
    found = {slot: range(first + k, first + k + 1) for k, slot in enumerate(order[:-1])}
    found[order[-1]] = range(first + len(order) - 1, count)
    return found


def jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, operator: LinearOperator, kwargs: Kwargs, axes: Axes
) -> tuple[list[Any], list[Any]]:
    """Forward-mode rule: one call per slot with a tangent that is not zero."""
    outs = bind(operator, kwargs, axes, primals)
    terms = [_along(slot, primals, tangents, operator, kwargs, axes) for slot in slots(operator, len(primals)).values()]
    terms.append(_along_fixed(primals, tangents, operator, kwargs, axes))
    changes = zip(*(term for term in terms if term is not None), strict=True)
    totals = [functools.reduce(_add, parts) for parts in changes] or [None] * len(outs)
    return outs, [tangent_of(out, total) for out, total in zip(outs, totals, strict=True)]


def _add(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return right if left is None else left
    return jnp.add(left, right)


def tangent_of(out: Any, change: Any) -> Any:
    """The tangent of an output: its change, or a symbolic zero where there is none or the output is an integer."""
    if change is None or not jnp.issubdtype(out.dtype, jnp.inexact):
        return zero_tangent(out)
    return change


def _along(
    slot: range, primals: Sequence[Any], tangents: Sequence[Any], operator: LinearOperator, kwargs: Kwargs, axes: Axes
) -> list[Any] | None:
    """The operator with one slot replaced by its tangents; None if they are all zero."""
    if all(type(tangents[i]) is ad.Zero for i in slot):
        return None
    args = [instantiate(tangents[i], primal) if i in slot else primal for i, primal in enumerate(primals)]
    return bind(operator, kwargs, axes, args)


def _along_fixed(
    primals: Sequence[Any], tangents: Sequence[Any], operator: LinearOperator, kwargs: Kwargs, axes: Axes
) -> list[Any] | None:
    """The change of the result along the tangents of the fixed arguments; None if they are all zero."""
    moving = [None if type(t) is ad.Zero else t for t in tangents[: operator.first_n_args_fixed]]
    if all(t is None for t in moving):
        return None
    if operator.fixed_derivative is None:
        check_fixed(operator, tangents)
    rule = functools.partial(_rule_with_missing_slot, operator)
    return apply_rule(rule, primals, moving, operator=operator, kwargs=kwargs, axes=axes)


def _rule_with_missing_slot(
    operator: LinearOperator, args: Sequence[Any], tangents: Sequence[Any], **kwargs: Any
) -> Any:
    """The user's rule; for a transpose, the rule's own transpose with respect to the missing slot."""
    rule = operator.fixed_derivative
    if rule is None:
        raise _errors.broken_invariant("a rule that does not exist was asked for")
    if operator.missing == 0:
        return rule(args, tangents, **kwargs)
    positions = slots(operator, len(args))
    static = Kwargs.make(kwargs)
    unknown = abstract_eval(*map(jax.typeof, args), operator=operator, kwargs=static, axes=((),) * len(args))

    def forward(*values: Any) -> tuple[Any, ...]:
        contents: dict[int, Sequence[Any]] = {slot: [args[i] for i in held] for slot, held in positions.items()}
        contents[operator.missing] = values
        order = slots(operator._replace(missing=0), len(args))
        primals = (*args[: operator.first_n_args_fixed], *(value for slot in order for value in contents[slot]))
        return tuple(rule(primals, tangents, **kwargs))

    cotangents = tuple(args[i] for i in positions[0])
    return jax.linear_transpose(forward, *unknown)(cotangents)


def transpose(cotangents: Sequence[Any], *args: Any, operator: LinearOperator, kwargs: Kwargs, axes: Axes) -> list[Any]:
    """Reverse-mode rule: the slot to transpose goes missing, and the cotangents fill the old missing one."""
    linear = [i for i, arg in enumerate(args) if ad.is_undefined_primal(arg)]
    for i in linear:
        if i < operator.first_n_args_fixed:
            raise _errors.fixed_argument(operator.name, i, operator.first_n_args_fixed, operator.remedy)
    positions = slots(operator, len(args))
    target = [slot for slot, held in positions.items() if any(i in held for i in linear)]
    if len(target) != 1:
        raise _errors.not_linear(operator.name, linear)
    if all(type(ct) is ad.Zero for ct in cotangents):
        return [ad.Zero(arg.aval) if i in linear else None for i, arg in enumerate(args)]

    avals = [arg.aval if i in linear else jax.typeof(arg) for i, arg in enumerate(args)]
    derived = operator._replace(missing=target[0])
    contents = {slot: [(args[i], axes[i]) for i in held] for slot, held in positions.items()}
    contents[operator.missing] = _filled(cotangents, avals, operator, kwargs, axes)
    order = slots(derived, len(args))  # The count does not matter: only the order of the slots is used.
    fixed = range(operator.first_n_args_fixed)
    new_args = [*((args[i], axes[i]) for i in fixed), *(item for slot in order for item in contents[slot])]
    values = [arg for arg, _ in new_args]
    new_axes = tuple(levels for _, levels in new_args)
    held = positions[target[0]]
    have = _checked_axes(derived, kwargs, new_axes, values, {i: (avals[i], axes[i]) for i in held})
    results = bind(derived, kwargs, new_axes, values)
    found = {i: rebatch(result, h, axes[i]) for i, result, h in zip(held, results, have, strict=True)}
    return [found[i] if i in linear else None for i in range(len(args))]


def _checked_axes(
    derived: LinearOperator, kwargs: Kwargs, axes: Axes, values: Sequence[Any], held: dict[int, tuple[Any, Any]]
) -> Axes:
    """Batch axes of a transpose's outputs, after a check that they fit the arguments whose cotangents they are."""
    inputs = [jax.typeof(value) for value in values]
    outputs = abstract_eval(*inputs, operator=derived, kwargs=kwargs, axes=axes)
    if len(outputs) != len(held):
        raise _errors.bad_cotangent_count(derived.f.display_name, derived.describe_name, len(outputs), len(held))
    have = output_axes(derived, kwargs, axes, inputs)
    for (i, (aval, levels)), output, inserted in zip(held.items(), outputs, have, strict=True):
        found, expected = without_batch(output, inserted), without_batch(aval, levels)
        if (found.shape, found.dtype) != (expected.shape, expected.dtype):
            spelled = map(_errors.spell_aval, (found, expected))
            raise _errors.bad_cotangent(derived.f.display_name, derived.describe_name, i, *spelled)
    return have


def _filled(
    cotangents: Sequence[Any], avals: Sequence[Any], operator: LinearOperator, kwargs: Kwargs, axes: Axes
) -> list[tuple[Any, tuple[int | None, ...]]]:
    """The cotangents as arrays, with the batch axes of the outputs they belong to."""
    outputs = abstract_eval(*avals, operator=operator, kwargs=kwargs, axes=axes)
    arrays = [instantiate(ct, aval) for ct, aval in zip(cotangents, outputs, strict=True)]
    return list(zip(arrays, output_axes(operator, kwargs, axes, avals), strict=True))


def check_fixed(operator: Record, tangents: Sequence[Any]) -> None:
    """Refuse tangents of fixed arguments, by name and position."""
    for i in range(operator.first_n_args_fixed):
        if type(tangents[i]) is not ad.Zero:
            raise _errors.fixed_argument(operator.name, i, operator.first_n_args_fixed, operator.remedy)
