# SPDX-License-Identifier: BSD-2-Clause
"""What the user sees who makes a mistake: which function, which argument, what was found, what to do."""

from __future__ import annotations

import re
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxbind_finufft import _accuracy, nufft1, nufft2, nufft3
from jaxbind_finufft.options import Opts
from support.nonuniform import Problem, distance

C, X = np.ones(6, complex), np.linspace(-3, 3, 6)
F = np.ones((5, 4), complex)

# What the user does, the type of the error, fragments of its text in order.
MISTAKES: dict[str, tuple[Any, type[Exception], list[str]]] = {
    "no points": (lambda: nufft1(4, C), ValueError, ["nufft1: found 0 arrays of points", "1, 2 or 3"]),
    "four dimensions": (
        lambda: nufft2(F, X, X, X, X),
        ValueError,
        ["nufft2: found 4 arrays", "one array per dimension"],
    ),
    "targets are missing": (lambda: nufft3(C, X, X, X), ValueError, ["nufft3: found 3 arrays", "2, 4 or 6"]),
    "other number of points": (
        lambda: nufft1(4, C, X[:5]),
        ValueError,
        ["nufft1: argument source has shape (6,)", "5"],
    ),
    "different lengths": (lambda: nufft2(F, X, X[:4]), ValueError, ["nufft2: argument points", "(6,), (4,)", "equal"]),
    "different targets": (lambda: nufft3(C, X, X, X, X[:4]), ValueError, ["nufft3: argument targets", "(6,), (4,)"]),
    "too few axes of modes": (
        lambda: nufft2(C, X, X),
        ValueError,
        ["nufft2: argument source has shape (6,)", "2 axes"],
    ),
    "strengths without axis": (lambda: nufft1(4, C[0], X), ValueError, ["nufft1: argument source has shape ()"]),
    "points without axis": (lambda: nufft1(4, C, X[0]), ValueError, ["nufft1: argument points[0] has shape ()"]),
    "more sets of points": (
        lambda: nufft1(4, C, np.stack([X, X])),
        ValueError,
        ["nufft1: argument points has shape (2, 6)", "at most 0 leading axes", "Add leading axes to source"],
    ),
    "leading axes that do not fit": (
        lambda: nufft1(4, np.stack([C, C]), np.stack([X] * 3)),
        ValueError,
        ["nufft1: argument points has shape (3, 6)", "2 or 1 along axis 0", "first leading axes"],
    ),
    "too few modes": (lambda: nufft1(4, C, X, X), ValueError, ["nufft1: argument output_shape is 4", "2 integers"]),
    "negative modes": (lambda: nufft1(-4, C, X), ValueError, ["argument output_shape is -4", "not negative"]),
    "modes that are no integers": (lambda: nufft1(4.5, C, X), TypeError, ["output_shape is 4.5 of type float"]),
    "modes in words": (lambda: nufft1("4", C, X), TypeError, ["output_shape is '4' of type str"]),
    "traced modes": (
        lambda: jax.jit(lambda n: nufft1(n, C, X))(4),
        TypeError,
        ["nufft1: argument output_shape is traced by JAX", "static under jax.jit"],
    ),
    "traced accuracy": (lambda: jax.jit(lambda e: nufft2(F, X, X, eps=e))(1e-6), TypeError, ["argument eps is traced"]),
    "traced sign": (lambda: jax.jit(lambda s: nufft2(F, X, X, iflag=s))(1), TypeError, ["argument iflag is traced"]),
    "accuracy in words": (lambda: nufft2(F, X, X, eps="good"), TypeError, ["nufft2: argument eps is 'good'", "1e-6"]),
    "accuracy is not a number": (lambda: nufft2(F, X, X, eps=np.nan), ValueError, ["nufft2: argument eps is nan"]),
    "sign in words": (lambda: nufft3(C, X, X, iflag="+"), TypeError, ["nufft3: argument iflag is '+'", "sign"]),
    "options as a dict": (lambda: nufft1(4, C, X, opts={"nthreads": 1}), TypeError, ["opts", "dict", "options.Opts"]),
    "options in words": (lambda: nufft1(4, C, X, opts="fast"), TypeError, ["nufft1: argument opts is 'fast'"]),
    "list of strengths": (
        lambda: nufft1(4, [1.0] * 6, X),
        TypeError,
        ["nufft1: argument source has type list", "asarray"],
    ),
    "list of points": (lambda: nufft3(C, X, [0.1]), TypeError, ["nufft3: argument targets[0] has type list"]),
    "complex points": (lambda: nufft2(F, X, C), TypeError, ["nufft2: argument points[1] has dtype complex128", "real"]),
    "complex targets": (lambda: nufft3(C, X, C), TypeError, ["nufft3: argument targets[0] has dtype complex128"]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_is_named(mistake: str) -> None:
    do_it, error, fragments = MISTAKES[mistake]
    with pytest.raises(error) as caught:
        do_it()
    assert re.search(".*".join(map(re.escape, fragments)), str(caught.value), re.DOTALL), str(caught.value)


def _bad(value: float) -> Any:
    points = X.copy()
    points[2] = value
    return points


NOT_FINITE: dict[str, tuple[Any, str]] = {
    "type 1, x": (lambda p: nufft1(4, C, p), "nufft1: argument points[0] (x) has 1 NaN or infinite values among 6"),
    "type 1, z": (lambda p: nufft1((4, 3, 2), C, X, X, p), "nufft1: argument points[2] (z)"),
    "type 2, y": (lambda p: nufft2(F, X, p), "nufft2: argument points[1] (y)"),
    "type 3, x": (lambda p: nufft3(C, p, X), "nufft3: argument points[0] (x)"),
    "type 3, t": (lambda p: nufft3(C, X, X, X, p), "nufft3: argument targets[1] (t)"),
    "gradient": (lambda p: jax.grad(lambda c: nufft2(c, p).real.sum())(C), "nufft2: argument points[0] (x)"),
    "transpose of type 3": (
        lambda p: jax.linear_transpose(lambda c: nufft3(c, p, X), C)(jnp.asarray(C))[0],
        "nufft3: argument points[0] (x)",
    ),
    "one of a batch": (lambda p: jax.vmap(lambda x: nufft1(4, C, x))(np.stack([X, p])), "nufft1: argument points[0]"),
}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("case", NOT_FINITE)
def test_points_that_are_not_finite_are_an_error_and_the_next_call_works(case: str, value: float) -> None:
    run, text = NOT_FINITE[case]
    with pytest.raises(Exception, match=re.escape(text)):
        jax.block_until_ready(run(_bad(value)))
    assert np.isfinite(run(X)).all()


def test_large_points_whose_sum_overflows_are_accepted() -> None:
    assert np.isfinite(nufft1(4, C, np.full(6, 1e308))).all()


@pytest.fixture
def untold() -> None:
    """Every warning is new."""
    _accuracy._told.clear()


@pytest.mark.usefixtures("untold")
@pytest.mark.parametrize(
    ("dtype", "eps", "upsampfac", "text"),
    [
        (np.complex64, 1e-9, 0, "nufft1: .* eps=1e-09 in single precision. It is computed with 1.2"),
        (np.complex128, 1e-17, 0, "nufft1: .* eps=1e-17 in double precision. It is computed with 2.2"),
        (np.complex128, 0.0, 0, "eps=0 in double precision"),
        (np.complex128, -1.0, 0, "eps=-1 in double precision"),
        (np.complex128, 1e-13, 1.25, "eps=1e-13 in double precision. It is computed with .*e-1[01]"),
    ],
)
def test_accuracy_out_of_reach_is_a_warning_once(dtype: Any, eps: float, upsampfac: float, text: str) -> None:
    args = Problem(1, 1).arguments(dtype)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for scale in (1, 2, 3):
            found = nufft1(7, scale * args[0], args[1], eps=eps, opts=Opts(upsampfac=upsampfac)).block_until_ready()
    assert [w.filename for w in caught] == [__file__]
    assert re.search(text, str(caught[0].message))
    assert distance(found, 3 * Problem(1, 1).exact(*args)) < (
        1e-8 if upsampfac else 1e-5 if dtype == np.complex64 else 1e-13
    )


@pytest.mark.usefixtures("untold")
@pytest.mark.parametrize(
    ("dtype", "eps", "upsampfac"),
    [(np.complex64, 1.3e-7, 0), (np.complex128, 3e-16, 0), (np.complex128, 1e-14, 2.0), (np.complex128, 1e-8, 1.25)],
)
@pytest.mark.parametrize("kind", [1, 2, 3])
def test_accuracy_within_reach_is_no_warning(kind: int, dtype: Any, eps: float, upsampfac: float) -> None:
    problem = Problem(kind, 2)
    assert np.isfinite(problem.fast(eps, upsampfac=upsampfac)(*problem.arguments(dtype))).all()
