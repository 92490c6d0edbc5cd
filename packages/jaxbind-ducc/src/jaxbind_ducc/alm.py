# SPDX-License-Identifier: BSD-2-Clause
"""Spherical harmonic coefficients as arrays: counting, indexing, layouts, power spectra, random fields.

All functions take the contiguous order of ducc0 and healpy, (0,0), (1,0), ..., (lmax,0), (1,1), (2,1), ..., in the last
axis of an array; leading dimensions are a batch. They are written in JAX, and differentiable.

A real field has a_(l,-m) = (-1)^m conj(a_lm): only m >= 0 is stored, and coefficients with m = 0 are real. The inner
product of two fields is therefore ``sum_lm w_m Re(conj(a_lm) b_lm)`` with w_0 = 1 and w_m = 2. The *real packing* of
`alm2realalm`

    r = (a_00, ..., a_(lmax,0), sqrt(2) Re a_11, sqrt(2) Im a_11, sqrt(2) Re a_21, sqrt(2) Im a_21, ...)

has exactly as many numbers as the field has degrees of freedom, and the factors sqrt(2) make its plain scalar product
that inner product. So in this packing an adjoint of ducc0 *is* the transpose that `jax.grad` uses, white noise is an
array of independent standard normal numbers, and solvers need not know of weights. Prefer it for statistics and
optimisation.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbind_ducc import _alm_layout, _arguments, _dtypes, _errors

__all__ = [
    "alm2cl",
    "alm2flm",
    "alm2realalm",
    "almxfl",
    "degrees_and_orders",
    "flm2alm",
    "index",
    "nalm",
    "random_alm",
    "realalm2alm",
]


def nalm(lmax: int, mmax: int | None = None) -> int:
    """Number of coefficients with ``0 <= m <= mmax`` and ``m <= l <= lmax``.

    Parameters
    ----------
    lmax, mmax
        Highest degree and order. Default of `mmax`: `lmax`.

    Returns
    -------
    int

    Examples
    --------
    >>> from jaxbind_ducc import alm
    >>> alm.nalm(2), alm.nalm(2, 0)
    (6, 3)
    """
    return _layout("nalm", lmax, mmax).size


def index(lmax: int, l: Any, m: Any) -> Any:  # noqa: E741  # the field's name of a degree
    """Position of the coefficient (l, m) in the last axis.

    Parameters
    ----------
    lmax
        Highest degree.
    l, m
        Degree and order, integers or arrays of them, with ``0 <= m <= l <= lmax``.

    Returns
    -------
    int or array

    Examples
    --------
    >>> from jaxbind_ducc import alm
    >>> alm.index(2, 2, 1)
    4
    """
    return m * (2 * lmax + 1 - m) // 2 + l


def degrees_and_orders(lmax: int, mmax: int | None = None) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Degree l and order m of every coefficient, as two NumPy arrays of integers.

    Parameters
    ----------
    lmax, mmax
        Highest degree and order. Default of `mmax`: `lmax`.
    """
    return _alm_layout.degrees_and_orders(_layout("degrees_and_orders", lmax, mmax))


def alm2realalm(alm: jax.Array, lmax: int, mmax: int | None = None) -> jax.Array:
    """The real packing of coefficients, see the module.

    Parameters
    ----------
    alm
        Complex array, shape ``(..., nalm(lmax, mmax))``. Imaginary parts at m = 0 are ignored.
    lmax, mmax
        Highest degree and order. Default of `mmax`: `lmax`.

    Returns
    -------
    jax.Array
        Real array of the same precision, shape ``(..., 2 nalm(lmax, mmax) - lmax - 1)``.

    Raises
    ------
    TypeError, ValueError
        If dtype or shape do not fit.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxbind_ducc import alm
    >>> alm.alm2realalm(jnp.array([1, 2, 3 + 4j], dtype=jnp.complex64), 1).round(3).tolist()
    [1.0, 2.0, 4.243000030517578, 5.6570000648498535]
    """
    layout = _layout("alm2realalm", lmax, mmax)
    alm = _arguments.checked_array("alm2realalm", "alm", alm, "complex", (layout.size,))
    zonal, paired = alm[..., : layout.lmax + 1], alm[..., layout.lmax + 1 :]
    parts = jnp.stack([paired.real, paired.imag], -1).reshape(*paired.shape[:-1], 2 * paired.shape[-1])
    return jnp.concatenate([zonal.real, 2**0.5 * parts], -1)


