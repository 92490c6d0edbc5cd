# SPDX-License-Identifier: BSD-2-Clause
"""jit and vmap against plain calls, and keyword arguments against themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxbind._checks.report import Check
from jaxbind._checks.subject import Arrays, Function, Subject

SIZE = 3
WRONG_BATCH = (
    "A function that batches natively (func_can_batch=True) has to honour batch_axes and name its output axes."
)


def batch_checks(subject: Subject) -> Iterator[Check]:
    """The compiled call and every batch equal what single calls give."""
    plain = subject.call(*subject.args)
    cause = "The function depends on more than its arguments (global state, random numbers)."
    yield subject.compare("a second call gives the same", subject.call(*subject.args), plain, cause)
    yield subject.compare("jit equals a plain call", jax.jit(subject.call)(*subject.args), plain, cause)
    for i in range(len(subject.args)):
        for axis in range(subject.args[i].ndim + 1):
            yield _batch(subject, subject.call, {i: axis}, f"vmap of argument {i} along axis {axis}")
    everything = dict.fromkeys(range(len(subject.args)), 0)
    yield _batch(subject, subject.call, everything, "vmap of all arguments")
    yield _nested(subject)
    if hasattr(subject.record, "T") or subject.record.jvp is not None or subject.record.rule is not None:
        yield _batch(subject, _pullback(subject), everything, "vmap of the reverse mode")


def _spread(subject: Subject, axes: dict[int, int], salt: int) -> list[Any]:
    """The example inputs, those with an axis stacked from multiples of themselves along it."""
    del salt
    factors = [1.0, 0.5, -1.5]
    return [
        jnp.stack([_scaled(x, f) for f in factors], axes[i]) if i in axes else x for i, x in enumerate(subject.args)
    ]


def _scaled(x: Any, factor: float) -> Any:
    """Another point of the same kind; integers and fixed values stay what they are."""
    return x * jnp.asarray(factor, x.dtype) if jnp.issubdtype(x.dtype, jnp.inexact) else x


def _batch(subject: Subject, function: Function, axes: dict[int, int], name: str) -> Check:
    moving = {i: axis for i, axis in axes.items() if i >= subject.fixed}
    axes = moving or axes
    args = _spread(subject, axes, 31)
    if not moving:  # Other values of a fixed argument may mean nothing, so the batch repeats the example.
        args = [jnp.stack([x] * SIZE, axes[i]) if i in axes else x for i, x in enumerate(subject.args)]
    found = jax.vmap(function, tuple(axes.get(i) for i in range(len(args))))(*args)
    expected = _loop(function, args, axes)
    return subject.compare(name, found, expected, f"Differs from a loop over the batch. {WRONG_BATCH}")


def _loop(function: Function, args: Sequence[Any], axes: dict[int, int]) -> Arrays:
    rows = [function(*(jnp.take(x, n, axes[i]) if i in axes else x for i, x in enumerate(args))) for n in range(SIZE)]
    return tuple(jnp.stack(outs) for outs in zip(*rows, strict=True))


def _nested(subject: Subject) -> Check:
    last = len(subject.args) - 1
    inner = tuple(0 if i == last else None for i in range(last + 1))
    outer = tuple(-1 if i == last else None for i in range(last + 1))
    x = _spread(subject, {last: 0}, 32)[last]
    both = jnp.stack([x, _scaled(x, 2.0)], -1)
    args = (*subject.args[:-1], both)
    found = jax.vmap(jax.vmap(subject.call, inner), outer)(*args)
    rows = [_loop(subject.call, (*subject.args[:-1], both[..., n]), {last: 0}) for n in range(2)]
    expected = tuple(jnp.stack(outs) for outs in zip(*rows, strict=True))
    return subject.compare("vmap of vmap", found, expected, f"Differs from two loops. {WRONG_BATCH}")


def _pullback(subject: Subject) -> Function:
    cotangents = subject.draw(jax.eval_shape(subject.call, *subject.args), 33)
    inexact = [i for i in range(subject.fixed, len(subject.args)) if jnp.issubdtype(subject.args[i].dtype, jnp.inexact)]

    def pull(*args: Any) -> Arrays:
        def moving(*values: Any) -> Arrays:
            chosen = dict(zip(inexact, values, strict=True))
            return tuple(subject.call(*(chosen.get(i, arg) for i, arg in enumerate(args))))

        found: Arrays = jax.vjp(moving, *(args[i] for i in inexact))[1](cotangents)
        return found

    return pull
