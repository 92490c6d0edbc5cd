# SPDX-License-Identifier: BSD-2-Clause
"""Second and third derivatives, forward and reverse in every order, of operators that have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jaxbind
import pytest
from support import zoo
from support.arrays import draw_like
from support.oracles import assert_close, gradient_norm, loss

Function = Callable[..., Any]


def _along(function: Function, primals: Any) -> Any:
    tangents = tuple(draw_like(50 + i, x) for i, x in enumerate(primals))
    return jax.jvp(function, primals, tangents)


# name: from a real function and its arguments to derivatives of it
ORDERS: dict[str, Callable[[Function, tuple[Any, ...]], Any]] = {
    "forward over reverse": lambda f, x: _along(jax.grad(f, tuple(range(len(x)))), x),
    "reverse over forward": lambda f, x: jax.grad(lambda *y: _along(f, y)[1], tuple(range(len(x))))(*x),
    "reverse over reverse": lambda f, x: jax.grad(gradient_norm(f, tuple(range(len(x)))), tuple(range(len(x))))(*x),
    "forward over forward": lambda f, x: _along(lambda *y: _along(f, y)[1], x),
    "third order, reverse": lambda f, x: jax.grad(gradient_norm(gradient_norm(f, (0,)), (0,)))(*x),
    "third order, mixed": lambda f, x: _along(lambda *y: _along(jax.grad(f), y)[1], x),
}


@zoo.every("linear", "multilinear")
@pytest.mark.parametrize("order", ORDERS)
def test_derivatives_of_every_order(case: zoo.Case, order: str) -> None:
    primals = tuple(map(jnp.asarray, (case.args[i] for i in case.moving)))
    found, expected = (ORDERS[order](loss(case.freeze(f)), primals) for f in (case.call, case.twin))
    assert_close(found, expected, 1e-9)


def test_hessian_of_a_bilinear_operator_through_a_batch() -> None:
    (case,) = (c for c in zoo.ALL if c.name == "trilinear, two outputs")
    a, b, c = case.args

    def batched(f: Function) -> Function:
        return loss(lambda b: jax.vmap(lambda s: f(a * s, b, c))(jnp.arange(1.0, 4.0)))

    found, expected = (jax.jit(jax.hessian(batched(f)))(b) for f in (case.call, case.twin))
    assert_close(found, expected)


@zoo.every("nonlinear")
@pytest.mark.parametrize("order", ["forward over reverse", "reverse over reverse", "forward over forward"])
def test_second_order_of_host_derivatives_says_what_to_supply(case: zoo.Case, order: str) -> None:
    primals = tuple(map(jnp.asarray, (case.args[i] for i in case.moving)))
    with pytest.raises(TypeError, match=r"give the first order only.*one rule \(primals, tangents"):
        ORDERS[order](loss(case.freeze(case.call)), primals)


def test_reverse_over_scan() -> None:
    (case,) = (c for c in zoo.ALL if c.name == "cumsum")

    def scanned(f: Function) -> Function:
        def run(x: jax.Array) -> jax.Array:
            last, _ = jax.lax.scan(lambda carry, _: (jnp.sin(f(carry)[0]), None), x, None, length=4)
            return jnp.sum(last**2)

        return run

    x = jnp.asarray(case.args[0])
    found, expected = (jax.hessian(scanned(f))(x) for f in (case.call, case.twin))
    assert_close(found, expected)


def test_custom_jvp_around_an_operator() -> None:
    (case,) = (c for c in zoo.ALL if c.name == "cumsum")

    @jax.custom_jvp
    def squared(x: jax.Array) -> jax.Array:
        return case.call(x)[0] ** 2

    squared.defjvp(lambda primals, tangents: (squared(*primals), 2 * case.call(*primals)[0] * case.call(*tangents)[0]))
    x = jnp.asarray(case.args[0])
    assert_close(jax.jacrev(squared)(x), jax.jacrev(lambda x: jnp.cumsum(x) ** 2)(x))


def test_an_operator_without_derivatives_says_so() -> None:
    def f(out: Any, args: Any, kwargs_dump: Any) -> None:
        out[0][...] = args[0]

    operator = jaxbind.get_nonlinear_call(f, None, zoo.like(0), zoo.like(0))
    assert_close(operator(2.0)[0], jnp.asarray(2.0))
    with pytest.raises(TypeError, match="f: cannot differentiate, because it was bound with f_derivative=None"):
        jax.grad(lambda x: operator(x)[0])(2.0)