def realalm2alm(realalm: jax.Array, lmax: int, mmax: int | None = None) -> jax.Array:
    """Coefficients from their real packing: the inverse of `alm2realalm`.

    Parameters
    ----------
    realalm
        Real array, shape ``(..., 2 nalm(lmax, mmax) - lmax - 1)``.
    lmax, mmax
        Highest degree and order. Default of `mmax`: `lmax`.

    Returns
    -------
    jax.Array
        Complex array of the same precision, shape ``(..., nalm(lmax, mmax))``.

    Raises
    ------
    TypeError, ValueError
        If dtype or shape do not fit.
    """
    layout = _layout("realalm2alm", lmax, mmax)
    size = 2 * layout.size - layout.lmax - 1
    packed = _arguments.checked_array("realalm2alm", "realalm", realalm, "real", (size,))
    zonal, parts = packed[..., : layout.lmax + 1], packed[..., layout.lmax + 1 :]
    parts = 0.5**0.5 * parts
    paired = jax.lax.complex(parts[..., ::2], parts[..., 1::2])
    return jnp.concatenate([zonal.astype(_dtypes.complex_dtype(zonal.dtype)), paired], -1)


def alm2flm(alm: jax.Array, lmax: int, mmax: int | None = None) -> jax.Array:
    """Coefficients of all orders, negative ones too, as a matrix of degrees and orders: the layout of s2fft.

    Parameters
    ----------
    alm
        Complex array, shape ``(..., nsets, nalm(lmax, mmax))``. One set is a real field; two are the real and the
        imaginary part of a complex one, or gradient and curl of one with spin. Imaginary parts at m = 0 are ignored.
    lmax, mmax
        Highest degree and order. Default of `mmax`: `lmax`.

    Returns
    -------
    jax.Array
        Complex array of the same dtype, shape ``(..., lmax + 1, 2 lmax + 1)``: with the sets g and c

            f_(l, lmax + m) = g_lm + i c_lm,        f_(l, lmax - m) = (-1)^m (conj(g_lm) + i conj(c_lm)).

    Raises
    ------
    TypeError, ValueError
        If dtype or shape do not fit.

    Notes
    -----
    The function is `ducc0.sht.experimental.alm2flm`, for all spins. It is linear over the real numbers.
    """
    layout = _layout("alm2flm", lmax, mmax)
    alm = _arguments.checked_array("alm2flm", "alm", alm, "complex", ("nsets", layout.size))
    if alm.shape[-2] not in (1, 2):
        raise _errors.bad_shape("alm2flm", "alm", alm, f"(..., 1 or 2, {layout.size})", "Use jax.vmap for several")
    degrees, orders = _alm_layout.degrees_and_orders(layout)
    alm = jnp.where(orders == 0, alm.real.astype(alm.dtype), alm)
    below = jnp.asarray((-1.0) ** orders, alm.dtype) * alm.conj()
    factors = jnp.asarray([1, 1j][: alm.shape[-2]], alm.dtype)  # of g and c
    above, below = (jnp.einsum("c,...cn->...n", factors, sets) for sets in (alm, below))
    flm = jnp.zeros((*alm.shape[:-2], layout.lmax + 1, 2 * layout.lmax + 1), alm.dtype)
    return flm.at[..., degrees, layout.lmax - orders].set(below).at[..., degrees, layout.lmax + orders].set(above)


def flm2alm(flm: jax.Array, *, real: bool = False) -> jax.Array:
    """Coefficients of order m >= 0 from a matrix of degrees and orders: undoes `alm2flm`.

    Parameters
    ----------
    flm
        Complex array, shape ``(..., lmax + 1, 2 lmax + 1)``. Entries with ``|m| > l`` are ignored.
    real
        Whether to return the real part of the field only.

    Returns
    -------
    jax.Array
        Complex array of the same dtype, shape ``(..., 2, nalm(lmax))``, with `real` ``(..., 1, nalm(lmax))``: with
        b_lm = (-1)^m conj(f_(l,-m))

            g_lm = (f_lm + b_lm) / 2,        c_lm = (f_lm - b_lm) / 2i.

    Raises
    ------
    TypeError, ValueError
        If dtype or shape do not fit.

    Notes
    -----
    The function is `ducc0.sht.experimental.flm2alm`. It is linear over the real numbers.
    """
    flm = _arguments.checked_array("flm2alm", "flm", flm, "complex", ("lmax + 1", "2 lmax + 1"))
    lmax = flm.shape[-2] - 1
    if flm.shape[-1] != 2 * lmax + 1:
        raise _errors.bad_shape("flm2alm", "flm", flm, "(..., lmax + 1, 2 lmax + 1)", "Orders are in the last axis")
    degrees, orders = degrees_and_orders(lmax)
    above, below = (flm[..., degrees, lmax + sign * orders] for sign in (1, -1))
    below = jnp.asarray((-1.0) ** orders, flm.dtype) * below.conj()
    sets = [(above + below) / 2] if real else [(above + below) / 2, (above - below) / 2j]
    return jnp.stack(sets, -2)


