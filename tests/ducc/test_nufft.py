# SPDX-License-Identifier: BSD-2-Clause
"""`jaxbind_ducc.nufft`: values and derivatives against direct sums, batches in one call, plans, messages."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxbind_ducc import _plans, nufft

TIGHT: dict[str, Any] = {"epsilon": 1e-12, "forward": True}
SHAPES = [(7,), (4, 5), (3, 4, 2)]


def draw(*shape: int) -> Any:
    rng = np.random.default_rng(sum(shape))
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def points(n: int, ndim: int) -> Any:
    return np.random.default_rng(n).uniform(-3, 3, (n, ndim))


def phases(coord: Any, grid_shape: tuple[int, ...], forward: bool, fft_order: bool, periodicity: Any) -> Any:
    """The matrix of u2nu: one row per point, one column per mode."""
    axes = [np.fft.fftfreq(n, 1 / n) if fft_order else np.arange(n) - n // 2 for n in grid_shape]
    modes = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(grid_shape)).astype(float)
    turns = (coord / jnp.asarray(periodicity, float)) @ modes.T
    return jnp.exp((-2j if forward else 2j) * np.pi * turns.astype(complex))


def direct_u2nu(
    grid: Any, coord: Any, forward: bool = True, fft_order: bool = False, periodicity: Any = 2 * np.pi, **_: Any
) -> Any:
    return phases(coord, grid.shape, forward, fft_order, periodicity) @ grid.ravel()


def direct_nu2u(
    strengths: Any,
    coord: Any,
    grid_shape: Any,
    forward: bool = True,
    fft_order: bool = False,
    periodicity: Any = 2 * np.pi,
) -> Any:
    return (phases(coord, grid_shape, forward, fft_order, periodicity).T @ strengths).reshape(grid_shape)


def direct_nu2nu(strengths: Any, coord_in: Any, coord_out: Any, forward: bool = True) -> Any:
    return jnp.exp((-1j if forward else 1j) * (coord_out @ coord_in.T).astype(complex)) @ strengths


def loss(f: Callable[..., Any]) -> Callable[..., Any]:
    """A real function of the result in which every entry counts differently."""

    def value(*args: Any) -> Any:
        y = f(*args)
        return jnp.sum(jnp.abs(y) ** 2 * jnp.cos(jnp.arange(y.size, dtype=y.real.dtype)).reshape(y.shape))

    return value


def assert_close(found: Any, expected: Any, accuracy: float = 1e-9) -> None:
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=0, atol=accuracy * max(1.0, np.abs(b).max(initial=0)))


@pytest.mark.parametrize("fft_order", [True, False])
@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_values_are_direct_sums(shape: tuple[int, ...], forward: bool, fft_order: bool) -> None:
    coord, periodicity = points(6, len(shape)), tuple(2.0 + np.arange(len(shape)))
    options: dict[str, Any] = {"forward": forward, "fft_order": fft_order, "periodicity": periodicity}
    found = nufft.u2nu(draw(*shape), coord, epsilon=1e-12, **options)
    assert_close(found, direct_u2nu(draw(*shape), coord, **options))
    found = nufft.nu2u(draw(6), coord, grid_shape=shape, epsilon=1e-12, **options)
    assert_close(found, direct_nu2u(draw(6), coord, shape, **options))


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_values_of_nu2nu_are_direct_sums(ndim: int, forward: bool) -> None:
    args = draw(4), points(4, ndim), points(5, ndim)
    assert_close(nufft.nu2nu(*args, forward=forward, epsilon=1e-12), direct_nu2nu(*args, forward=forward))


class Problem(NamedTuple):
    """A transform, the direct sum in its place, and arguments of some precision; coordinates come last."""

    ours: Callable[..., Any]
    direct: Callable[..., Any]
    args: tuple[Any, ...]
    accuracy: float

    def expected(self, transform: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Any:
        """A transformation of the direct sum, in double precision, in the dtypes that it has in the problem's."""

        def transformed(*args: Any) -> Any:
            return transform(self.direct)(*args)

        wide = [a.astype(np.result_type(a, np.float64)) for a in self.args]
        shapes = jax.eval_shape(transform(self.ours), *self.args)
        return jax.tree.map(lambda a, like: a.astype(like.dtype), jax.jit(transformed)(*wide), shapes)

    def found(self, transform: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Any:
        """The same transformation of the transform."""
        return jax.jit(transform(self.ours))(*self.args)


def problem(kind: str, ndim: int, dtype: Any) -> Problem:
    shape, real = ((5,), (3, 4), (3, 4, 2))[ndim - 1], np.finfo(dtype).dtype
    coordinates = points(4, ndim).astype(real), points(5, ndim).astype(real)
    options: dict[str, Any] = {"forward": False, "epsilon": 1e-12 if real == np.float64 else 1e-5}
    accuracy = 1e-9 if real == np.float64 else 2e-4
    if kind == "nu2nu":
        ours, direct = functools.partial(nufft.nu2nu, **options), functools.partial(direct_nu2nu, forward=False)
        return Problem(ours, direct, (draw(4).astype(dtype), *coordinates), accuracy)
    if kind == "u2nu":
        ours, direct = functools.partial(nufft.u2nu, **options), functools.partial(direct_u2nu, forward=False)
        return Problem(ours, direct, (draw(*shape).astype(dtype), coordinates[0]), accuracy)
    ours = functools.partial(nufft.nu2u, grid_shape=shape, **options)
    direct = functools.partial(direct_nu2u, grid_shape=shape, forward=False)
    return Problem(ours, direct, (draw(4).astype(dtype), coordinates[0]), accuracy)


def every_problem(test: Callable[..., None]) -> Any:
    """Run a test for all types, numbers of dimensions and precisions."""
    for name, values in (
        ("dtype", [np.complex64, np.complex128]),
        ("ndim", [1, 2, 3]),
        ("kind", ["u2nu", "nu2u", "nu2nu"]),
    ):
        test = pytest.mark.parametrize(name, values)(test)
    return test


@every_problem
def test_precision_is_that_of_the_values(kind: str, ndim: int, dtype: Any) -> None:
    case, other = (
        problem(kind, ndim, one) for one in (dtype, np.complex64 if dtype is np.complex128 else np.complex128)
    )
    for coordinates in (case.args[1:], other.args[1:]):
        given = case._replace(args=(case.args[0], *coordinates))
        found = given.found(lambda f: f)
        assert found.dtype == dtype
        assert_close(found, given.expected(lambda f: f), case.accuracy)


@every_problem
def test_transpose_is_that_of_the_direct_sum(kind: str, ndim: int, dtype: Any) -> None:
    case = problem(kind, ndim, dtype)
    out = jax.eval_shape(case.ours, *case.args)
    cotangent = draw(2, *out.shape)[0]

    def transposed(f: Any) -> Any:
        def pulled(values: Any, *coordinates: Any) -> Any:
            c = cotangent.astype(values.dtype)
            return jax.linear_transpose(lambda v: f(v, *coordinates), values)(c)

        return pulled

    assert_close(case.found(transposed), case.expected(transposed), case.accuracy)


@every_problem
def test_gradient_is_that_of_the_direct_sum(kind: str, ndim: int, dtype: Any) -> None:
    case = problem(kind, ndim, dtype)
    every = tuple(range(len(case.args)))
    assert_close(*(side(lambda f: jax.grad(loss(f), every)) for side in (case.found, case.expected)), case.accuracy)


@every_problem
def test_second_derivative_is_that_of_the_direct_sum(kind: str, ndim: int, dtype: Any) -> None:
    case = problem(kind, ndim, dtype)
    every = tuple(range(1, len(case.args)))

    def hessian(f: Any) -> Any:
        return jax.jacfwd(jax.grad(loss(f), every), every)

    assert_close(case.found(hessian), case.expected(hessian), 10 * case.accuracy)


def u2nu(grid: Any, coord: Any) -> Any:
    return nufft.u2nu(grid, coord, periodicity=3.0, **TIGHT)


def nu2u(strengths: Any, coord: Any) -> Any:
    return nufft.nu2u(strengths, coord, grid_shape=(3, 4), fft_order=True, **TIGHT)


CASES = [
    pytest.param(u2nu, functools.partial(direct_u2nu, periodicity=3.0), (draw(3, 4), points(5, 2)), id="u2nu"),
    pytest.param(
        nu2u, functools.partial(direct_nu2u, grid_shape=(3, 4), fft_order=True), (draw(5), points(5, 2)), id="nu2u"
    ),
    pytest.param(
        functools.partial(nufft.nu2nu, **TIGHT), direct_nu2nu, (draw(4), points(4, 2), points(5, 2)), id="nu2nu"
    ),
]


@pytest.mark.parametrize(("ours", "direct", "args"), CASES)
def test_third_derivative_is_that_of_the_direct_sum(ours: Any, direct: Any, args: Any) -> None:
    def third(f: Any) -> Any:
        along = jnp.ones_like(args[1])
        first = jax.grad(loss(f), 1)
        return jax.jvp(
            lambda x: jax.jvp(lambda y: first(args[0], y, *args[2:]), (x,), (along,))[1], (args[1],), (along,)
        )

    found, expected = jax.jit(lambda: (third(ours), third(direct)))()
    assert_close(found, expected, 1e-7)


@pytest.mark.parametrize(("ours", "direct", "args"), CASES)
def test_tangent_of_the_transpose_follows(ours: Any, direct: Any, args: Any) -> None:
    def pulled_back(f: Any) -> Any:
        cotangent = jnp.conj(f(*args))
        return lambda *rest: jax.linear_transpose(lambda v: f(v, *rest), args[0])(cotangent)[0]

    tangents = tuple(jnp.cos(a) for a in args[1:])
    found, expected = (jax.jit(lambda f=f: jax.jvp(pulled_back(f), args[1:], tangents))() for f in (ours, direct))
    assert_close(found, expected)


@pytest.mark.parametrize(
    "axes",
    [((0, None), (None, 0)), ((None, 0), (0, None)), ((0, 0), (None, 0)), ((0, 0), (0, 0)), ((0, None), (0, None))],
)
def test_nested_batches_equal_those_of_the_direct_sum(axes: Any) -> None:
    shapes = [[2] * sum(level[k] is not None for level in axes) for k in (0, 1)]
    args = draw(*shapes[0], 3, 4), np.random.default_rng(0).uniform(-1, 1, (*shapes[1], 5, 2))

    def batched(f: Any) -> Any:
        return jax.vmap(jax.vmap(f, axes[0]), axes[1])

    direct = functools.partial(direct_u2nu, periodicity=3.0)
    for f in (lambda g: g, lambda g: jax.grad(loss(g), (0, 1))):
        assert_close(jax.jit(f(batched(u2nu)))(*args), jax.jit(f(batched(direct)))(*args))


@pytest.mark.parametrize(("in_axes", "out_axes"), [((2, None), 1), ((1, 1), 0), ((-1, 2), -1), ((0, 0), 1)])
def test_batch_on_any_axis_equals_a_loop(in_axes: Any, out_axes: int) -> None:
    grids, coords = draw(3, 4, 5), points(18, 2).reshape(3, 6, 2)
    coord_of = [coords[0] if in_axes[1] is None else coords[k] for k in range(3)]
    expected = np.stack([direct_u2nu(grids[k], coord_of[k], periodicity=3.0) for k in range(3)], out_axes)
    moved = np.moveaxis(grids, 0, in_axes[0]), coords[0] if in_axes[1] is None else np.moveaxis(coords, 0, in_axes[1])
    assert_close(jax.vmap(u2nu, in_axes, out_axes)(*moved), expected)


def test_leading_dimensions_are_a_batch() -> None:
    grid, coord = draw(2, 3, 3, 4), points(5, 2)
    direct = functools.partial(direct_u2nu, periodicity=3.0)
    expected = np.array([[direct(grid[i, j], coord) for j in range(3)] for i in range(2)])
    assert_close(u2nu(grid, coord), expected)
    strengths = draw(2, 3, 5)
    assert nu2u(strengths, coord).shape == (2, 3, 3, 4)
    assert_close(nu2u(strengths, coord)[1, 2], nu2u(strengths[1, 2], coord))
    assert nufft.nu2nu(draw(2, 0, 5), coord, coord, **TIGHT).shape == (2, 0, 5)


@pytest.mark.parametrize(("npoints", "shape"), [(0, (3, 4)), (5, (0, 4)), (0, (0, 0))])
def test_empty_sums_are_zero(npoints: int, shape: tuple[int, int]) -> None:
    coord, strengths = points(npoints, 2), jnp.ones(npoints, complex)
    grid = jnp.ones(shape, complex)
    assert_close(nufft.u2nu(grid, coord, **TIGHT), direct_u2nu(grid, coord))
    assert_close(nufft.nu2u(strengths, coord, grid_shape=shape, **TIGHT), direct_nu2u(strengths, coord, shape))
    others = points(2, 2)
    assert_close(nufft.nu2nu(strengths, coord, others, **TIGHT), direct_nu2nu(strengths, coord, others))


@pytest.fixture
def plans() -> Iterator[Any]:
    _plans.clear()
    yield _plans
    _plans.clear()


def test_unchanged_coordinates_use_one_plan_for_values_and_derivatives(plans: Any) -> None:
    coord = points(5, 2)
    for seed in range(3):
        jax.grad(loss(u2nu), (0, 1))(draw(3, 4) + seed, coord)
    assert plans.count() == 1
    u2nu(draw(3, 4), coord + 1e-9)
    assert plans.count() == 2


def test_changed_coordinates_in_the_same_memory_get_another_plan(plans: Any) -> None:
    step = jax.jit(lambda grid, coord: (u2nu(grid, coord), coord + 1.0), donate_argnums=1)
    coord = jnp.asarray(points(5, 2))
    for k in range(4):
        expected = direct_u2nu(draw(3, 4), points(5, 2) + k, periodicity=3.0)
        found, coord = step(draw(3, 4), coord)
        assert_close(found, expected)
    assert plans.count() == 4


def test_plans_are_dropped_when_there_are_too_many(plans: Any) -> None:
    for k in range(plans.MAX_PLANS + 3):
        u2nu(draw(3, 4), points(5, 2) + k)
    assert plans.count() == plans.MAX_PLANS


def test_very_large_plans_are_not_kept(plans: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "MAX_POINTS", 4)
    assert_close(u2nu(draw(3, 4), points(5, 2)), direct_u2nu(draw(3, 4), points(5, 2), periodicity=3.0))
    assert plans.count() == 0


def test_plan_in_use_is_not_given_to_another_thread(plans: Any) -> None:
    coord = (points(5, 2),)
    with plans.plan("key", coord, object) as first, plans.plan("key", coord, object) as second:
        assert first is not second
    with plans.plan("key", coord, object) as third:
        assert third in (first, second)


def test_many_threads_at_once_get_right_results() -> None:
    coord, expected = points(300, 2), []
    grids = [draw(20, 20) + k for k in range(8)]
    results: list[Any] = [None] * len(grids)

    def work(k: int) -> None:
        for _ in range(20):
            results[k] = u2nu(grids[k], coord)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(grids))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = [direct_u2nu(grid, coord, periodicity=3.0) for grid in grids]
    assert_close(results, expected, 1e-8)


