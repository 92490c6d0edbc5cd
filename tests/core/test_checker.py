# SPDX-License-Identifier: BSD-2-Clause
"""`jaxbind.testing`: right operators pass, and every planted mistake is found where it is and named."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jaxbind import get_linear_call, get_nonlinear_call, load_kwargs
from jaxbind.testing import OperatorCheckError, Report, check_operator
from support import zoo
from support.arrays import draw
from support.native import batching, describing

SAME = zoo.like(0)
C = np.complex128
REAL, COMPLEX, SQUARE = draw(1, (4,)), draw(2, (4,), C), draw(3, (4, 4))
MATRIX = draw(3, (4, 4)) + 1j * draw(4, (4, 4))
Make = Callable[[], Any]


def host(function: Callable[..., Any]) -> Callable[..., None]:
    """A host function from a function of arrays and keyword arguments."""

    def write(out: Any, args: Any, kwargs_dump: Any) -> None:
        found = function(*args, **load_kwargs(kwargs_dump))
        for array, value in zip(out, found if isinstance(found, tuple) else (found,), strict=True):
            array[...] = value

    return write


def linear(f: Any, f_t: Any, abstract: Any = SAME, abstract_t: Any = SAME, **options: Any) -> Make:
    """An operator from two functions of arrays, bound when it is asked for."""
    return lambda: get_linear_call(host(f), host(f_t), abstract, abstract_t, **options)


def nonlinear(f: Any, jvp: Any, vjp: Any, abstract: Any = SAME) -> Make:
    """The same for a nonlinear one."""
    return lambda: get_nonlinear_call(host(f), (host(jvp), host(vjp)), abstract, SAME)


def _bind(kind: str, row: tuple[Any, ...], *, native: bool) -> Any:
    f, f_t, abstract, abstract_t, fixed, _, _ = row
    if native:
        f, f_t = batching(f), zoo._each(f_t, batching)
        abstract, abstract_t = describing(abstract), zoo._each(abstract_t, describing)
    bind = get_nonlinear_call if kind == "nonlinear" else get_linear_call
    return bind(f, f_t, abstract, abstract_t, first_n_args_fixed=fixed, func_can_batch=native)


ROWS = {name.replace(" ", "-"): (kind, row) for kind, table in zoo.KINDS.items() for name, row in table.items()}


@pytest.mark.parametrize("native", [False, True], ids=["looped", "native"])
@pytest.mark.parametrize("name", ROWS)
def test_a_right_operator_passes(name: str, native: bool) -> None:
    kind, row = ROWS[name]
    report = check_operator(_bind(kind, row, native=native), *row[-1])
    assert report.passed
    assert len(report.checks) >= 15


def _unit(w: Any, x: Any) -> Any:
    if not np.allclose(np.sum(w**2), 1.0):
        raise ValueError("not a unit vector")
    return w * x


def _exp_jvp(x: Any, t: Any) -> Any:
    return np.exp(x) * t


# Right operators that a careless check would call wrong: (operator, arguments, keyword arguments).
HARMLESS: dict[str, tuple[Make, tuple[Any, ...], dict[str, Any]]] = {
    "varies a thousand times faster than its argument": (
        nonlinear(lambda x: np.sin(1e3 * x), *[lambda x, t: 1e3 * np.cos(1e3 * x) * t] * 2),
        (REAL,),
        {},
    ),
    "small value on top of a large constant": (
        nonlinear(lambda x: 1e6 + x**2, *[lambda x, t: 2 * x * t] * 2),
        (REAL,),
        {},
    ),
    "singular close to the point": (
        nonlinear(np.log, *[lambda x, t: t / x] * 2),
        (np.array([1e-3, 1.0, 20.0]),),
        {},
    ),
    "derivative is zero": (nonlinear(np.cos, *[lambda x, t: -np.sin(x) * t] * 2), (np.zeros(3),), {}),
    "holomorphic": (nonlinear(lambda z: z**2, *[lambda z, t: 2 * z * t] * 2), (COMPLEX,), {}),
    "squared modulus": (
        nonlinear(
            lambda z: np.abs(z) ** 2,
            lambda z, t: 2 * (z.conj() * t).real,
            lambda z, c: 2 * z.conj() * c,
            lambda z, *_: ((z.shape, np.float64),),
        ),
        (COMPLEX,),
        {},
    ),
    "rfft": (
        linear(
            np.fft.rfft,
            lambda c: np.fft.fft(np.append(c, 0.0)).real,
            lambda x: (((3,), C),),
            lambda c: (((4,), np.float64),),
        ),
        (REAL,),
        {},
    ),
    "conjugate": (linear(np.conj, np.conj), (COMPLEX,), {}),
    "float32, computed in double": (
        linear(lambda x: np.cumsum(x.astype(np.float64)), lambda c: backwards(c.astype(np.float64))),
        (REAL.astype(np.float32),),
        {},
    ),
    "float16": (nonlinear(np.exp, _exp_jvp, _exp_jvp), (REAL.astype(np.float16),), {}),
    "bfloat16": (nonlinear(np.exp, _exp_jvp, _exp_jvp), (REAL.astype(jnp.bfloat16),), {}),
    "integer output": (
        nonlinear(
            lambda x: (x**2, np.argsort(x)),
            lambda x, t: (2 * x * t, 0),
            lambda x, c, _: 2 * x * c,
            lambda x, *_: ((x.shape, x.dtype), (x.shape, np.int64)),
        ),
        (REAL,),
        {},
    ),
    "fixed argument with a constraint": (
        linear(_unit, _unit, zoo.like(1), zoo.like(1), first_n_args_fixed=1),
        (REAL / np.linalg.norm(REAL), SQUARE[0]),
        {},
    ),
    "no derivative": (lambda: get_nonlinear_call(host(np.sign), None, SAME, None), (REAL,), {}),
    "rule written in JAX": (
        lambda: get_nonlinear_call(host(np.sin), lambda p, t: (jnp.cos(p[0]) * t[0],), SAME, None),
        (REAL,),
        {},
    ),
    "differentiable fixed argument": (
        linear(
            *[lambda w, x: w * x] * 2,
            *[zoo.like(1)] * 2,
            first_n_args_fixed=1,
            fixed_derivative=lambda p, t: (t[0] * p[1],),
        ),
        (REAL, SQUARE[0]),
        {},
    ),
    "required keyword argument": (
        linear(
            lambda x, m: m @ x,
            lambda c, m: c @ m,
            lambda x, m: ((m.shape[:1], x.dtype),),
            lambda c, m: ((m.shape[1:], c.dtype),),
        ),
        (REAL,),
        {"m": SQUARE[:3]},
    ),
    "empty": (linear(*[lambda x: x] * 2), (np.zeros((0, 3)),), {}),
    "Python number": (linear(*[lambda x: 2 * x] * 2), (1.5,), {}),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_a_right_operator_raises_no_false_alarm(name: str) -> None:
    make, args, kwargs = HARMLESS[name]
    assert check_operator(make(), *args, **kwargs).passed


def test_partial_objects_are_taken_apart() -> None:
    scaled = linear(*[lambda w, x, seed: seed * w * x] * 2, zoo.like(1), zoo.like(1), first_n_args_fixed=1)()
    operator = functools.partial(functools.partial(scaled, REAL), seed=3.0)
    report = check_operator(operator, SQUARE[0])
    assert "seed" in {check.name: check.detail for check in report.checks}["keyword arguments"]


@pytest.mark.parametrize(("function", "field"), [(np.fft.fft, "complex"), (np.conj, "real")])
def test_the_report_says_over_which_numbers_a_complex_map_is_linear(function: Any, field: str) -> None:
    report = check_operator(linear(function, function)(), COMPLEX)
    details = {check.name: check.detail for check in report.checks}
    assert details["linearity in argument 0"] == f"over the {field} numbers"


def partly(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][:-1] = args[0][:-1]


def real_part(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0].real[...] = args[0].real


def adds(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] += args[0]


def writes_input(out: Any, args: Any, kwargs_dump: Any) -> None:
    args[0][1] *= 2
    out[0][...] = args[0]


def returns(out: Any, args: Any, kwargs_dump: Any) -> Any:
    out[0][...] = args[0]
    return out[0]


kept: list[Any] = []


def keeps(out: Any, args: Any, kwargs_dump: Any) -> None:
    kept.append(args[0][1:])
    out[0][...] = args[0]


def identity(x: Any, *_: Any, **__: Any) -> Any:
    return x


def fails(*_: Any) -> Any:
    raise RuntimeError("no such table")


def rows_only(x: Any, batch_axes: Any) -> Any:
    """Claims to batch natively, and sums along the first axis whatever the batch axes are."""
    return np.cumsum(x, axis=0)


def rows_abstract(x: Any, batch_axes: Any) -> Any:
    return ((x.shape, x.dtype, batch_axes[0][-1] if batch_axes else None),)


def wrong_axis(x: Any, batch_axes: Any) -> Any:
    return ((x.shape, x.dtype, x.ndim - 1 - batch_axes[0][-1] if batch_axes else None),)


class Counter:
    """A function with a state."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        return self.calls * x


