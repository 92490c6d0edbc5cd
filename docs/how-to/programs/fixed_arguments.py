# SPDX-License-Identifier: BSD-2-Clause
"""Bind a function that is linear in one argument only, then make the other one differentiable too."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxbind import get_linear_call

Arrays = tuple[np.ndarray, ...]


def interpolate(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Read a table at fractional positions: linear in the table, not in the positions."""
    positions, table = args
    out[0][...] = np.interp(positions, np.arange(table.size), table)


def spread(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Apply the transpose: the fixed argument comes first, then the cotangent of the output."""
    positions, cotangent = args
    cell = np.clip(positions.astype(int), 0, out[0].size - 2)
    weight = np.clip(positions - cell, 0, 1)
    out[0][...] = np.bincount(cell, (1 - weight) * cotangent, out[0].size)
    out[0][...] += np.bincount(cell + 1, weight * cotangent, out[0].size)


def at_positions(positions: Any, table: Any) -> Any:
    """One value per position."""
    return ((positions.shape, table.dtype),)


def table_of(size: int) -> Any:
    """Describe the transpose's output: `spread` sees no table, so its size is bound into the function."""
    return lambda positions, cotangent: (((size,), cotangent.dtype),)


SIZE = 6
op = get_linear_call(interpolate, spread, at_positions, table_of(SIZE), first_n_args_fixed=1)

table = jnp.array([0.0, 1.0, 4.0, 9.0, 16.0, 25.0])
positions = jnp.array([0.5, 2.25, 4.5])
print("values              ", op(positions, table)[0])
print("gradient in table   ", jax.grad(lambda t: op(positions, t)[0].sum())(table))
try:
    jax.grad(lambda p: op(p, table)[0].sum())(positions)
except TypeError as error:
    print("gradient in positions", error)


def slope(primals: Any, tangents: Any) -> Any:
    """Differentiate in the positions: the slope of the table's cell times the change of position."""
    positions, table = primals
    change, *_ = tangents
    cell = jnp.clip(positions.astype(int), 0, table.size - 2)
    return (jnp.diff(table)[cell] * change,)


op = get_linear_call(interpolate, spread, at_positions, table_of(SIZE), first_n_args_fixed=1, fixed_derivative=slope)
print("gradient in positions", jax.grad(lambda p: op(p, table)[0].sum())(positions))
mixed = jax.jacrev(jax.grad(lambda p, t: op(p, t)[0].sum()), 1)(positions, table)
print("mixed second derivative\n", mixed)
np.testing.assert_allclose(mixed, np.diff(np.eye(SIZE), axis=0)[[0, 2, 4]])
