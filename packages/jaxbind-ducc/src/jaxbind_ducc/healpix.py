# SPDX-License-Identifier: BSD-2-Clause
"""Spherical harmonic transforms of HEALPix maps in RING order, from `nside` alone.

A map has ``12 nside^2`` pixels of equal area; `lmax` up to ``2 nside`` is safe and ``3 nside - 1`` the usual limit. The
geometry is `ducc0.healpix.Healpix_Base(nside, "RING").sht_info()`.
"""

from __future__ import annotations

import math
import operator as op
from typing import Any, Unpack

import jax
import numpy as np

from jaxbind_ducc import _arguments, _errors, _rings
from jaxbind_ducc._alm_layout import Storage
from jaxbind_ducc._ring_transforms import alm_from_maps, maps_from_alm

__all__ = ["adjoint_synthesis", "analysis", "npix", "pixel_centres", "synthesis"]


def npix(nside: int) -> int:
    """Number of pixels of a map: ``12 nside^2``."""
    return 12 * nside * nside


def pixel_centres(nside: int) -> np.ndarray[Any, Any]:
    """Colatitude and longitude of every pixel, in radians: a NumPy array of shape ``(12 nside^2, 2)``.

    It is `loc` of `jaxbind_ducc.pointing.synthesis_general`.
    """
    return _rings.positions(_rings.healpix(_checked_nside("pixel_centres", nside)))


def synthesis(
    alm: jax.Array, *, nside: int, spin: int = 0, mode: str = "STANDARD", nthreads: int = 0, **storage: Unpack[Storage]
) -> jax.Array:
    """HEALPix maps from spherical harmonic coefficients.

    Parameters
    ----------
    alm
        Complex array, shape ``(..., nalm, ncoeff)``; leading dimensions are a batch. `nalm` is 1 for spin 0, and for
        other spins 2, gradient and curl, in mode "STANDARD".
    nside
        Resolution of the map, at least 1. In RING order it need not be a power of two.
    spin, mode, nthreads
        As in `jaxbind_ducc.sht.synthesis`.
    **storage
        ``lmax``, ``mmax``, ``mstart``, ``lstride``, see `jaxbind_ducc.sht.Storage`.

    Returns
    -------
    jax.Array
        Real array of the same precision, shape ``(..., nmaps, 12 nside^2)``; `nmaps` is 1 for spin 0, else 2.

    Raises
    ------
    TypeError, ValueError
        If dtype, shape, storage, spin and mode do not fit together.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxbind_ducc import healpix
    >>> sky = healpix.synthesis(jnp.array([[1, 0, 0]], dtype=jnp.complex64), nside=2, lmax=1)
    >>> sky.shape, bool(jnp.allclose(sky, 1 / jnp.sqrt(4 * jnp.pi)))
    ((1, 48), True)
    """
    _arguments.check_names("healpix.synthesis", storage, Storage)
    nside = _checked_nside("healpix.synthesis", nside)
    options: dict[str, Any] = {"mode": mode, "theta_interpol": False, "nthreads": nthreads}
    return maps_from_alm("healpix.synthesis", alm, storage, nside, spin=spin, npix=None, **options)


def adjoint_synthesis(
    map: jax.Array,
    *,
    nside: int | None = None,
    spin: int = 0,
    mode: str = "STANDARD",
    ncoeff: int | None = None,
    nthreads: int = 0,
    **storage: Unpack[Storage],
) -> jax.Array:
    """Sums over the pixels of HEALPix maps: ``a_lm = sum_j conj(Y_lm(j)) x_j``, the adjoint of `synthesis`.

    Times the pixel area, ``4 pi / npix``, it is a first approximation of the coefficients; see `analysis`.

    Parameters
    ----------
    map
        Real array, shape ``(..., nmaps, 12 nside^2)``; leading dimensions are a batch.
    nside
        Default: what the shape of `map` says.
    spin, mode, nthreads, **storage
        As in `synthesis`.
    ncoeff
        Length of the result. Default: the smallest possible. Entries that hold no coefficient are 0.

    Returns
    -------
    jax.Array
        Complex array of the same precision, shape ``(..., nalm, ncoeff)``.

    Raises
    ------
    TypeError, ValueError
        If dtype, shape, storage, spin and mode do not fit together.
    """
    _arguments.check_names("healpix.adjoint_synthesis", storage, Storage)
    maps = _checked_map("healpix.adjoint_synthesis", map, nside)
    options: dict[str, Any] = {"mode": mode, "theta_interpol": False, "nthreads": nthreads}
    side = _side(maps)
    return alm_from_maps("healpix.adjoint_synthesis", maps, storage, side, spin=spin, ncoeff=ncoeff, **options)


def analysis(
    map: jax.Array,
    *,
    nside: int | None = None,
    spin: int = 0,
    iterations: int = 3,
    ncoeff: int | None = None,
    nthreads: int = 0,
    **storage: Unpack[Storage],
) -> jax.Array:
    """Spherical harmonic coefficients of HEALPix maps, by a fixed number of Jacobi iterations.

    With A the synthesis and A' its adjoint: ``a = (4 pi / npix) A' x``, then `iterations` times
    ``a += (4 pi / npix) A' (x - A a)``. Use `jaxbind_ducc.sht.pseudo_analysis` to iterate up to a tolerance.

    Parameters
    ----------
    map
        Real array, shape ``(..., nmaps, 12 nside^2)``; leading dimensions are a batch.
    nside, spin, ncoeff, nthreads, **storage
        As in `adjoint_synthesis`.
    iterations
        3 as healpy does give about six digits for ``lmax <= 2 nside``. Each costs a synthesis and an adjoint.

    Returns
    -------
    jax.Array
        Complex array of the same precision, shape ``(..., nmaps, ncoeff)``.

    Raises
    ------
    TypeError, ValueError
        If dtype, shape, storage and spin do not fit together, or `iterations` is negative.

    Notes
    -----
    Because the number of iterations is fixed, this is a linear map, with an exact transpose and derivatives.
    """
    if op.index(iterations) < 0:
        raise _errors.bad_value("analysis", "iterations", iterations, "a number of at least 0", "Raise it")
    maps = _checked_map("analysis", map, nside)
    side = _side(maps)
    area = 4 * np.pi / npix(side)

    def approximate(residual: jax.Array) -> jax.Array:
        return area * adjoint_synthesis(residual, spin=spin, ncoeff=ncoeff, nthreads=nthreads, **storage)

    alm = approximate(maps)
    for _ in range(iterations):
        alm = alm + approximate(maps - synthesis(alm, nside=side, spin=spin, nthreads=nthreads, **storage))
    return alm


def _checked_map(operator: str, map: Any, nside: int | None) -> jax.Array:
    """The map, after a check that its length is that of a HEALPix map, of resolution `nside` if that is given."""
    maps = _arguments.checked_array(operator, "map", map, "real", ("nmaps", "12 nside**2"))
    side = _side(maps)
    if maps.shape[-1] != npix(side) or side < 1 or nside not in (None, side):
        expected = "12 nside**2 numbers in the last axis" + ("" if nside is None else f" with nside = {nside}")
        raise _errors.bad_shape(operator, "map", maps, expected, "Check nside")
    return maps


def _side(maps: Any) -> int:
    return math.isqrt(maps.shape[-1] // 12)


def _checked_nside(operator: str, nside: int) -> int:
    nside = op.index(nside)
    if nside < 1:
        raise _errors.bad_value(operator, "nside", nside, "a number of at least 1", "Raise it")
    return nside
