# SPDX-License-Identifier: BSD-2-Clause
"""Where the spherical harmonic coefficient (l, m) is in an array, and what a coefficient counts.

Owns the storage scheme of ducc0 (``lmax``, ``mmax``, ``mstart``, ``lstride``) and its checks. Knows no transform.

A real field has a_(l,-m) = (-1)^m conj(a_lm), so that only m >= 0 is stored. The inner product of two fields is then

    <a, b> = sum_lm w_m Re(conj(a_lm) b_lm),        w_0 = 1,  w_m = 2 for m > 0,

because every coefficient with m > 0 stands for two. Coefficients with m = 0 are real.
"""

from __future__ import annotations

import functools
import operator as op
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Required, TypedDict

import numpy as np

from jaxbind_ducc import _errors

IntArray = np.ndarray[Any, np.dtype[np.int64]]


class Storage(TypedDict, total=False):
    """Keyword arguments of the transforms: the storage scheme of coefficients, in ducc0's words.

    Attributes
    ----------
    lmax
        Highest degree l, inclusive.
    mmax
        Highest order m, inclusive. Default: the length of `mstart` less one, else `lmax`.
    mstart
        Index in the last axis at which (l=0, m) would be, for every m. Default: coefficients are contiguous, in the
        order (0,0), (1,0), ..., (lmax,0), (1,1), (2,1), ... (that of healpy).
    lstride
        Distance in the last axis between (l, m) and (l + 1, m). Other numbers than 1 need `mstart`.
    """

    lmax: Required[int]
    mmax: int | None
    mstart: Sequence[int] | None
    lstride: int


