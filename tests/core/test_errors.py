# SPDX-License-Identifier: BSD-2-Clause
"""What a user who makes a mistake is told: operator, argument, what was found, what was expected, what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxbind import get_linear_call, get_nonlinear_call
from support import zoo

SAME = zoo.like(0)
X = jnp.arange(1.0, 4.0)


def host(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] = args[0]


def linear(f: Any = host, f_t: Any = host, abstract: Any = SAME, abstract_t: Any = SAME, **options: Any) -> Any:
    return get_linear_call(f, f_t, abstract, abstract_t, **options)


def describe(result: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: result


def grad(operator: Any, *args: Any, argnums: int = 0, **kwargs: Any) -> Any:
    return jax.grad(lambda *a: jnp.sum(operator(*a, **kwargs)[0]), argnums)(*args)


def returns_value(out: Any, args: Any, kwargs_dump: Any) -> Any:
    return args[0]


def raises(out: Any, args: Any, kwargs_dump: Any) -> None:
    raise LookupError("no such table")


def raises_undecodable(out: Any, args: Any, kwargs_dump: Any) -> None:
    raise OSError("no file " + b"caf\xe9".decode(errors="surrogateescape") + " \0.")


def wrong_shape(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] = np.ones(7)


def assigns_tuple(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0] = args[0]


kept: list[Any] = []


def keeps(out: Any, args: Any, kwargs_dump: Any) -> None:
    kept.append(args[0][1:])
    out[0][...] = args[0]


def keeps_out(out: Any, args: Any, kwargs_dump: Any) -> None:
    kept.append(out[0].T)
    out[0][...] = args[0]


def too_few_parameters(out: Any, args: Any) -> None:
    out[0][...] = args[0]


# what the user does: (the call, exception type, fragments of the message)
BINDING: dict[str, tuple[Callable[[], Any], type[Exception], list[str]]] = {
    "f is no function": (lambda: linear(f=3), TypeError, ["f has type int", "expected a function"]),
    "f_T is no function": (lambda: linear(f_t="x"), TypeError, ["host: f_T has type str", "expected a function"]),
    "abstract is no function": (lambda: linear(abstract=()), TypeError, ["host: abstract has type tuple"]),
    "abstract_T is no function": (lambda: linear(abstract_t=None), TypeError, ["host: abstract_T has type NoneType"]),
    "only f_T is a sequence": (
        lambda: linear(f_t=(host,)),
        ValueError,
        ["host: only one of f_T and abstract_T", "both or none"],
    ),
    "f_T and abstract_T differ in length": (
        lambda: linear(f_t=(host, host), abstract_t=(SAME,)),
        ValueError,
        ["host: f_T has 2 entries and abstract_T 1", "one entry per argument"],
    ),
    "all entries of f_T fixed": (
        lambda: linear(f_t=(None,), abstract_t=(None,), first_n_args_fixed=1),
        ValueError,
        ["of which the first 1 are fixed", "more entries than that"],
    ),
    "an entry of f_T missing": (
        lambda: linear(f_t=(host, None), abstract_t=(SAME, SAME)),
        TypeError,
        ["host: f_T has type NoneType"],
    ),
    "negative fixed count": (
        lambda: linear(first_n_args_fixed=-1),
        ValueError,
        ["host: first_n_args_fixed is -1", ">= 0"],
    ),
    "fixed count is no number": (lambda: linear(first_n_args_fixed="1"), ValueError, ["first_n_args_fixed is '1'"]),
    "negative number of threads": (
        lambda: get_nonlinear_call(host, None, SAME, batch_threads=-1),
        ValueError,
        ["host: batch_threads is -1", "from 0 to 1024", "one thread per core"],
    ),
    "too many threads": (lambda: linear(batch_threads=1025), ValueError, ["batch_threads is 1025", "1024"]),
    "threads are no number": (lambda: linear(batch_threads=True), ValueError, ["batch_threads is True", "integer"]),
    "threads for a native batch": (
        lambda: linear(func_can_batch=True, batch_threads=2),
        ValueError,
        ["host: batch_threads is 2", "func_can_batch=True", "Drop one"],
    ),
    "f_derivative is no pair": (
        lambda: get_nonlinear_call(host, (host,), SAME, SAME),
        TypeError,
        ["f_derivative is", "a tuple (jvp, vjp)", "None"],
    ),
    "vjp is no function": (
        lambda: get_nonlinear_call(host, (host, 1), SAME, SAME),
        TypeError,
        ["f_derivative[1] has type int"],
    ),
    "abstract_reverse is missing": (
        lambda: get_nonlinear_call(host, (host, host), SAME),
        TypeError,
        ["host: abstract_reverse has type NoneType"],
    ),
}
CALLING: dict[str, tuple[Callable[[], Any], type[Exception], list[str]]] = {
    "no arguments": (linear(), TypeError, ["host: called with 0 arguments", "expected at least one"]),
    "only fixed arguments": (
        lambda: linear(first_n_args_fixed=1)(X),
        TypeError,
        ["host: called with 1 arguments, of which the first 1 are fixed"],
    ),
    "another number of arguments than f_T": (
        lambda: linear(f_t=(host, host), abstract_t=(SAME, SAME))(X, X, X),
        TypeError,
        ["host: called with 3 arguments", "f_T has 2 entries"],
    ),
    "a list as argument": (lambda: linear()([1.0, 2.0]), TypeError, ["host: argument 0 has type list", "jnp.asarray"]),
    "a string as argument": (lambda: linear()(X, "x"), TypeError, ["host: argument 1 has type str"]),
    "None as argument": (lambda: linear()(X, None), TypeError, ["host: argument 1 has type NoneType"]),
    "strings": (lambda: linear()(X, np.array(["a"])), TypeError, ["host: argument 1 has type ndarray and dtype <U1"]),
    "objects": (lambda: linear()(np.array([None])), TypeError, ["host: argument 0 has type ndarray and dtype object"]),
    "dates": (lambda: linear()(np.array(["2020"], "M8[s]")), TypeError, ["host: argument 0", "datetime64[s]"]),
    "long doubles": (lambda: linear()(np.ones(2, np.longdouble)), TypeError, ["host: argument 0", "expected an array"]),
    "batch_axes as keyword": (
        lambda: linear(func_can_batch=True)(X, batch_axes=None),
        TypeError,
        ["host: keyword argument 'batch_axes'", "Rename it"],
    ),
    "abstract returns None": (
        lambda: linear(abstract=describe(None))(X),
        TypeError,
        ["host: abstract returned None", "(shape, dtype)"],
    ),
    "abstract describes nothing": (
        lambda: linear(abstract=describe(()))(X),
        TypeError,
        ["host: abstract described no output"],
    ),
    "abstract forgets the comma": (
        lambda: linear(abstract=describe(((3,), np.float64)))(X),
        TypeError,
        ["host: abstract returned (3,) for output 0", "trailing comma"],
    ),
    "abstract gives a number": (
        lambda: linear(abstract=describe((7,)))(X),
        TypeError,
        ["abstract returned 7 for output 0"],
    ),
    "abstract gives a wrong dtype": (
        lambda: linear(abstract=describe((((3,), "float99"),)))(X),
        TypeError,
        ["host: abstract gave output 0 the dtype 'float99'"],
    ),
    "abstract gives no dtype": (lambda: linear(abstract=describe((((3,), None),)))(X), TypeError, ["the dtype None"]),
    "abstract gives a string dtype": (
        lambda: linear(abstract=describe((((3,), "U4"),)))(X),
        TypeError,
        ["host: output 0 has dtype <U4", "NumPy can view"],
    ),
    "abstract gives a negative size": (
        lambda: linear(abstract=describe((((3, -1), np.float64),)))(X),
        TypeError,
        ["host: abstract gave output 0 the shape (3, -1)"],
    ),
    "abstract gives a size that no machine has": (
        lambda: linear(abstract=describe((((2**70,), np.float64),)))(X),
        TypeError,
        ["host: abstract gave output 0 the shape (1180591620717411303424,)"],
    ),
    "abstract gives a size that is no integer": (
        lambda: linear(abstract=describe((((3.5,), np.float64),)))(X),
        TypeError,
        ["host: abstract gave output 0 the shape (3.5,)"],
    ),
    "abstract gives a traced size": (
        lambda: jax.jit(lambda n: linear(abstract=describe((((n,), np.float64),)))(X))(3),
        TypeError,
        ["host: abstract gave output 0 the shape"],
    ),
    "abstract raises": (lambda: linear(abstract=lambda x: 1 / 0)(X), ZeroDivisionError, ["division by zero"]),
}
DIFFERENTIATING: dict[str, tuple[Callable[[], Any], type[Exception], list[str]]] = {
    "derivative of a fixed argument": (
        lambda: grad(linear(first_n_args_fixed=1), X, X),
        TypeError,
        [
            "host: cannot differentiate with respect to argument 0",
            "the first 1 arguments are",
            "Close over it",
            "fixed_derivative",
        ],
    ),
    "transpose with respect to a fixed argument": (
        lambda: jax.linear_transpose(lambda p: linear(first_n_args_fixed=1)(p, X)[0], X)(X),
        TypeError,
        ["host: cannot differentiate with respect to argument 0"],
    ),
    "derivative of a fixed argument of a nonlinear operator": (
        lambda: grad(get_nonlinear_call(host, (host, host), SAME, SAME, first_n_args_fixed=1), X, X),
        TypeError,
        ["host: cannot differentiate with respect to argument 0", "Close over it"],
    ),
    "transpose of a nonlinear operator": (
        lambda: jax.linear_transpose(get_nonlinear_call(host, (host, host), SAME, SAME), X)([X]),
        TypeError,
        ["host: cannot transpose with respect to arguments [0]", "jax.vjp"],
    ),
    "transpose with respect to two slots": (
        lambda: jax.linear_transpose(linear(f_t=(host, host), abstract_t=(SAME, SAME)), X, X)([X]),
        TypeError,
        ["host: cannot transpose with respect to arguments [0, 1]", "one argument of a multilinear operator at a time"],
    ),
    "abstract_T describes too few outputs": (
        lambda: grad(linear(), X, X),
        TypeError,
        ["host: abstract_T described 1 outputs; expected 2"],
    ),
    "abstract_T describes another shape": (
        lambda: grad(linear(abstract_t=describe((((5,), np.float64),))), X),
        TypeError,
        ["host: abstract_T gave argument 0 a cotangent of type float64[5]; expected float64[3]"],
    ),
    "abstract_T describes another dtype": (
        lambda: grad(linear(abstract_t=lambda c: ((c.shape, np.float32),)), X),
        TypeError,
        ["cotangent of type float32[3]; expected float64[3]"],
    ),
    "abstract_reverse describes too few outputs": (
        lambda: grad(get_nonlinear_call(host, (host, host), SAME, SAME), X, X),
        TypeError,
        ["host: abstract_reverse described 1 outputs; expected 2"],
    ),
}
RUNNING: dict[str, tuple[Any, list[str]]] = {
    "raises": (
        raises,
        ["raises{where}: the host function raised LookupError: no such table", "Traceback", "in raises"],
    ),
    "raises undecodable text": (
        raises_undecodable,
        ["raises_undecodable{where}: the host function", "OSError: no file caf"],
    ),
    "returns a value": (
        returns_value,
        ["returns_value{where}: the host function returned a value of type ndarray", "out[0][...] = result"],
    ),
    "writes a wrong shape": (wrong_shape, ["wrong_shape{where}: the host function raised ValueError", "(7,)", "(3,)"]),
    "assigns to the tuple": (
        assigns_tuple,
        ["assigns_tuple{where}: the host function raised TypeError", "item assignment"],
    ),
    "keeps an argument": (keeps, ["keeps{where}: the host function kept a reference to args[0]", "args[0].copy()"]),
    "keeps an output": (keeps_out, ["keeps_out{where}: the host function kept a reference to out[0]", "out[0].copy()"]),
    "has too few parameters": (too_few_parameters, ["too_few_parameters", "TypeError", "positional arguments"]),
}


@pytest.mark.parametrize("mistake", [*BINDING, *CALLING, *DIFFERENTIATING])
def test_message_of_a_mistake_seen_before_running(mistake: str) -> None:
    call, kind, fragments = (BINDING | CALLING | DIFFERENTIATING)[mistake]
    with pytest.raises(kind) as caught:
        call()
    assert [f for f in fragments if f not in str(caught.value)] == [], str(caught.value)


WRAPPED: dict[str, tuple[Any, str]] = {
    "eager": (lambda f: f, ""),
    "jit": (jax.jit, ""),
    "vmap": (lambda f: lambda x: jax.vmap(f)(jnp.stack([x, x])), ", batch element (0)"),
}


@pytest.mark.parametrize(("wrap", "where"), WRAPPED.values(), ids=WRAPPED)
@pytest.mark.parametrize("mistake", RUNNING)
def test_message_of_a_mistake_inside_a_host_function(mistake: str, wrap: Any, where: str) -> None:
    function, fragments = RUNNING[mistake]
    operator = linear(function, function)
    with pytest.raises(RuntimeError) as caught:
        jax.block_until_ready(wrap(lambda x: operator(x)[0])(X))
    expected = [fragment.replace("{where}", where) for fragment in fragments]
    assert [f for f in expected if f not in str(caught.value)] == [], str(caught.value)
    kept.clear()
    assert linear()(X)[0].tolist() == X.tolist()  # The next call works.


def test_the_batch_element_that_failed_is_named() -> None:
    def positive(out: Any, args: Any, kwargs_dump: Any) -> None:
        if args[0] < 0:
            raise ValueError("negative")
        out[0][...] = args[0]

    operator = linear(positive, positive)
    x = jnp.ones((2, 3, 4)).at[1, 0, 2].set(-1)
    inner = jax.vmap(jax.vmap(lambda x: operator(x)[0], 1), 0)  # Its levels map the axes 2 and 0 of x[:, 0].
    with pytest.raises(
        RuntimeError, match=r"positive, batch element \(1, 2\): the host function raised ValueError: neg"
    ):
        jax.block_until_ready(inner(x[:, 0:1]))
