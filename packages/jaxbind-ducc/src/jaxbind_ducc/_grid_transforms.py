# SPDX-License-Identifier: BSD-2-Clause
"""Spherical harmonic transforms on two-dimensional grids: equal rings at the colatitudes of a quadrature rule.

Owns `synthesis_2d`, `adjoint_synthesis_2d`, `synthesis_2d_deriv1`, `analysis_2d` and `adjoint_analysis_2d`. On these
grids an analysis is exact, so that there are two maps from coefficients to grids: the synthesis, and the adjoint of the
analysis. Both pair with a map back (`_real_pairing` has the mathematics); a keyword argument `analysis` tells them
apart.
"""

from __future__ import annotations

import operator as op
from collections.abc import Mapping
from typing import Any, Required, Unpack

import ducc0
import jax
import jaxbind
import numpy as np

from jaxbind_ducc import _alm_layout, _arguments, _dtypes, _errors, _rings, _threads
from jaxbind_ducc._alm_layout import Layout, Storage
from jaxbind_ducc._bind import Shapes, batched_shapes, over_batch
from jaxbind_ducc._real_pairing import adjoint_to_transpose, transpose_to_adjoint

# Name -> smallest number of rings.
GEOMETRIES = {"CC": 2, "F1": 1, "MW": 1, "MWflip": 1, "GL": 1, "DH": 2, "F2": 1}


class GridScheme(Storage, total=False):
    """Keyword arguments of the transforms on grids: what `Storage` lists, and the grid, in ducc0's words.

    Attributes
    ----------
    geometry
        Colatitudes of the rings: "CC" (Clenshaw-Curtis, rings on both poles), "F1" (Fejer's first rule, half a distance
        from the poles), "MW" (McEwen and Wiaux, last ring on the south pole), "MWflip" (first ring on the north pole),
        "GL" (Gauss-Legendre), "DH" (Driscoll and Healy, first ring on the north pole), "F2" (Fejer's second rule).
    phi0
        Azimuth of the first pixel in every ring, in radians.
    ringfactor
        Factor by which the values in every ring are multiplied: before an analysis and an adjoint synthesis, after the
        others.
    """

    geometry: Required[str]
    phi0: float
    ringfactor: Any


def _fill_grids(
    maps: Any, alm: Any, *, layout: Layout, analysis: bool, ntheta: int, nphi: int, **transform: Any
) -> None:
    keywords = _keywords(maps, layout, **transform)
    call = ducc0.sht.adjoint_analysis_2d if analysis else ducc0.sht.synthesis_2d
    for one, coefficients in zip(maps, alm, strict=True):  # ducc0's grids have no ntrans.
        call(alm=coefficients, map=one, **keywords)


def _fill_alm(alm: Any, maps: Any, *, layout: Layout, analysis: bool, ntheta: int, nphi: int, **transform: Any) -> None:
    if layout.has_gaps:
        alm[...] = 0
    keywords = _keywords(maps, layout, **transform)
    call = ducc0.sht.analysis_2d if analysis else ducc0.sht.adjoint_synthesis_2d
    for coefficients, one in zip(alm, maps, strict=True):
        call(map=one, alm=coefficients, **keywords)


def _keywords(maps: Any, layout: Layout, nthreads: int, **transform: Any) -> dict[str, Any]:
    work = _arguments.work(layout, maps.shape[2], maps.shape[1])
    return transform | layout.arguments() | {"nthreads": _threads.choose(nthreads, work)}


@over_batch()
def _grids(outs: Any, alm: Any, *, layout: Any, **transform: Any) -> None:
    _fill_grids(outs[0], alm, layout=Layout(*layout), **transform)


@over_batch()
def _grids_transpose(outs: Any, c: Any, *, layout: Any, **transform: Any) -> None:
    _fill_alm(outs[0], c, layout=Layout(*layout), **transform)
    adjoint_to_transpose(outs[0], Layout(*layout))


@over_batch()
def _coefficients(outs: Any, maps: Any, *, layout: Any, **transform: Any) -> None:
    _fill_alm(outs[0], maps, layout=Layout(*layout), **transform)


@over_batch()
def _coefficients_transpose(outs: Any, c: Any, *, layout: Any, **transform: Any) -> None:
    _fill_grids(outs[0], transpose_to_adjoint(c, Layout(*layout)), layout=Layout(*layout), **transform)


@batched_shapes
def _grids_shape(alm: Any, *, spin: int, mode: str = "STANDARD", ntheta: int, nphi: int, **_: Any) -> Shapes:
    return (((_arguments.components(spin, mode)[1], ntheta, nphi), _dtypes.real_dtype(alm.dtype)),)


@batched_shapes
def _coefficients_shape(maps: Any, *, spin: int, mode: str = "STANDARD", layout: Any, **_: Any) -> Shapes:
    return (((_arguments.components(spin, mode)[0], Layout(*layout).size), _dtypes.complex_dtype(maps.dtype)),)


_grids_operator = jaxbind.get_linear_call(
    _grids, _grids_transpose, _grids_shape, _coefficients_shape, func_can_batch=True
)
_coefficients_operator = jaxbind.get_linear_call(
    _coefficients, _coefficients_transpose, _coefficients_shape, _grids_shape, func_can_batch=True
)


