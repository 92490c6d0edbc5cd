# SPDX-License-Identifier: BSD-2-Clause
"""Linearity, transposes, and derivatives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbind._checks.report import Check
from jaxbind._checks.subject import Arrays, Function, Subject, rounding

WRONG_TRANSPOSE = (
    "Usual causes: a missing or superfluous conjugate (JAX wants transposes, not adjoints), a sign, an axis."
)
WRONG_JVP = "Usual causes: a sign, a forgotten term of the product rule, tangents in another order than the arguments."


def derivative_checks(subject: Subject) -> Iterator[Check]:
    """Everything about derivatives that the kind of operator promises."""
    if hasattr(subject.record, "T"):
        groups = _slots(subject)
        for group in groups:
            yield _linearity(subject, group, len(groups))
        for group in groups:
            yield _transpose(subject, group)
            yield _double_transpose(subject, group)
    elif subject.record.jvp is None and subject.record.rule is None:
        return
    yield _forward_mode(subject)
    yield _reverse_mode(subject)


def _slots(subject: Subject) -> list[tuple[int, ...]]:
    """Positions, among the non-fixed arguments, of those in which the operator is linear together."""
    count = len(subject.moving)
    return [tuple(range(count))] if len(subject.record.T) == 1 else [(i,) for i in range(count)]


def _of(subject: Subject, group: Sequence[int]) -> Function:
    """The operator as a function of the arguments of one slot, the others random."""
    others = subject.draw(subject.moving, 1)

    def function(*values: Any) -> Arrays:
        chosen = dict(zip(group, values, strict=True))
        return subject.freeze(*(chosen.get(i, other) for i, other in enumerate(others)))

    return function


def _named(group: Sequence[int], subject: Subject) -> str:
    return f"argument {', '.join(str(i + subject.fixed) for i in group)}"


def _linearity(subject: Subject, group: tuple[int, ...], count: int) -> Check:
    function = _of(subject, group)
    x, y = (subject.draw([subject.moving[i] for i in group], salt) for salt in (2, 3))
    factor = -1.25  # Real: a map between complex arrays may be linear over the real numbers only, like conj.
    combined = [_cast(factor * a + b, a) for a, b in zip(x, y, strict=True)]
    expected = [_cast(factor * a + b, a) for a, b in zip(function(*x), function(*y), strict=True)]
    cause = "f(a x + y) differs from a f(x) + f(y). " + (
        "Is f nonlinear, or linear in each argument alone (then give one f_T per argument)?"
        if count == 1
        else "Is f nonlinear?"
    )
    return subject.compare(f"linear in {_named(group, subject)}", function(*combined), tuple(expected), cause)


def _cast(value: Any, like: Any) -> Any:
    return value.astype(like.dtype)


def _transpose(subject: Subject, group: tuple[int, ...]) -> Check:
    function = _of(subject, group)
    x = subject.draw([subject.moving[i] for i in group], 4)
    outs = function(*x)
    cotangents = subject.draw(outs, 5)
    pulled = jax.linear_transpose(function, *x)(cotangents)
    left, right = _pairing(cotangents, outs), _pairing(pulled, x)
    scale = sum(
        float(np.linalg.norm(np.ravel(a)) * np.linalg.norm(np.ravel(b))) for a, b in zip(cotangents, outs, strict=True)
    )
    error = abs(left.real - right.real)
    detail = f"<c, A x> is {left.real:.6g}, <A^T c, x> is {right.real:.6g}. {WRONG_TRANSPOSE}"
    error, tolerance = error / max(scale, 1e-30), subject.tolerance
    return Check(f"transpose in {_named(group, subject)}", error <= tolerance, detail, error, tolerance)


def _pairing(left: Arrays, right: Arrays) -> complex:
    """<a, b>: the sum of the products, without conjugation, in double precision."""
    wide = [[np.ravel(np.asarray(x)).astype(np.complex128) for x in arrays] for arrays in (left, right)]
    return complex(sum(np.sum(a * b) for a, b in zip(*wide, strict=True)))


def _double_transpose(subject: Subject, group: tuple[int, ...]) -> Check:
    function = _of(subject, group)
    x = subject.draw([subject.moving[i] for i in group], 6)
    transposed = jax.linear_transpose(function, *x)
    again = jax.linear_transpose(transposed, function(*x))(transposed(function(*x)))
    cause = "The transpose of the transpose has to be the operator; see the check of the transpose."
    name = f"transpose of the transpose in {_named(group, subject)}"
    return subject.compare(name, again, (function(*transposed(function(*x))),), cause)


def _forward_mode(subject: Subject) -> Check:
    """Compare jvp with central differences with one Richardson step, which is exact to fourth order."""
    x, direction = subject.moving, subject.draw(subject.moving, 7)
    direction = tuple(d if jnp.issubdtype(d.dtype, jnp.inexact) else None for d in direction)
    precision = max(rounding(v.dtype) for v in x if jnp.issubdtype(v.dtype, jnp.inexact))
    step = precision**0.2

    def along(t: float) -> Arrays:
        return subject.freeze(*(v if d is None else v + _cast(t * d, v) for v, d in zip(x, direction, strict=True)))

    coarse, fine = (
        [(np.asarray(a) - np.asarray(b)) / (2 * h) for a, b in zip(along(h), along(-h), strict=True)]
        for h in (step, step / 2)
    )
    expected = tuple((4 * b - a) / 3 for a, b in zip(coarse, fine, strict=True))
    found = _tangent(subject, x, direction)
    # Rounding grows by the inverse of the step, truncation is its fourth power.
    return subject.compare("jvp against finite differences", found, expected, WRONG_JVP, slack=max(1.0, 3 / step))


def _tangent(subject: Subject, x: Arrays, direction: Sequence[Any]) -> Arrays:
    tangents = tuple(
        np.zeros(v.shape, jax.dtypes.float0) if d is None else d for v, d in zip(x, direction, strict=True)
    )
    found: Arrays = jax.jvp(subject.freeze, x, tangents)[1]
    return found


def _reverse_mode(subject: Subject) -> Check:
    """Compare <c, J t> with <J^T c, t>."""
    x = subject.moving
    direction = [d if jnp.issubdtype(d.dtype, jnp.inexact) else None for d in subject.draw(x, 8)]
    tangents = _tangent(subject, x, direction)
    cotangents = subject.draw(tangents, 9)
    pulled = jax.vjp(subject.freeze, *x)[1](cotangents)
    pairs = [(p, d) for p, d in zip(pulled, direction, strict=True) if d is not None]
    left, right = _pairing(cotangents, tangents), _pairing(tuple(p for p, _ in pairs), tuple(d for _, d in pairs))
    scale = sum(
        float(np.linalg.norm(np.ravel(a)) * np.linalg.norm(np.ravel(b)))
        for a, b in zip(cotangents, tangents, strict=True)
    )
    error, tolerance = abs(left.real - right.real) / max(scale, 1e-30), subject.tolerance
    detail = f"<c, J t> is {left.real:.6g}, <J^T c, t> is {right.real:.6g}. jvp or vjp is wrong. {WRONG_TRANSPOSE}"
    return Check("vjp against jvp", error <= tolerance, detail, error, tolerance)
