# SPDX-License-Identifier: BSD-2-Clause
"""Bind a function that is linear in each of its arguments: one transpose each, derivatives of every order."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxbind import get_linear_call

Arrays = tuple[np.ndarray, ...]


def convolve(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Compute y[n] = sum_k a[k] b[n - k], linear in a and linear in b."""
    out[0][...] = np.convolve(*args)


def correlate(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Compute either transpose: args hold the *other* factor, then the cotangent of y."""
    other, cotangent = args
    out[0][...] = np.correlate(cotangent, np.conj(other), mode="valid")  # np.correlate conjugates, a transpose does not


def convolved(a: Any, b: Any) -> Any:
    """Describe y."""
    return (((a.shape[0] + b.shape[0] - 1,), a.dtype),)


def correlated(other: Any, cotangent: Any) -> Any:
    """Describe the cotangent of the factor that is not `other`."""
    return (((cotangent.shape[0] - other.shape[0] + 1,), cotangent.dtype),)


op = get_linear_call(convolve, (correlate, correlate), convolved, (correlated, correlated))


def energy(a: jax.Array, b: jax.Array) -> jax.Array:
    """Compute |a * b|^2."""
    return jnp.sum(jnp.abs(op(a, b)[0]) ** 2)


def twin(a: jax.Array, b: jax.Array) -> jax.Array:
    """Compute the same with JAX's own convolution."""
    return jnp.sum(jnp.abs(jnp.convolve(a, b)) ** 2)


a, b = jnp.array([1.0, -2.0, 0.5]), jnp.array([3.0, 1.0])
print("gradients      ", jax.grad(energy, argnums=(0, 1))(a, b))
print("mixed Hessian  ", jax.jacrev(jax.jacrev(energy, 0), 1)(a, b).tolist())
third = jax.jacrev(jax.hessian(energy, 0), 1)
print("third derivative", third(a, b).shape)
np.testing.assert_allclose(third(a, b), jax.jacrev(jax.hessian(twin, 0), 1)(a, b), rtol=1e-4, atol=1e-4)
np.testing.assert_allclose(jax.grad(energy)(a + 1j, b + 2j), jax.grad(twin)(a + 1j, b + 2j), rtol=1e-5)
