# SPDX-License-Identifier: BSD-2-Clause
"""Every kind of shape: scalars, empty arrays, large ones, and inputs that are not in row-major order."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jaxbind import get_linear_call
from support.arrays import draw
from support.oracles import assert_close


def _double(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] = 2 * args[0]
    assert args[0].flags.c_contiguous
    assert out[0].flags.c_contiguous
    assert not args[0].flags.writeable


double = get_linear_call(_double, _double, lambda x: ((x.shape, x.dtype),), lambda x: ((x.shape, x.dtype),))


def _first(x: Any) -> jax.Array:
    return double(x)[0]


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2), (2, 3, 4, 5), (1, 1, 1), (100_000,)])
@pytest.mark.parametrize("batch", [None, 0, 1, 2])
def test_shape(shape: tuple[int, ...], batch: int | None) -> None:
    x = jnp.asarray(draw(1, shape if batch is None else (batch, *shape)))
    function = jax.jit(_first if batch is None else jax.vmap(_first))
    assert_close(function(x), 2 * x)
    assert_close(jax.grad(lambda x: jnp.sum(function(x) ** 2))(x), 8 * x)


def test_transposed_and_strided_inputs_arrive_in_row_major_order() -> None:
    x = jnp.asarray(draw(1, (4, 6)))
    assert_close(jax.jit(lambda x: double(x.T[::2, ::-1])[0])(x), 2 * x.T[::2, ::-1])


def test_inputs_are_protected_and_outputs_are_not_shared() -> None:
    def write(out: Any, args: Any, kwargs_dump: Any) -> None:
        args[0][...] = 0.0

    bad = get_linear_call(write, write, lambda x: ((x.shape, x.dtype),), lambda x: ((x.shape, x.dtype),))
    x = jnp.arange(3.0)
    with pytest.raises(
        Exception, match="write: the host function raised ValueError: assignment destination is read-only"
    ):
        jax.block_until_ready(bad(x))
    assert_close(x, jnp.arange(3.0))


@pytest.mark.parametrize("sizes", [(0,), (0, 3), (3, 0)])
def test_an_empty_batch_makes_no_call(sizes: tuple[int, ...]) -> None:
    calls = []

    def both(out: Any, args: Any, kwargs_dump: Any) -> None:
        calls.append(1)
        out[0][...] = out[1][...] = args[0]

    operator = get_linear_call(both, both, lambda x: ((x.shape, x.dtype), ((), x.dtype)), lambda u, v: ())
    function: Any = operator
    for _ in sizes:
        function = jax.vmap(function)
    pair = jax.block_until_ready(jax.jit(function)(jnp.ones((*sizes, 2))))
    assert [out.shape for out in pair] == [(*sizes, 2), sizes]
    assert calls == []