@dataclasses.dataclass(frozen=True)
class Planted:
    """An operator with a mistake, the check that must find it, and words of what it says."""

    make: Make
    args: tuple[Any, ...]
    check: str
    words: str
    kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)


def raw(f: Any, f_t: Any = None) -> Make:
    return lambda: get_linear_call(f, f_t or host(identity), SAME, SAME)


def backwards(x: Any) -> Any:
    return np.cumsum(x[::-1], 0)[::-1]


PLANTED = {
    "wrong sign": Planted(linear(np.cumsum, lambda c: -backwards(c)), (REAL,), "transpose", "The sign is wrong."),
    "adjoint for transpose": Planted(
        linear(lambda x: MATRIX @ x, lambda c: c @ MATRIX.conj()), (COMPLEX,), "transpose", "this is the adjoint"
    ),
    "transposed axes": Planted(
        linear(lambda x: np.cumsum(x, 0), lambda c: backwards(c).T), (SQUARE,), "transpose", "in the order (1, 0)"
    ),
    "wrong factor": Planted(linear(np.cumsum, lambda c: 4 * backwards(c)), (REAL,), "transpose", "It is 4 times"),
    "operator for transpose": Planted(linear(np.cumsum, np.cumsum), (REAL,), "transpose", "Re <c, J dx> ="),
    "second slot": Planted(
        lambda: get_linear_call(
            host(lambda a, b: a * b), [host(lambda b, c: b * c), host(lambda a, c: -a * c)], SAME, [SAME, SAME]
        ),
        (REAL, SQUARE[0]),
        "transpose",
        "f_T[1] does not give the transpose for argument 1 and output 0",
    ),
    "small output forgotten": Planted(
        linear(lambda x: (x, 1e-12 * x), lambda c, d: c, zoo.like(0, 0)),
        (REAL,),
        "transpose",
        "argument 0 and output 1",
    ),
    "keyword ignored by the transpose": Planted(
        linear(lambda x, s: s * x, identity), (REAL,), "transpose", "'s' changes f but not", {"s": 3.0}
    ),
    "nonlinear as linear": Planted(
        linear(np.square, np.square), (REAL,), "linearity in argument 0", "Bind it with get_nonlinear_call"
    ),
    "constant added": Planted(
        linear(lambda x: x + 1, identity), (REAL,), "linearity in argument 0", "constant is added"
    ),
    "bilinear as linear": Planted(
        linear(lambda a, b: a * b, lambda c: (c, c), SAME, zoo.like(0, 0)),
        (REAL, SQUARE[0]),
        "linearity in argument 0, 1",
        "linear in each argument alone",
    ),
    "wrong jvp": Planted(
        nonlinear(np.square, lambda x, t: x * t, lambda x, c: 2 * x * c), (REAL,), "jvp", "It is 0.5 times"
    ),
    "wrong vjp": Planted(
        nonlinear(np.square, lambda x, t: 2 * x * t, lambda x, c: -2 * x * c), (REAL,), "vjp", "The sign is wrong."
    ),
    "wrong rule for a fixed argument": Planted(
        linear(
            *[lambda w, x: w * x] * 2,
            *[zoo.like(1)] * 2,
            first_n_args_fixed=1,
            fixed_derivative=lambda p, t: (2 * t[0] * p[1],),
        ),
        (REAL, SQUARE[0]),
        "jvp",
        "the tangent for argument 0 and output 0 is wrong",
    ),
    "unwritten output": Planted(raw(partly), (REAL,), "f: writes every output", "1 unwritten elements of 4 (at (3,))"),
    "imaginary part unwritten": Planted(raw(real_part), (COMPLEX,), "f: writes every output", "4 unwritten elements"),
    "unwritten by the transpose": Planted(
        raw(host(identity), partly), (REAL,), "f_T: writes every output", "out[0] has 1 unwritten"
    ),
    "output added to": Planted(raw(adds), (REAL,), "f: writes every output", "without being set first"),
    "value returned": Planted(raw(returns), (REAL,), "f: writes every output", "returned a value of type ndarray"),
    "input modified": Planted(raw(writes_input), (REAL,), "f: leaves its arguments alone", "args[0] (at (1,))"),
    "buffer kept": Planted(raw(keeps), (REAL,), "f: keeps no reference", "a reference to args[0] after"),
    "transpose raises": Planted(linear(identity, fails), (REAL,), "f_T: writes every output", "no such table"),
    "abstract raises": Planted(
        linear(identity, identity, fails), (REAL,), "abstract: describes the outputs", "no such"
    ),
    "wrong dtype in abstract": Planted(
        linear(np.cumsum, backwards, lambda x: ((x.shape, np.float32),), lambda c: ((c.shape, np.float64),)),
        (REAL,),
        "f: dtypes fit",
        "writes float64 into out[0], which abstract declares as float32",
    ),
    "real for complex in abstract": Planted(
        linear(np.fft.fft, np.fft.fft, SAME, SAME), (REAL,), "f: dtypes fit", "writes complex128 into out[0]"
    ),
    "wrong dtype in abstract_T": Planted(
        linear(identity, identity, SAME, lambda c: ((c.shape, np.float32),)),
        (REAL,),
        "abstract_T: describes the cotangents",
        "out[0] as float32[4]; the argument whose cotangent it is is float64[4]",
    ),
    "batch axes ignored": Planted(
        linear(rows_only, rows_only, rows_abstract, rows_abstract, func_can_batch=True),
        (REAL,),
        "vmap",
        "mapping argument 0 along its axis 0: the batch differs from a loop",
    ),
    "wrong batch axis": Planted(
        linear(identity, identity, wrong_axis, wrong_axis, func_can_batch=True), (SQUARE[0],), "vmap", "batch axis"
    ),
    "state": Planted(linear(Counter(), Counter()), (REAL,), "f: writes every output", "has a state"),
}


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_planted_mistake_is_found_and_named(mistake: str) -> None:
    planted = PLANTED[mistake]
    report = check_operator(planted.make(), *planted.args, raise_on_failure=False, **planted.kwargs)
    kept.clear()
    failed = {failure.name: failure.detail for failure in report.failures}
    assert planted.words in failed.get(planted.check, ""), str(report)


