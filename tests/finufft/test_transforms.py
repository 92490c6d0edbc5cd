# SPDX-License-Identifier: BSD-2-Clause
"""Values against direct sums in long double; dtypes, empty arrays, points far away."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxbind_finufft import nufft1, nufft2, nufft3
from support.nonuniform import PROBLEMS, Problem, distance, name

EVEN_AND_ODD = {1: [(6,), (7,)], 2: [(4, 5), (5, 6)], 3: [(3, 4, 2), (4, 3, 5)]}
ON_GRIDS = [
    Problem(kind, ndim, iflag, modeord, modes)
    for kind, ndim, iflag, modeord in itertools.product((1, 2), (1, 2, 3), (1, -1), (False, True))
    for modes in EVEN_AND_ODD[ndim]
]
TO_TARGETS = [Problem(3, ndim, iflag) for ndim, iflag in itertools.product((1, 2, 3), (1, -1))]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("problem", ON_GRIDS + TO_TARGETS, ids=str)
def test_values_are_direct_sums(problem: Problem, dtype: Any) -> None:
    args = problem.arguments(dtype)
    eps = 1e-6 if dtype == np.complex64 else 1e-13
    found = problem.fast(eps)(*args)
    assert found.dtype == dtype
    assert distance(found, problem.exact(*args)) < 10 * eps


@pytest.mark.parametrize("eps", [1e-2, 1e-4, 1e-6, 1e-9, 1e-12, 1e-14])
@pytest.mark.parametrize("problem", PROBLEMS, ids=name)
def test_requested_accuracy_is_reached(problem: Problem, eps: float) -> None:
    args = problem.arguments(count=200, targets=50)
    assert distance(problem.fast(eps)(*args), problem.exact(*args)) < 10 * eps


@pytest.mark.parametrize("transform", [nufft2, nufft3])
def test_sign_is_negative_unless_said_otherwise(transform: Any) -> None:
    problem = Problem(2 if transform is nufft2 else 3, 1, -1)
    args = problem.arguments()
    assert distance(transform(*args), problem.exact(*args)) < 1e-5


def test_sign_of_type_1_is_positive_unless_said_otherwise() -> None:
    args = Problem(1, 1).arguments()
    assert distance(nufft1(7, *args), Problem(1, 1).exact(*args)) < 1e-5


@pytest.mark.parametrize("iflag", [2, 0, True, 1.5, np.int64(3)])
def test_zero_and_every_positive_number_are_the_positive_sign(iflag: Any) -> None:
    args = Problem(1, 1).arguments()
    np.testing.assert_array_equal(nufft1(7, *args, iflag=iflag), nufft1(7, *args, iflag=1))


@pytest.mark.parametrize("shape", [7, (7,), [7], np.int64(7), np.array([7]), 7.0])
def test_number_of_modes_may_be_a_number_or_a_sequence(shape: Any) -> None:
    args = Problem(1, 1).arguments()
    np.testing.assert_array_equal(nufft1(shape, *args), nufft1((7,), *args))


@pytest.mark.parametrize("problem", PROBLEMS[:6], ids=name)
def test_points_far_away_are_folded(problem: Problem) -> None:
    source, *points = problem.arguments()
    far = [p + 2 * np.pi * turns for p, turns in zip(points, (1000, -3, 17), strict=False)]
    assert distance(problem.fast()(source, *far), problem.exact(source, *points)) < 1e-9


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_types_1_and_2_are_transposes_of_each_other(ndim: int) -> None:
    one, two = Problem(1, ndim), Problem(2, ndim)
    strengths, *points = one.arguments()
    modes = two.arguments()[0]
    [transposed] = jax.linear_transpose(lambda c: one.fast()(c, *points), strengths)(jnp.asarray(modes))
    assert distance(transposed, two.fast()(modes, *points)) < 1e-14
    [back] = jax.linear_transpose(lambda f: two.fast()(f, *points), modes)(jnp.asarray(strengths))
    assert distance(back, one.fast()(strengths, *points)) < 1e-14


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_transpose_of_type_3_exchanges_points_and_targets(ndim: int) -> None:
    problem = Problem(3, ndim)
    source, *rest = problem.arguments()
    cotangent = problem.arguments(count=5)[0]
    [transposed] = jax.linear_transpose(lambda c: problem.fast()(c, *rest), source)(jnp.asarray(cotangent))
    assert distance(transposed, problem.exact(cotangent, *rest[ndim:], *rest[:ndim])) < 1e-11


@pytest.mark.parametrize(
    ("source", "points", "expected"),
    [
        (np.complex64, np.float32, np.complex64),
        (np.complex64, np.float64, np.complex128),
        (np.complex128, np.float32, np.complex128),
        (np.float32, np.float32, np.complex64),
        (np.float64, np.float64, np.complex128),
        (np.int32, np.float32, np.complex64),
        (np.bool_, np.float64, np.complex128),
        (np.complex64, np.int32, np.complex64),
        (np.int32, np.int32, np.complex128),
        (jnp.bfloat16, np.float16, np.complex64),
    ],
)
def test_dtypes_are_promoted(source: Any, points: Any, expected: Any) -> None:
    c = np.array([1, 0, 2, 1]).astype(source)
    x = np.array([0, 1, 2, -1]).astype(points)
    found = nufft1(5, c, x)
    assert found.dtype == expected
    assert distance(found, nufft1(5, c.astype(complex), x.astype(float))) < 1e-5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradient_has_the_dtype_of_real_strengths(dtype: Any) -> None:
    x = np.linspace(-1, 1, 4)
    gradient = jax.grad(lambda c: jnp.sum(jnp.abs(nufft1(5, c, x, eps=1e-9)) ** 2))(np.arange(4.0).astype(dtype))
    waves = np.exp(1j * np.outer(np.arange(5) - 2, x))
    np.testing.assert_allclose(gradient, 2 * (waves.conj().T @ waves @ np.arange(4.0)).real, rtol=1e-6)
    assert gradient.dtype == dtype


EMPTY: dict[str, tuple[Any, tuple[int, ...]]] = {
    "type 1, no points": (lambda: nufft1((4, 3), np.zeros(0), np.zeros(0), np.zeros(0)), (4, 3)),
    "type 1, no modes": (lambda: nufft1((4, 0), np.ones(3), np.ones(3), np.ones(3)), (4, 0)),
    "type 1, no transforms": (lambda: nufft1(4, np.ones((0, 3)), np.ones(3)), (0, 4)),
    "type 1, vmap over nothing": (lambda: jax.vmap(lambda c: nufft1(4, c, np.ones(3)))(np.ones((0, 3))), (0, 4)),
    "type 2, no points": (lambda: nufft2(np.ones(5), np.zeros(0)), (0,)),
    "type 2, no modes": (lambda: nufft2(np.zeros(0), np.ones(3)), (3,)),
    "type 3, no points": (lambda: nufft3(np.zeros(0), np.zeros(0), np.ones(4)), (4,)),
    "type 3, no targets": (lambda: nufft3(np.ones(3), np.ones(3), np.zeros(0)), (0,)),
}


@pytest.mark.parametrize("case", EMPTY)
def test_empty_sums_are_zero(case: str) -> None:
    compute, shape = EMPTY[case]
    found = compute()
    assert found.shape == shape
    assert not np.any(found)


def test_one_mode_and_one_point() -> None:
    assert nufft1(1, np.array([3.0 + 1j]), np.array([0.3])).tolist() == pytest.approx([3 + 1j])


def test_eager_and_compiled_calls_give_the_same_bits() -> None:
    problem = Problem(1, 2)
    args = problem.arguments()
    np.testing.assert_array_equal(problem.fast()(*args), jax.jit(problem.fast())(*args))
