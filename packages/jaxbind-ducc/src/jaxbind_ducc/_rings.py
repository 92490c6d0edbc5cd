# SPDX-License-Identifier: BSD-2-Clause
"""Pixelisations of the sphere that consist of rings of constant colatitude.

Owns the checks of ``theta``, ``nphi``, ``phi0``, ``ringstart``, ``ringfactor`` and ``pixstride``, and the form in which
they travel as keyword argument: a tuple of arrays, or the number ``nside`` alone for HEALPix, from which all follows.
"""

from __future__ import annotations

import functools
import operator as op
from collections.abc import Mapping
from typing import Any, NamedTuple, Required, TypedDict

import ducc0
import jax
import numpy as np

from jaxbind_ducc import _errors

Array = np.ndarray[Any, Any]


class RingGeometry(TypedDict, total=False):
    """Keyword arguments of the transforms: a map that consists of rings, in ducc0's words. All are constants.

    Attributes
    ----------
    theta
        Colatitude of every ring, in radians.
    nphi
        Number of pixels in every ring, at equal distances in azimuth.
    phi0
        Azimuth of the first pixel in every ring, in radians.
    ringstart
        Index in the last axis of a map of the first pixel in every ring.
    ringfactor
        Factor by which the values in every ring are multiplied, before an analysis or after a synthesis.
    pixstride
        Distance in the last axis of a map between neighbours in a ring.
    """

    theta: Required[Any]
    nphi: Required[Any]
    phi0: Required[Any]
    ringstart: Required[Any]
    ringfactor: Any
    pixstride: int


class Rings(NamedTuple):
    """The geometry, with ducc0's names and dtypes."""

    theta: Array
    nphi: Array
    phi0: Array
    ringstart: Array
    ringfactor: Array | None = None
    pixstride: int = 1

    def arguments(self) -> dict[str, Any]:
        """The geometry as ducc0 takes it."""
        integers = {"nphi": self.nphi.astype(np.uint64), "ringstart": self.ringstart.astype(np.uint64)}
        return self._asdict() | integers

    @property
    def npix(self) -> int:
        """Smallest length of a map's last axis."""
        if not len(self.theta):
            return 0
        return int(np.max(self.ringstart + (self.nphi - 1) * self.pixstride)) + 1

    @property
    def pixels(self) -> int:
        """Number of pixels in rings."""
        return int(np.sum(self.nphi))


def restored(geometry: Any) -> Rings:
    """The geometry from the form in which it travelled."""
    return healpix(geometry) if isinstance(geometry, int) else Rings(*geometry)


@functools.lru_cache(maxsize=8)
def healpix(nside: int) -> Rings:
    """The rings of a HEALPix map in RING order."""
    return checked("healpix", ducc0.healpix.Healpix_Base(nside, "RING").sht_info())


def checked(operator: str, geometry: Mapping[str, Any]) -> Rings:
    """The geometry that a caller describes.

    Parameters
    ----------
    operator
        Name for the message.
    geometry
        What the caller passed, see `RingGeometry`; other keyword arguments in it are not looked at.

    Returns
    -------
    Rings

    Raises
    ------
    TypeError
        If an array is traced.
    ValueError
        If lengths differ, a number is out of range, or two pixels have the same place.
    """
    dtypes = {
        "theta": np.float64,
        "nphi": np.int64,
        "phi0": np.float64,
        "ringstart": np.int64,
        "ringfactor": np.float64,
    }
    arrays = {
        name: constant(operator, name, geometry[name], dtype)
        for name, dtype in dtypes.items()
        if geometry.get(name) is not None
    }
    rings = Rings(**arrays, pixstride=op.index(geometry.get("pixstride", 1)))
    for name, array in rings._asdict().items():
        if isinstance(array, np.ndarray) and array.shape != (len(rings.theta),):
            raise _errors.bad_shape(
                operator, name, array, f"({len(rings.theta)},), as theta", "Give one number per ring"
            )
    if np.any(rings.nphi < 1):
        raise _errors.bad_value(operator, "nphi", rings.nphi.min(), "at least 1 in every ring", "Leave empty rings out")
    if np.any((rings.theta < 0) | (rings.theta > np.pi)):
        raise _errors.bad_value(operator, "theta", rings.theta, "colatitudes between 0 and pi", "Give radians")
    _check_places(operator, rings)
    return rings


def checked_npix(operator: str, argument: str, npix: int | None, geometry: Any) -> int:
    """The length of a map's last axis, None for the smallest possible."""
    needed = (geometry if isinstance(geometry, Rings) else restored(geometry)).npix
    if npix is not None and npix < needed:
        raise _errors.bad_value(
            operator, argument, npix, f"at least {needed} for these rings", "Check ringstart and nphi"
        )
    return needed if npix is None else op.index(npix)


def positions(rings: Rings) -> Array:
    """Colatitude and longitude of every pixel of maps whose pixels are all in rings, shape (npix, 2).

    Raises
    ------
    ValueError
        If some pixel is in no ring.
    """
    if rings.pixels < rings.npix:
        raise _errors.bad_value("positions", "ringstart", rings.ringstart, "rings without gaps", "Number pixels on")
    found = np.empty((rings.npix, 2))
    for theta, n, first, start in zip(rings.theta, rings.nphi, rings.phi0, rings.ringstart, strict=True):
        held = start + rings.pixstride * np.arange(n)
        found[held, 0] = theta
        found[held, 1] = first + 2 * np.pi / n * np.arange(n)
    return found


def constant(operator: str, argument: str, value: Any, dtype: Any) -> Array:
    """A NumPy array of an argument that the transform is compiled for."""
    if isinstance(value, jax.core.Tracer):
        raise _errors.traced(operator, argument)
    array = np.array(value, dtype)
    array.flags.writeable = False
    return array


def _check_places(operator: str, rings: Rings) -> None:
    """Refuse rings that overlap, because a map with two values in one place is none."""
    first = rings.ringstart
    last = first + (rings.nphi - 1) * rings.pixstride
    if len(first) and min(first.min(), last.min()) < 0:
        raise _errors.bad_value(operator, "ringstart", first, "no pixel in front of the map", "Shift it")
    if rings.pixstride == 1:  # Rings are intervals: no need to list all pixels.
        order = np.argsort(first)
        overlap = bool(np.any(last[order][:-1] >= first[order][1:]))
    else:
        places = [start + rings.pixstride * np.arange(n) for start, n in zip(first, rings.nphi, strict=True)]
        pixels = np.concatenate(places) if places else np.empty(0)
        overlap = len(np.unique(pixels)) < len(pixels)
    if overlap:
        raise _errors.bad_value(operator, "ringstart", first, "rings that do not overlap", "Check it against nphi")
