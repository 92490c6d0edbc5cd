# SPDX-License-Identifier: BSD-2-Clause
"""The batch_axes protocol: what a natively batching function and its abstract function are told."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxbind import get_linear_call, load_kwargs
from support import native
from support.arrays import draw
from support.oracles import assert_close

Seen = list[tuple[Any, ...]]


def _recording() -> tuple[Any, Seen]:
    """An operator (p, x) -> p * cumsum(x), fixed in p, and what its functions were told: shapes and batch_axes."""
    seen: Seen = []

    def host(transpose: bool) -> Any:
        def core(out: Any, args: Any, kwargs_dump: Any) -> None:
            p, x = args
            out[0][...] = np.cumsum((p * x)[::-1])[::-1] if transpose else p * np.cumsum(x)

        looped = native.batching(core)

        def recorded(out: Any, args: Any, kwargs_dump: Any) -> None:
            axes = load_kwargs(kwargs_dump)["batch_axes"]
            seen.append(("f_T" if transpose else "f", *(a.shape for a in args), axes))
            looped(out, args, kwargs_dump)

        return recorded

    abstract = native.describing(lambda p, x, **kwargs: ((x.shape, x.dtype),))
    forward, backward = host(transpose=False), host(transpose=True)
    return get_linear_call(forward, backward, abstract, abstract, first_n_args_fixed=1, func_can_batch=True), seen


def _in_axes(*levels: Any) -> Any:
    """Nested vmap, innermost level first."""

    def nest(f: Any) -> Any:
        for in_axes in levels:
            f = jax.vmap(f, in_axes)
        return f

    return nest


# name: (vmap levels, shapes of p and x, what f is told)
TOLD: dict[str, tuple[Any, ...]] = {
    "no batch": ((), (5,), (5,), ("f", (5,), (5,), None)),
    "one level": (((None, 1),), (5,), (5, 3), ("f", (5,), (5, 3), ((), (1,)))),
    "negative axis": (((None, -1),), (5,), (5, 3), ("f", (5,), (5, 3), ((), (1,)))),
    "fixed argument mapped": (((0, None),), (3, 5), (5,), ("f", (3, 5), (5,), ((0,), ()))),
    "two levels, oldest first": (((None, 0), (None, 2)), (5,), (2, 5, 3), ("f", (5,), (2, 5, 3), ((), (0, 2)))),
    "later axis in front": (((None, 1), (None, 0)), (5,), (3, 5, 2), ("f", (5,), (3, 5, 2), ((), (2, 0)))),
    "repeated where a level is missing": (
        ((0, None), (None, 0)),
        (2, 5),
        (3, 5),
        ("f", (3, 2, 5), (2, 3, 5), ((1, 0), (0, 1))),
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_function_is_told_where_its_batch_axes_are(name: str) -> None:
    levels, p_shape, x_shape, told = TOLD[name]
    operator, seen = _recording()
    nest = _in_axes(*levels)
    p, x = draw(1, p_shape), draw(2, x_shape)
    found = nest(lambda p, x: operator(p, x)[0])(p, x)
    assert_close(found, nest(lambda p, x: p * jnp.cumsum(x))(jnp.asarray(p), jnp.asarray(x)))
    assert seen[-1] == told


def test_transpose_is_told_the_axes_of_its_own_inputs() -> None:
    operator, seen = _recording()
    batched = jax.vmap(lambda p, x: operator(p, x)[0], (None, 0))
    p, x = jnp.asarray(draw(1, (5,))), jnp.asarray(draw(2, (3, 5)))
    jax.grad(lambda x: jnp.sum(jnp.sin(batched(p, x))))(x)
    # The output has its batch axis last, so the cotangent that f_T receives has it there too.
    assert seen[-1] == ("f_T", (5,), (5, 3), ((), (1,)))


def test_a_shared_linear_argument_gets_the_sum_over_the_batch() -> None:
    operator, _ = _recording()

    def loss(f: Any) -> Any:
        return lambda x: jnp.sum(jnp.sin(jax.vmap(f, (0, None))(jnp.asarray(draw(1, (3, 5))), x)))

    x = jnp.asarray(draw(2, (5,)))
    found = jax.grad(loss(lambda p, x: operator(p, x)[0]))(x)
    assert_close(found, jax.grad(loss(lambda p, x: p * jnp.cumsum(x)))(x))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ((5, 3), "gave output 0 the batch axis None; expected an axis of its shape"),
        ((5, 3, 7), "gave output 0 the batch axis 7; expected an axis of its shape"),
        ((5, 3, 0), "gave output 0 the batch axis 0; expected an axis of size 3"),
        ((5, 3, "last"), "gave output 0 the batch axis 'last'; expected an axis of its shape"),
    ],
)
def test_a_wrong_batch_axis_is_an_error_that_names_the_output(entry: Any, message: str) -> None:
    def abstract(x: Any, batch_axes: Any = None) -> Any:
        return ((entry[:2], x.dtype, *entry[2:]),)

    operator = get_linear_call(print, print, abstract, abstract, func_can_batch=True)
    with pytest.raises(ValueError, match=message):
        jax.vmap(lambda x: operator(x)[0])(np.ones((3, 5)))


def test_third_entry_is_ignored_when_the_function_cannot_batch() -> None:
    def host(out: Any, args: Any, kwargs_dump: Any) -> None:
        out[0][...] = 2 * args[0]

    def abstract(x: Any) -> Any:
        return ((x.shape, x.dtype, "anything"),)

    operator = get_linear_call(host, host, abstract, abstract)
    assert_close(jax.vmap(lambda x: operator(x)[0])(np.ones((3, 2))), jnp.full((3, 2), 2.0))
