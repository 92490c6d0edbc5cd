# SPDX-License-Identifier: BSD-2-Clause
"""Derivative rules written in JAX: fixed arguments and nonlinear functions with derivatives of every order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxbind import get_nonlinear_call
from support.traced import LINEAR, POINTS, WEIGHTS, host_sin, power, sin

Function = Callable[..., Any]


def _loss(f: Function) -> Function:
    return lambda *args: jnp.sum(jnp.abs(f(*args)) ** 2 * jnp.arange(1.0, 5.0))


def _points_batched(f: Function) -> Function:
    both = jax.vmap(jax.vmap(f, (None, 0)), (1, None), out_axes=-1)
    return lambda p, x: jnp.sum(jnp.abs(both(jnp.stack([p, 2 * p], 1), jnp.stack([x, 1j * x, x**2]))) ** 2)


def _gradient_norm(f: Function, argnums: tuple[int, ...]) -> Function:
    """A real function with the derivatives of the gradient in its own gradient."""
    return lambda *args: sum(jnp.sum(jnp.abs(g) ** 2) for g in jax.grad(f, argnums)(*args))


ORDERS: dict[str, Callable[[Function, tuple[int, ...]], Function]] = {
    "grad": jax.grad,
    "forward over reverse": lambda f, n: jax.jacfwd(jax.grad(f, n), 0),
    "reverse over reverse": lambda f, n: jax.grad(_gradient_norm(f, n), n),
    "third order": lambda f, n: jax.grad(_gradient_norm(_gradient_norm(f, n), n), n),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", LINEAR)
def test_fixed_arguments_have_derivatives_of_every_order(kind: str, order: str) -> None:
    operator, twin, args = LINEAR[kind]
    every = tuple(range(len(args)))
    found, expected = (jax.jit(ORDERS[order](_loss(f), every))(*args) for f in (operator, twin))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10), found, expected)


def test_a_rule_serves_nested_batches() -> None:
    operator, twin, args = LINEAR["linear"]
    found, expected = (jax.jit(jax.hessian(_points_batched(f), 0))(*args) for f in (operator, twin))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_batches_of_a_derivative_equal_the_loop() -> None:
    operator, _, (points, coefficients) = LINEAR["linear"]
    many = np.stack([points, 2 * points, points - 1])
    gradient = jax.grad(_loss(operator))
    found = jax.vmap(gradient, (0, None))(many, coefficients)
    np.testing.assert_allclose(found, np.stack([gradient(p, coefficients) for p in many]), rtol=1e-12)


def test_the_transpose_needs_no_rule() -> None:
    operator, twin, (points, coefficients) = LINEAR["linear"]
    found, expected = (
        jax.linear_transpose(lambda x, f=f: f(points, x), coefficients)(WEIGHTS)[0] for f in (operator, twin)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("order", range(1, 6))
def test_a_nonlinear_rule_gives_every_order(order: int) -> None:
    def first(x: jax.Array) -> jax.Array:
        return sin(x)[0]

    found: Function = first
    expected: Function = jnp.sin
    for _ in range(order):
        found, expected = jax.grad(found), jax.grad(expected)
    x = jnp.linspace(0.1, 2.0, 4)
    np.testing.assert_allclose(jax.vmap(found)(x), jax.vmap(expected)(x), rtol=1e-12)


@pytest.mark.parametrize("argnums", [0, 1, (0, 1)])
def test_a_rule_sees_none_for_arguments_that_do_not_change(argnums: Any) -> None:
    args = (jnp.array([1.5, 2.0]), jnp.array([2.0, 0.5]))
    found, expected = (
        jax.hessian(lambda x, y, f=f: jnp.sum(jnp.sin(f(x, y))), argnums)(*args)
        for f in (lambda x, y: power(x, y)[0], jnp.power)
    )
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), found, expected)


@pytest.mark.parametrize("found", [None, (), (1.0, 2.0), 3.0], ids=["None", "too few", "too many", "no tuple"])
def test_a_rule_that_returns_something_else_is_told_so(found: Any) -> None:
    bad = get_nonlinear_call(host_sin, lambda p, t: found, lambda x: ((x.shape, x.dtype),))
    with pytest.raises(TypeError, match=r"host_sin: the derivative rule returned .*expected a tuple of 1 tangents"):
        jax.jvp(lambda x: bad(x)[0], (POINTS,), (POINTS,))


def test_a_tangent_of_the_wrong_type_is_told_so() -> None:
    bad = get_nonlinear_call(host_sin, lambda p, t: (t[0][:2],), lambda x: ((x.shape, x.dtype),))
    with pytest.raises(TypeError, match=r"host_sin: .*output 0 a tangent of type float64\[2\]; expected float64\[4\]"):
        jax.jvp(lambda x: bad(x)[0], (POINTS,), (POINTS,))
