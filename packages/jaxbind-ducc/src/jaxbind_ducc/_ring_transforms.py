# SPDX-License-Identifier: BSD-2-Clause
"""Spherical harmonic transforms on rings: ducc0 calls as operators.

Owns `synthesis`, `adjoint_synthesis` and `synthesis_deriv1`: host functions, their transposes, and shapes. The step
from adjoints to transposes is `jaxbind_ducc._real_pairing`. A layout and a geometry travel as plain tuples.
"""

from __future__ import annotations

from typing import Any, Unpack

import ducc0
import jax
import jaxbind

from jaxbind_ducc import _alm_layout, _arguments, _dtypes, _rings, _threads
from jaxbind_ducc._alm_layout import Layout, Storage
from jaxbind_ducc._bind import Shapes, batched_shapes, over_batch
from jaxbind_ducc._real_pairing import adjoint_to_transpose, transpose_to_adjoint
from jaxbind_ducc._rings import RingGeometry


def _arguments_of(maps: Any, layout: Layout, geometry: Any, nthreads: int, **transform: Any) -> dict[str, Any]:
    """The keyword arguments of one call of ducc0 for a stack of maps."""
    rings = _rings.restored(geometry)
    work = _arguments.work(layout, len(rings.theta), maps.shape[0] * maps.shape[1])
    return transform | layout.arguments() | rings.arguments() | {"nthreads": _threads.choose(nthreads, work)}


def _fill_maps(maps: Any, alm: Any, layout: Any, geometry: Any, **transform: Any) -> None:
    if _rings.restored(geometry).pixels < maps.shape[-1]:
        maps[...] = 0  # ducc0 leaves what is between the rings as it is.
    ducc0.sht.synthesis(alm=alm, map=maps, **_arguments_of(maps, layout, geometry, **transform))


def _fill_alm(alm: Any, maps: Any, layout: Layout, geometry: Any, **transform: Any) -> None:
    if layout.has_gaps:
        alm[...] = 0
    ducc0.sht.adjoint_synthesis(map=maps, alm=alm, **_arguments_of(maps, layout, geometry, **transform))


@over_batch()
def _synthesis(outs: Any, alm: Any, *, layout: Any, npix: int, **transform: Any) -> None:
    _fill_maps(outs[0], alm, Layout(*layout), **transform)


@over_batch()
def _synthesis_transpose(outs: Any, c: Any, *, layout: Any, npix: int, **transform: Any) -> None:
    _fill_alm(outs[0], c, Layout(*layout), **transform)
    adjoint_to_transpose(outs[0], Layout(*layout))


@over_batch()
def _adjoint_synthesis(outs: Any, maps: Any, *, layout: Any, npix: int, **transform: Any) -> None:
    _fill_alm(outs[0], maps, Layout(*layout), **transform)


@over_batch()
def _adjoint_synthesis_transpose(outs: Any, c: Any, *, layout: Any, npix: int, **transform: Any) -> None:
    _fill_maps(outs[0], transpose_to_adjoint(c, Layout(*layout)), Layout(*layout), **transform)


@batched_shapes
def _maps_shape(alm: Any, *, spin: int, mode: str, npix: int, **_: Any) -> Shapes:
    return (((_arguments.components(spin, mode)[1], npix), _dtypes.real_dtype(alm.dtype)),)


@batched_shapes
def _alm_shape(maps: Any, *, spin: int, mode: str, layout: Any, **_: Any) -> Shapes:
    return (((_arguments.components(spin, mode)[0], Layout(*layout).size), _dtypes.complex_dtype(maps.dtype)),)


synthesis_operator = jaxbind.get_linear_call(
    _synthesis, _synthesis_transpose, _maps_shape, _alm_shape, func_can_batch=True
)
adjoint_synthesis_operator = jaxbind.get_linear_call(
    _adjoint_synthesis, _adjoint_synthesis_transpose, _alm_shape, _maps_shape, func_can_batch=True
)


