# SPDX-License-Identifier: BSD-2-Clause
"""The messages of the package, in ducc0's vocabulary, raised while tracing and before ducc0 sees the arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def bad_value(operator: str, argument: str, found: object, expected: str, remedy: str) -> ValueError:
    """An argument has a value or shape that the transform does not have.

    Parameters
    ----------
    operator
        Name of the function that was called.
    argument
        Name of the argument.
    found
        What is wrong with it, as the end of "argument x is ...".
    expected
        What would be right.
    remedy
        What to do, as a full sentence without the stop.
    """
    return ValueError(f"{operator}: argument {argument} is {found}; expected {expected}. {remedy}.")


def bad_shape(operator: str, argument: str, array: Any, expected: str, remedy: str) -> ValueError:
    """An array has a shape that does not fit."""
    return ValueError(f"{operator}: argument {argument} has shape {array.shape}; expected {expected}. {remedy}.")


def bad_dtype(operator: str, argument: str, dtype: object, expected: str, example: str) -> TypeError:
    """An array has a dtype that ducc0 does not transform."""
    return TypeError(
        f"{operator}: argument {argument} has dtype {dtype}; expected {expected}. "
        f"Cast it first, for example {argument}.astype(jnp.{example})."
    )


def descending_channels(found: object) -> ValueError:
    """The frequencies, which are known only when the transform runs, are in an order that ducc0 does not take."""
    return ValueError(
        f"wgridder: argument freq is {found}; expected frequencies in ascending order. "
        "Sort the channels of freq, and those of the visibilities, weights and mask in the same way."
    )


def mixed_levels(operator: str, batch_axes: object) -> RuntimeError:
    """The arrays of one call are mapped by different numbers of vmap levels."""
    return RuntimeError(
        f"{operator}: the arrays of a batch have the batch axes {batch_axes}; expected as many for each array that has "
        "any. This is a mistake in jaxbind, please report it."
    )


def traced(operator: str, argument: str) -> TypeError:
    """An argument that the transform is compiled for is a JAX tracer."""
    return TypeError(
        f"{operator}: argument {argument} is traced by JAX; expected a constant. "
        "Compute it with NumPy, outside jit and grad."
    )


def wrong_keywords(operator: str, unexpected: Iterable[str], missing: Iterable[str]) -> TypeError:
    """A call has keyword arguments that do not exist, or lacks some."""
    found = [f"unexpected {name}" for name in sorted(unexpected)] + [f"no {name}" for name in sorted(missing)]
    return TypeError(
        f"{operator}: keyword arguments: found {', '.join(found)}; expected those of ducc0. See its docstring."
    )
