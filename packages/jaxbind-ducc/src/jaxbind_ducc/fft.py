# SPDX-License-Identifier: BSD-2-Clause
"""Fast Fourier, cosine, sine and Hartley transforms: `ducc0.fft` for JAX.

Conventions of all functions here, those of ducc0:

- `axes` are transformed, all if it is None; negative ones count from the end; all other axes are batches. A batch axis
  of `jax.vmap` is one more axis that is not transformed, so a batch of any order is one call of ducc0.
- `inorm` is 0 for no normalisation, 1 for a division by ``sqrt(N)``, 2 for one by N. N is the product of the logical
  lengths of the transformed axes: n, but ``2 (n - 1)`` for DCT-1, ``2 (n + 1)`` for DST-1, ``2 n`` for their types 2-4.
- The result has the precision of the input, single or double.
- `nthreads` is the number of threads; 0 means all if the transform is large, else one.
- All are linear, so they can be differentiated in both modes to every order, and transposed with
  `jax.linear_transpose`.

`c2c_operator` and `genuine_fht_operator` are the bare operators, for programs that expect what `jaxbind` binds:
called with an array and static keyword arguments (`axes`, `forward`, `inorm`, `nthreads`), they return a list with one
array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ducc0
import jax
from jax.typing import ArrayLike

from jaxbind_ducc import _axes, _dtypes, _errors, _real_transforms
from jaxbind_ducc._bind import Operator
from jaxbind_ducc._convolution import convolve_axis
from jaxbind_ducc._fourier import c2c, c2c_operator, c2r, r2c
from jaxbind_ducc._real_transforms import genuine_fht_operator

__all__ = [
    "c2c",
    "c2c_operator",
    "c2r",
    "convolve_axis",
    "dct",
    "dst",
    "genuine_fht",
    "genuine_fht_operator",
    "genuine_hartley",
    "good_size",
    "r2c",
    "r2r_fftpack",
    "r2r_fftw",
    "separable_fht",
    "separable_hartley",
]

Axes = Sequence[int] | None


def good_size(n: int, real: bool = False) -> int:
    """The smallest length >= n that transforms fast, to pad an axis to.

    Parameters
    ----------
    n
        Shortest length that will do.
    real
        Whether the input or the output of the transform is real.

    Returns
    -------
    int
        A product of small primes.
    """
    return int(ducc0.fft.good_size(n, real))


def r2r_fftpack(
    a: ArrayLike, axes: Axes, real2hermitian: bool, forward: bool, inorm: int = 0, *, nthreads: int = 0
) -> jax.Array:
    """Real Fourier transform in the half-complex order of FFTPACK: ``r0, r1, i1, r2, i2, ...``.

    Parameters
    ----------
    a
        Real array.
    axes
        Axes to transform, one after the other in this order.
    real2hermitian
        True from real numbers to half-complex ones, False back.
    forward
        Whether the exponent has the negative sign.
    inorm, nthreads
        See the module.

    Returns
    -------
    jax.Array
        Of the same shape and dtype.

    Notes
    -----
    The function is `ducc0.fft.r2r_fftpack`.
    """
    return _transformed(
        _real_transforms.r2r_fftpack_operator,
        "r2r_fftpack",
        a,
        axes,
        inorm,
        nthreads,
        real2hermitian=bool(real2hermitian),
        forward=bool(forward),
    )


def r2r_fftw(a: ArrayLike, axes: Axes, forward: bool, inorm: int = 0, *, nthreads: int = 0) -> jax.Array:
    """Real Fourier transform in the half-complex order of FFTW: ``r0, r1, r2, ..., i2, i1``.

    Parameters
    ----------
    a
        Real array.
    axes
        Axes to transform, one after the other in this order.
    forward
        True from real numbers to half-complex ones with the negative sign in the exponent, False back with the
        positive.
    inorm, nthreads
        See the module.

    Returns
    -------
    jax.Array
        Of the same shape and dtype.

    Notes
    -----
    The function is `ducc0.fft.r2r_fftw`.
    """
    operator = _real_transforms.r2r_fftw_operator
    return _transformed(operator, "r2r_fftw", a, axes, inorm, nthreads, forward=bool(forward))


def dct(a: ArrayLike, type: int, axes: Axes = None, inorm: int = 0, *, nthreads: int = 0) -> jax.Array:
    """Discrete cosine transform.

    Parameters
    ----------
    a
        Real array.
    type
        1, 2, 3 or 4. Type 1 needs at least two entries along each axis.
    axes, nthreads
        See the module.
    inorm
        See the module; 1 makes the transform orthogonal too: entries at the ends are scaled by ``sqrt(2)``.

    Returns
    -------
    jax.Array
        Of the same shape and dtype. Type 2 without normalisation is ``2 sum_j a_j cos(pi k (2 j + 1) / (2 n))``.

    Notes
    -----
    The function is `ducc0.fft.dct`, and agrees with `scipy.fft.dct` where that has the same normalisation.
    """
    kind = _checked_type("dct", type)
    shortest = 2 if kind == 1 else 1
    return _transformed(_real_transforms.dct_operator, "dct", a, axes, inorm, nthreads, shortest, type=kind)


def dst(a: ArrayLike, type: int, axes: Axes = None, inorm: int = 0, *, nthreads: int = 0) -> jax.Array:
    """Discrete sine transform.

    Parameters
    ----------
    a
        Real array.
    type
        1, 2, 3 or 4.
    axes, nthreads
        See the module.
    inorm
        See the module; 1 makes the transform orthogonal too: the last entry is scaled by ``sqrt(2)`` in types 2 and 3.

    Returns
    -------
    jax.Array
        Of the same shape and dtype. Type 2 without normalisation is ``2 sum_j a_j sin(pi (k + 1) (2 j + 1) / (2 n))``.

    Notes
    -----
    The function is `ducc0.fft.dst`, and agrees with `scipy.fft.dst` where that has the same normalisation.
    """
    kind = _checked_type("dst", type)
    return _transformed(_real_transforms.dst_operator, "dst", a, axes, inorm, nthreads, type=kind)


def separable_hartley(a: ArrayLike, axes: Axes = None, inorm: int = 0, *, nthreads: int = 0) -> jax.Array:
    """Hartley transform along one axis after the other, real plus imaginary part. Prefer `separable_fht`.

    Parameters
    ----------
    a
        Real array.
    axes, inorm, nthreads
        See the module.

    Returns
    -------
    jax.Array
        Of the same shape and dtype.

    Notes
    -----
    The function is `ducc0.fft.separable_hartley`, which ducc0 calls deprecated because its convention is unusual: the
    real plus the imaginary part of `c2c`, that is ``sum_j a_j (cos - sin)(2 pi j k / n)``.
    """
    return _transformed(_real_transforms.separable_hartley_operator, "separable_hartley", a, axes, inorm, nthreads)


def genuine_hartley(a: ArrayLike, axes: Axes = None, inorm: int = 0, *, nthreads: int = 0) -> jax.Array:
    """Hartley transform of all axes together, real plus imaginary part of `c2c`. Prefer `genuine_fht`.

    Parameters
    ----------
    a
        Real array.
    axes, inorm, nthreads
        See the module.

    Returns
    -------
    jax.Array
        Of the same shape and dtype.

    Notes
    -----
    The function is `ducc0.fft.genuine_hartley`, which ducc0 calls deprecated because its convention is unusual.
    """
    return _transformed(_real_transforms.genuine_hartley_operator, "genuine_hartley", a, axes, inorm, nthreads)


def separable_fht(a: ArrayLike, axes: Axes = None, inorm: int = 0, *, nthreads: int = 0) -> jax.Array:
    """Hartley transform along one axis after the other: ``sum_j a_j (cos + sin)(2 pi j k / n)`` along each.

    Parameters
    ----------
    a
        Real array.
    axes, inorm, nthreads
        See the module.

    Returns
    -------
    jax.Array
        Of the same shape and dtype.

    Notes
    -----
    The function is `ducc0.fft.separable_fht`. With ``inorm=1`` it is its own inverse.
    """
    return _transformed(_real_transforms.separable_fht_operator, "separable_fht", a, axes, inorm, nthreads)


def genuine_fht(a: ArrayLike, axes: Axes = None, inorm: int = 0, *, nthreads: int = 0) -> jax.Array:
    """Hartley transform of all axes together: the real minus the imaginary part of `c2c`.

    Parameters
    ----------
    a
        Real array.
    axes, inorm, nthreads
        See the module.

    Returns
    -------
    jax.Array
        Of the same shape and dtype.

    Notes
    -----
    The function is `ducc0.fft.genuine_fht`. With ``inorm=1`` it is its own inverse.
    """
    return _transformed(_real_transforms.genuine_fht_operator, "genuine_fht", a, axes, inorm, nthreads)


def _transformed(
    operator: Operator, name: str, a: Any, axes: Axes, inorm: int, nthreads: int, shortest: int = 1, **options: Any
) -> jax.Array:
    """Check what the real transforms share, and call the operator."""
    a = _dtypes.as_array(name, "a", a, "real")
    checked = _axes.checked_axes(name, a, axes)
    inorm = _axes.checked_inorm(name, inorm)
    if any(a.shape[axis] < shortest for axis in checked):
        raise _errors.bad_shape(name, "a", a, f"at least {shortest} entries along each axis", "Use another type")
    return operator(a, axes=checked, inorm=inorm, nthreads=nthreads, **options)[0] if checked else a


def _checked_type(name: str, type: int) -> int:
    if type not in (1, 2, 3, 4):
        raise _errors.bad_value(name, "type", type, "1, 2, 3 or 4", "Type 2 is the usual one, and type 3 undoes it")
    return int(type)