def maps_from_alm(
    operator: str, alm: Any, storage: Any, geometry: Any, *, spin: int, mode: str, npix: int | None, **options: Any
) -> jax.Array:
    """Maps from coefficients, for a public function of any name.

    Parameters
    ----------
    operator
        The name, for messages.
    alm
        The coefficients.
    storage
        Keyword arguments that describe them, see `Storage`.
    geometry
        `Rings`, or the number nside.
    spin, mode, npix, options
        As in `synthesis`.
    """
    alm = _arguments.checked_array(operator, "alm", alm, "complex", ("nalm", "ncoeff"))
    layout = _alm_layout.checked(operator, storage, alm.shape[-1])
    spin = _arguments.checked_spin(operator, spin, mode, layout.lmax)
    alm = _arguments.checked_array(operator, "alm", alm, "complex", (_arguments.components(spin, mode)[0], "ncoeff"))
    npix = _rings.checked_npix(operator, "npix", npix, geometry)
    static = {"layout": tuple(layout), "geometry": _plain(geometry), "spin": spin, "mode": mode, "npix": npix}
    return _arguments.apply(synthesis_operator, alm, 2, **static, **options)


def alm_from_maps(
    operator: str, maps: Any, storage: Any, geometry: Any, *, spin: int, mode: str, ncoeff: int | None, **options: Any
) -> jax.Array:
    """Coefficients from maps, for a public function of any name; see `maps_from_alm`."""
    layout = _alm_layout.checked(operator, storage, ncoeff)
    spin = _arguments.checked_spin(operator, spin, mode, layout.lmax)
    maps = _arguments.checked_array(operator, "map", maps, "real", (_arguments.components(spin, mode)[1], "npix"))
    npix = _rings.checked_npix(operator, "map.shape[-1]", maps.shape[-1], geometry)
    static = {"layout": tuple(layout), "geometry": _plain(geometry), "spin": spin, "mode": mode, "npix": npix}
    return _arguments.apply(adjoint_synthesis_operator, maps, 2, **static, **options)


def _plain(geometry: Any) -> Any:
    """The geometry as a plain tuple, which is hashed by value."""
    return tuple(geometry) if isinstance(geometry, tuple) else geometry


class RingScheme(Storage, RingGeometry, total=False):
    """Keyword arguments of the transforms on rings: what `Storage` and `RingGeometry` list."""


def synthesis(
    alm: jax.Array,
    *,
    spin: int,
    mode: str = "STANDARD",
    theta_interpol: bool = False,
    npix: int | None = None,
    nthreads: int = 0,
    **scheme: Unpack[RingScheme],
) -> jax.Array:
    """Maps on rings from spherical harmonic coefficients: ``x_j = sum_lm a_lm Y_lm(theta_j, phi_j)``.

    The sum runs over positive and negative m. For HEALPix maps `jaxbind_ducc.healpix.synthesis` is shorter, for grids
    of equal rings use `synthesis_2d`, for any points `synthesis_general`.

    Parameters
    ----------
    alm
        Complex array, shape ``(..., nalm, ncoeff)``; leading dimensions are a batch. `nalm` is 1 for spin 0, and for
        other spins 2, gradient and curl, in mode "STANDARD".
    spin
        At least 0, at most `lmax`.
    mode
        "STANDARD"; "GRAD_ONLY" for fields with spin and without curl (`nalm` is 1); "DERIV1" for the derivatives of a
        field of spin 0: the one in theta, and the one in phi divided by sin(theta).
    theta_interpol
        Whether to go through an equidistant grid in theta, which can be faster if `theta` is irregular.
    npix
        Length of the maps. Default: the smallest possible. What is between the rings is 0.
    nthreads
        Number of threads; 0 for all if the transform is large, else one.
    **scheme
        The storage of coefficients, ``lmax``, ``mmax``, ``mstart``, ``lstride``, see `jaxbind_ducc.sht.Storage`; and
        the rings, ``theta``, ``nphi``, ``phi0``, ``ringstart``, ``ringfactor``, ``pixstride``, see
        `jaxbind_ducc.sht.RingGeometry`. All are constants.

    Returns
    -------
    jax.Array
        Real array of the same precision, shape ``(..., nmaps, npix)``; `nmaps` is 1 for spin 0, else 2.

    Raises
    ------
    TypeError, ValueError
        If dtypes, shapes, storage, rings, spin or mode do not fit together.

    Notes
    -----
    The function is `ducc0.sht.synthesis`. It is linear over the real numbers; imaginary parts at m = 0 are ignored. The
    transpose, in JAX's convention, is ``w_m conj(adjoint_synthesis(x))`` with ``w_0 = 1`` and ``w_m = 2``: `jax.grad`
    of a real function has the factor 2 because a coefficient with m > 0 stands for two.

    Examples
    --------
    A constant field on one ring at the equator:

    >>> import jax.numpy as jnp, numpy as np
    >>> from jaxbind_ducc import sht
    >>> ring = {"theta": [np.pi / 2], "nphi": [4], "phi0": [0.0], "ringstart": [0]}
    >>> alm = jnp.array([[np.sqrt(4 * np.pi) + 0j]])
    >>> sht.synthesis(alm, spin=0, lmax=0, **ring).round(5).tolist()
    [[1.0, 1.0, 1.0, 1.0]]
    """
    _arguments.check_names("synthesis", scheme, RingScheme)
    rings = _rings.checked("synthesis", scheme)
    options: dict[str, Any] = {"mode": mode, "theta_interpol": theta_interpol, "nthreads": nthreads}
    return maps_from_alm("synthesis", alm, scheme, rings, spin=spin, npix=npix, **options)


