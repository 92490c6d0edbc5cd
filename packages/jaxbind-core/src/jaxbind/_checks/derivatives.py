# SPDX-License-Identifier: BSD-2-Clause
"""Whether an operator is linear where it says so, and whether its derivatives are derivatives.

Mathematics. J is the derivative of the operator in its differentiable arguments; a linear operator is its own. The
functions that the user gave must fulfil

    J dx = d/dt f(x + t dx)  at t = 0,              Re <c, J dx> = Re <J^T c, dx>,      <a, b> = sum_k a_k b_k.

There is no conjugation: JAX's transposes are plain ones. The real part is what is left of the identity when one side is
real and the other complex: for y = Re(z) JAX's transpose of a real c is c itself, and Re <c, Re z> = Re <c, z>, while
<c, z> has an imaginary part. For J linear over the complex numbers the real part alone is as strong as the whole,
because Im <c, J dx> = -Re <c, J (i dx)>.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxbind._checks.buffers import soundness
from jaxbind._checks.causes import cause_of_nonlinearity, cause_of_wrong_tangent, cause_of_wrong_transpose
from jaxbind._checks.distance import Array, difference, is_complex, is_inexact, largest, pairing, wide
from jaxbind._checks.finite_differences import Slope, slopes
from jaxbind._checks.report import Collector, Outcome
from jaxbind._checks.subject import Subject, replaced

PROBES = 3


def check_linearity(subject: Subject, collector: Collector) -> None:
    """Check linearity in every slot."""
    for name, free in _slots(subject):
        collector.run(name, functools.partial(_is_linear, subject, free), needs=["call"])


def check_derivatives(subject: Subject, collector: Collector) -> None:
    """Check tangents against finite differences, and cotangents against tangents."""
    if not (subject.differentiable and subject.paired):
        return
    needs = [*soundness(subject), *(name for name, _ in _slots(subject))]
    collector.run("jvp", lambda: _tangents(subject), needs)
    if subject.is_linear:
        collector.run("transpose", lambda: _transposes(subject), needs)
    else:
        collector.run("vjp", lambda: _cotangents(subject), needs)
        collector.run("vjp is the transpose of jvp", lambda: _transposes(subject), needs)


def _slots(subject: Subject) -> list[tuple[str, tuple[int, ...]]]:
    """Name of the check and positions of the real or complex arguments, for every slot that has some."""
    inexact = [tuple(i for i in slot if is_inexact(subject.args[i].dtype)) for slot in subject.slots]
    if not subject.paired:
        return []
    return [(f"linearity in argument {', '.join(map(str, free))}", free) for free in inexact if free]


def _is_linear(subject: Subject, slot: tuple[int, ...]) -> Outcome:
    error, tolerance, where = nonlinearity(subject, slot, (1.7, -0.6))
    if not error <= tolerance:
        arguments = "argument" if len(slot) == 1 else "arguments"
        found = f"A(a x + b y) is not a A(x) + b A(y) in {arguments} {', '.join(map(str, slot))}, output {where}"
        return Outcome(False, f"{found}: {cause_of_nonlinearity(subject, slot, nonlinearity)}", error, tolerance)
    # Not required: JAX's rules serve maps like conj too. But worth saying.
    dtypes = [subject.args[i].dtype for i in slot] + [subject.outputs[k].dtype for k in subject.paired]
    twisted = nonlinearity(subject, slot, (0.8 + 1.1j, -0.6 - 0.3j)) if all(map(is_complex, dtypes)) else (1.0, 0.0, 0)
    over = "complex" if twisted[0] <= twisted[1] else "real"
    return Outcome(True, f"over the {over} numbers", error, tolerance)


def nonlinearity(subject: Subject, slot: tuple[int, ...], factors: Sequence[complex]) -> tuple[float, float, int]:
    """How far A(a x + b y) is from a A(x) + b A(y): the error, its tolerance, and the output where it is worst."""
    args = subject.point(0)
    ends = [{i: subject.direction(i, key) for i in slot} for key in (10, 11)]
    mixed = {
        i: np.asarray(sum(a * wide(end[i]) for a, end in zip(factors, ends, strict=True))).astype(args[i].dtype)
        for i in slot
    }
    x, y, both = (subject.evaluate(*replaced(args, values)) for values in (*ends, mixed))
    found = []
    for k in subject.paired:
        parts = [a * wide(out[k]) for a, out in zip(factors, (x, y), strict=True)]
        tolerance = subject.precision.atol + subject.precision.rtol * sum(map(largest, parts))
        found.append((difference(both[k], parts[0] + parts[1])[0], tolerance, k))
    return max(found, key=lambda entry: _excess(*entry[:2]))


def _tangents(subject: Subject) -> Outcome:
    args = subject.point(0)
    worst = (0.0, 0.0)
    each = [{j: subject.direction(j, 20)} for j in subject.differentiable]
    together = [{j: subject.direction(j, 20) for j in subject.differentiable}]
    for tangents in each + (together if len(each) > 1 else []):
        pushed = subject.push(args, tangents)
        found = zip(subject.paired, pushed, slopes(subject, args, tangents), strict=True)
        for k, tangent, slope in found:
            where = f"argument {', '.join(map(str, tangents))} and output {k}"
            limit = _settled(subject, slope, subject.evaluate(*args)[k])
            if not slope.error <= limit:
                cause = "the function is not smooth here, or noisy. Choose another point, or a larger rtol"
                return Outcome(False, f"finite differences for {where} do not settle: {cause}.", slope.error, limit)
            error, index = difference(tangent, slope.value)
            scale = max(largest(tangent), largest(slope.value))
            tolerance = subject.precision.atol + subject.precision.rtol * scale + 4 * slope.error
            if not error <= tolerance:
                values = f"at {index} it is {wide(tangent)[index]:.6g}; finite differences: {slope.value[index]:.6g}"
                cause = cause_of_wrong_tangent(tangent, slope.value, tolerance)
                return Outcome(False, f"the tangent for {where} is wrong: {values}. {cause}", error, tolerance)
            worst = max(worst, (error, tolerance), key=lambda entry: _excess(*entry))
    return Outcome(True, "agrees with finite differences", *worst)


def _settled(subject: Subject, slope: Slope, value: Any) -> float:
    """Largest error of a useful finite difference: some per cent of it, or what the rounding of the value explains."""
    rounding = float(subject.precision.eps) ** 0.5
    limit: float = max(0.02, 3 * rounding) * largest(slope.value) + rounding * largest(value)
    return limit


def _cotangents(subject: Subject) -> Outcome:
    args = subject.point(0)
    pulled = {k: subject.pull(args, only(subject, k, 0)) for k in subject.paired}
    worst = (0.0, 0.0)
    for n, j in enumerate(subject.differentiable):
        tangent = subject.direction(j, 30)
        for k, slope in zip(subject.paired, slopes(subject, args, {j: tangent}), strict=True):
            cotangent = only(subject, k, 0)[subject.paired.index(k)]
            expected, scale = pairing(cotangent, slope.value)
            found, other = pairing(pulled[k][n], tangent)
            allowed = 4 * slope.error * float(np.sum(np.abs(wide(cotangent))))
            tolerance = subject.precision.atol + subject.precision.rtol * max(scale, other) + allowed
            error = abs(found - expected)
            if not error <= tolerance:
                values = f"Re <vjp(c), dx> = {found:.6g}, finite differences give Re <c, J dx> = {expected:.6g}"
                cause = _cause(subject, args, k, j)
                where = f"argument {j} and output {k}"
                return Outcome(False, f"the cotangent for {where} is wrong: {values}. {cause}", error, tolerance)
            worst = max(worst, (error, tolerance), key=lambda entry: _excess(*entry))
    return Outcome(True, "agrees with finite differences", *worst)


def only(subject: Subject, k: int, probe: int) -> tuple[Array, ...]:
    """Random cotangents of one output, zero for the others."""
    return tuple(
        cotangent if position == k else np.zeros_like(cotangent)
        for position, cotangent in zip(subject.paired, subject.cotangents(40 + probe), strict=True)
    )


def _transposes(subject: Subject) -> Outcome:
    args = subject.point(0)
    found: list[tuple[float, float, int, int, float, float]] = []
    for probe in range(PROBES):
        tangents = {j: subject.direction(j, 50 + probe) for j in subject.differentiable}
        pushed = {j: subject.push(args, {j: tangent}) for j, tangent in tangents.items()}
        for m, k in enumerate(subject.paired):
            cotangents = only(subject, k, probe)
            pulled = subject.pull(args, cotangents)
            for n, (j, tangent) in enumerate(tangents.items()):
                right, scale = pairing(cotangents[m], pushed[j][m])
                left, other = pairing(pulled[n], tangent)
                tolerance = subject.precision.atol + subject.precision.rtol * max(scale, other)
                found.append((abs(left - right), tolerance, k, j, left, right))
    error, tolerance, k, j, left, right = max(found, key=lambda entry: _excess(*entry[:2]))
    if error <= tolerance:
        return Outcome(True, "Re <c, J dx> = Re <J^T c, dx>", error, tolerance)
    role = subject.transpose_role
    role = f"{role}[{j}]" if len(subject.slots) > 1 and j >= subject.fixed else role
    values = f"Re <c, J dx> = {right:.6g}, Re <J^T c, dx> = {left:.6g}"
    wrong = f"{role} does not give the transpose for argument {j} and output {k}: {values}"
    return Outcome(False, f"{wrong}. {_cause(subject, args, k, j)}", error, tolerance)


def _cause(subject: Subject, args: tuple[Array, ...], k: int, j: int) -> str:
    tangents = [subject.direction(j, 50 + probe) for probe in range(PROBES)]
    cotangents = [only(subject, k, probe) for probe in range(PROBES)]
    return cause_of_wrong_transpose(subject, args, (k, j), list(zip(cotangents, tangents, strict=True)))


def _excess(error: float, tolerance: float) -> float:
    """How many times the tolerance an error is; what is not a number is worst."""
    if np.isnan(error) or np.isnan(tolerance):
        return float(np.inf)
    if tolerance == 0:
        return float(np.inf if error else 0.0)
    return error / tolerance
