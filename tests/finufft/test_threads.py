# SPDX-License-Identifier: BSD-2-Clause
"""How many threads a transform gets."""

from __future__ import annotations

from typing import Any

import finufft
import jax
import numpy as np
import pytest
from jaxbind_finufft import _threads, clear_plan_cache, nufft1, nufft2, nufft3
from jaxbind_finufft.options import Opts
from support.arrays import draw


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of threads that FINUFFT was asked for, on a machine with four."""
    seen: list[int] = []
    make = finufft.Plan.__init__

    def recorded(plan: Any, *args: Any, **options: Any) -> None:
        seen.append(options["nthreads"])
        make(plan, *args, **options | {"nthreads": 1})

    monkeypatch.setattr(finufft.Plan, "__init__", recorded)
    monkeypatch.setattr(_threads, "available", lambda: 4)
    clear_plan_cache()
    return seen


@pytest.mark.parametrize(("count", "expected"), [(10, 1), (1_000, 1), (3_000_000, 4)])
def test_threads_follow_the_size_of_the_problem(count: int, expected: int, threads: list[int]) -> None:
    x = np.linspace(-3, 3, count)
    nufft1((16, 16), draw(0, (count,), complex), x, x, eps=1e-3 if count > 1_000 else 1e-6).block_until_ready()
    assert threads == [expected]


@pytest.mark.parametrize("wanted", [1, 3])
def test_number_of_the_user_is_passed_on(wanted: int, threads: list[int]) -> None:
    x, opts = np.linspace(-3, 3, 9), Opts(nthreads=wanted)
    jax.block_until_ready(jax.grad(lambda c: abs(nufft1(9, c, x, opts=opts)).sum())(x))
    nufft2(x, x, opts=opts).block_until_ready()
    nufft3(x, x, x, opts=opts).block_until_ready()
    assert set(threads) == {wanted}


def test_batch_counts_as_work(threads: list[int]) -> None:
    x = np.linspace(-3, 3, 1_000)
    nufft1((16, 16), draw(0, (1_000, 1_000), complex), x, x).block_until_ready()
    assert threads == [4]


@pytest.mark.parametrize(
    ("operations", "available", "expected"),
    [
        (0, 8, 1),
        (1.9, 8, 1),
        (2, 8, 2),
        (5.5, 8, 5),
        (1e6, 8, 8),
        (1e6, 1, 1),
    ],
)
def test_each_thread_gets_enough_work(
    operations: float, available: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_threads, "available", lambda: available)
    assert _threads.choose(0, operations * _threads.WORTH_A_THREAD) == expected


@pytest.mark.parametrize(("value", "expected"), [("3", 3), ("5,2", 5)])
def test_environment_limits_the_threads(value: str, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert _threads.available() == expected


@pytest.mark.parametrize("value", ["", "0", "many"])
def test_environment_without_a_number_is_ignored(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    with_it = _threads.available()
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert with_it == _threads.available() >= 1


@pytest.mark.parametrize(
    "more",
    [
        (2_000, 100, 2, 1e-6, 1),
        (1_000, 400, 2, 1e-6, 1),
        (1_000, 100, 3, 1e-6, 1),
        (1_000, 100, 2, 1e-9, 1),
        (1_000, 100, 2, 1e-6, 2),
    ],
)
def test_work_grows_with_everything(more: Any) -> None:
    assert _threads.work(*more) > 1.2 * _threads.work(1_000, 100, 2, 1e-6, 1)