def adjoint_synthesis(
    map: jax.Array,
    *,
    spin: int,
    mode: str = "STANDARD",
    theta_interpol: bool = False,
    ncoeff: int | None = None,
    nthreads: int = 0,
    **scheme: Unpack[RingScheme],
) -> jax.Array:
    """Sums over the pixels of rings: ``a_lm = sum_j conj(Y_lm(theta_j, phi_j)) x_j``, the adjoint of `synthesis`.

    With quadrature weights as `ringfactor` it is an analysis. It is what gradients and normal equations need.

    Parameters
    ----------
    map
        Real array, shape ``(..., nmaps, npix)``; leading dimensions are a batch.
    spin, mode, theta_interpol, nthreads, **scheme
        As in `synthesis`. `ringfactor` acts before the sums.
    ncoeff
        Length of the result. Default: the smallest possible. Entries that hold no coefficient are 0.

    Returns
    -------
    jax.Array
        Complex array of the same precision, shape ``(..., nalm, ncoeff)``.

    Raises
    ------
    TypeError, ValueError
        As in `synthesis`.

    Notes
    -----
    The function is `ducc0.sht.adjoint_synthesis`, the adjoint with respect to ``sum_lm w_m Re(conj(a_lm) b_lm)``, in
    which coefficients with m > 0 count twice. Its transpose, in JAX's convention, is ``synthesis(conj(c) / w)``.
    """
    _arguments.check_names("adjoint_synthesis", scheme, RingScheme)
    rings = _rings.checked("adjoint_synthesis", scheme)
    options: dict[str, Any] = {"mode": mode, "theta_interpol": theta_interpol, "nthreads": nthreads}
    return alm_from_maps("adjoint_synthesis", map, scheme, rings, spin=spin, ncoeff=ncoeff, **options)


def synthesis_deriv1(
    alm: jax.Array,
    *,
    theta_interpol: bool = False,
    npix: int | None = None,
    nthreads: int = 0,
    **scheme: Unpack[RingScheme],
) -> jax.Array:
    """Maps of the two derivatives of a field of spin 0, on rings.

    Parameters
    ----------
    alm
        Complex array, shape ``(..., 1, ncoeff)``; leading dimensions are a batch.
    theta_interpol, npix, nthreads, **scheme
        As in `synthesis`.

    Returns
    -------
    jax.Array
        Real array, shape ``(..., 2, npix)``: the derivative in theta, and that in phi divided by sin(theta).

    Raises
    ------
    TypeError, ValueError
        As in `synthesis`.

    Notes
    -----
    The function is `ducc0.sht.synthesis_deriv1`, the same as `synthesis` with ``mode="DERIV1"``; its adjoint is
    `adjoint_synthesis` in that mode.
    """
    _arguments.check_names("synthesis_deriv1", scheme, RingScheme)
    rings = _rings.checked("synthesis_deriv1", scheme)
    options: dict[str, Any] = {"mode": "DERIV1", "theta_interpol": theta_interpol, "nthreads": nthreads}
    return maps_from_alm("synthesis_deriv1", alm, scheme, rings, spin=1, npix=npix, **options)
