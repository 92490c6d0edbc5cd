# SPDX-License-Identifier: BSD-2-Clause
"""Every dtype that JAX has on CPU arrives in the host function and comes back; others are refused by name."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxbind import get_linear_call
from support.arrays import draw
from support.oracles import assert_close

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"),
    *("float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
]
PACKED = [name for name in ("int4", "uint4", "int2", "float4_e2m1fn") if hasattr(jnp, name)]


def _reverse(out: Any, args: Any, kwargs_dump: Any) -> None:
    assert out[0].dtype == args[0].dtype
    out[0][...] = args[0][::-1]


reverse = get_linear_call(_reverse, _reverse, lambda x: ((x.shape, x.dtype),), lambda x: ((x.shape, x.dtype),))


@pytest.mark.parametrize("name", [name for name in DTYPES if hasattr(jnp, name) or name == "bool"])
def test_dtype_arrives_and_returns(name: str) -> None:
    x = draw(1, (5,), jnp.dtype(name))
    for function in (lambda x: reverse(x)[0], jax.jit(lambda x: reverse(x)[0])):
        found = np.asarray(function(x))
        assert found.dtype == x.dtype
        assert found.tobytes() == x[::-1].tobytes()
    batch = draw(2, (3, 5), jnp.dtype(name))
    assert np.asarray(jax.vmap(lambda x: reverse(x)[0])(batch)).tobytes() == batch[:, ::-1].tobytes()


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_gradient_keeps_the_dtype(name: str) -> None:
    x = jnp.asarray(draw(1, (5,), jnp.dtype(name)))
    weights = jnp.arange(5).astype(name)
    found = jax.grad(lambda x: jnp.sum((reverse(x)[0] * weights).real.astype(jnp.float32)))(x)
    assert_close(found, weights[::-1])


@pytest.mark.parametrize("name", PACKED)
def test_packed_dtype_is_refused_by_name(name: str) -> None:
    with pytest.raises(TypeError, match=f"_reverse: argument 0 has dtype {name}; expected a dtype that NumPy can view"):
        reverse(jnp.ones(4, jnp.dtype(name)))


@pytest.mark.parametrize("dtype", [">f8", ">i4", ">c8"])
def test_foreign_byte_order_is_converted(dtype: str) -> None:
    x = draw(1, (5,)).astype(dtype)
    found = np.asarray(reverse(x)[0])
    assert found.dtype == x.dtype.newbyteorder("=")
    assert found.tolist() == x[::-1].tolist()


def test_random_keys_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"_reverse: argument 0 has dtype key<fry>"):
        reverse(jax.random.key(0))