def almxfl(alm: jax.Array, fl: jax.Array, lmax: int, mmax: int | None = None) -> jax.Array:
    """Coefficients times a function of the degree: ``a_lm f_l``, a convolution with an axially symmetric kernel.

    Parameters
    ----------
    alm
        Complex array, shape ``(..., nalm(lmax, mmax))``.
    fl
        Real or complex array, shape ``(..., lmax + 1)``; leading dimensions broadcast with those of `alm`.
    lmax, mmax
        Highest degree and order. Default of `mmax`: `lmax`.

    Returns
    -------
    jax.Array
        Complex array of the dtype of `alm`.

    Raises
    ------
    TypeError, ValueError
        If dtypes or shapes do not fit.
    """
    layout = _layout("almxfl", lmax, mmax)
    alm = _arguments.checked_array("almxfl", "alm", alm, "complex", (layout.size,))
    fl = _arguments.checked_array("almxfl", "fl", fl, "any", (layout.lmax + 1,))
    return alm * fl.astype(alm.dtype)[..., _alm_layout.degrees_and_orders(layout)[0]]


def alm2cl(alm1: jax.Array, alm2: jax.Array | None = None, *, lmax: int, mmax: int | None = None) -> jax.Array:
    """Power spectrum: ``C_l = sum_m w_m Re(conj(a_lm) b_lm) / (2 l + 1)``.

    Parameters
    ----------
    alm1, alm2
        Complex arrays, shape ``(..., nalm(lmax, mmax))``. Default of `alm2`: `alm1`; two give the cross spectrum.
    lmax, mmax
        Highest degree and order. Default of `mmax`: `lmax`.

    Returns
    -------
    jax.Array
        Real array of the same precision, shape ``(..., lmax + 1)``.

    Raises
    ------
    TypeError, ValueError
        If dtypes or shapes do not fit.
    """
    layout = _layout("alm2cl", lmax, mmax)
    alm1 = _arguments.checked_array("alm2cl", "alm1", alm1, "complex", (layout.size,))
    alm2 = alm1 if alm2 is None else _arguments.checked_array("alm2cl", "alm2", alm2, "complex", (layout.size,))
    degrees, orders = _alm_layout.degrees_and_orders(layout)
    products = (alm1.conj() * alm2).real
    products = jnp.where(orders == 0, products, 2 * products)
    sums = jnp.zeros((*products.shape[:-1], layout.lmax + 1), products.dtype).at[..., degrees].add(products)
    return sums / jnp.arange(1, 2 * layout.lmax + 2, 2).astype(products.dtype)


def random_alm(key: jax.Array, cl: jax.Array, lmax: int, mmax: int | None = None) -> jax.Array:
    """Coefficients of a Gaussian random field that is statistically the same everywhere.

    Parameters
    ----------
    key
        Of `jax.random`.
    cl
        Real array, shape ``(..., lmax + 1)``: the power spectrum, not negative. Leading dimensions give independent
        fields.
    lmax, mmax
        Highest degree and order. Default of `mmax`: `lmax`.

    Returns
    -------
    jax.Array
        Complex array of the same precision, shape ``(..., nalm(lmax, mmax))``, with ``E |a_lm|^2 = C_l``.

    Raises
    ------
    TypeError, ValueError
        If dtype or shape do not fit.

    Notes
    -----
    ``sqrt(C_l)`` times unit white noise in the real packing. The derivative in `cl` is infinite where it is 0; there,
    scale with an amplitude by `almxfl` instead.
    """
    layout = _layout("random_alm", lmax, mmax)
    cl = _arguments.checked_array("random_alm", "cl", cl, "real", (layout.lmax + 1,))
    noise = jax.random.normal(key, (*cl.shape[:-1], 2 * layout.size - layout.lmax - 1), cl.dtype)
    return almxfl(realalm2alm(noise, layout.lmax, layout.mmax), jnp.sqrt(cl), layout.lmax, layout.mmax)


def _layout(operator: str, lmax: int, mmax: int | None) -> _alm_layout.Layout:
    return _alm_layout.checked(operator, {"lmax": lmax, "mmax": mmax})
