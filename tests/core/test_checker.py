# SPDX-License-Identifier: BSD-2-Clause
"""`jaxbind.testing`: right operators pass, and every planted mistake is found and named."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from jaxbind import get_linear_call, get_nonlinear_call, load_kwargs
from jaxbind.testing import OperatorCheckError, check_operator
from support import hosts, zoo
from support.arrays import draw
from support.native import batching, describing

SAME = zoo.like(0)
REAL, COMPLEX = draw(1, (4,)), draw(2, (4,), np.complex128)
MATRIX = draw(3, (4, 4)) + 1j * draw(4, (4, 4))
Host = Callable[..., None]


def _bind(kind: str, row: tuple[Any, ...], *, native: bool) -> Any:
    f, f_t, abstract, abstract_t, fixed, _, _ = row
    if native:
        f, f_t = batching(f), zoo._each(f_t, batching)
        abstract, abstract_t = describing(abstract), zoo._each(abstract_t, describing)
    bind = get_nonlinear_call if kind == "nonlinear" else get_linear_call
    return bind(f, f_t, abstract, abstract_t, first_n_args_fixed=fixed, func_can_batch=native)


ROWS = [(kind, name, row) for kind, table in zoo.KINDS.items() for name, row in table.items()]


@pytest.mark.parametrize("native", [False, True], ids=["looped", "native"])
@pytest.mark.parametrize(("kind", "row"), [(k, r) for k, _, r in ROWS], ids=[n.replace(" ", "-") for _, n, _ in ROWS])
def test_a_right_operator_passes(kind: str, row: tuple[Any, ...], native: bool) -> None:
    report = check_operator(_bind(kind, row, native=native), *row[-1])
    assert report.passed
    assert len(report.checks) >= 15


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tolerances_follow_the_dtype(dtype: Any) -> None:
    operator = functools.partial(get_linear_call(hosts.cumsum, hosts.cumsum_t, SAME, SAME), factor=2.0)
    assert check_operator(operator, REAL.astype(dtype)).passed


def matrix(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] = MATRIX @ args[0]


def adjoint(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] = args[0] @ MATRIX.conj()


def negative(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] = -np.cumsum(args[0][::-1])[::-1]


def square(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] = args[0] ** 2


def square_jvp(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] = 2 * args[0] * args[1]


def partly(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][:-1] = np.cumsum(args[0])[:-1]


def adds(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] = np.nan_to_num(out[0]) * 0.5 + np.cumsum(args[0])


def writes_input(out: Any, args: Any, kwargs_dump: Any) -> None:
    if args[0].flags.writeable:
        args[0][0] = 7.0
    out[0][...] = args[0]


kept: list[Any] = []


def keeps(out: Any, args: Any, kwargs_dump: Any) -> None:
    if args[0].flags.writeable:  # Only where the bridge does not watch.
        kept.append(args[0][1:])
    out[0][...] = args[0]


def copies(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] = args[0]


def forgetful(out: Any, args: Any, kwargs_dump: Any) -> None:
    """A transpose that ignores the keyword argument of its operator."""
    load_kwargs(kwargs_dump)
    out[0][...] = np.cumsum(args[0][::-1])[::-1]


def rows_only(out: Any, args: Any, kwargs_dump: Any) -> None:
    """Claims to batch natively, and sums along the first axis whatever the batch axes are."""
    out[0][...] = np.cumsum(args[0], axis=0)


def rows_abstract(x: Any, batch_axes: Any = None) -> Any:
    return ((x.shape, x.dtype, batch_axes[0][-1] if batch_axes else None),)


def product(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] = args[0] * args[1]


def product_t(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] = out[1][...] = args[0]


calls = [0]


def counts(out: Any, args: Any, kwargs_dump: Any) -> None:
    calls[0] += 1
    out[0][...] = args[0] * calls[0]


def _linear(f: Host, f_t: Host, **options: Any) -> Any:
    return get_linear_call(f, f_t, SAME, SAME, **options)


# mistake: (operator, arguments, name of a failed check, words of the report)
PLANTED: dict[str, tuple[Callable[[], Any], tuple[Any, ...], str, str]] = {
    "wrong sign": (lambda: _linear(hosts.cumsum, negative), (REAL,), "transpose in argument 0", "a sign"),
    "adjoint for transpose": (lambda: _linear(matrix, adjoint), (COMPLEX,), "transpose in argument 0", "conjugate"),
    "operator for transpose": (
        lambda: _linear(hosts.cumsum, hosts.cumsum),
        (REAL,),
        "transpose in argument 0",
        "<c, A x>",
    ),
    "nonlinear as linear": (lambda: _linear(square, square), (REAL,), "linear in argument 0", "Is f nonlinear"),
    "bilinear as linear": (
        lambda: get_linear_call(product, product_t, SAME, zoo.like(0, 0)),
        (REAL, REAL),
        "linear in argument 0, 1",
        "linear in each argument alone",
    ),
    "wrong jvp": (
        lambda: get_nonlinear_call(square, (copies, square_jvp), SAME, SAME),
        (REAL,),
        "jvp against finite differences",
        "product rule",
    ),
    "wrong vjp": (
        lambda: get_nonlinear_call(square, (square_jvp, copies), SAME, SAME),
        (REAL,),
        "vjp against jvp",
        "jvp or vjp is wrong",
    ),
    "unwritten output": (
        lambda: _linear(partly, hosts.cumsum_t),
        (REAL,),
        "f writes every element",
        "out[0] has 1 unwritten elements, the first at (3,)",
    ),
    "output added to": (
        lambda: _linear(adds, hosts.cumsum_t),
        (REAL,),
        "f writes every element",
        "what was in the output before",
    ),
    "input modified": (
        lambda: _linear(writes_input, copies),
        (REAL,),
        "f leaves its inputs alone",
        "args [0] were modified",
    ),
    "buffer kept": (lambda: _linear(keeps, copies), (REAL,), "f keeps no reference to its buffers", "args[0]"),
    "keyword ignored by the transpose": (
        lambda: functools.partial(_linear(hosts.cumsum, forgetful), factor=3.0),
        (REAL,),
        "transpose in argument 0",
        "<A^T c, x>",
    ),
    "wrong batch axis": (
        lambda: get_linear_call(rows_only, rows_only, rows_abstract, rows_abstract, func_can_batch=True),
        (REAL,),
        "vmap of argument 0 along axis 0",
        "honour batch_axes",
    ),
    "wrong dtype in abstract_T": (
        lambda: get_linear_call(copies, copies, SAME, lambda c: ((c.shape, np.float32),)),
        (REAL,),
        "derivatives can be checked",
        "cotangent of type float32[4]; expected float64[4]",
    ),
    "hidden state": (lambda: _linear(counts, counts), (REAL,), "a second call gives the same", "global state"),
}


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_planted_mistake_is_found_and_named(mistake: str) -> None:
    make, args, check, words = PLANTED[mistake]
    report = check_operator(make(), *args, raise_on_failure=False)
    kept.clear()
    failed = {failure.name: failure.detail for failure in report.failures}
    assert check in failed, str(report)
    assert words in failed[check]
    with pytest.raises(OperatorCheckError, match="checks failed"):
        report.raise_if_failed()


def test_a_failed_check_raises_the_report() -> None:
    with pytest.raises(OperatorCheckError, match=r"FAIL  transpose in argument 0 \(error .*, tolerance"):
        check_operator(_linear(hosts.cumsum, negative), REAL)


def test_something_else_than_an_operator_is_refused() -> None:
    with pytest.raises(TypeError, match="check_operator: argument 0 has type function; expected an operator"):
        check_operator(copies, REAL)  # type: ignore[arg-type]