def _wrong() -> Report:
    return check_operator(linear(np.cumsum, lambda c: -backwards(c))(), REAL, raise_on_failure=False)


def test_the_report_tells_everything_and_is_what_is_raised() -> None:
    report = _wrong()
    (failure,) = report.failures
    assert failure.error is not None
    assert failure.tolerance is not None
    assert failure.error > failure.tolerance
    with pytest.raises(OperatorCheckError) as raised:
        report.raise_if_failed()
    assert raised.value.report is report
    assert str(report) in str(raised.value)
    assert str(report).splitlines()[1].split()[:2] == ["FAILED", "transpose"]
    assert {check.name for check in report.checks} <= {line[10:].split("  ")[0] for line in str(report).splitlines()}


def test_equal_seeds_give_equal_reports() -> None:
    assert _wrong() == _wrong()


def test_a_failed_check_raises() -> None:
    with pytest.raises(AssertionError, match="failed 1 of 1"):
        check_operator(PLANTED["wrong sign"].make(), REAL)


@pytest.mark.parametrize("tolerance", [{"rtol": 1e-3}, {"atol": 1e-2}], ids=str)
def test_a_tolerance_lets_an_inexact_transpose_pass(tolerance: dict[str, float]) -> None:
    operator = linear(np.cumsum, lambda c: (1 + 1e-5) * backwards(c))()
    strict = check_operator(operator, REAL, raise_on_failure=False)
    assert [failure.name for failure in strict.failures] == ["transpose"]
    assert check_operator(operator, REAL, **tolerance).passed


def test_checks_that_make_no_sense_after_a_failure_are_listed() -> None:
    report = check_operator(raw(partly)(), REAL, raise_on_failure=False)
    assert {"call", "transpose", "vmap"} <= set(report.not_run)
    assert "not run because of these failures: " in str(report)


def test_something_else_than_an_operator_is_refused() -> None:
    with pytest.raises(TypeError, match="check_operator: argument 0 has type function; expected an operator"):
        check_operator(identity, REAL)
