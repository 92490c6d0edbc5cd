# SPDX-License-Identifier: BSD-2-Clause
"""The half of a spherical harmonic transform that runs over azimuths, in rings.

Owns `leg2map` and `map2leg`. The other half, over degrees l on meridians, is `jaxbind_ducc._legendre`.

Mathematics. With the weights w_0 = 1 and w_m = 2 for m > 0,

    x_j = Re sum_m w_m exp(i m phi_j) leg_m,        adjoint   leg_m = sum_j exp(-i m phi_j) x_j.

The transposes are those of `jaxbind_ducc._real_pairing`, with the weights along the last axis. Here the entries m = 0
of a `leg` that comes from coefficients of a field with spin are real too; imaginary parts are ignored.
"""

from __future__ import annotations

from typing import Any, Unpack

import ducc0
import jax
import jaxbind
import numpy as np

from jaxbind_ducc import _arguments, _dtypes, _errors, _rings, _threads
from jaxbind_ducc._bind import Shapes, batched_shapes, over_batch
from jaxbind_ducc._rings import RingGeometry, Rings


def _fill_maps(maps: Any, leg: Any, *, geometry: Any, mmax: int, npix: int, nthreads: int) -> None:
    rings = Rings(*geometry)
    if rings.pixels < npix:
        maps[...] = 0
    flat = leg.reshape(-1, *leg.shape[2:])  # Components are independent here, so a stack is more of them.
    ducc0.sht.leg2map(leg=flat, map=maps.reshape(-1, npix), **_keywords(rings, maps.size, nthreads))


def _fill_leg(leg: Any, maps: Any, *, geometry: Any, mmax: int, npix: int, nthreads: int) -> None:
    rings = Rings(*geometry)
    flat = leg.reshape(-1, *leg.shape[2:])
    ducc0.sht.map2leg(map=maps.reshape(-1, npix), leg=flat, mmax=mmax, **_keywords(rings, maps.size, nthreads))


def _keywords(rings: Rings, pixels: int, nthreads: int) -> dict[str, Any]:
    found = rings.arguments() | {"nthreads": _threads.choose(nthreads, 30.0 * pixels)}
    del found["theta"]
    return found


@over_batch()
def _leg2map(outs: Any, leg: Any, **transform: Any) -> None:
    _fill_maps(outs[0], leg, **transform)


@over_batch()
def _leg2map_transpose(outs: Any, c: Any, **transform: Any) -> None:
    _fill_leg(outs[0], c, **transform)
    np.conjugate(outs[0], out=outs[0])
    outs[0][..., 1:] *= 2


@over_batch()
def _map2leg(outs: Any, maps: Any, **transform: Any) -> None:
    _fill_leg(outs[0], maps, **transform)


@over_batch()
def _map2leg_transpose(outs: Any, c: Any, **transform: Any) -> None:
    leg = np.conjugate(c)
    leg[..., 1:] *= 0.5
    _fill_maps(outs[0], leg, **transform)


@batched_shapes
def _maps_shape(leg: Any, *, npix: int, **_: Any) -> Shapes:
    return (((leg.shape[0], npix), _dtypes.real_dtype(leg.dtype)),)


@batched_shapes
def _leg_shape(maps: Any, *, geometry: Any, mmax: int, **_: Any) -> Shapes:
    return (((maps.shape[0], len(geometry[0]), mmax + 1), _dtypes.complex_dtype(maps.dtype)),)


_leg2map_operator = jaxbind.get_linear_call(_leg2map, _leg2map_transpose, _maps_shape, _leg_shape, func_can_batch=True)
_map2leg_operator = jaxbind.get_linear_call(_map2leg, _map2leg_transpose, _leg_shape, _maps_shape, func_can_batch=True)


def leg2map(
    leg: jax.Array, *, npix: int | None = None, nthreads: int = 0, **geometry: Unpack[RingGeometry]
) -> jax.Array:
    """Maps on rings from Legendre coefficients: ``x_j = Re sum_m w_m leg_m exp(i m phi_j)``.

    Parameters
    ----------
    leg
        Complex array, shape ``(..., ncomp, ntheta, mmax + 1)``; leading dimensions are a batch.
    npix
        Length of the maps. Default: the smallest possible. What is between the rings is 0.
    nthreads
        Number of threads; 0 for all if the transform is large, else one.
    **geometry
        The rings, ``theta``, ``nphi``, ``phi0``, ``ringstart``, ``ringfactor``, ``pixstride``, see
        `jaxbind_ducc.sht.RingGeometry`; `theta` may be left out. All are constants.

    Returns
    -------
    jax.Array
        Real array of the same precision, shape ``(..., ncomp, npix)``.

    Raises
    ------
    TypeError, ValueError
        If dtypes, shapes or rings do not fit together.

    Notes
    -----
    The function is `ducc0.sht.leg2map`. It is linear over the real numbers, and its transpose is ``w
    conj(map2leg(x))``.
    """
    rings = _checked_rings("leg2map", geometry)
    leg = _arguments.checked_array("leg2map", "leg", leg, "complex", ("ncomp", len(rings.nphi), "mmax + 1"))
    npix = _rings.checked_npix("leg2map", "npix", npix, rings)
    static = {"geometry": tuple(rings), "mmax": leg.shape[-1] - 1, "npix": npix}
    return _arguments.apply(_leg2map_operator, leg, 3, nthreads=nthreads, **static)


def map2leg(map: jax.Array, *, mmax: int, nthreads: int = 0, **geometry: Unpack[RingGeometry]) -> jax.Array:
    """Legendre coefficients from maps on rings: ``leg_m = sum_j x_j exp(-i m phi_j)``, the adjoint of `leg2map`.

    Parameters
    ----------
    map
        Real array, shape ``(..., ncomp, npix)``; leading dimensions are a batch.
    mmax
        Highest order.
    nthreads, **geometry
        As in `leg2map`. `ringfactor` acts before the sums.

    Returns
    -------
    jax.Array
        Complex array of the same precision, shape ``(..., ncomp, ntheta, mmax + 1)``.

    Raises
    ------
    TypeError, ValueError
        As in `leg2map`.

    Notes
    -----
    The function is `ducc0.sht.map2leg`. Its transpose, in JAX's convention, is ``leg2map(conj(c) / w)``.
    """
    rings = _checked_rings("map2leg", geometry)
    maps = _arguments.checked_array("map2leg", "map", map, "real", ("ncomp", "npix"))
    npix = _rings.checked_npix("map2leg", "map.shape[-1]", maps.shape[-1], rings)
    if mmax < 0:
        raise _errors.bad_value("map2leg", "mmax", mmax, "a number of at least 0", "Raise it")
    return _arguments.apply(_map2leg_operator, maps, 2, geometry=tuple(rings), mmax=mmax, npix=npix, nthreads=nthreads)


def _checked_rings(operator: str, geometry: Any) -> Rings:
    """The rings, of which the colatitudes do not matter."""
    filled = {"theta": [0.0] * len(geometry.get("nphi", ()))} | geometry
    _arguments.check_names(operator, filled, RingGeometry)
    return _rings.checked(operator, filled)
