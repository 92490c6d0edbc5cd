# SPDX-License-Identifier: BSD-2-Clause
"""Options: every field reaches FINUFFT or raises; which of nested options is used where."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import finufft
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxbind_finufft import clear_plan_cache, nufft1, nufft2, nufft3
from jaxbind_finufft.options import FftwFlags, NestedOpts, Opts, unpack_opts
from support.nonuniform import Problem
from support.oracles import assert_close

CHANGED: dict[str, Any] = {
    "modeord": True,
    "debug": 0,
    "spread_debug": 0,
    "showwarn": True,
    "nthreads": 2,
    "fftw": FftwFlags.Measure,
    "spread_sort": 0,
    "spread_kerevalmeth": False,
    "spread_kerpad": False,
    "upsampfac": 2.0,
    "spread_thread": 1,
    "maxbatchsize": 3,
    "spread_nthr_atomic": 1,
    "spread_max_sp_size": 1000,
}


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The options with which plans were made, by type."""
    seen: list[dict[str, Any]] = []
    make = finufft.Plan.__init__

    def recorded(plan: Any, kind: int, *args: Any, **given: Any) -> None:
        seen.append({"type": kind, **given})
        make(plan, kind, *args, **given)

    monkeypatch.setattr(finufft.Plan, "__init__", recorded)
    clear_plan_cache()
    return seen


def test_every_option_is_tried() -> None:
    assert set(CHANGED) == {field.name for field in dataclasses.fields(Opts)}


@pytest.mark.parametrize("field", [f for f, value in CHANGED.items() if value != getattr(Opts(), f)])
def test_every_option_reaches_finufft(field: str, options: list[dict[str, Any]]) -> None:
    c, x = Problem(1, 1).arguments()
    nufft1(7, c, x, eps=1e-5, opts=Opts(**{field: CHANGED[field]})).block_until_ready()
    assert options[-1][field] == CHANGED[field]
    assert hasattr(finufft._finufft.FinufftOpts(), field)


@pytest.mark.parametrize("field", ["debug", "spread_debug"])
def test_finufft_speaks_if_it_is_told_to(field: str, capfd: pytest.CaptureFixture[str]) -> None:
    c, x = Problem(1, 1).arguments()
    clear_plan_cache()
    nufft1(7, c, x, opts=Opts(**{field: 1})).block_until_ready()
    assert "spread" in capfd.readouterr().out


@pytest.mark.parametrize("field", ["nthreads", "upsampfac", "spread_sort", "maxbatchsize", "spread_thread"])
@pytest.mark.parametrize("problem", [Problem(1, 2), Problem(2, 2), Problem(3, 2)], ids=str)
def test_options_of_speed_change_no_value(problem: Problem, field: str) -> None:
    args = problem.arguments()
    assert_close(problem.fast(1e-9, **{field: CHANGED[field]})(*args), problem.fast(1e-9)(*args), 1e-7)


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_defaults_are_finuffts(kind: int, options: list[dict[str, Any]]) -> None:
    problem = Problem(kind, 1)
    jax.block_until_ready(problem.fast(1e-6)(*problem.arguments()))
    assert options == [{"type": kind, "showwarn": 0, "nthreads": 1}]


def test_order_of_the_fields_is_that_of_the_peer() -> None:
    assert Opts(True, 0, 0, False, 2, 64, 1).changed() == (("modeord", 1), ("nthreads", 2), ("spread_sort", 1))


NESTED: dict[str, tuple[NestedOpts, int, bool, int]] = {
    "forward": (NestedOpts(forward=Opts(nthreads=2)), 1, True, 2),
    "forward before type": (NestedOpts(forward=Opts(nthreads=2), type1=Opts(nthreads=3)), 1, True, 2),
    "type": (NestedOpts(type2=Opts(nthreads=3)), 2, True, 3),
    "other type": (NestedOpts(type2=Opts(nthreads=3)), 1, True, 0),
    "backward": (NestedOpts(backward=Opts(nthreads=4)), 1, False, 4),
    "type backward": (NestedOpts(type2=Opts(nthreads=3)), 2, False, 3),
    "forward is not backward": (NestedOpts(forward=Opts(nthreads=2)), 1, False, 0),
    "nested backward": (NestedOpts(backward=NestedOpts(type3=Opts(nthreads=5))), 3, False, 5),
    "nothing": (NestedOpts(), 3, True, 0),
}


@pytest.mark.parametrize("case", NESTED)
def test_nested_options(case: str) -> None:
    nested, kind, forward, expected = NESTED[case]
    assert unpack_opts(nested, kind, forward).nthreads == expected


