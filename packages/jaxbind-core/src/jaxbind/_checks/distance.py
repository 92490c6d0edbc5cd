# SPDX-License-Identifier: BSD-2-Clause
"""How far apart two arrays are, and how far apart rounding may set them.

Errors are measured relative to the largest element, not element by element: a Fourier transform in float32 rightly
leaves 1e-7 where the exact result is 0.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import jax.numpy as jnp
import numpy as np

Array = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class Precision:
    """What rounding does to an operator's results.

    Attributes
    ----------
    eps
        Relative error of one result, to which finite differences are adapted.
    rtol, atol
        Allowed error: ``atol + rtol * (largest element)``.
    """

    eps: float
    rtol: float
    atol: float


def precision_of(dtypes: Iterable[Any], rtol: float | None, atol: float | None) -> Precision:
    """The precision of results that pass through some dtypes: the coarsest counts.

    The default of `rtol` is eps to the power 2/3 (4e-11 for float64, 2e-5 for float32), which leaves room for the
    rounding of long sums. An explicit `rtol` says that the operator itself is that inexact.
    """
    finfo: Any = jnp.finfo  # NumPy's own does not know bfloat16.
    coarsest = max((float(finfo(dtype).eps) for dtype in dtypes if is_inexact(dtype)), default=2.0**-52)
    if rtol is None:
        return Precision(coarsest, coarsest ** (2 / 3), atol or 0.0)
    return Precision(max(coarsest, rtol), rtol, atol or 0.0)


def is_inexact(dtype: Any) -> bool:
    """Whether a dtype holds real or complex numbers, of any precision."""
    return bool(jnp.issubdtype(dtype, jnp.inexact))


def is_complex(dtype: Any) -> bool:
    """Whether a dtype holds complex numbers."""
    return bool(jnp.issubdtype(dtype, jnp.complexfloating))


def wide(array: Any) -> Array:
    """An array in double precision, real or complex, for comparisons that add no rounding of their own."""
    found = np.asarray(array)
    return found.astype(np.complex128 if is_complex(found.dtype) else np.float64)


def largest(array: Any) -> float:
    """Largest absolute value of an array, 0 if it is empty; what is not finite does not count."""
    values = np.abs(wide(array))
    return float(np.max(values, initial=0.0, where=np.isfinite(values)))


def difference(found: Any, expected: Any) -> tuple[float, tuple[int, ...]]:
    """Largest difference of two arrays and where it is; infinite where only one of them is a number."""
    a, b = wide(found), wide(expected)
    if a.size == 0:
        return 0.0, ()
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.where(same, 0.0, np.abs(a - b))
    apart = np.where(np.isnan(apart), np.inf, apart)
    where = np.unravel_index(int(np.argmax(apart)), apart.shape)
    return float(apart[where]), tuple(int(i) for i in where)


def pairing(left: Any, right: Any) -> tuple[float, float]:
    """Re <a, b> = Re sum_k a_k b_k (no conjugation), and the sum of the absolute values of its terms."""
    terms = wide(left) * wide(right)
    return float(np.sum(terms).real), float(np.sum(np.abs(terms)))
