# SPDX-License-Identifier: BSD-2-Clause
"""Reuse of plans: exactly the same points, whatever the addresses; never another result; bounded, from many threads."""

from __future__ import annotations

import concurrent.futures
import gc
import sys
from collections.abc import Iterator
from typing import Any

import finufft
import jax
import jax.numpy as jnp
import jaxbind_finufft
import numpy as np
import pytest
from jaxbind_finufft import _plan_cache, nufft1, nufft2, nufft3
from jaxbind_finufft.options import Opts
from support import process
from support.arrays import draw
from support.nonuniform import PROBLEMS, Problem, distance, name

ONE = Problem(1, 1)


@pytest.fixture(autouse=True)
def empty_cache() -> Iterator[None]:
    jaxbind_finufft.clear_plan_cache()
    yield
    jaxbind_finufft.set_plan_cache_limit(_plan_cache.DEFAULT_MAX_BYTES)
    jaxbind_finufft.clear_plan_cache()


def _counts() -> tuple[int, int, int, int]:
    info = jaxbind_finufft.plan_cache_info()
    return info.hits, info.recycled, info.misses, info.plans


def _points(seed: int, count: int = 50) -> Any:
    return np.random.default_rng(seed).uniform(-3, 3, count)


def _run(*points: Any, count: int = 50, **options: Any) -> Any:
    """Type 1 for some points, ready."""
    return np.asarray(nufft1((9,) * len(points), draw(0, (count,), complex), *points, **options))


@pytest.mark.parametrize("count", [50, 10_000, 200_000])
def test_equal_points_are_recognised_by_their_contents(count: int) -> None:
    points = _points(0, count)
    for _ in range(4):
        _run(jnp.array(points), count=count)
        gc.collect()
    hits, _, _, plans = _counts()
    # A large set of points is kept when it comes for the second time.
    assert (hits, plans) == ((2, 1) if points.nbytes > _plan_cache.SMALL else (3, 1))


@pytest.mark.parametrize("position", [0, 17, 31, 49])
@pytest.mark.parametrize("axis", [0, 1])
def test_points_that_differ_in_the_last_bit_are_other_points(axis: int, position: int) -> None:
    points = [_points(0), _points(1)]
    _run(*points, eps=1e-14)
    points = [p.copy() for p in points]
    points[axis][position] = np.nextafter(points[axis][position], 10)
    second = _run(*points, eps=1e-14)
    assert _counts()[0] == 0
    jaxbind_finufft.set_plan_cache_limit(0)
    np.testing.assert_array_equal(second, _run(*points, eps=1e-14))


def test_large_points_that_differ_in_one_element_are_other_points() -> None:
    points = _points(0, 300_000)
    options: dict[str, Any] = {"count": 300_000, "opts": Opts(nthreads=1)}  # two threads add in any order
    for _ in range(3):
        _run(points, **options)
    assert _counts()[0] == 1
    points[123_457] += 1e-3
    changed = _run(points, **options)
    assert _counts()[0] == 1
    jaxbind_finufft.set_plan_cache_limit(0)
    np.testing.assert_array_equal(changed, _run(points, **options))


@pytest.mark.parametrize("problem", PROBLEMS, ids=name)
def test_results_are_the_same_with_and_without_reuse(problem: Problem) -> None:
    args = problem.arguments()
    sequence = [args, (args[0] * 2, *args[1:]), (args[0], *(1.01 * p for p in args[1:])), args, args]
    reused = [np.asarray(problem.fast()(*a)) for a in sequence]
    assert _counts()[0] >= 2
    jaxbind_finufft.set_plan_cache_limit(0)
    for found, a in zip(reused, sequence, strict=True):
        np.testing.assert_array_equal(found, problem.fast()(*a))


@pytest.mark.parametrize(
    "changed",
    [
        lambda c, x: nufft1(8, c, x),
        lambda c, x: nufft1(9, c, x, iflag=-1),
        lambda c, x: nufft1(9, c, x, eps=1e-7),
        lambda c, x: nufft1(9, c, x, opts=Opts(modeord=True)),
        lambda c, x: nufft1(9, c.astype(np.complex64), x.astype(np.float32)),
        lambda c, x: nufft1(9, np.stack([c, c]), x),
        lambda c, x: nufft1(9, c[:25], x[:25]),
        lambda c, x: nufft1((9, 9), c, x, x),
        lambda c, x: nufft2(c[:9], x),
        lambda c, x: nufft3(c, x, x[:9]),
    ],
)
def test_everything_else_that_a_plan_depends_on_makes_another(changed: Any) -> None:
    c, x = draw(0, (50,), complex), _points(0)
    jax.block_until_ready(nufft1(9, c, x))
    jax.block_until_ready(changed(c, x))
    assert _counts()[0] == 0


