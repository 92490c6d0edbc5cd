# SPDX-License-Identifier: BSD-2-Clause
"""Let a library's own batching serve vmap: one call of SciPy for the whole batch."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.fft
from jaxbind import get_linear_call, load_kwargs

Arrays = tuple[np.ndarray, ...]


def own_axes(ndim: int, batch_axes: tuple[tuple[int, ...], ...] | None) -> list[int]:
    """Find the axes of argument 0 that are not batch axes: those to transform."""
    batch = batch_axes[0] if batch_axes else ()
    return [axis for axis in range(ndim) if axis not in batch]


def dct(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Transform all axes that are not batch axes, wherever they are."""
    batch_axes = load_kwargs(kwargs_dump)["batch_axes"]
    print(f"  host function: shape {args[0].shape}, batch_axes {batch_axes}")
    out[0][...] = scipy.fft.dctn(args[0], axes=own_axes(args[0].ndim, batch_axes), norm="ortho")


def idct(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Apply the transpose, which is the inverse. The batch axes are those of the cotangent."""
    batch_axes = load_kwargs(kwargs_dump)["batch_axes"]
    out[0][...] = scipy.fft.idctn(args[0], axes=own_axes(args[0].ndim, batch_axes), norm="ortho")


def same(x: Any, *, batch_axes: Any) -> Any:
    """Describe the output: shape, dtype, and the axis of its newest batch dimension, here where it is in the input."""
    return ((x.shape, x.dtype, batch_axes[0][-1] if batch_axes else None),)


op = get_linear_call(dct, idct, same, same, func_can_batch=True)


def transform(x: jax.Array) -> jax.Array:
    """Take the one output out of the list."""
    return op(x)[0]


x = jnp.asarray(np.random.default_rng(0).normal(size=(2, 8, 3, 5)), dtype=jnp.float32)
print("no vmap")
single = jax.block_until_ready(transform(x[0, :, 0]))
print("vmap over axis 1")
once = jax.block_until_ready(jax.vmap(transform, in_axes=1, out_axes=1)(x[0]))
print("vmap over axis 2, then over axis 0")
twice = jax.vmap(jax.vmap(transform, in_axes=1, out_axes=1), in_axes=0)(x)
np.testing.assert_allclose(once[:, 0], single, rtol=1e-5, atol=1e-5)
np.testing.assert_allclose(twice[0], once, rtol=1e-5, atol=1e-5)
