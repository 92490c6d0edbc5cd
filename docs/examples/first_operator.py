# SPDX-License-Identifier: BSD-2-Clause
"""Bind a SciPy function to JAX, then compile, batch and differentiate it."""

from typing import Any

import jax
import jax.numpy as jnp
import jaxbind
import numpy as np
import scipy.fft


def dct(out: tuple[np.ndarray, ...], args: tuple[np.ndarray, ...], kwargs_dump: Any) -> None:
    """Read from `args`, write into `out`: NumPy arrays in JAX's own memory."""
    out[0][...] = scipy.fft.dct(args[0], norm="ortho")


def dct_transpose(out: tuple[np.ndarray, ...], args: tuple[np.ndarray, ...], kwargs_dump: Any) -> None:
    """Apply the transposed matrix, here the inverse, because the transform is orthonormal."""
    out[0][...] = scipy.fft.idct(args[0], norm="ortho")


def like_input(x: Any) -> tuple[tuple[tuple[int, ...], Any], ...]:
    """Give shape and dtype of each output."""
    return ((x.shape, x.dtype),)


op = jaxbind.get_linear_call(dct, dct_transpose, like_input, like_input)  # called, it returns a list of outputs

x = jnp.arange(8.0)
spectrum = jax.jit(op)(x)[0]
spectra = jax.vmap(op)(jnp.stack([x, x**2]))[0]
gradient = jax.grad(lambda x: jnp.sum(op(x)[0] ** 2) / 2)(x)  # |op(x)|^2 = |x|^2, so this is x

print("spectrum", np.asarray(spectrum).round(3))
print("spectra of a batch", spectra.shape)
print("gradient", np.asarray(gradient).round(3))
