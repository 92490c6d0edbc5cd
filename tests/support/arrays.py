# SPDX-License-Identifier: BSD-2-Clause
"""Seeded arrays that hide nothing: complex ones have imaginary parts, integers are not zero, nothing is symmetric."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

Array = np.ndarray[Any, Any]


def draw(seed: int, shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
    """Random values of any dtype, between about -2 and 2 (integers from 1 to 6)."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return rng.random(shape) < 0.6
    if jnp.issubdtype(dtype, jnp.integer):
        return rng.integers(1, 7, shape).astype(dtype)
    if jnp.issubdtype(dtype, jnp.complexfloating):
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    if dtype == np.dtype(jnp.float8_e8m0fnu) if hasattr(jnp, "float8_e8m0fnu") else False:
        return rng.choice([0.5, 1.0, 2.0, 4.0], shape).astype(dtype)
    return rng.normal(size=shape).astype(dtype)


def draw_like(seed: int, array: Any) -> Array:
    """Random values with the shape and dtype of another array."""
    return draw(seed, np.shape(array), array.dtype)