class Layout(NamedTuple):
    """The storage scheme of one set of coefficients.

    Attributes
    ----------
    lmax, mmax
        Highest degree and order, inclusive.
    mstart
        Index at which (l=0, m) would be, for every m; None for the contiguous scheme in the order m = 0, 1, 2, ...
    lstride
        Distance between (l, m) and (l + 1, m).
    size
        Length of the array's last axis.
    """

    lmax: int
    mmax: int
    mstart: tuple[int, ...] | None
    lstride: int
    size: int

    def arguments(self) -> dict[str, Any]:
        """The scheme as ducc0 takes it."""
        mstart = None if self.mstart is None else np.array(self.mstart, np.uint64)
        return {"lmax": self.lmax, "mmax": self.mmax, "mstart": mstart, "lstride": self.lstride}

    def starts(self) -> Sequence[int]:
        """Index at which (l=0, m) would be, for every m."""
        if self.mstart is not None:
            return self.mstart
        # ducc0 does the same for every lstride; with another one than 1 the places overlap, and mstart is needed.
        return [m * (2 * self.lmax + 1 - m) // 2 for m in range(self.mmax + 1)]

    @property
    def has_gaps(self) -> bool:
        """Whether the array has entries that hold no coefficient."""
        return self.size > count(self.lmax, self.mmax)


def count(lmax: int, mmax: int) -> int:
    """Number of coefficients with ``m <= l <= lmax`` and ``m <= mmax``."""
    return (mmax + 1) * (lmax + 1) - mmax * (mmax + 1) // 2


def contiguous(lmax: int, mmax: int) -> Layout:
    """The default layout, without gaps."""
    return Layout(lmax, mmax, None, 1, count(lmax, mmax))


@functools.lru_cache(maxsize=8)
def places(layout: Layout) -> IntArray:
    """Index of every coefficient, in the order of the contiguous layout."""
    runs = [s + np.arange(m, layout.lmax + 1) * layout.lstride for m, s in enumerate(layout.starts())]
    return np.concatenate(runs)


@functools.lru_cache(maxsize=8)
def degrees_and_orders(layout: Layout) -> tuple[IntArray, IntArray]:
    """Degree l and order m of every entry of the array; -1 for entries that hold no coefficient."""
    l_of, m_of = np.full((2, layout.size), -1)
    held = places(layout)
    l_of[held] = np.concatenate([np.arange(m, layout.lmax + 1) for m in range(layout.mmax + 1)])
    m_of[held] = np.repeat(np.arange(layout.mmax + 1), layout.lmax + 1 - np.arange(layout.mmax + 1))
    for found in (l_of, m_of):
        found.flags.writeable = False
    return l_of, m_of


@functools.lru_cache(maxsize=8)
def zonal(layout: Layout) -> slice | IntArray:
    """Index of the entries with m = 0."""
    if layout.mstart is None and layout.lstride == 1:
        return slice(0, layout.lmax + 1)
    return np.flatnonzero(degrees_and_orders(layout)[1] == 0)


@functools.lru_cache(maxsize=8)
def paired(layout: Layout) -> slice | IntArray:
    """Index of the entries with m > 0, which stand for two coefficients each. May contain unused entries at the end."""
    if layout.mstart is None and layout.lstride == 1:
        return slice(layout.lmax + 1, None)
    return np.flatnonzero(degrees_and_orders(layout)[1] > 0)


def checked(operator: str, storage: Mapping[str, Any], size: int | None = None) -> Layout:
    """The layout that a caller describes.

    Parameters
    ----------
    operator
        Name for the message.
    storage
        What the caller passed, see `Storage`; other keyword arguments in it are not looked at.
    size
        Length of the array's last axis. Default: the smallest possible.

    Returns
    -------
    Layout

    Raises
    ------
    ValueError
        If the numbers do not fit together, two coefficients have the same place, or the array is too short.
    """
    lmax, mmax, mstart = (storage.get(name) for name in ("lmax", "mmax", "mstart"))
    lstride = storage.get("lstride", 1)
    lmax = _non_negative(operator, "lmax", lmax)
    starts = None if mstart is None else tuple(map(int, np.asarray(mstart).ravel()))
    if mmax is None:
        mmax = lmax if starts is None else len(starts) - 1
    mmax = _non_negative(operator, "mmax", mmax)
    if mmax > lmax:
        raise _errors.bad_value(operator, "mmax", mmax, f"at most lmax = {lmax}", "Lower it")
    if starts is not None and len(starts) != mmax + 1:
        found = f"a sequence of {len(starts)} numbers"
        raise _errors.bad_value(operator, "mstart", found, f"mmax + 1 = {mmax + 1} numbers", "Give one per m")
    lstride = op.index(lstride)
    layout = Layout(lmax, mmax, starts, lstride, count(lmax, mmax) if size is None else size)
    if starts is None and lstride == 1 and layout.size >= count(lmax, mmax):
        return layout
    return layout._replace(size=_room(operator, layout, size))


@functools.lru_cache(maxsize=8)
def _room(operator: str, layout: Layout, size: int | None) -> int:
    """Length of the last axis, after the check of `room`, which is not repeated for every call."""
    return room(operator, range(layout.mmax + 1), layout.starts(), layout.lmax, layout.lstride, size)


def room(operator: str, orders: Sequence[int], starts: Sequence[int], lmax: int, lstride: int, size: int | None) -> int:
    """The length of the last axis, after a check that every coefficient has a place of its own in it.

    Parameters
    ----------
    operator
        Name for the message.
    orders, starts
        The orders m, and the index of (l=0, m) for each.
    lmax, lstride
        See `Storage`.
    size
        The length, None for the smallest possible.
    """
    held = [start + lstride * np.arange(m, lmax + 1) for m, start in zip(orders, starts, strict=True)]
    places = np.concatenate([np.empty(0, np.int64), *held])
    if np.any(places < 0):
        raise _errors.bad_value(operator, "mstart", starts, "no coefficient in front of the array", "Shift it")
    if len(np.unique(places)) < len(places):
        expected = "a different place for every coefficient"
        raise _errors.bad_value(operator, "mstart", starts, expected, "Give mstart that fits lstride")
    needed = int(places.max(initial=-1)) + 1
    if size is not None and size < needed:
        expected = f"at least {needed} for lmax = {lmax} and this storage scheme"
        raise _errors.bad_value(operator, "alm", f"{size} long in its last axis", expected, "Check lmax and mmax")
    return needed if size is None else size


def _non_negative(operator: str, argument: str, value: Any) -> int:
    found = op.index(value)
    if found < 0:
        raise _errors.bad_value(operator, argument, found, "a number of at least 0", "Raise it")
    return found
