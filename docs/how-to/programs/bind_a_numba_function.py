# SPDX-License-Identifier: BSD-2-Clause
"""Loops compiled by numba: mass of particles onto a mesh, differentiable, with a batch on all cores."""

from typing import Any

import jax
import jax.numpy as jnp
import numba
import numpy as np
from jaxbind import get_linear_call


@numba.njit(nogil=True)
def spread(positions: np.ndarray, masses: np.ndarray, mesh: np.ndarray) -> None:
    """Share each mass between its two neighbours on a periodic mesh."""
    mesh[:] = 0
    for i in range(positions.size):
        left = int(np.floor(positions[i]))
        weight = positions[i] - left
        mesh[left % mesh.size] += (1 - weight) * masses[i]
        mesh[(left + 1) % mesh.size] += weight * masses[i]


@numba.njit(nogil=True)
def gather(positions: np.ndarray, mesh: np.ndarray, masses: np.ndarray) -> None:
    """Interpolate the mesh at each position: the transpose."""
    for i in range(positions.size):
        left = int(np.floor(positions[i]))
        weight = positions[i] - left
        masses[i] = (1 - weight) * mesh[left % mesh.size] + weight * mesh[(left + 1) % mesh.size]


Arrays = tuple[np.ndarray, ...]


def host_spread(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Fill the mesh."""
    spread(args[0], args[1], out[0])


def host_gather(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Fill the masses' cotangent from that of the mesh."""
    gather(args[0], args[1], out[0])


def mesh_like(positions: Any, masses: Any, *, cells: int) -> Any:
    """One output: the mesh."""
    return (((cells,), masses.dtype),)


def masses_like(positions: Any, mesh: Any, *, cells: int) -> Any:
    """One cotangent: that of the masses."""
    return ((positions.shape, mesh.dtype),)


# Positions are fixed: the mesh is linear in the masses only. batch_threads=0: numba lets go of the GIL, so a batch is
# shared by all cores.
deposit = get_linear_call(host_spread, host_gather, mesh_like, masses_like, first_n_args_fixed=1, batch_threads=0)


def deposit_in_jax(positions: jax.Array, masses: jax.Array, cells: int) -> jax.Array:
    """The same with JAX's own functions."""
    left = jnp.floor(positions).astype(int)
    weight = positions - left
    mesh = jnp.zeros(cells, masses.dtype).at[left % cells].add((1 - weight) * masses)
    return mesh.at[(left + 1) % cells].add(weight * masses)


jax.config.update("jax_enable_x64", True)
random = np.random.default_rng(0)
positions = jnp.asarray(random.uniform(0, 16, size=(8, 1000)))  # eight sets of a thousand particles
masses = jnp.ones(1000)


def contrast(deposited: Any, masses: jax.Array) -> jax.Array:
    """Mean square of the mass per cell, over the batch."""
    return jnp.mean(jax.vmap(lambda p: deposited(p, masses))(positions) ** 2)


def ours(p: jax.Array, m: jax.Array) -> jax.Array:
    """Deposit through numba."""
    return deposit(p, m, cells=16)[0]


def pure(p: jax.Array, m: jax.Array) -> jax.Array:
    """Deposit in JAX."""
    return deposit_in_jax(p, m, 16)


print("mass per cell", ours(positions[0], masses)[:4].round(2))
gradient = jax.jit(jax.grad(lambda m: contrast(ours, m)))(masses)
print("gradient     ", gradient[:4].round(3))
np.testing.assert_allclose(ours(positions[0], masses), pure(positions[0], masses))
np.testing.assert_allclose(gradient, jax.grad(lambda m: contrast(pure, m))(masses))