def _from_alm(
    operator: str, alm: Any, scheme: Mapping[str, Any], spin: int, mode: str, ntheta: int, nphi: int, **options: Any
) -> jax.Array:
    """Grids from coefficients, for the public function `operator`."""
    _arguments.check_names(operator, scheme, GridScheme)
    alm = _arguments.checked_array(operator, "alm", alm, "complex", ("nalm", "ncoeff"))
    layout = _alm_layout.checked(operator, scheme, alm.shape[-1])
    spin = _arguments.checked_spin(operator, spin, mode, layout.lmax)
    alm = _arguments.checked_array(operator, "alm", alm, "complex", (_arguments.components(spin, mode)[0], "ncoeff"))
    static = _checked_grid(operator, scheme, layout, op.index(ntheta), op.index(nphi), mode, options)
    return _arguments.apply(_grids_operator, alm, 2, spin=spin, **static)


def _from_maps(
    operator: str, maps: Any, scheme: Mapping[str, Any], spin: int, mode: str, ncoeff: int | None, **options: Any
) -> jax.Array:
    """Coefficients from grids, for the public function `operator`."""
    _arguments.check_names(operator, scheme, GridScheme)
    layout = _alm_layout.checked(operator, scheme, ncoeff)
    spin = _arguments.checked_spin(operator, spin, mode, layout.lmax)
    core = (_arguments.components(spin, mode)[1], "ntheta", "nphi")
    maps = _arguments.checked_array(operator, "map", maps, "real", core)
    ntheta, nphi = maps.shape[-2:]
    static = _checked_grid(operator, scheme, layout, ntheta, nphi, mode, options)
    return _arguments.apply(_coefficients_operator, maps, 3, spin=spin, **static)


