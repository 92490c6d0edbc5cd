# SPDX-License-Identifier: BSD-2-Clause
"""Leading axes and `vmap`: every layout equals a loop over direct sums, in the fewest calls of FINUFFT."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import finufft
import jax
import jax.numpy as jnp
import jaxbind_finufft
import numpy as np
import pytest
from jaxbind_finufft import _shapes, nufft1, nufft2, nufft3
from support.arrays import draw
from support.nonuniform import PROBLEMS, Problem, distance, name

M, N = 6, 5

# Leading axes of strengths, of points, of targets -> how many transforms each call of FINUFFT makes.
LEADING: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], list[int]]] = [
    ((), (), (), [1]),
    ((3,), (), (), [3]),
    ((3, 2), (), (), [6]),
    ((3,), (3,), (), [1] * 3),
    ((3, 2), (3,), (), [2] * 3),
    ((3, 2), (3, 1), (), [2] * 3),
    ((3, 2), (1, 2), (), [3] * 2),
    ((3, 2), (3, 2), (), [1] * 6),
    ((1,), (3,), (), [1] * 3),
    ((3, 1), (1, 2), (), [3] * 2),
    ((1, 2), (3, 1), (), [2] * 3),
    ((4, 3, 2), (4, 1, 2), (), [3] * 8),
    ((4, 3, 2), (1, 3), (), [8] * 3),
    ((3,), (1,), (), [3]),
    ((1,), (1,), (), [1]),
    ((3,), (3,), (3,), [1] * 3),
    ((3, 2), (), (3,), [2] * 3),
    ((3, 2), (3,), (1, 2), [1] * 6),
]


@pytest.fixture
def transforms(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many transforms each execution of a plan made, without reuse of plans."""
    seen: list[int] = []
    execute = finufft.Plan.execute

    def recorded(plan: Any, data: Any, out: Any = None) -> Any:
        seen.append(plan.n_trans)
        return execute(plan, data, out)

    monkeypatch.setattr(finufft.Plan, "execute", recorded)
    limit = jaxbind_finufft.plan_cache_info().max_bytes
    jaxbind_finufft.set_plan_cache_limit(0)
    yield seen
    jaxbind_finufft.set_plan_cache_limit(limit)


def _aligned(array: Any, own: int, batch: tuple[int, ...]) -> Any:
    """An array with its leading axes moved to the first of the batch, and repeated."""
    leading, core = array.shape[: array.ndim - own], array.shape[array.ndim - own :]
    return np.broadcast_to(array.reshape(*leading, *(1,) * (len(batch) - len(leading)), *core), (*batch, *core))


@pytest.mark.parametrize("problem", [p for p in PROBLEMS if p.ndim == 2], ids=name)
@pytest.mark.parametrize("leading", LEADING, ids=str)
def test_leading_axes_are_a_loop_in_few_calls(leading: Any, problem: Problem, transforms: list[int]) -> None:
    source_axes, point_axes, target_axes, expected_calls = leading
    if problem.kind != 3:
        target_axes, expected_calls = (
            (),
            next(
                calls for s, p, t, calls in LEADING if (s, p) == (source_axes, point_axes) or (s, p, t) == leading[:3]
            ),
        )
    source = draw(0, (*source_axes, *(problem.sizes if problem.kind == 2 else (M,))), complex)
    points = [draw(1 + a, (*point_axes, M)) for a in range(problem.ndim)]
    goals = [draw(5 + a, (*target_axes, N)) for a in range(problem.ndim if problem.kind == 3 else 0)]
    found = np.asarray(problem.fast()(source, *points, *goals))

    core = problem.ndim if problem.kind == 2 else 1
    batch = np.broadcast_shapes(
        source_axes, *((*axes, *(1,) * (len(source_axes) - len(axes))) for axes in (point_axes, target_axes))
    )
    arrays = [_aligned(source, core, batch), *(_aligned(p, 1, batch) for p in (*points, *goals))]
    expected = np.array([problem.exact(*(a[index] for a in arrays)) for index in np.ndindex(batch)])
    assert found.shape[: len(batch)] == batch
    assert distance(found.reshape(expected.shape), expected) < 1e-10
    assert transforms == expected_calls


MIXED_POINTS = [
    ((3, 2), (), (3, 1)),
    ((3, 2), (3, 1), (1, 2)),
    ((3, 2), (3, 1), (2,)),
    ((2, 2), (2, 1), (2,)),
    ((3,), (), (3,)),
]