def test_points_that_change_with_every_call_share_one_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    made = _recorded_plans(monkeypatch)
    found = [_run(_points(seed)) for seed in range(20)]
    assert (_counts(), len(made)) == ((0, 19, 1, 1), 1)
    jaxbind_finufft.set_plan_cache_limit(0)
    for seed, result in enumerate(found):
        np.testing.assert_array_equal(result, _run(_points(seed)))


def _recorded_plans(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The requests for which plans were made."""
    made: list[Any] = []
    make = _plan_cache.make
    monkeypatch.setattr("jaxbind_finufft._plans.make", lambda request: (made.append(request), make(request))[1])
    return made


def test_sets_of_points_that_come_in_turns_have_a_plan_each() -> None:
    for _ in range(5):
        for seed in range(4):
            _run(_points(seed))
    hits, _, _, plans = _counts()
    assert plans == 4
    assert hits >= 3 * 4 - 1


def test_mapped_points_share_one_plan_and_are_recognised_when_they_return() -> None:
    points = np.stack([_points(seed) for seed in range(5)])
    transform = jax.jit(jax.vmap(lambda x: nufft1(9, draw(0, (50,), complex), x)))
    first = np.asarray(transform(points))
    assert _counts() == (0, 4, 1, 1)
    transform(points).block_until_ready()
    hits = _counts()[0]
    np.testing.assert_array_equal(transform(points), first)
    assert _counts()[0] == hits + 5


def test_solver_sorts_its_points_once() -> None:
    points = _points(0)

    def normal(f: Any) -> Any:
        return nufft1(9, nufft2(f, points, eps=1e-9), points, eps=1e-9) / 50 + f

    solve = jax.jit(lambda b: jax.scipy.sparse.linalg.cg(normal, b, maxiter=30)[0])
    solution = solve(draw(1, (9,), complex))
    hits, _, misses, plans = _counts()
    assert (misses, plans) == (2, 2)
    assert hits > 10
    assert distance(normal(solution), draw(1, (9,), complex)) < 1e-4


def test_memory_is_limited() -> None:
    limit = 300_000
    jaxbind_finufft.set_plan_cache_limit(limit)
    for seed in range(60):
        _run(_points(seed % 30))
        assert jaxbind_finufft.plan_cache_info().nbytes <= limit
    info = jaxbind_finufft.plan_cache_info()
    assert 5 < info.plans < 20
    assert info.max_bytes == limit


def test_plans_that_were_used_longest_ago_are_dropped_first() -> None:
    for seed in (0, 1, 0, 1):  # a plan each
        _run(_points(seed))
    jaxbind_finufft.set_plan_cache_limit(jaxbind_finufft.plan_cache_info().nbytes)
    _run(_points(0))
    for _ in range(2):
        _run(_points(2))
    before = _counts()[0]
    _run(_points(0))
    assert _counts()[0] == before + 1


def test_points_larger_than_the_limit_are_not_kept() -> None:
    jaxbind_finufft.set_plan_cache_limit(50_000)
    for _ in range(3):
        _run(_points(0, 5_000), count=5_000)
    assert _counts() == (0, 0, 3, 0)


def test_cache_can_be_cleared_and_switched_off() -> None:
    _run(_points(0))
    jaxbind_finufft.clear_plan_cache()
    assert jaxbind_finufft.plan_cache_info()[:5] == (0, 0, 0, 0, 0)
    jaxbind_finufft.set_plan_cache_limit(0)
    for _ in range(3):
        _run(_points(0))
    assert _counts() == (0, 0, 3, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and settings of the GNU C library")
def test_estimated_size_is_near_the_true_one() -> None:
    program = """
from jaxbind_finufft import nufft1, plan_cache_info

def used():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4096

def fill(seeds):
    for seed in seeds:
        x = np.random.default_rng(seed).uniform(-3, 3, (2, 40_000))
        for _ in range(2):
            nufft1((32, 32), x[0] + 1j, *x).block_until_ready()

fill(range(40))  # what compiling left behind is used up
start, before = used(), plan_cache_info().nbytes
fill(range(40, 80))
print((used() - start) / (plan_cache_info().nbytes - before))
"""
    # Arrays that are given back leave the process at once, so that only those that are kept are seen.
    assert 0.8 < float(process.run(program, MALLOC_MMAP_THRESHOLD_="65536")) < 1.2


def test_points_beyond_what_fits_into_memory_are_an_error_and_the_next_call_works() -> None:
    c, x = draw(0, (50,), complex), _points(0)
    for _ in range(2):
        with pytest.raises(Exception, match="FINUFFT"):
            nufft3(c, 1e13 * x, x).block_until_ready()
    problem = Problem(3, 1)
    args = problem.arguments()
    assert distance(problem.fast()(*args), problem.exact(*args)) < 1e-10


def test_many_threads_with_few_sets_of_points() -> None:
    transform = jax.jit(lambda c, x: nufft1(9, c, x, eps=1e-12))
    cases = [(draw(seed, (50,), complex), _points(seed % 3)) for seed in range(12)]
    expected = [Problem(1, 1, modes=(9,)).exact(*case) for case in cases]

    def work(start: int) -> float:
        order = [(start + k) % len(cases) for k in range(40)]
        return max(distance(transform(*cases[k]), expected[k]) for k in order)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert max(pool.map(work, range(8))) < 1e-10


def test_threads_with_points_that_all_differ_while_the_cache_is_cleared() -> None:
    transform = jax.jit(lambda c, x: nufft1(9, c, x, eps=1e-12))
    c = draw(0, (50,), complex)

    def work(thread: int) -> float:
        errors = []
        for k in range(30):
            x = _points(100 * thread + k // 2)
            errors.append(distance(transform(c, x), Problem(1, 1, modes=(9,)).exact(c, x)))
            if k % 7 == 0:
                jaxbind_finufft.clear_plan_cache()
        return max(errors)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert max(pool.map(work, range(8))) < 1e-10


def test_plan_in_use_is_not_shared() -> None:
    lane = _plan_cache.plan_cache.lane(_request())
    points, strengths = (_points(0),), draw(0, (1, 50), complex)
    out, inner = np.empty((1, 9), complex), np.empty((1, 9), complex)

    def reenter(_: Any) -> None:
        """Run the same transform while the plan of the outer one is taken."""
        if not np.isnan(inner[0, 0]):
            return
        inner[0, 0] = 0
        _plan_cache.plan_cache.execute(lane, points, strengths, inner, reenter)

    _plan_cache.plan_cache.execute(lane, points, strengths, out, reenter)
    entry = lane.last
    assert entry is not None
    with entry.busy:
        inner[0, 0] = 0
        _plan_cache.plan_cache.execute(lane, points, strengths, inner, reenter)
    np.testing.assert_array_equal(out, inner)
    assert _counts()[3] == 2


def _request() -> Any:
    return _plan_cache.Request(1, (9,), 1, 1, 1e-9, "complex128", (("nthreads", 1),))


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_direct_call_of_the_library_is_that_of_its_plan(kind: int) -> None:
    problem = Problem(kind, 2)
    source, *rest = problem.arguments()
    modes = 2 if kind == 3 else problem.sizes
    plan = finufft.Plan(kind, modes, 1, 1e-9, 1, "complex128", nthreads=1)
    plan.setpts(*rest[:2], None, *rest[2:]) if kind == 3 else plan.setpts(*rest)
    options = {"eps": 1e-9, "nthreads": 1}
    np.testing.assert_array_equal(problem.fast(**options)(source, *rest), plan.execute(source))


def test_program_with_plans_ends_cleanly() -> None:
    program = """
from jaxbind_finufft import nufft1, nufft3
x = np.linspace(-3, 3, 50)
jax.jit(lambda c: nufft3(nufft1(9, c, x), x[:9], x))(x + 1j).block_until_ready()
nufft1(9, x + 1j, 2 * x)
print("done")
"""
    assert process.run(program) == "done\n"
