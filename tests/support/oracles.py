# SPDX-License-Identifier: BSD-2-Clause
"""Comparisons and functions of operators that several tests use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Function = Callable[..., Any]


def assert_close(found: Any, expected: Any, tolerance: float = 1e-10) -> None:
    """Equal structure, shapes, dtypes and values."""
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert (jnp.shape(a), jnp.result_type(a)) == (jnp.shape(b), jnp.result_type(b))
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def loss(function: Function) -> Function:
    """A real, nonlinear function of all outputs, in which every element counts differently."""

    def total(*args: Any) -> Any:
        terms = [
            jnp.sum(jnp.abs(out) ** 2 * jnp.arange(1.0, 1.0 + jnp.size(out)).reshape(jnp.shape(out)))
            + jnp.sum(jnp.sin(jnp.real(out)))
            for out in function(*args)
        ]
        return sum(terms[1:], terms[0])

    return total


def gradient_norm(function: Function, argnums: tuple[int, ...]) -> Function:
    """A real function whose gradient holds the second derivatives of another."""
    return lambda *args: sum(jnp.sum(jnp.abs(g) ** 2) for g in jax.grad(function, argnums)(*args))


def pairing(left: Any, right: Any) -> Any:
    """<a, b> = sum of the products, without conjugation."""
    return sum(jnp.sum(a * b) for a, b in zip(left, right, strict=True))
