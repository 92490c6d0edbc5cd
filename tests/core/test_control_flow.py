# SPDX-License-Identifier: BSD-2-Clause
"""Operators inside JAX's control flow and function transformations, compared with their twins there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import zoo
from support.oracles import assert_close
from support.process import run

Function = Callable[[Any], Any]
(CUMSUM,) = (case for case in zoo.ALL if case.name == "cumsum")
(NATIVE,) = (case for case in zoo.ALL if case.name == "cumsum, native")


def _custom_vjp(f: Function) -> Function:
    @jax.custom_vjp
    def doubled(x: jax.Array) -> jax.Array:
        return 2 * f(x)

    doubled.defvjp(lambda x: (doubled(x), x), lambda x, c: (3 * f(c) + 0 * x,))
    return doubled


# Functions of an operator that maps a vector to a vector.
FLOWS: dict[str, Callable[[Function], Function]] = {
    "scan": lambda f: lambda x: jax.lax.scan(lambda c, s: (0.5 * f(c) * s, f(c)), x, jnp.arange(1.0, 4.0)),
    "while_loop": lambda f: lambda x: jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, f(c[1])), (0, x)),
    "fori_loop": lambda f: lambda x: jax.lax.fori_loop(0, 3, lambda i, c: jnp.sin(f(c)), x),
    "cond": lambda f: lambda x: jax.lax.cond(x[0] > 0, f, lambda x: -f(x), x),
    "map": lambda f: lambda x: jax.lax.map(f, jnp.outer(jnp.arange(3.0), x)),
    "map in batches": lambda f: lambda x: jax.lax.map(f, jnp.outer(jnp.arange(3.0), x), batch_size=2),
    "associative use": lambda f: lambda x: f(f(x)) + f(x) * jnp.max(f(x)),
    "checkpoint": lambda f: jax.checkpoint(lambda x: jnp.sin(f(jnp.sin(f(x))))),
    "custom_vjp": _custom_vjp,
    "dead code": lambda f: lambda x: (f(x), x)[1],
}
DIFFERENTIABLE = [name for name in FLOWS if name not in ("while_loop", "fori_loop")]


@pytest.mark.parametrize("case", [CUMSUM, NATIVE], ids=lambda case: case.name)
@pytest.mark.parametrize("compile_it", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("flow", FLOWS)
def test_value(flow: str, compile_it: bool, case: zoo.Case) -> None:
    x = jnp.asarray(case.args[0])
    found, expected = (FLOWS[flow](lambda x, f=f: f(x)[0]) for f in (case.call, case.twin))
    assert_close((jax.jit(found) if compile_it else found)(x), expected(x))


@pytest.mark.parametrize("case", [CUMSUM, NATIVE], ids=lambda case: case.name)
@pytest.mark.parametrize("flow", DIFFERENTIABLE)
def test_gradient_and_batch_of_gradients(flow: str, case: zoo.Case) -> None:
    x = jnp.asarray(case.args[0])

    def loss(f: Function) -> Function:
        flowing = FLOWS[flow](lambda x: f(x)[0])
        return lambda x: sum(jnp.sum(jnp.sin(leaf)) for leaf in jax.tree.leaves(flowing(x)))

    found, expected = (jax.jit(jax.vmap(jax.grad(loss(f)))) for f in (case.call, case.twin))
    many = jnp.stack([x, -x])
    assert_close(found(many), expected(many))


def test_donated_arguments() -> None:
    x = jnp.asarray(CUMSUM.args[0])
    expected = jnp.cumsum(x) + x
    found = jax.jit(lambda x: CUMSUM.call(x)[0] + x, donate_argnums=0)(x)
    assert_close(found, expected)


def test_two_equal_calls_may_be_merged_and_none_is_lost() -> None:
    x = jnp.asarray(CUMSUM.args[0])
    assert_close(jax.jit(lambda x: CUMSUM.call(x)[0] + CUMSUM.call(x)[0])(x), 2 * jnp.cumsum(x))


def test_without_x64() -> None:
    program = """
jax.config.update("jax_enable_x64", False)
def f(out, args, kwargs_dump):
    out[0][...] = 2 * args[0]
op = jaxbind.get_linear_call(f, f, same, same)
wide = jaxbind.get_linear_call(f, f, lambda x: ((x.shape, np.float64),), same)
y = jax.jit(jax.grad(lambda x: jnp.sum(op(x)[0] ** 2)))(np.arange(3.0))
print(y.dtype, y.tolist(), wide(np.float32(3))[0].dtype)
"""
    assert run(program).split("\n")[0] == "float32 [0.0, 8.0, 16.0] float64"


def test_numpy_scalars_and_python_numbers_are_arguments() -> None:
    assert_close(CUMSUM.call(np.float64(2.0) * np.ones(1))[0], jnp.full(1, 2.0))
