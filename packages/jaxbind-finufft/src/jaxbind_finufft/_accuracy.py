# SPDX-License-Identifier: BSD-2-Clause
"""The relative accuracy that a transform is computed with: what was asked for, or the best that FINUFFT can do.

FINUFFT warns, from inside the program and again for every plan, if it cannot reach `eps`. Here the limit is known
before the program runs, the user is told once, and FINUFFT gets a value that it reaches.
"""

from __future__ import annotations

import functools
import math
import threading
import warnings
from typing import Any

import finufft
import jax
import numpy as np

from jaxbind_finufft import _errors

# No version of FINUFFT has a limit above the rounding error of single precision unless `upsampfac` is set.
ALWAYS_REACHED = float(np.finfo(np.float32).eps)

_WANTED = ("a number", "Give the relative accuracy, for example 1e-6")
_told: set[tuple[object, ...]] = set()
_lock = threading.Lock()  # Guards the set, and the filters of `warnings` against ourselves.


def checked_eps(operator: str, eps: Any) -> float:
    """The accuracy that the user asked for, as a number.

    Raises
    ------
    TypeError, ValueError
        If it is none, or a JAX tracer.
    """
    if isinstance(eps, jax.core.Tracer):
        raise _errors.traced(operator, "eps")
    try:
        number = float(eps)
    except (TypeError, ValueError):
        raise _errors.bad_type(operator, "eps", eps, *_WANTED) from None
    if math.isnan(number):
        raise _errors.bad_value(operator, "eps", eps, *_WANTED)
    return number


def reachable(operator: str, eps: float, kind: int, ndim: int, dtype: str, upsampfac: float) -> float:
    """The accuracy to ask FINUFFT for; warns, once per case, if it is not the one that the user asked for.

    Parameters
    ----------
    operator
        For the message.
    eps
        What the user asked for.
    kind
        1, 2 or 3.
    ndim
        Number of dimensions.
    dtype
        Of the strengths, complex64 or complex128.
    upsampfac
        Of the options.

    Returns
    -------
    float
        Not below FINUFFT's limit.
    """
    if eps >= ALWAYS_REACHED and not upsampfac:
        return eps
    limit = _limit(kind, ndim, dtype, upsampfac)
    if eps >= limit:
        return eps
    case = (kind, ndim, dtype, upsampfac, eps)
    with _lock:
        new = case not in _told
        _told.add(case)
    if new:
        precision = "single" if dtype == "complex64" else "double"
        warnings.warn(
            f"{operator}: FINUFFT eps tolerance too small to achieve: eps={eps:.3g} in {precision} precision. "
            f"It is computed with {limit:.3g}; set that to silence this warning.",
            stacklevel=4,  # the caller of nufft1, nufft2 or nufft3
        )
    return limit


@functools.cache
def _limit(kind: int, ndim: int, dtype: str, upsampfac: float) -> float:
    """The smallest accuracy that FINUFFT accepts without a warning, found by bisection on a tiny transform."""
    low, high = -18.0, 0.0  # decimal logarithms
    while high - low > 0.01:
        middle = (low + high) / 2
        low, high = (low, middle) if _accepts(10.0**middle, kind, ndim, dtype, upsampfac) else (middle, high)
    return float(10.0**high)


def _accepts(eps: float, kind: int, ndim: int, dtype: str, upsampfac: float) -> bool:
    points = [np.linspace(-1, 1, 8, dtype=dtype).real.copy() for _ in range(ndim)]
    targets = dict(zip("stu", points, strict=False)) if kind == 3 else {}
    options = {"upsampfac": upsampfac} if upsampfac else {}
    with _lock, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        modes = ndim if kind == 3 else (8,) * ndim
        plan = finufft.Plan(kind, modes, 1, eps, 1, dtype, nthreads=1, showwarn=0, **options)
        plan.setpts(**dict(zip("xyz", points, strict=False)), **targets)
    return not caught