@pytest.mark.parametrize("leading", MIXED_POINTS, ids=str)
def test_points_are_broadcast_against_each_other_first(leading: Any) -> None:
    source_axes, x_axes, y_axes = leading
    source = draw(0, (*source_axes, M), complex)
    x, y = draw(1, (*x_axes, M)), draw(2, (*y_axes, M))
    problem = Problem(1, 2)
    found = np.asarray(problem.fast()(source, x, y))
    xs, ys = (_aligned(p, 1, source_axes) for p in np.broadcast_arrays(x, y))
    expected = [problem.exact(source[index], xs[index], ys[index]) for index in np.ndindex(source_axes)]
    assert distance(found.reshape(np.shape(expected)), expected) < 1e-10


# Axes of (strengths, points) for each level of vmap, innermost first -> transforms of each call of FINUFFT.
VMAPS: dict[str, tuple[list[tuple[int | None, int | None]], list[int]]] = {
    "strengths": ([(0, None)], [3]),
    "points": ([(None, 0)], [1] * 3),
    "both": ([(0, 0)], [1] * 3),
    "last axes": ([(-1, -1)], [1] * 3),
    "last axis of the strengths": ([(-1, None)], [3]),
    "strengths twice": ([(0, None), (0, None)], [9]),
    "strengths twice, last axes": ([(-1, None), (-1, None)], [9]),
    "strengths, then points": ([(0, None), (None, 0)], [3] * 3),
    "points, then strengths": ([(None, 0), (0, None)], [3] * 3),
    "strengths, then both": ([(0, None), (-1, -1)], [3] * 3),
    "both, then strengths": ([(0, 0), (1, None)], [3] * 3),
    "both twice": ([(0, 0), (0, 0)], [1] * 9),
    "points, strengths, points": ([(None, 0), (0, None), (None, 0)], [3] * 9),
}


@pytest.mark.parametrize("problem", [p for p in PROBLEMS if p.ndim == 1], ids=name)
@pytest.mark.parametrize("case", VMAPS)
def test_vmap_is_a_loop_in_few_calls(case: str, problem: Problem, transforms: list[int]) -> None:
    levels, expected_calls = VMAPS[case]
    source, *rest = problem.arguments()

    def grown(array: Any, which: int) -> Any:
        for seed, axes in enumerate(levels):
            axis = axes[which]
            if axis is not None:
                factors = np.array([1.0, 0.7 + 0.1 * seed, -0.4]).astype(array.dtype)
                array = np.stack([factor * array for factor in factors], axis)
        return array

    arrays = [grown(source, 0), *(grown(p, 1) for p in rest)]

    def mapped(function: Any) -> Any:
        for axes in levels:
            function = jax.vmap(function, in_axes=(axes[0], *(axes[1],) * len(rest)))
        return jax.jit(function)

    assert distance(mapped(problem.fast())(*arrays), mapped(problem.direct)(*map(jnp.asarray, arrays))) < 1e-9
    assert transforms == expected_calls


def test_vmap_over_one_dimension_of_the_points_only() -> None:
    problem = Problem(2, 2)
    f, x, y = problem.arguments()
    ys = np.stack([y, 2 * y])
    found = jax.vmap(problem.fast(), (None, None, 0))(f, x, ys)
    assert distance(found, [problem.exact(f, x, y) for y in ys]) < 1e-10


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0)])
def test_batches_of_size_0_and_1(size: int, axes: tuple[int | None, int | None]) -> None:
    c, x = Problem(1, 1).arguments()
    args = [a if axis is None else np.stack([a])[:size] for a, axis in zip((c, x), axes, strict=True)]
    found = jax.vmap(lambda c, x: nufft1(7, c, x, eps=1e-12), in_axes=axes)(*args)
    assert found.shape == (size, 7)
    np.testing.assert_allclose(found, np.stack([Problem(1, 1).exact(c, x)])[:size].astype(complex), rtol=1e-9)


def test_layout_of_a_call() -> None:
    layout = _shapes.arrange("nufft1", (4, 3, 2, M), 1, [("points", [(4, 1, 2, M)])])
    assert (layout.looped, layout.stacked, layout.sizes(layout.stacked)) == ((0, 2), (1,), (3,))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda c, x, y: nufft1((4, 4), c, x, y), [1]),
        (lambda c, x, y: jax.jvp(lambda x, y: nufft1((4, 4), c, x, y), (x, y), (x, y)), [1, 2]),
        (lambda c, x, y: jax.jvp(lambda x, y: nufft3(c, x, y, x, y), (x, y), (x, y)), [1, 2, 2]),
        (lambda c, x, y: jax.jvp(lambda x, y: nufft2(c[:4].reshape(2, 2), x, y), (x, y), (x, y)), [1, 2]),
    ],
)
def test_all_dimensions_of_a_derivative_are_one_call(call: Any, expected: list[int], transforms: list[int]) -> None:
    jax.block_until_ready(jax.jit(call)(*Problem(1, 2).arguments()))
    assert sorted(transforms) == expected
