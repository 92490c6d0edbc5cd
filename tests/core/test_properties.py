# SPDX-License-Identifier: BSD-2-Clause
"""Properties over random stacks of transformations: the operator and its twin stay equal under all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
from jaxbind import get_linear_call
from support import zoo
from support.arrays import draw
from support.oracles import assert_close

Function = Callable[[Any], Any]


def _vmap(f: Function) -> Function:
    """Map over scaled copies of the argument, along a new last axis, and keep one number per element."""
    return lambda x: jnp.sum(
        jax.vmap(f, in_axes=-1, out_axes=-1)(jnp.stack([x, 0.5 * x, x * x], axis=-1)) * jnp.arange(1.0, 4.0), axis=-1
    )


def _scan(f: Function) -> Function:
    return lambda x: jax.lax.scan(lambda carry, s: (jnp.sin(s * f(carry)), None), x, jnp.arange(1.0, 3.0))[0]


def _cond(f: Function) -> Function:
    return lambda x: jax.lax.cond(x[0] > 0, f, lambda x: 2.0 * f(x), x)


# From a function of vectors to vectors of the same length to another one.
STEPS: dict[str, Callable[[Function], Function]] = {
    "jit": jax.jit,
    "vmap": _vmap,
    "jvp": lambda f: lambda x: jax.jvp(f, (x,), (jnp.cos(x),))[1],
    "vjp": lambda f: lambda x: jax.vjp(f, x)[1](jnp.cos(x))[0],
    "scan": _scan,
    "cond": _cond,
    "checkpoint": jax.checkpoint,
    "linearize": lambda f: lambda x: jax.linearize(f, x)[1](x),
}
CASES = [case for case in zoo.ALL if case.name.removesuffix(", native") in ("cumsum", "bilinear, complex, fixed")]


def _endomorphism(case: zoo.Case, f: Callable[..., Any]) -> Function:
    """A real, nonlinear function from vectors to vectors of one length, in which the operator stands twice."""
    if case.kind == "linear":
        return lambda x: jnp.sin(f(jnp.cos(f(x)[0]))[0])

    def squared(x: Any) -> Any:
        p, _, b = map(jnp.asarray, case.args)
        z = jax.lax.complex(x, jnp.sin(x))
        return jnp.sin(f(p, z, f(p, z, b)[0])[0].real)

    return squared


@hypothesis.settings(max_examples=hypothesis.settings.default.max_examples // 4)
@hypothesis.given(case=st.sampled_from(CASES), steps=st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4))
def test_any_stack_of_transformations(case: zoo.Case, steps: list[str]) -> None:
    hypothesis.assume(steps.count("vmap") <= 2)
    found, expected = (_endomorphism(case, f) for f in (case.call, case.twin))
    for step in steps:
        found, expected = STEPS[step](found), STEPS[step](expected)
    x = jnp.asarray(draw(3, (len(case.args[-1]),)))
    assert_close(jax.jit(found)(x), jax.jit(expected)(x), 1e-9)


def _roll(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] = np.roll(args[0].ravel(), 1).reshape(out[0].shape)


def _roll_back(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] = np.roll(args[0].ravel(), -1).reshape(out[0].shape)


roll = get_linear_call(_roll, _roll_back, zoo.like(0), zoo.like(0))
SHAPES = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@hypothesis.given(shape=SHAPES, data=st.data())
def test_any_shape_and_axis(shape: tuple[int, ...], data: st.DataObject) -> None:
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    out_axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    size = data.draw(st.integers(0, 3))
    full = list(shape)
    full.insert(axis % (len(shape) + 1), size)
    x = draw(1, tuple(full))
    found = jax.vmap(lambda x: roll(x)[0], axis, out_axis)(x)
    rows = [np.roll(row.ravel(), 1).reshape(shape) for row in np.moveaxis(x, axis, 0)]
    expected = np.moveaxis(np.array(rows).reshape(size, *shape), 0, out_axis)
    assert_close(found, jnp.asarray(expected))


@hypothesis.settings(max_examples=hypothesis.settings.default.max_examples // 2)
@hypothesis.given(shape=SHAPES.filter(lambda shape: 0 not in shape), size=st.integers(1, 3))
def test_the_transpose_of_any_batch(shape: tuple[int, ...], size: int) -> None:
    x, c = draw(1, (size, *shape)), draw(2, (size, *shape))
    batched = jax.vmap(lambda x: roll(x)[0])
    (back,) = jax.linear_transpose(batched, x)(c)
    np.testing.assert_allclose(np.sum(c * batched(x)), np.sum(back * x), rtol=1e-12, atol=1e-12)
    assert_close(back, jnp.asarray([np.roll(row.ravel(), -1).reshape(shape) for row in c]))
