# SPDX-License-Identifier: BSD-2-Clause
"""Programs in the style of PyPI jaxbind 1.x: what they import, how they bind, what they reach into."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import jaxbind
import jaxbind.jaxbind
import numpy as np
from jaxbind import get_linear_call, get_nonlinear_call, load_kwargs
from support.oracles import assert_close


def mul(out: Any, args: Any, kwargs_dump: Any) -> None:
    kwargs = load_kwargs(kwargs_dump).copy()
    kwargs.pop("batch_axes", None)
    x, y = args
    out[0][()] = x * y * kwargs.pop("scale")
    assert not kwargs


def mul_abstract(*args: Any, **kwargs: Any) -> Any:
    return ((np.broadcast_shapes(args[0].shape, args[1].shape), np.float64, None),)


def mul_t(out: Any, args: Any, kwargs_dump: Any) -> None:
    mul(out, args, kwargs_dump)


def test_a_multilinear_operator_with_a_partial_of_its_keywords() -> None:
    operator = functools.partial(
        get_linear_call(mul, (mul_t, mul_t), mul_abstract, (mul_abstract, mul_abstract)), scale=3.0
    )
    x, y = jnp.arange(3.0), jnp.arange(1.0, 4.0)
    result = operator(x, y)
    assert isinstance(result, list)
    assert_close(result, [3 * x * y])
    assert_close(jax.grad(lambda x: operator(x, y)[0].sum())(x), 3 * y)


def cube(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][()] = args[0] ** 3


def cube_jvp(out: Any, args: Any, kwargs_dump: Any) -> None:
    x, dx = args
    out[0][()] = 3 * x**2 * dx


def cube_abstract(*args: Any, **kwargs: Any) -> Any:
    x, *_ = args  # The same function describes f and jvp, and takes what it needs from the front.
    return ((x.shape, x.dtype.type),)


def test_a_nonlinear_operator_with_one_abstract_function() -> None:
    operator = get_nonlinear_call(cube, (cube_jvp, cube_jvp), cube_abstract, cube_abstract)
    x = jnp.arange(3.0)
    assert_close(jax.jvp(lambda x: operator(x)[0], (x,), (x,)), (x**3, 3 * x**3))
    assert_close(jax.grad(lambda x: operator(x)[0].sum())(x), 3 * x**2)


def fht(out: Any, args: Any, kwargs_dump: Any) -> None:
    """A transform over some axes that batches natively: batch axes are those it leaves alone."""
    kwargs = load_kwargs(kwargs_dump)
    (x,) = args
    kwargs.pop("batch_axes", ())
    spectrum = np.fft.fftn(x, axes=kwargs.pop("axes"))
    out[0][()] = spectrum.real - spectrum.imag


def fht_abstract(*args: Any, **kwargs: Any) -> Any:
    (x,) = args
    axes = list(range(x.ndim)) if kwargs["axes"] is None else list(kwargs["axes"])
    batch_axes = kwargs.pop("batch_axes", None)
    newest = batch_axes[0][-1] if batch_axes else None
    assert newest is None or newest not in axes
    return ((x.shape, x.dtype, newest),)


def test_a_natively_batching_operator_and_its_record() -> None:
    operator = get_linear_call(fht, fht, fht_abstract, fht_abstract, func_can_batch=True)
    x = np.random.default_rng(0).normal(size=(4, 3))

    def twin(x: jax.Array) -> jax.Array:
        spectrum = jnp.fft.fft(x)
        return spectrum.real - spectrum.imag

    batched = jax.vmap(lambda x: operator(x, axes=(0,))[0], in_axes=1)
    assert_close(batched(x), jax.vmap(twin, in_axes=1)(x))

    record = operator.keywords["_func"]
    assert (record.can_batch, record.first_n_args_fixed) == (True, 0)
    looped = functools.partial(operator.func, _func=record._replace(can_batch=False))
    assert_close(jax.vmap(lambda x: looped(x, axes=(0,))[0], in_axes=1)(x), jax.vmap(twin, in_axes=1)(x))


def test_module_paths() -> None:
    assert jaxbind.jaxbind.get_linear_call is jaxbind.get_linear_call
    assert jaxbind.jaxbind.get_nonlinear_call is jaxbind.get_nonlinear_call
    assert jaxbind.jaxbind.load_kwargs is jaxbind.load_kwargs
    operator = get_linear_call(mul, mul, mul_abstract, mul_abstract)
    assert type(operator) is functools.partial
    assert operator.args == ()


def test_dtypes_may_be_types_objects_or_names() -> None:
    def copy(out: Any, args: Any, kwargs_dump: Any) -> None:
        out[0][()] = args[0]

    for dtype in (np.float32, jnp.float32, np.dtype("float32"), "float32", jnp.dtype("float32")):
        operator = get_linear_call(copy, copy, lambda x, dtype=dtype: [[list(x.shape), dtype]], cube_abstract)
        assert operator(jnp.ones(2))[0].dtype == jnp.float32


def test_abstract_may_compute_sizes_with_jax() -> None:
    def widen(out: Any, args: Any, kwargs_dump: Any) -> None:
        out[0][...] = np.arange(out[0].size)

    def abstract(x: Any) -> Any:
        return (((int(jnp.sum(jnp.ones(3))),), jax.eval_shape(jnp.sin, x).dtype),)

    operator = get_linear_call(widen, widen, abstract, abstract)
    for function in (operator, jax.jit(operator), jax.vmap(operator)):
        assert function(jnp.ones(2))[0].shape[-1] == 3
