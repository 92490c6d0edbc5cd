# SPDX-License-Identifier: BSD-2-Clause
"""The same function through jax.pure_callback and through jaxbind, side by side."""

import timeit
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.fft
from jaxbind import get_linear_call

# Before: JAX can neither differentiate nor transpose a callback. Reverse mode takes a custom_vjp, which rules forward
# mode out; a second order would take one more for the backward function.


@jax.custom_vjp
def dct_before(x: jax.Array) -> jax.Array:
    """Call SciPy through a callback."""
    return jax.pure_callback(
        lambda x: scipy.fft.dct(np.asarray(x), norm="ortho"),
        jax.ShapeDtypeStruct(x.shape, x.dtype),
        x,
        vmap_method="sequential",
    )


def _forward(x: jax.Array) -> tuple[jax.Array, None]:
    return dct_before(x), None


def _backward(_: None, cotangent: jax.Array) -> tuple[jax.Array]:
    return (
        jax.pure_callback(
            lambda c: scipy.fft.idct(np.asarray(c), norm="ortho"),
            jax.ShapeDtypeStruct(cotangent.shape, cotangent.dtype),
            cotangent,
            vmap_method="sequential",
        ),
    )


dct_before.defvjp(_forward, _backward)

# After: two functions that fill `out`, one that describes the output.
Arrays = tuple[np.ndarray, ...]


def dct(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Fill the output in JAX's own memory."""
    out[0][...] = scipy.fft.dct(args[0], norm="ortho")


def idct(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Apply the transpose."""
    out[0][...] = scipy.fft.idct(args[0], norm="ortho")


def same(x: Any) -> Any:
    """Take the place of `result_shape_dtypes`."""
    return ((x.shape, x.dtype),)


op = get_linear_call(dct, idct, same, same)


def dct_after(x: jax.Array) -> jax.Array:
    """Call SciPy through the bound operator."""
    return op(x)[0]


x = jnp.linspace(0.0, 1.0, 8)
batch = jnp.stack([x] * 100)


def energy(f: Any, x: jax.Array) -> jax.Array:
    """A function to differentiate."""
    return jnp.sum(f(x) ** 4)


for name, f in {"before": dct_before, "after": dct_after}.items():
    gradient = jax.grad(lambda x, f=f: energy(f, x))
    np.testing.assert_allclose(f(x), scipy.fft.dct(np.asarray(x), norm="ortho"), atol=1e-6)
    mapped = jax.jit(jax.vmap(f))
    mapped(batch).block_until_ready()
    seconds = min(timeit.repeat(lambda mapped=mapped: mapped(batch).block_until_ready(), number=3, repeat=5)) / 3
    try:
        jax.jvp(f, (x,), (x,))
        jax.hessian(lambda x, f=f: energy(f, x))(x)
        orders = "forward mode and second order too"
    except TypeError:
        orders = "reverse mode, first order only"
    print(f"{name:6s} gradient {np.asarray(gradient(x))[:2].round(3)}, {orders}; batch of 100: {seconds * 1e3:.1f} ms")
