# SPDX-License-Identifier: BSD-2-Clause
"""Fourier transforms of complex and of real arrays.

Owns `c2c`, `r2c`, `c2r` and their transposes. With w = exp(-2 pi i / n) (conjugated if not `forward`), one axis, and
m_k the number of times that the entry k of a half spectrum occurs in the full one (1 for k = 0 and, with even n, for
k = n/2; 2 for the others):

    c2c      y_k = sum_j w^(jk) x_j                       transpose: itself, the matrix is symmetric
    c2r      y_j = Re sum_k m_k w^(jk) x_k                transpose: x_k = m_k sum_j w^(jk) y_j,  so m r2c
    r2c      y_k = sum_j w^(jk) x_j, k <= n/2             transpose: x_j = Re sum_k w^(jk) y_k,   so c2r (1/m)

A real-linear map y = Re(B x) of complex numbers has the transpose B^T y, and one from real to complex numbers y = B x
the transpose Re(B^T y): JAX's convention, see `jax.vjp`. The other axes of r2c and c2r are transformed by c2c, which
commutes with m because m depends on the last one of the axes only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ducc0
import jax
import jaxbind
import numpy as np
from jax.typing import ArrayLike

from jaxbind_ducc import _axes, _dtypes, _errors
from jaxbind_ducc._bind import along_axes, same_layout


@along_axes
def _c2c(out: Any, a: Any, *, axes: list[int], forward: bool = True, inorm: int = 0, nthreads: int = 0) -> None:
    ducc0.fft.c2c(a, axes, forward, inorm, out, _axes.threads(nthreads, a.shape, axes))


@along_axes
def _c2c_real_transpose(
    out: Any, c: Any, *, axes: list[int], forward: bool = True, inorm: int = 0, nthreads: int = 0
) -> None:
    out[...] = ducc0.fft.c2c(c, axes, forward, inorm, None, _axes.threads(nthreads, c.shape, axes)).real


@along_axes
def _r2c(out: Any, a: Any, *, axes: list[int], lastsize: int, forward: bool, inorm: int, nthreads: int) -> None:
    ducc0.fft.r2c(a, axes, forward, inorm, out, _axes.threads(nthreads, a.shape, axes))


@along_axes
def _r2c_transpose(
    out: Any, c: Any, *, axes: list[int], lastsize: int, forward: bool, inorm: int, nthreads: int
) -> None:
    halved = c.copy()
    halved[_paired(axes[-1], lastsize)] *= 0.5
    n = _axes.threads(nthreads, out.shape, axes)
    ducc0.fft.c2r(halved, axes, lastsize, forward, inorm, out, n, allow_overwriting_input=True)


@along_axes
def _c2r(out: Any, a: Any, *, axes: list[int], lastsize: int, forward: bool, inorm: int, nthreads: int) -> None:
    ducc0.fft.c2r(a, axes, lastsize, forward, inorm, out, _axes.threads(nthreads, out.shape, axes))


@along_axes
def _c2r_transpose(
    out: Any, c: Any, *, axes: list[int], lastsize: int, forward: bool, inorm: int, nthreads: int
) -> None:
    ducc0.fft.r2c(c, axes, forward, inorm, out, _axes.threads(nthreads, c.shape, axes))
    out[_paired(axes[-1], lastsize)] *= 2


def _paired(axis: int, lastsize: int) -> tuple[slice, ...]:
    """The entries of a half spectrum that stand for two of the full one."""
    return (slice(None),) * axis + (slice(1, (lastsize + 1) // 2),)


@same_layout
def _complex_shape(a: Any, *, axes: list[int], **_: Any) -> tuple[tuple[int, ...], Any]:
    return a.shape, _dtypes.complex_dtype(a.dtype)


@same_layout
def _real_shape(a: Any, *, axes: list[int], **_: Any) -> tuple[tuple[int, ...], Any]:
    return a.shape, _dtypes.real_dtype(a.dtype)


@same_layout
def _half_shape(a: Any, *, axes: list[int], lastsize: int, **_: Any) -> tuple[tuple[int, ...], Any]:
    return _resized(a.shape, axes[-1], lastsize // 2 + 1), _dtypes.complex_dtype(a.dtype)


@same_layout
def _full_shape(a: Any, *, axes: list[int], lastsize: int, **_: Any) -> tuple[tuple[int, ...], Any]:
    return _resized(a.shape, axes[-1], lastsize), _dtypes.real_dtype(a.dtype)


def _resized(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return (*shape[:axis], size, *shape[axis + 1 :])


# Also what `jaxbind.contrib.jaxducc0` offers: an operator that returns a list and takes axes in any spelling.
c2c_operator = jaxbind.get_linear_call(_c2c, _c2c, _complex_shape, _complex_shape, func_can_batch=True)
_c2c_real = jaxbind.get_linear_call(_c2c, _c2c_real_transpose, _complex_shape, _real_shape, func_can_batch=True)
r2c_operator = jaxbind.get_linear_call(_r2c, _r2c_transpose, _half_shape, _full_shape, func_can_batch=True)
c2r_operator = jaxbind.get_linear_call(_c2r, _c2r_transpose, _full_shape, _half_shape, func_can_batch=True)


def c2c(
    a: ArrayLike, axes: Sequence[int] | None = None, forward: bool = True, inorm: int = 0, *, nthreads: int = 0
) -> jax.Array:
    """Fourier transform of a complex array: ``y_k = N^(-inorm/2) sum_j x_j exp(-+2 pi i j k / n)`` along each axis.

    If the array is real and half of the spectrum is enough, `r2c` is faster.

    Parameters
    ----------
    a
        Array of single or double precision. Real ones are transformed by a faster method.
    axes
        Axes to transform, in any order; negative ones count from the end. Default: all.
    forward
        Whether the exponent has the negative sign.
    inorm
        0 for no normalisation, 1 to divide by ``sqrt(N)``, 2 to divide by N, the product of the lengths of the axes.
    nthreads
        Number of threads; 0 for all if the transform is large, else one.

    Returns
    -------
    jax.Array
        Complex array of the same shape and precision.

    Raises
    ------
    TypeError, ValueError
        If the dtype is not one of the four, an axis does not exist or is repeated, or `inorm` is another number.

    Notes
    -----
    The function is `ducc0.fft.c2c`. Its transpose is itself.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxbind_ducc import fft
    >>> fft.c2c(jnp.array([1.0, 0.0, 0.0, 0.0]), inorm=1).real.tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    a = _dtypes.as_array("c2c", "a", a, "any")
    axes = _axes.checked_axes("c2c", a, axes)
    inorm = _axes.checked_inorm("c2c", inorm)
    is_complex = np.issubdtype(a.dtype, np.complexfloating)
    if not axes:
        return a if is_complex else a.astype(_dtypes.complex_dtype(a.dtype))
    operator = c2c_operator if is_complex else _c2c_real
    return operator(a, axes=axes, forward=bool(forward), inorm=inorm, nthreads=nthreads)[0]


