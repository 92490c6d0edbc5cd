# SPDX-License-Identifier: BSD-2-Clause
"""Precisions: real and complex partners, and the check that an array has a dtype that ducc0 transforms."""

from __future__ import annotations

from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from jaxbind_ducc import _errors

DType = np.dtype[Any]
Kind = Literal["real", "complex", "any"]

_ACCEPTED = {
    "real": ("float32", "float64"),
    "complex": ("complex64", "complex128"),
    "any": ("float32", "float64", "complex64", "complex128"),
}


def real_dtype(dtype: Any) -> DType:
    """The real dtype of the same precision: float32 for complex64, float64 for complex128; real ones stay."""
    return np.empty(0, dtype).real.dtype


def complex_dtype(dtype: Any) -> DType:
    """The complex dtype of the same precision: complex64 for float32, complex128 for float64; complex ones stay."""
    return np.result_type(dtype, np.complex64)


def as_array(operator: str, argument: str, value: Any, kind: Kind) -> jax.Array:
    """The value as a JAX array of single or double precision.

    Parameters
    ----------
    operator, argument
        Names for the message.
    value
        An array or what `jax.numpy.asarray` makes one of.
    kind
        Whether the transform takes "real" arrays, "complex" ones, or "any" of both.

    Returns
    -------
    jax.Array
        Unchanged, not cast: a transform computes in the precision of its input.

    Raises
    ------
    TypeError
        If the dtype is another one.
    """
    array = jnp.asarray(value)
    accepted = _ACCEPTED[kind]
    if array.dtype.name not in accepted:
        example = accepted[0]
        raise _errors.bad_dtype(operator, argument, array.dtype, " or ".join(accepted), example)
    return array
