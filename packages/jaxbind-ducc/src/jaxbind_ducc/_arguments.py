# SPDX-License-Identifier: BSD-2-Clause
"""What all transforms on the sphere do with their arguments: names of keywords, spins and modes, leading dimensions."""

from __future__ import annotations

import functools
import math
import operator as op
import typing
from collections.abc import Mapping, Sequence
from typing import Any

import jax

from jaxbind_ducc import _dtypes, _errors
from jaxbind_ducc._alm_layout import Layout

MODES = ("STANDARD", "GRAD_ONLY", "DERIV1")


def check_names(operator: str, given: Mapping[str, Any], scheme: Any) -> None:
    """Refuse keyword arguments that a `TypedDict` does not have, and the lack of those that it requires."""
    names, required = _names(scheme)
    unexpected, missing = given.keys() - names, required - given.keys()
    if unexpected or missing:
        raise _errors.wrong_keywords(operator, unexpected, missing)


@functools.lru_cache
def _names(scheme: Any) -> tuple[frozenset[str], frozenset[str]]:
    """All keys of a `TypedDict`, and the required ones; its own lists of them do not know of postponed annotations."""
    hints = typing.get_type_hints(scheme, include_extras=True)
    required = (name for name, hint in hints.items() if typing.get_origin(hint) is typing.Required)
    return frozenset(hints), frozenset(required)


def checked_spin(operator: str, spin: int, mode: str, lmax: int) -> int:
    """The spin of a transform in one of ducc0's modes.

    Returns
    -------
    int
        1 for mode "DERIV1", whatever was given.
    """
    if mode not in MODES:
        raise _errors.bad_value(operator, "mode", repr(mode), f"one of {', '.join(MODES)}", "Use the default, STANDARD")
    if mode == "DERIV1":
        spin = 1
    spin = op.index(spin)
    if spin < 0:
        raise _errors.bad_value(operator, "spin", spin, "a number of at least 0", "Take its absolute value")
    if spin > lmax:
        raise _errors.bad_value(operator, "spin", spin, f"at most lmax = {lmax}", "Raise lmax")
    if spin == 0 and mode == "GRAD_ONLY":
        raise _errors.bad_value(operator, "mode", repr(mode), "STANDARD for spin 0", "Leave it out")
    return spin


def components(spin: int, mode: str) -> tuple[int, int]:
    """Number of sets of coefficients, and of maps."""
    return (1 if spin == 0 or mode != "STANDARD" else 2), (1 if spin == 0 else 2)


def checked_epsilon(operator: str, epsilon: float, dtype: Any, share: float = 1.0) -> float:
    """The accuracy of a transform at arbitrary points, which ducc0 cannot raise beyond a limit of each precision.

    The transforms get `share` times the accuracy.
    """
    best = (1e-6 if _dtypes.real_dtype(dtype).itemsize == 4 else 2e-13) / share
    if not best <= epsilon <= 0.1:
        expected = f"between {best:.0e} and 0.1 for {dtype}"
        raise _errors.bad_value(operator, "epsilon", epsilon, expected, "Choose one in this range")
    return float(epsilon)


def oversampling(given: Mapping[str, Any]) -> dict[str, float]:
    """The range of ducc0's oversampling factors, with its defaults."""
    return {name: float(given.get(name, default)) for name, default in (("sigma_min", 1.1), ("sigma_max", 2.6))}


def checked_points(operator: str, loc: Any) -> jax.Array:
    """An array of points on the sphere."""
    points = _dtypes.as_array(operator, "loc", loc, "real")
    if points.ndim != 2 or points.shape[1] != 2:
        raise _errors.bad_shape(operator, "loc", points, "(npix, 2)", "Give colatitude and longitude of each point")
    return points


def checked_array(operator: str, argument: str, value: Any, kind: _dtypes.Kind, core: Sequence[int | str]) -> jax.Array:
    """An array whose last dimensions are given as numbers, or as names where any number will do."""
    array = _dtypes.as_array(operator, argument, value, kind)
    own = array.shape[array.ndim - len(core) :] if array.ndim >= len(core) else None
    if own is None or any(isinstance(n, int) and n != found for n, found in zip(core, own, strict=True)):
        expected = f"(..., {', '.join(map(str, core))})"
        raise _errors.bad_shape(operator, argument, array, expected, "Leading dimensions are a batch")
    return array


def apply(operator: Any, array: jax.Array, core: int, *fixed: Any, **kwargs: Any) -> jax.Array:
    """Call an operator on an array with any number of leading dimensions, as one batch.

    Parameters
    ----------
    operator
        Takes the fixed arguments, then the array.
    array
        Its last `core` dimensions belong to the transform.
    fixed
        Arguments that all elements share.
    kwargs
        Keyword arguments of the operator.
    """
    call = functools.partial(operator, **kwargs)
    lead = array.shape[: array.ndim - core]
    if not lead:
        result: jax.Array = call(*fixed, array)[0]
        return result
    flat = array.reshape(math.prod(lead), *array.shape[len(lead) :])
    [stack] = jax.vmap(call, in_axes=(*(None,) * len(fixed), 0))(*fixed, flat)
    unflattened: jax.Array = stack.reshape(*lead, *stack.shape[1:])
    return unflattened


def work(layout: Layout, rings: int, maps: int) -> float:
    """Rough number of floating-point operations of a transform between coefficients and rings."""
    return 4.0 * maps * rings * (layout.mmax + 1) * (layout.lmax + 1)
