# SPDX-License-Identifier: BSD-2-Clause
"""Whether `jax.jit` and `jax.vmap` give what plain calls give.

The reference for vmap is a loop in Python over single calls. Elements of a batch differ, and sizes differ from level to
level, so that a mixed-up axis shows.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbind._checks.buffers import soundness
from jaxbind._checks.distance import Array, difference, is_inexact, largest
from jaxbind._checks.report import Collector, Outcome, spell_exception
from jaxbind._checks.subject import Subject

SIZES = (3, 2)  # Of the outer and the inner level.
Axes = tuple[int | None, ...]


class Function(NamedTuple):
    """A function of arrays, and what to call the arrays."""

    call: Callable[..., tuple[Any, ...]]
    labels: tuple[str, ...]
    # Per array, one version of it per element of the batch.
    versions: tuple[tuple[Array, ...], ...]


def check_jit(subject: Subject, collector: Collector) -> None:
    """Check that the operator runs, and that compiled and plain calls agree."""
    collector.run("call", lambda: _runs(subject), needs=["f: writes every output"])
    collector.run("jit", lambda: _compiles(subject), needs=["call"])


def check_batches(subject: Subject, collector: Collector) -> None:
    """Check vmap of the call and of its derivatives against loops."""
    collector.run("vmap", lambda: _equals_loop(subject, _forward(subject)), needs=["call"])
    if subject.differentiable and subject.paired:
        reverse = "transpose" if subject.is_linear else "vjp"
        needs = soundness(subject)
        collector.run(f"vmap of the {reverse}", lambda: _equals_loop(subject, _reverse(subject)), needs)
        if not subject.is_linear:
            collector.run("vmap of the jvp", lambda: _equals_loop(subject, _tangent(subject)), needs)


def _runs(subject: Subject) -> Outcome:
    first, second = (jax.block_until_ready(subject.evaluate(*subject.args)) for _ in range(2))
    return _compare(subject, first, second, "two equal calls differ: the function has a state, or uses random numbers")


def _compiles(subject: Subject) -> Outcome:
    compiled, plain = jax.jit(subject.evaluate)(*subject.args), subject.evaluate(*subject.args)
    return _compare(subject, compiled, plain, "the compiled call differs from the plain one")


def _compare(subject: Subject, found: Sequence[Any], expected: Sequence[Any], problem: str) -> Outcome:
    worst = (0.0, 0.0)
    for k, (have, want) in enumerate(zip(found, expected, strict=True)):
        if (have.shape, have.dtype) != (want.shape, want.dtype):
            spelled = f"{have.dtype}{have.shape}, expected {want.dtype}{want.shape}"
            return Outcome(False, f"{problem}: output {k} is {spelled}")
        error, where = difference(have, want)
        tolerance = subject.precision.atol + subject.precision.rtol * largest(want)
        if error > tolerance:
            return Outcome(False, f"{problem}: output {k} at {where}", error, tolerance)
        worst = max(worst, (error, tolerance))
    return Outcome(True, "equal", *worst)


def _forward(subject: Subject) -> Function:
    labels = tuple(f"argument {i}" for i in range(len(subject.args)))
    return Function(subject.evaluate, labels, _versions(subject))


def _reverse(subject: Subject) -> Function:
    count = len(subject.args)
    cotangents = zip(*(subject.cotangents(60 + n) for n in range(_count())), strict=True)
    return Function(
        lambda *arrays: subject.pull(arrays[:count], arrays[count:]),
        (*_forward(subject).labels, *(f"the cotangent of output {k}" for k in subject.paired)),
        (*_versions(subject), *cotangents),
    )


def _tangent(subject: Subject) -> Function:
    count = len(subject.args)
    tangents = (tuple(subject.direction(j, 70 + n) for n in range(_count())) for j in subject.differentiable)
    return Function(
        lambda *arrays: subject.push(arrays[:count], dict(zip(subject.differentiable, arrays[count:], strict=True))),
        (*_forward(subject).labels, *(f"the tangent of argument {j}" for j in subject.differentiable)),
        (*_versions(subject), *tangents),
    )


def _count() -> int:
    return SIZES[0] * SIZES[1]


def _versions(subject: Subject) -> tuple[tuple[Array, ...], ...]:
    """Arguments for the elements of a batch: random where the operator is linear, else near the examples.

    If the function does not accept the neighbours of an example (unit vectors, for instance), the example is repeated.
    """
    points = [subject.point(80 + n) for n in range(_count())]
    free = {i for slot in subject.slots for i in slot}
    near = [
        tuple(_nearby(arg, n) if i not in free else arg for i, arg in enumerate(point))
        for n, point in enumerate(points)
    ]
    try:
        for point in near:
            jax.block_until_ready(subject.evaluate(*point))
    except Exception:
        near = points
    return tuple(zip(*near, strict=True))


def _nearby(arg: Array, n: int) -> Array:
    if not is_inexact(arg.dtype):
        return arg
    return np.asarray(arg * np.asarray(1 - 0.05 * n, arg.dtype))


def _equals_loop(subject: Subject, function: Function) -> Outcome:
    @functools.cache
    def single(*chosen: int) -> tuple[Any, ...]:
        arrays = (versions[n] for versions, n in zip(function.versions, chosen, strict=True))
        return tuple(np.asarray(out) for out in function.call(*arrays))

    worst = (0.0, 0.0)
    count = 0
    for levels in _cases([versions[0].ndim for versions in function.versions]):
        problem = f"{_spell(levels, function.labels)}: the batch differs from a loop over its elements"
        mapped = function.call
        for axes in reversed(levels):
            mapped = jax.vmap(mapped, in_axes=axes)
        stacked = [_stack(versions, [axes[i] for axes in levels]) for i, versions in enumerate(function.versions)]
        try:
            found = mapped(*stacked)
        except Exception as error:
            return Outcome(False, f"{_spell(levels, function.labels)} raised {spell_exception(error)}")
        outcome = _compare(subject, found, _loop(single, levels), problem)
        if not outcome.passed:
            return outcome._replace(detail=f"{outcome.detail}. {_advice(subject)}")
        worst = max(worst, (outcome.error or 0.0, outcome.tolerance or 0.0))
        count += 1
    return Outcome(True, f"equals a loop in {count} ways of mapping", *worst)


def _cases(ranks: Sequence[int]) -> Iterator[tuple[Axes, ...]]:
    """Every array alone on every axis; all at the first, all at the last, all at different axes; nested."""
    nobody: list[int | None] = [None] * len(ranks)
    for i, rank in enumerate(ranks):
        for axis in range(rank + 1):
            yield ((*nobody[:i], axis, *nobody[i + 1 :]),)
    first, last = (0,) * len(ranks), tuple(ranks)
    mixed = tuple(i % (rank + 1) for i, rank in enumerate(ranks))
    yield from dict.fromkeys([(first,), (last,), (mixed,)])
    yield first, last
    yield tuple(rank + 1 for rank in ranks), first
    if len(ranks) > 1:
        yield (0, *nobody[1:]), (*nobody[:-1], ranks[-1])
        yield first, (0, *nobody[1:])


def _stack(versions: Sequence[Array], axes: Sequence[int | None]) -> Array:
    """A batched array: one axis per level that maps it, inner level first."""
    if len(axes) == 1:
        return versions[0] if axes[0] is None else np.stack(versions[: SIZES[0]], axes[0])
    outer, inner = axes
    rows = [versions[n * SIZES[1] : (n + 1) * SIZES[1]] for n in range(SIZES[0])]
    inside = [row[0] if inner is None else np.stack(row, inner) for row in rows]
    return inside[0] if outer is None else np.stack(inside, outer)


def _loop(single: Callable[..., tuple[Any, ...]], levels: Sequence[Axes]) -> list[Array]:
    """What the batch must equal: single calls, stacked with one leading axis per level."""
    sizes = SIZES[: len(levels)]
    strides = (SIZES[1], 1) if len(levels) == 2 else (1,)
    calls = []
    for index in itertools.product(*map(range, sizes)):
        offsets = [stride * n for stride, n in zip(strides, index, strict=True)]
        chosen = (
            sum(offset for offset, axis in zip(offsets, axes, strict=True) if axis is not None)
            for axes in zip(*levels, strict=True)
        )
        calls.append(single(*chosen))
    return [np.stack(outs).reshape(*sizes, *outs[0].shape) for outs in zip(*calls, strict=True)]


def _spell(levels: Sequence[Axes], labels: Sequence[str]) -> str:
    """How a case maps its arrays, in words, the outermost vmap first."""
    spelled = [
        ", ".join(f"{name} along its axis {axis}" for name, axis in zip(labels, axes, strict=True) if axis is not None)
        for axes in levels
    ]
    return f"mapping {' and inside that '.join(spelled)}"


def _advice(subject: Subject) -> str:
    if subject.record.can_batch:
        return (
            "Usual causes: the third entry of an abstract function names another axis than the newest batch axis of "
            "that output, or batch_axes are read for the wrong argument."
        )
    return "Usual cause: the function depends on state that a call leaves behind for the next one."
