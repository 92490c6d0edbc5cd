# SPDX-License-Identifier: BSD-2-Clause
"""The operator ``x = A^-1 b`` with a tridiagonal matrix A, which is linear in b, and its derivatives.

Transposing gives ``b = A^-T x``, the same elimination on the transposed matrix. In the matrix, from ``A x = b``:

    dA x + A dx = 0,    dx = -A^-1 (dA x)

which is the operator again, so derivatives of every order follow.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxbind import get_linear_call

from jaxbind_tridiagonal._library import solve_into

Arrays = tuple[np.ndarray, ...]


# Host functions stand at the top level of a module. Exported programs find them by module and name, here
# `jaxbind_tridiagonal.solver:forward`: to rename one is to break the programs that users have exported.
def forward(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Solve; the matrix comes first because it is fixed."""
    *matrix, b = args
    solve_into(out[0], tuple(matrix), b, transposed=False)


def backward(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Apply the transpose to a cotangent."""
    *matrix, cotangent = args
    solve_into(out[0], tuple(matrix), cotangent, transposed=True)


def described(lower: Any, diagonal: Any, upper: Any, b: Any) -> Any:
    """Refuse what C would misread, while JAX traces; else: one output like the right-hand side."""
    for name, array in {"lower": lower, "diagonal": diagonal, "upper": upper, "b": b}.items():
        if array.dtype != np.float64:
            raise TypeError(
                f"solve: {name} has dtype {array.dtype}; expected float64. Cast it, with jax_enable_x64 switched on."
            )
        if array.shape != (diagonal.size,):
            raise ValueError(
                f"solve: {name} has shape {array.shape}, diagonal {diagonal.shape}; expected one dimension and equal "
                "sizes. Map over other dimensions with jax.vmap."
            )
    return ((b.shape, b.dtype),)


def derivative(primals: Any, tangents: Any) -> Any:
    """Change of the solution with the matrix."""
    lower, diagonal, upper, b = primals
    x = solve(lower, diagonal, upper, b)
    # Row i of dA x is dlower[i] x[i-1] + ddiagonal[i] x[i] + dupper[i] x[i+1].
    columns = jnp.pad(x[:-1], (1, 0)), x, jnp.pad(x[1:], (0, 1))
    change = sum(tangent * column for tangent, column in zip(tangents, columns, strict=True) if tangent is not None)
    return (-solve(lower, diagonal, upper, change),)


operator = get_linear_call(forward, backward, described, described, first_n_args_fixed=3, fixed_derivative=derivative)


def solve(lower: Any, diagonal: Any, upper: Any, b: Any) -> jax.Array:
    """Solve a tridiagonal system of equations.

    Parameters
    ----------
    lower, diagonal, upper
        The matrix: ``A[i, i-1] = lower[i]``, ``A[i, i] = diagonal[i]``, ``A[i, i+1] = upper[i]``. Shape (n,), float64.
        ``lower[0]`` and ``upper[n-1]`` have no influence.
    b
        Right-hand side, like them.

    Returns
    -------
    jax.Array
        The solution x of ``A x = b``, shape (n,), float64; differentiable in all four.

    Raises
    ------
    TypeError, ValueError
        While JAX traces, for another dtype or shape. A zero pivot is an error of the computation.

    Notes
    -----
    Elimination without pivoting is stable where A is diagonally dominant or positive definite.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> jax.config.update("jax_enable_x64", True)
    >>> one = jnp.ones(3)
    >>> solve(-one, 2 * one, -one, jnp.array([0.0, 0.0, 4.0])).round(9).tolist()
    [1.0, 2.0, 3.0]
    """
    [x] = operator(lower, diagonal, upper, b)
    return x
