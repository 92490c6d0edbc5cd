# SPDX-License-Identifier: BSD-2-Clause
"""The messages of the package. All but the last are raised while tracing, before FINUFFT sees an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def bad_value(operator: str, argument: str, found: object, expected: str, remedy: str) -> ValueError:
    """An argument has a value that it cannot have.

    Parameters
    ----------
    operator
        Name of the function that was called.
    argument
        Name of the argument.
    found
        Its value, or what is wrong with it.
    expected
        What would be right.
    remedy
        What to do, as a sentence without the stop.
    """
    return ValueError(f"{operator}: argument {argument} is {found}; expected {expected}. {remedy}.")


def bad_type(operator: str, argument: str, found: object, expected: str, remedy: str) -> TypeError:
    """An argument is of a type that it cannot have."""
    return TypeError(
        f"{operator}: argument {argument} is {found!r} of type {type(found).__name__}; expected {expected}. {remedy}."
    )


def bad_array(operator: str, argument: str, found: object) -> TypeError:
    """An argument is not an array."""
    return TypeError(
        f"{operator}: argument {argument} has type {type(found).__name__}; expected an array. "
        f"Convert it first, for example jnp.asarray({argument})."
    )


def bad_dtype(operator: str, argument: str, dtype: object, expected: str) -> TypeError:
    """An array has a dtype that has no transform."""
    return TypeError(
        f"{operator}: argument {argument} has dtype {dtype}; expected {expected}. Take its real part, or cast it."
    )


def bad_shape(operator: str, argument: str, shape: Sequence[int], expected: str, remedy: str) -> ValueError:
    """An array has a shape that does not fit."""
    return ValueError(f"{operator}: argument {argument} has shape {tuple(shape)}; expected {expected}. {remedy}.")


def bad_count(operator: str, found: int, expected: str) -> ValueError:
    """A transform in a number of dimensions that FINUFFT does not have."""
    return ValueError(
        f"{operator}: found {found} arrays of points; expected {expected}. "
        "Give one array per dimension, after the strengths, and options as keywords."
    )


def traced(operator: str, argument: str) -> TypeError:
    """An argument that the transform is compiled for is a JAX tracer."""
    return TypeError(
        f"{operator}: argument {argument} is traced by JAX; expected a constant. "
        "Compute it with NumPy or Python, or mark it as static under jax.jit."
    )


def mixed_levels(operator: str, batch_axes: object) -> RuntimeError:
    """The arrays of one call are mapped by different numbers of vmap levels."""
    return RuntimeError(
        f"{operator}: the arrays of a batch have the batch axes {batch_axes}; expected as many for each array that has "
        "any. This is a mistake in jaxbind, please report it."
    )


def not_finite(operator: str, argument: str, points: Any, count: int) -> ValueError:
    """Points, which are known only when the transform runs, are not numbers."""
    return ValueError(
        f"{operator}: argument {argument} has {count} NaN or infinite values among {len(points)}; expected finite "
        "coordinates. Remove these points, or give them strength zero and any finite coordinate."
    )
