# SPDX-License-Identifier: BSD-2-Clause
"""Derivative rules written in JAX: fixed arguments and nonlinear functions with derivatives of every order.

The linear example is a non-uniform Fourier sum, y_j = sum_k x_k exp(i p_j k), fixed in the points p; the bilinear one
has a weight slot too. The nonlinear ones are sin and a product of two arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxbind import get_linear_call, get_nonlinear_call

Function = Callable[..., Any]
RNG = np.random.default_rng(0)


def _complex(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


POINTS, COEFFICIENTS, WEIGHTS = RNG.normal(size=4), _complex(3), _complex(4)


def _phases(points: Any, count: int) -> Any:
    return np.exp(1j * np.outer(points, np.arange(count)))


def _sum(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] = _phases(args[0], len(args[1])) @ args[1]


def _sum_t(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] = args[1] @ _phases(args[0], len(out[0]))


def _sum_rule(primals: Any, tangents: Any, count: int) -> Any:
    (p, x), (dp,) = primals, tangents
    return (1j * dp.astype(complex) * fourier(p, jnp.arange(count, dtype=complex) * x, count=count)[0],)


fourier = get_linear_call(
    _sum,
    _sum_t,
    lambda p, x, count: ((p.shape, np.complex128),),
    lambda p, c, count: (((count,), np.complex128),),
    first_n_args_fixed=1,
    fixed_derivative=_sum_rule,
)


def _weighted(out: Any, args: Any, kwargs_dump: Any) -> None:
    p, w, x = args
    out[0][...] = w * (_phases(p, len(x)) @ x)


def _weighted_t1(out: Any, args: Any, kwargs_dump: Any) -> None:
    p, x, c = args
    out[0][...] = c * (_phases(p, len(x)) @ x)


def _weighted_t2(out: Any, args: Any, kwargs_dump: Any) -> None:
    p, w, c = args
    out[0][...] = (w * c) @ _phases(p, len(out[0]))


def _weighted_rule(primals: Any, tangents: Any, count: int) -> Any:
    (p, w, x), (dp,) = primals, tangents
    return (1j * dp.astype(complex) * weighted(p, w, jnp.arange(count, dtype=complex) * x, count=count)[0],)


weighted = get_linear_call(
    _weighted,
    (None, _weighted_t1, _weighted_t2),
    lambda p, w, x, count: ((p.shape, np.complex128),),
    (None, lambda p, x, c, count: ((p.shape, np.complex128),), lambda p, w, c, count: (((count,), np.complex128),)),
    first_n_args_fixed=1,
    fixed_derivative=_weighted_rule,
)


def _twin(p: jax.Array, x: jax.Array) -> jax.Array:
    return jnp.exp(1j * jnp.outer(p.astype(complex), jnp.arange(x.shape[0], dtype=complex))) @ x


def _sin(out: Any, args: Any, kwargs_dump: Any) -> None:
    np.sin(args[0], out=out[0])


def _cos(out: Any, args: Any, kwargs_dump: Any) -> None:
    np.cos(args[0], out=out[0])


sin = get_nonlinear_call(_sin, lambda p, t: (cos(p[0])[0] * t[0],), lambda x: ((x.shape, x.dtype),))
cos = get_nonlinear_call(_cos, lambda p, t: (-sin(p[0])[0] * t[0],), lambda x: ((x.shape, x.dtype),))


def _power(out: Any, args: Any, kwargs_dump: Any) -> None:
    np.power(args[0], args[1], out=out[0])


def _power_rule(primals: Any, tangents: Any) -> Any:
    (x, y), (dx, dy) = primals, tangents
    terms = [
        None if dx is None else y * power(x, y - 1)[0] * dx,
        None if dy is None else jnp.log(x) * power(x, y)[0] * dy,
    ]
    found = [term for term in terms if term is not None]
    return (sum(found[1:], found[0]),)


power = get_nonlinear_call(_power, _power_rule, lambda x, y: ((x.shape, x.dtype),))


def _loss(f: Function) -> Function:
    return lambda *args: jnp.sum(jnp.abs(f(*args)) ** 2 * jnp.arange(1.0, 5.0))


def _points_batched(f: Function) -> Function:
    both = jax.vmap(jax.vmap(f, (None, 0)), (1, None), out_axes=-1)
    return lambda p, x: jnp.sum(jnp.abs(both(jnp.stack([p, 2 * p], 1), jnp.stack([x, 1j * x, x**2]))) ** 2)


# By name: the operator, its twin, the arguments.
LINEAR: dict[str, tuple[Function, Function, tuple[Any, ...]]] = {
    "linear": (lambda p, x: fourier(p, x, count=3)[0], _twin, (POINTS, COEFFICIENTS)),
    "bilinear": (
        lambda p, w, x: weighted(p, w, x, count=3)[0],
        lambda p, w, x: w * _twin(p, x),
        (POINTS, WEIGHTS, COEFFICIENTS),
    ),
}


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
    bad = get_nonlinear_call(_sin, lambda p, t: found, lambda x: ((x.shape, x.dtype),))
    with pytest.raises(TypeError, match=r"_sin: the derivative rule returned .*expected a tuple of 1 tangents"):
        jax.jvp(lambda x: bad(x)[0], (POINTS,), (POINTS,))


def test_a_tangent_of_the_wrong_type_is_told_so() -> None:
    bad = get_nonlinear_call(_sin, lambda p, t: (t[0][:2],), lambda x: ((x.shape, x.dtype),))
    with pytest.raises(TypeError, match=r"_sin: .*output 0 a tangent of type float64\[2\]; expected float64\[4\]"):
        jax.jvp(lambda x: bad(x)[0], (POINTS,), (POINTS,))