MISTAKES: list[tuple[Callable[[], Any], type[Exception], list[str]]] = [
    (
        lambda: nufft.u2nu(draw(4).real, points(3, 1), **TIGHT),
        TypeError,
        ["u2nu: argument grid", "float64", "complex64"],
    ),
    (lambda: nufft.u2nu(draw(4), draw(3, 1), **TIGHT), TypeError, ["u2nu: argument coord", "complex128", "float64"]),
    (lambda: nufft.u2nu(draw(4), points(3, 4), **TIGHT), ValueError, ["coord", "(3, 4)", "(npoints, ndim)", "vmap"]),
    (lambda: nufft.u2nu(draw(4), points(3, 2), **TIGHT), ValueError, ["argument grid", "(4,)", "at least 2 axes"]),
    (
        lambda: nufft.u2nu(draw(4), points(3, 1), forward=True, epsilon=1e-17),
        ValueError,
        ["epsilon", "1e-17", "double"],
    ),
    (lambda: nufft.u2nu(draw(4), points(3, 1), periodicity=0.0, **TIGHT), ValueError, ["periodicity", "positive"]),
    (
        lambda: nufft.nu2u(draw(4), points(3, 1), grid_shape=(5,), **TIGHT),
        ValueError,
        ["nu2u: argument points", "(..., 3)"],
    ),
    (lambda: nufft.nu2u(draw(3), points(3, 1), grid_shape=(5, 5), **TIGHT), ValueError, ["grid_shape", "1 lengths"]),
    (
        lambda: nufft.nu2nu(draw(3), points(3, 1), points(3, 2), **TIGHT),
        ValueError,
        ["argument coord_out", "1 columns"],
    ),
    (lambda: nufft.nu2nu(draw(2), points(3, 1), points(3, 1), **TIGHT), ValueError, ["argument points_in", "(..., 3)"]),
]


@pytest.mark.parametrize(("mistake", "kind", "fragments"), MISTAKES)
def test_mistakes_are_named_while_tracing(
    mistake: Callable[[], Any], kind: type[Exception], fragments: list[str]
) -> None:
    with pytest.raises(kind) as raised:
        jax.eval_shape(mistake)
    for fragment in fragments:
        assert fragment in str(raised.value)