def _checked_grid(
    operator: str, scheme: Mapping[str, Any], layout: Layout, ntheta: int, nphi: int, mode: str, options: dict[str, Any]
) -> dict[str, Any]:
    """The keyword arguments of the operator, after a check of the grid against the coefficients."""
    geometry = scheme["geometry"]
    if geometry not in GEOMETRIES:
        raise _errors.bad_value(operator, "geometry", repr(geometry), f"one of {', '.join(GEOMETRIES)}", "Choose one")
    for name, found, least in (("ntheta", ntheta, GEOMETRIES[geometry]), ("nphi", nphi, 1)):
        if found < least:
            raise _errors.bad_value(operator, name, found, f"at least {least} for geometry {geometry}", "Take more")
    if options["analysis"]:
        limits = (
            ("lmax", layout.lmax, ducc0.sht.maximum_safe_l(geometry, ntheta)),
            ("mmax", layout.mmax, (nphi - 1) // 2),
        )
        for name, found, most in limits:
            if found > most:
                expected = f"at most {most} for a grid of {ntheta} times {nphi} pixels and geometry {geometry}"
                raise _errors.bad_value(operator, name, found, expected, "Lower it or refine the grid")
    else:
        options["mode"] = mode
    ringfactor = scheme.get("ringfactor")
    if ringfactor is not None:
        ringfactor = _rings.constant(operator, "ringfactor", ringfactor, np.float64)
        if ringfactor.shape != (ntheta,):
            raise _errors.bad_shape(operator, "ringfactor", ringfactor, f"({ntheta},)", "Give one number per ring")
    grid = {"geometry": geometry, "ntheta": ntheta, "nphi": nphi, "phi0": float(scheme.get("phi0", 0.0))}
    return grid | options | {"layout": tuple(layout), "ringfactor": ringfactor}


def synthesis_2d(
    alm: jax.Array,
    *,
    spin: int,
    ntheta: int,
    nphi: int,
    mode: str = "STANDARD",
    nthreads: int = 0,
    **scheme: Unpack[GridScheme],
) -> jax.Array:
    """Maps on a grid from spherical harmonic coefficients: ``x_j = sum_lm a_lm Y_lm(theta_j, phi_j)``.

    Parameters
    ----------
    alm, spin, mode, nthreads
        As in `synthesis`.
    ntheta, nphi
        Number of rings, and of pixels in each.
    **scheme
        The storage of coefficients, ``lmax``, ``mmax``, ``mstart``, ``lstride``, see `jaxbind_ducc.sht.Storage`; and
        the grid, ``geometry``, ``phi0``, ``ringfactor``, see `jaxbind_ducc.sht.GridScheme`. All are constants.

    Returns
    -------
    jax.Array
        Real array of the same precision, shape ``(..., nmaps, ntheta, nphi)``; `nmaps` is 1 for spin 0, else 2.

    Raises
    ------
    TypeError, ValueError
        If dtypes, shapes, storage, grid, spin or mode do not fit together.

    Notes
    -----
    The function is `ducc0.sht.synthesis_2d`. Linear over the real numbers, with the transpose of `synthesis`.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxbind_ducc import sht
    >>> alm = jnp.array([[0.0, 1.0, 0.5 + 2.0j]], dtype=jnp.complex64)
    >>> grid = sht.synthesis_2d(alm, spin=0, lmax=1, geometry="GL", ntheta=2, nphi=3)
    >>> bool(jnp.allclose(sht.analysis_2d(grid, spin=0, lmax=1, geometry="GL"), alm, atol=1e-5))
    True
    """
    options = {"analysis": False, "nthreads": nthreads}
    return _from_alm("synthesis_2d", alm, scheme, spin, mode, ntheta, nphi, **options)


def adjoint_synthesis_2d(
    map: jax.Array,
    *,
    spin: int,
    mode: str = "STANDARD",
    ncoeff: int | None = None,
    nthreads: int = 0,
    **scheme: Unpack[GridScheme],
) -> jax.Array:
    """Sums over the pixels of a grid: ``a_lm = sum_j conj(Y_lm(theta_j, phi_j)) x_j``, the adjoint of `synthesis_2d`.

    Parameters
    ----------
    map
        Real array, shape ``(..., nmaps, ntheta, nphi)``; leading dimensions are a batch.
    spin, mode, nthreads, **scheme
        As in `synthesis_2d`.
    ncoeff
        Length of the result. Default: the smallest possible. Entries that hold no coefficient are 0.

    Returns
    -------
    jax.Array
        Complex array of the same precision, shape ``(..., nalm, ncoeff)``.

    Raises
    ------
    TypeError, ValueError
        As in `synthesis_2d`.

    Notes
    -----
    The function is `ducc0.sht.adjoint_synthesis_2d`, with the inner product of `adjoint_synthesis`.
    """
    options = {"analysis": False, "nthreads": nthreads}
    return _from_maps("adjoint_synthesis_2d", map, scheme, spin, mode, ncoeff, **options)


def synthesis_2d_deriv1(
    alm: jax.Array, *, ntheta: int, nphi: int, nthreads: int = 0, **scheme: Unpack[GridScheme]
) -> jax.Array:
    """Maps of the two derivatives of a field of spin 0, on a grid.

    Parameters
    ----------
    alm
        Complex array, shape ``(..., 1, ncoeff)``; leading dimensions are a batch.
    ntheta, nphi, nthreads, **scheme
        As in `synthesis_2d`.

    Returns
    -------
    jax.Array
        Real array, shape ``(..., 2, ntheta, nphi)``: the derivative in theta, and that in phi divided by sin(theta).

    Raises
    ------
    TypeError, ValueError
        As in `synthesis_2d`.

    Notes
    -----
    The function is `ducc0.sht.synthesis_2d_deriv1`; its adjoint is `adjoint_synthesis_2d` with ``mode="DERIV1"``.
    """
    options = {"analysis": False, "nthreads": nthreads}
    return _from_alm("synthesis_2d_deriv1", alm, scheme, 1, "DERIV1", ntheta, nphi, **options)


def analysis_2d(
    map: jax.Array, *, spin: int, ncoeff: int | None = None, nthreads: int = 0, **scheme: Unpack[GridScheme]
) -> jax.Array:
    """Spherical harmonic coefficients of a map on a grid: the inverse of `synthesis_2d`, exact for a band-limited map.

    Parameters
    ----------
    map
        Real array, shape ``(..., nmaps, ntheta, nphi)``; leading dimensions are a batch.
    spin, ncoeff, nthreads, **scheme
        As in `adjoint_synthesis_2d`. `lmax` is at most ``ducc0.sht.maximum_safe_l(geometry, ntheta)`` and `mmax` at
        most ``(nphi - 1) // 2``.

    Returns
    -------
    jax.Array
        Complex array of the same precision, shape ``(..., nmaps, ncoeff)``.

    Raises
    ------
    TypeError, ValueError
        As in `synthesis_2d`, and if the grid is too coarse.

    Notes
    -----
    The function is `ducc0.sht.analysis_2d`. Its transpose, in JAX's convention, is ``adjoint_analysis_2d(conj(c) /
    w)``.
    """
    options = {"analysis": True, "nthreads": nthreads}
    return _from_maps("analysis_2d", map, scheme, spin, "STANDARD", ncoeff, **options)


def adjoint_analysis_2d(
    alm: jax.Array, *, spin: int, ntheta: int, nphi: int, nthreads: int = 0, **scheme: Unpack[GridScheme]
) -> jax.Array:
    """Maps on a grid from coefficients, each pixel times its quadrature weight: the adjoint of `analysis_2d`.

    Parameters
    ----------
    alm, spin, ntheta, nphi, nthreads, **scheme
        As in `synthesis_2d`, with the limits of `analysis_2d`.

    Returns
    -------
    jax.Array
        Real array, shape ``(..., nmaps, ntheta, nphi)``.

    Raises
    ------
    TypeError, ValueError
        As in `analysis_2d`.

    Notes
    -----
    The function is `ducc0.sht.adjoint_analysis_2d`, with the inner product of `adjoint_synthesis`.
    """
    options = {"analysis": True, "nthreads": nthreads}
    return _from_alm("adjoint_analysis_2d", alm, scheme, spin, "STANDARD", ntheta, nphi, **options)
