# SPDX-License-Identifier: BSD-2-Clause
"""What usually causes a wrong result: likely mistakes are tried one by one, and the one that explains it is named."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jaxbind._checks.distance import Array, difference, is_complex, largest, pairing, wide
from jaxbind._checks.subject import Subject, replaced

# Cotangents and tangents that belong together.
Probe = tuple[tuple[Array, ...], Array]


def cause_of_nonlinearity(
    subject: Subject, slot: tuple[int, ...], measure: Callable[..., tuple[float, float, int]]
) -> str:
    """Why A(a x + b y) is not a A(x) + b A(y)."""
    args = subject.point(0)
    nothing = subject.evaluate(*replaced(args, {i: np.zeros_like(args[i]) for i in slot}))
    offset = max(largest(nothing[k]) for k in subject.paired)
    if offset > 100 * subject.precision.eps * max(largest(out) for out in subject.evaluate(*args)):
        return f"a constant is added, since A(0) has elements up to {offset:.3g}."
    separately = (measure(subject, (i,), (1.7, -0.6)) for i in slot)
    if len(slot) > 1 and all(error <= tolerance for error, tolerance, _ in separately):
        return "it is linear in each argument alone. Give f_T and abstract_T as sequences, one entry per argument."
    return "the function is not linear. Bind it with get_nonlinear_call, or declare what it is not linear in as fixed."


def cause_of_wrong_tangent(found: Any, expected: Array, tolerance: float) -> str:
    """Why a tangent is not the derivative."""
    have = wide(found)
    if difference(-have, expected)[0] <= tolerance:
        return "The sign is wrong."
    if is_complex(have.dtype) and difference(np.conj(have), expected)[0] <= tolerance:
        return "It is the complex conjugate of the derivative."
    factor = np.vdot(expected, have).real / (np.vdot(expected, expected).real or 1.0)
    if factor and difference(have / factor, expected)[0] <= tolerance:
        return f"It is {factor:.6g} times the derivative."
    return "Usual causes: a missing inner derivative, a missing term, or arguments in the wrong order."


def cause_of_wrong_transpose(
    subject: Subject, args: tuple[Array, ...], pair: tuple[int, int], probes: Sequence[Probe]
) -> str:
    """Why Re <c, J dx> is not Re <J^T c, dx>.

    Parameters
    ----------
    subject, args
        The operator and where.
    pair
        Output and argument.
    probes
        Cotangents of all outputs, and a tangent of the argument.
    """
    k, j = pair
    n, m = subject.differentiable.index(j), subject.paired.index(k)
    expected = [pairing(c[m], subject.push(args, {j: dx})[m])[0] for c, dx in probes]
    pulled = [wide(subject.pull(args, c)[n]) for c, _ in probes]
    near = 1e3 * subject.precision.rtol

    def explains(changed: Sequence[Any]) -> bool:
        values = [pairing(value, dx)[0] for value, (_, dx) in zip(changed, probes, strict=True)]
        return bool(np.allclose(values, expected, rtol=near, atol=near * max(map(abs, expected))))

    if explains(pulled):
        return "It is the transpose of the tangents, which are wrong themselves."
    ignored = _ignored_keyword(subject, args, (m, n, j), probes[0])
    if ignored:
        return ignored
    if explains([-value for value in pulled]):
        return "The sign is wrong."
    some_complex = is_complex(pulled[0].dtype) or is_complex(subject.outputs[k].dtype)
    conjugated = [np.conj(wide(subject.pull(args, tuple(map(np.conj, c)))[n])) for c, _ in probes]
    if some_complex and explains(conjugated):
        return (
            "A conjugate is missing: this is the adjoint, and JAX wants the plain transpose. "
            "Conjugate the cotangent before the adjoint and its result after it."
        )
    if is_complex(pulled[0].dtype) and explains([np.conj(value) for value in pulled]):
        return "A conjugate is missing or too many: the complex conjugate of the result would be right."
    for axes in itertools.permutations(range(pulled[0].ndim)):
        if pulled[0].transpose(axes).shape == pulled[0].shape and explains([v.transpose(axes) for v in pulled]):
            return f"Axes are transposed: right with the axes of the result in the order {axes}."
    ratios = [
        pairing(value, dx)[0] / (right or 1.0) for value, (_, dx), right in zip(pulled, probes, expected, strict=True)
    ]
    if ratios[0] and np.allclose(ratios, ratios[0], rtol=near):
        return f"It is {ratios[0]:.6g} times the transpose: a normalisation or a factor is missing or too many."
    return "Usual causes: a sign or conjugate in one term, swapped arguments or axes, another boundary condition."


def _ignored_keyword(subject: Subject, args: tuple[Array, ...], at: tuple[int, int, int], probe: Probe) -> str | None:
    """A keyword argument that changes the operator but not its transpose."""
    m, n, j = at
    for name, kwargs in _changed_keywords(subject.kwargs):
        other = dataclasses.replace(subject, kwargs=kwargs)
        try:
            forward = [each.push(args, {j: probe[1]})[m] for each in (subject, other)]
            backward = [each.pull(args, probe[0])[n] for each in (subject, other)]
        except Exception:  # The operator cannot do with that, so there is nothing to compare.
            continue
        if difference(*forward)[0] > 0 and difference(*backward)[0] == 0:
            return f"The keyword argument {name!r} changes f but not its transpose: it is ignored there."
    return None


def _changed_keywords(kwargs: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Keyword arguments with one of them left out, negated or made larger."""
    for name, value in kwargs.items():
        yield name, {key: other for key, other in kwargs.items() if key != name}
        if isinstance(value, bool):
            yield name, {**kwargs, name: not value}
        elif isinstance(value, float):
            yield name, {**kwargs, name: 1.5 * value + 0.5}