def r2c(
    a: ArrayLike, axes: Sequence[int] | None = None, forward: bool = True, inorm: int = 0, *, nthreads: int = 0
) -> jax.Array:
    """Fourier transform of a real array, of which only the non-redundant half is returned.

    Parameters
    ----------
    a
        Real array.
    axes
        Axes to transform. The last one of them is halved: n entries become ``n // 2 + 1``. Default: all.
    forward, inorm, nthreads
        As in `c2c`.

    Returns
    -------
    jax.Array
        Complex array of the same precision: the first entries along ``axes[-1]`` of what `c2c` gives.

    Raises
    ------
    TypeError, ValueError
        If the array is not real, or as in `c2c`.

    Notes
    -----
    The function is `ducc0.fft.r2c`. The map is linear over the real numbers. Its transpose is `c2r` with the entries
    that stand for two halved, because the cotangent has no redundant half.
    """
    a = _dtypes.as_array("r2c", "a", a, "real")
    axes = _some_axes("r2c", a, axes)
    inorm = _axes.checked_inorm("r2c", inorm)
    size = a.shape[axes[-1]]
    return r2c_operator(a, axes=axes, lastsize=size, forward=bool(forward), inorm=inorm, nthreads=nthreads)[0]


def c2r(
    a: ArrayLike,
    axes: Sequence[int] | None = None,
    lastsize: int = 0,
    forward: bool = True,
    inorm: int = 0,
    *,
    nthreads: int = 0,
) -> jax.Array:
    """Fourier transform of a half spectrum to a real array: what undoes `r2c`, with the opposite `forward`.

    Parameters
    ----------
    a
        Complex array. Imaginary parts that would make the result complex, such as that of entry 0, are ignored.
    axes
        Axes to transform. The last one of them holds the half spectrum. Default: all.
    lastsize
        Length of that axis in the result: ``2 n - 2`` or ``2 n - 1`` for n entries. Default: ``2 n - 1``.
    forward, nthreads
        As in `c2c`.
    inorm
        As in `c2c`; N is the product of the lengths in the result.

    Returns
    -------
    jax.Array
        Real array of the same precision.

    Raises
    ------
    TypeError, ValueError
        If the array is not complex, `lastsize` does not fit, or as in `c2c`.

    Notes
    -----
    The function is `ducc0.fft.c2r`. The map is linear over the real numbers. Its transpose is `r2c` with the entries
    that stand for two doubled.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxbind_ducc import fft
    >>> x = jnp.array([3.0, 1.0, 2.0])
    >>> fft.c2r(fft.r2c(x), lastsize=3, forward=False, inorm=2).round().tolist()
    [3.0, 1.0, 2.0]
    """
    a = _dtypes.as_array("c2r", "a", a, "complex")
    axes = _some_axes("c2r", a, axes)
    inorm = _axes.checked_inorm("c2r", inorm)
    n = a.shape[axes[-1]]
    lastsize = lastsize or 2 * n - 1
    if lastsize < 1 or lastsize // 2 + 1 != n:
        expected = f"{max(2 * n - 2, 1)} or {2 * n - 1} for an input of {n} entries along axis {axes[-1]}"
        raise _errors.bad_value(
            "c2r", "lastsize", lastsize, expected, "Pass the length of the array that r2c was given"
        )
    return c2r_operator(a, axes=axes, lastsize=lastsize, forward=bool(forward), inorm=inorm, nthreads=nthreads)[0]


def _some_axes(operator: str, a: jax.Array, axes: Sequence[int] | None) -> tuple[int, ...]:
    """At least one axis, because the last one is the one that is halved."""
    found = _axes.checked_axes(operator, a, axes)
    if not found:
        raise _errors.bad_value(operator, "axes", found, "at least one axis", "Name the axis to transform last")
    return found
