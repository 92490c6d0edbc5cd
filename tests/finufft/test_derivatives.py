# SPDX-License-Identifier: BSD-2-Clause
"""Derivatives in strengths, points and targets against those of the direct sum, to the third order, in both modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from jaxbind_finufft import nufft2
from support.arrays import draw_like
from support.nonuniform import PROBLEMS, Problem, distance, name
from support.oracles import assert_close, gradient_norm, loss

Function = Callable[..., Any]

IN_MODEORD = [Problem(kind, ndim, -1, True) for kind in (1, 2) for ndim in (1, 2)]


def _value(function: Function) -> Function:
    return loss(lambda *args: (function(*args),))


def _everything(args: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(range(len(args)))


def _tangents(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(draw_like(30 + k, a) for k, a in enumerate(args))


def _jvp(function: Function, args: tuple[Any, ...]) -> Any:
    return jax.jvp(function, args, _tangents(args))


def _grad(function: Function, args: tuple[Any, ...]) -> Any:
    return jax.grad(_value(function), _everything(args))(*args)


def _compiled_grad(function: Function, args: tuple[Any, ...]) -> Any:
    return jax.jit(jax.grad(_value(function), _everything(args)))(*args)


def _forward_over_reverse(function: Function, args: tuple[Any, ...]) -> Any:
    return jax.jvp(jax.grad(_value(function), _everything(args)), args, _tangents(args))[1]


def _reverse_over_reverse(function: Function, args: tuple[Any, ...]) -> Any:
    return jax.grad(gradient_norm(_value(function), _everything(args)), _everything(args))(*args)


def _forward_over_forward(function: Function, args: tuple[Any, ...]) -> Any:
    return _jvp(lambda *args: jax.jvp(function, args, _tangents(args))[1], args)


def _hessian_in_points(function: Function, args: tuple[Any, ...]) -> Any:
    return jax.jit(jax.hessian(lambda *points: _value(function)(args[0], *points), _everything(args[1:])))(*args[1:])


def _checkpointed(function: Function, args: tuple[Any, ...]) -> Any:
    return _grad(jax.checkpoint(function), args)


def _scanned(function: Function, args: tuple[Any, ...]) -> Any:
    def total(*args: Any) -> Any:
        def step(sum_: Any, s: Any) -> Any:
            return sum_ + _value(function)(args[0], s * args[1], *args[2:]), None

        return jax.lax.scan(step, 0.0, jnp.linspace(0.5, 1.5, 3))[0]

    return jax.jit(jax.grad(total, _everything(args)))(*args)


def _mapped_gradient(function: Function, args: tuple[Any, ...]) -> Any:
    batch = tuple(jnp.stack([a, 1.1 * a, -a], axis=-1) for a in args)
    return jax.vmap(jax.grad(_value(function), _everything(args)), in_axes=-1)(*batch)


def _jacobians(function: Function, args: tuple[Any, ...]) -> Any:
    forward = jax.jacfwd(lambda *points: function(args[0], *points), _everything(args[1:]))(*args[1:])
    split = lambda *points: (function(args[0], *points).real, function(args[0], *points).imag)  # noqa: E731
    return forward, jax.jacrev(split, _everything(args[1:]))(*args[1:])


DERIVATIVES = [
    _jvp,
    _grad,
    _compiled_grad,
    _forward_over_reverse,
    _reverse_over_reverse,
    _forward_over_forward,
    _hessian_in_points,
    _checkpointed,
    _scanned,
    _mapped_gradient,
    _jacobians,
]


# The number of dimensions changes what a derivative is made of, not how JAX puts it together.
CASES = [
    *((problem, derivative) for problem in PROBLEMS if problem.ndim == 2 for derivative in DERIVATIVES),
    *((problem, _forward_over_reverse) for problem in PROBLEMS if problem.ndim != 2),
]


@pytest.mark.parametrize(
    ("problem", "derivative"),
    CASES,
    ids=lambda value: name(value) if isinstance(value, Problem) else value.__name__[1:],
)
def test_derivative_is_that_of_the_direct_sum(problem: Problem, derivative: Callable[..., Any]) -> None:
    args = problem.arguments(count=4, targets=3)
    expected = derivative(problem.direct, args)
    scale = float(max(np.abs(leaf).max() for leaf in jax.tree.leaves(expected)))
    found, expected = jax.tree.map(lambda a: a / scale, (derivative(problem.fast(), args), expected))
    assert_close(found, expected, 1e-9)


@pytest.mark.parametrize("derivative", [_grad, _forward_over_reverse], ids=lambda f: f.__name__.strip("_"))
@pytest.mark.parametrize("problem", IN_MODEORD, ids=name)
def test_derivative_knows_the_order_of_the_modes(problem: Problem, derivative: Callable[..., Any]) -> None:
    args = problem.arguments(count=4)
    found, expected = (derivative(function, args) for function in (problem.fast(), problem.direct))
    assert_close(found, expected, 1e-7)


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_third_derivative(kind: int) -> None:
    problem = Problem(kind, 1, modes=(4,))
    source, *rest = problem.arguments(count=3, targets=2)

    def third(function: Function) -> Any:
        along = jax.grad(lambda *rest: _value(function)(source, *rest))
        return jax.jvp(jax.grad(lambda *rest: jnp.sum(along(*rest) ** 2)), tuple(rest), _tangents(tuple(rest)))

    found, expected = third(problem.fast()), third(problem.direct)
    assert_close(found, expected, 1e-8)


@pytest.mark.parametrize("problem", PROBLEMS, ids=name)
def test_derivatives_in_single_precision(problem: Problem) -> None:
    args = problem.arguments(np.complex64, count=4, targets=3)

    def gradient(function: Function, args: tuple[Any, ...]) -> Any:
        return jax.grad(lambda *args: jnp.sum(jnp.abs(function(*args)) ** 2), _everything(args))(*args)

    found = gradient(problem.fast(1e-6), args)
    expected = gradient(problem.direct, tuple(a.astype(np.result_type(a, np.float64)) for a in args))
    for a, b, arg in zip(found, expected, args, strict=True):
        assert a.dtype == arg.dtype
        assert distance(a, b) < 3e-5


@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_agree_with_finite_differences(order: int) -> None:
    problem = Problem(2, 2)
    source, *points = problem.arguments(count=3)
    check_grads(lambda *points: problem.fast()(source, *points), tuple(points), order, rtol=1e-4, atol=1e-4)


def test_only_the_dimensions_that_move_are_transformed() -> None:
    f, x, y = Problem(2, 2).arguments()
    moving_x = jax.make_jaxpr(lambda t: jax.jvp(lambda x: nufft2(f, x, y), (x,), (t,))[1])(x)
    moving_both = jax.make_jaxpr(lambda t, u: jax.jvp(lambda x, y: nufft2(f, x, y), (x, y), (t, u))[1])(x, y)
    assert ("c128[2,5,4]" in str(moving_x), "c128[2,5,4]" in str(moving_both)) == (False, True)


def test_points_without_tangent_cost_nothing() -> None:
    f, x = Problem(2, 1).arguments()
    text = str(jax.make_jaxpr(lambda t: jax.jvp(lambda f: nufft2(f, x), (f,), (t,))[1])(f))
    assert text.count("jaxbind_call") <= 2  # the value and the tangent