@pytest.mark.parametrize("opts", [None, Opts(), Opts(nthreads=2)])
def test_plain_options_hold_for_both_directions(opts: Opts | None) -> None:
    assert unpack_opts(opts, 1, True) == unpack_opts(opts, 2, False) == (opts or Opts())


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_transpose_runs_with_the_options_of_its_direction(kind: int, options: list[dict[str, Any]]) -> None:
    nested = NestedOpts(forward=Opts(maxbatchsize=1), backward=Opts(maxbatchsize=2))
    source, *rest = Problem(kind, 1).arguments()
    function = {1: functools.partial(nufft1, 7), 2: nufft2, 3: nufft3}[kind]
    jax.block_until_ready(jax.grad(lambda c: jnp.sum(jnp.abs(function(c, *rest, opts=nested)) ** 2))(source))
    back = {1: 2, 2: 1, 3: 3}[kind]
    assert [(o["type"], o["maxbatchsize"]) for o in options] == [(kind, 1), (back, 2)]


@pytest.mark.parametrize("argnum", [0, 1])
@pytest.mark.parametrize("kind", [1, 2])
def test_order_of_the_modes_is_the_same_in_both_directions(kind: int, argnum: int) -> None:
    problem = Problem(kind, 1, modeord=True)
    args = problem.arguments()
    nested = NestedOpts(forward=Opts(modeord=True), backward=Opts(nthreads=1))

    def fast(*args: Any) -> Any:
        transform = nufft1 if kind == 1 else nufft2
        return transform(*(((7,),) if kind == 1 else ()), *args, iflag=1, eps=1e-12, opts=nested)

    def weighted(f: Any) -> Any:
        return lambda *args: jnp.sum(jnp.abs(f(*args)) ** 2 * jnp.arange(f(*args).size).astype(float))

    found, expected = (jax.grad(weighted(f), argnum)(*args) for f in (fast, problem.direct))
    assert_close(found, expected, 1e-9)


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"modeord": 2}, ValueError, r"Opts: argument modeord is 2; expected True or False"),
    ({"modeord": "yes"}, TypeError, r"argument modeord is 'yes' of type str; expected an integer"),
    ({"debug": 9}, ValueError, r"argument debug is 9; expected one of \[0, 1, 2\]. See DebugLevel"),
    ({"spread_debug": -1}, ValueError, r"argument spread_debug"),
    ({"showwarn": 3}, ValueError, r"argument showwarn"),
    ({"nthreads": -1}, ValueError, r"argument nthreads is -1; expected at least 0"),
    ({"nthreads": 1.5}, TypeError, r"argument nthreads is 1.5 of type float; expected an integer"),
    ({"fftw": -1}, ValueError, r"argument fftw"),
    ({"spread_sort": 3}, ValueError, r"argument spread_sort is 3; .* SpreadSort"),
    ({"spread_kerevalmeth": 5}, ValueError, r"argument spread_kerevalmeth"),
    ({"spread_kerpad": None}, TypeError, r"argument spread_kerpad"),
    ({"upsampfac": 1.0}, ValueError, r"argument upsampfac is 1.0; expected a number above 1, or 0"),
    ({"upsampfac": float("nan")}, ValueError, r"argument upsampfac"),
    ({"upsampfac": "2"}, TypeError, r"argument upsampfac is '2' of type str; expected a number"),
    ({"spread_thread": 7}, ValueError, r"argument spread_thread is 7; .* SpreadThread"),
    ({"maxbatchsize": -1}, ValueError, r"argument maxbatchsize"),
    ({"spread_nthr_atomic": -2}, ValueError, r"argument spread_nthr_atomic is -2; expected at least -1"),
    ({"spread_max_sp_size": -1}, ValueError, r"argument spread_max_sp_size"),
    ({"gpu_sort": True}, TypeError, r"gpu_sort"),
]


@pytest.mark.parametrize(("fields", "error", "text"), WRONG, ids=str)
def test_wrong_options_are_refused_by_name(fields: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        Opts(**fields)


def test_every_option_can_be_wrong() -> None:
    assert set(CHANGED) <= {name for fields, *_ in WRONG for name in fields}


def test_nested_options_hold_options() -> None:
    with pytest.raises(TypeError, match=r"NestedOpts: argument forward is .*; expected None or Opts\. Make it with"):
        NestedOpts(forward={"nthreads": 1})  # type: ignore[arg-type]


def test_options_are_values() -> None:
    assert hash(Opts(nthreads=1)) == hash(Opts(nthreads=np.int64(1)))
    assert Opts(nthreads=1) == Opts(nthreads=np.int64(1)) != Opts()
