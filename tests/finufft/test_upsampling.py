# SPDX-License-Identifier: BSD-2-Clause
"""When the grid is made finer than FINUFFT would make it, and that it is as accurate."""

from __future__ import annotations

import warnings
from typing import Any

import finufft
import pytest
from jaxbind_finufft import _upsampling, clear_plan_cache, nufft1
from jaxbind_finufft.options import Opts
from support.arrays import draw
from support.nonuniform import Problem, distance

FASTER: dict[str, Any] = {"kind": 1, "modes": (32, 32), "points": 1_000, "eps": 1e-6, "dtype": "complex128"}
CUBE: dict[str, Any] = FASTER | {"modes": (20, 20, 20), "points": 8_000}


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (FASTER, 1.5),
        (FASTER | {"eps": 1e-8}, 2.0),
        (FASTER | {"eps": 1e-3}, 0.0),
        (FASTER | {"eps": 1e-9}, 0.0),
        (FASTER | {"modes": (1_000,)}, 0.0),
        (FASTER | {"modes": (0, 32)}, 2.0),
        (FASTER | {"modes": (64, 64), "points": 10_000}, 2.0),
        (FASTER | {"modes": (64, 64), "points": 7_000}, 1.5),
        (FASTER | {"modes": (16, 16), "points": 300}, 1.5),
        (FASTER | {"modes": (16, 16), "points": 400}, 2.0),
        (FASTER | {"dtype": "complex64"}, 0.0),
        (FASTER | {"points": 100}, 0.0),
        (FASTER | {"modes": (512, 512), "points": 1_000_000}, 0.0),
        (CUBE, 2.0),
        (CUBE | {"points": 4_000}, 1.6),
        (CUBE | {"points": 400}, 0.0),
        (CUBE | {"points": 4_000, "eps": 1e-8}, 2.0),
        (CUBE | {"modes": (40, 40, 40)}, 0.0),
        (CUBE | {"modes": (100, 100, 100), "points": 1_000_000}, 1.6),
        (CUBE | {"modes": (8, 8, 8), "points": 100}, 2.0),
        (CUBE | {"dtype": "complex64"}, 1.6),
        (CUBE | {"dtype": "complex64", "points": 23_000}, 1.6),
        (CUBE | {"dtype": "complex64", "points": 25_000}, 0.0),
        (CUBE | {"dtype": "complex64", "points": 13_000, "eps": 2e-7}, 0.0),
        (CUBE | {"dtype": "complex64", "kind": 2}, 0.0),
        (CUBE | {"dtype": "complex64", "kind": 2, "points": 4_000}, 1.6),
        (CUBE | {"dtype": "complex64", "kind": 2, "points": 4_000, "eps": 2e-7}, 0.0),
        (CUBE | {"dtype": "complex64", "kind": 2, "points": 7_000, "eps": 1e-4}, 1.6),
        (CUBE | {"dtype": "complex64", "kind": 2, "points": 9_000, "eps": 1e-4}, 0.0),
        (CUBE | {"dtype": "complex64", "modes": (38, 40, 80)}, 1.6),
        (CUBE | {"dtype": "complex64", "modes": (10, 10, 10)}, 0.0),
        (CUBE | {"dtype": "complex64", "modes": (20, 20, 21)}, 0.0),
        (CUBE | {"dtype": "complex64", "modes": (0, 20, 20)}, 0.0),
    ],
)
def test_grid_is_finer_where_that_was_measured_to_be_faster(case: dict[str, Any], expected: float) -> None:
    assert _upsampling.choose(**case) == expected


@pytest.fixture
def factors(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The factor that each new plan is made with; None where FINUFFT chooses."""
    seen: list[Any] = []
    make = finufft.Plan.__init__

    def recorded(plan: Any, *args: Any, **options: Any) -> None:
        seen.append(options.get("upsampfac"))
        make(plan, *args, **options)

    x, c = draw(0, (10,)), draw(1, (10,), complex)
    nufft1(4, c, x, opts=Opts(upsampfac=2.0)).block_until_ready()  # asks for FINUFFT's limits once
    monkeypatch.setattr(finufft.Plan, "__init__", recorded)
    clear_plan_cache()
    return seen


@pytest.mark.parametrize(("wanted", "expected"), [(0.0, 1.5), (1.25, 1.25), (2.0, 2.0)])
def test_choice_of_the_user_is_kept(wanted: float, expected: float, factors: list[Any]) -> None:
    x, y = draw(0, (1_000,)), draw(1, (1_000,))
    c = draw(2, (1_000,), complex)
    nufft1((32, 32), c, x, y, opts=Opts(upsampfac=wanted)).block_until_ready()
    assert factors[-1] == expected


@pytest.mark.parametrize(("kind", "expected"), [(1, 1.6), (2, None)])
def test_choice_depends_on_the_type(kind: int, expected: float | None, factors: list[Any]) -> None:
    problem = Problem(kind, 3, modes=(20, 20, 20))
    problem.fast(1e-6)(*problem.arguments("complex64", count=8_000)).block_until_ready()
    assert factors == [expected]


@pytest.mark.parametrize("kind", [1, 2])
@pytest.mark.parametrize("eps", [1e-5, 1e-6, 1.1e-7, 1e-8])
@pytest.mark.parametrize(("modes", "count"), [((12, 13), 200), ((12, 13), 400), ((5, 6, 7), 100)])
def test_accuracy_is_reached_in_double_precision(modes: tuple[int, ...], count: int, eps: float, kind: int) -> None:
    problem = Problem(kind, len(modes), modes=modes)
    args = problem.arguments(count=count)
    assert _upsampling.choose(kind, modes, count, eps, "complex128") > 0
    assert distance(problem.fast(eps)(*args), problem.exact(*args)) < 2 * eps


@pytest.mark.parametrize("kind", [1, 2])
@pytest.mark.parametrize("eps", [1e-3, 1e-4, 1e-5])
def test_accuracy_is_reached_in_single_precision(eps: float, kind: int) -> None:
    problem = Problem(kind, 3, modes=(20, 19, 20))
    args = problem.arguments("complex64", count=300)
    assert _upsampling.choose(kind, problem.sizes, 300, eps, "complex64") == 1.6
    exact = problem.direct(*(a.astype("complex128" if a.dtype.kind == "c" else "float64") for a in args))
    assert distance(problem.fast(eps)(*args), exact) < 2 * eps


def test_the_tightest_accuracy_of_single_precision_is_reached_without_a_warning() -> None:
    problem = Problem(1, 3, modes=(20, 20, 20))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        problem.fast(1.2e-7)(*problem.arguments("complex64", count=30)).block_until_ready()
