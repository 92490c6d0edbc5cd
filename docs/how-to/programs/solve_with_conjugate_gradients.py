# SPDX-License-Identifier: BSD-2-Clause
"""Restore a blurred signal by conjugate gradients, with JAX's SciPy-style solver and with Lineax."""

from typing import Any

import jax
import jax.numpy as jnp
import lineax
import numpy as np
import scipy.ndimage
from jaxbind import get_linear_call

Arrays = tuple[np.ndarray, ...]


def blur(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Blur a signal. The filter is symmetric and ends at zeros, so the operator is its own transpose."""
    scipy.ndimage.gaussian_filter1d(args[0], 2.0, output=out[0], mode="constant")


def same(x: Any) -> Any:
    """One output, like the input."""
    return ((x.shape, x.dtype),)


jax.config.update("jax_enable_x64", True)
operator = get_linear_call(blur, blur, same, same)


def normal(x: jax.Array, weight: jax.Array) -> jax.Array:
    """Compute (A^T A + weight) x: symmetric and positive, which conjugate gradients need."""
    return operator(operator(x)[0])[0] + weight * x


def restore_jax(data: jax.Array, weight: jax.Array) -> jax.Array:
    """Solve with jax.scipy.sparse.linalg.cg."""
    return jax.scipy.sparse.linalg.cg(lambda x: normal(x, weight), operator(data)[0], tol=1e-12)[0]


def restore_lineax(data: jax.Array, weight: jax.Array) -> jax.Array:
    """Solve with Lineax, which wants to be told that the operator is positive."""
    right = operator(data)[0]
    matrix = lineax.FunctionLinearOperator(
        lambda x: normal(x, weight), jax.eval_shape(lambda: right), lineax.positive_semidefinite_tag
    )
    solution: jax.Array = lineax.linear_solve(matrix, right, lineax.CG(rtol=1e-12, atol=1e-12)).value
    return solution


random = np.random.default_rng(0)
signal = np.where(np.arange(64) // 16 % 2, 1.0, 0.0)
data = jnp.asarray(scipy.ndimage.gaussian_filter1d(signal, 2.0, mode="constant") + 0.01 * random.normal(size=64))
A = np.stack([scipy.ndimage.gaussian_filter1d(e, 2.0, mode="constant") for e in np.eye(64)], axis=1)


def restore_dense(data: jax.Array, weight: jax.Array) -> jax.Array:
    """Solve with the matrix written down."""
    return jnp.linalg.solve(A.T @ A + weight * jnp.eye(64), A.T @ data)


def error(restore: Any, weight: jax.Array) -> jax.Array:
    """How far a restoration is from the truth; the weight of the penalty is to be chosen."""
    return jnp.sum((restore(data, weight) - signal) ** 2)


weight = jnp.asarray(1e-2)
for name, restore in {"jax cg": restore_jax, "lineax": restore_lineax, "dense": restore_dense}.items():
    value, slope = jax.jit(jax.value_and_grad(lambda w, restore=restore: error(restore, w)))(weight)
    print(f"{name:7s} error {value:.6f}, derivative in the weight {slope:.5f}")
    expected = jax.value_and_grad(lambda w: error(restore_dense, w))(weight)
    np.testing.assert_allclose((value, slope), expected, rtol=1e-6)
