# SPDX-License-Identifier: BSD-2-Clause
"""Solve A x = b with SciPy inside JAX, differentiable in b and in A, to every order."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxbind import get_linear_call

Arrays = tuple[np.ndarray, ...]

# A is tridiagonal; `bands` are its three diagonals in the form that scipy.linalg.solve_banded takes.


def solve(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Solve A x = b."""
    bands, b = args
    out[0][...] = scipy.linalg.solve_banded((1, 1), bands, b)


def solve_transposed(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Solve A^T x = b: the upper diagonal becomes the lower one."""
    (above, main, below), b = args
    flipped = np.stack([np.roll(below, 1), main, np.roll(above, -1)])
    out[0][...] = scipy.linalg.solve_banded((1, 1), flipped, b)


def like_b(bands: Any, b: Any) -> Any:
    """One output, with the shape and dtype of the right-hand side."""
    return ((b.shape, b.dtype),)


def multiply(bands: jax.Array, x: jax.Array) -> jax.Array:
    """Compute A x with JAX's own functions."""
    above, main, below = bands
    return main * x + jnp.append(above[1:] * x[1:], 0) + jnp.append(jnp.zeros(1), below[:-1] * x[:-1])


def change_with_bands(primals: Any, tangents: Any) -> Any:
    """Differentiate A x = b: dA x + A dx = 0 for fixed b, so dx = -A^-1 (dA x)."""
    bands, b = primals
    d_bands, *_ = tangents
    x = banded_solve(bands, b)[0]
    return (-banded_solve(bands, multiply(d_bands, x))[0],)


banded_solve = get_linear_call(
    solve, solve_transposed, like_b, like_b, first_n_args_fixed=1, fixed_derivative=change_with_bands
)

jax.config.update("jax_enable_x64", True)
n = 6
random = np.random.default_rng(0)
bands = jnp.asarray(random.normal(size=(3, n))).at[1].add(4)
b = jnp.asarray(random.normal(size=n))


def energy(bands: jax.Array, b: jax.Array) -> jax.Array:
    """A function of both."""
    return jnp.sum(banded_solve(bands, b)[0] ** 2)


def dense_energy(bands: jax.Array, b: jax.Array) -> jax.Array:
    """The same with a dense matrix."""
    above, main, below = bands
    A = jnp.diag(main) + jnp.diag(above[1:], 1) + jnp.diag(below[:-1], -1)
    return jnp.sum(jnp.linalg.solve(A, b) ** 2)


for name, derive in {
    "gradient in b": lambda f: jax.grad(f, 1),
    "gradient in A": lambda f: jax.grad(f, 0),
    "Hessian in A": lambda f: jax.hessian(f, 0),
}.items():
    ours, dense = derive(energy)(bands, b), derive(dense_energy)(bands, b)
    print(f"{name:14s} {ours.shape!s:14s} largest difference {jnp.max(jnp.abs(ours - dense)):.0e}")
    np.testing.assert_allclose(ours, dense, atol=1e-12)
