# SPDX-License-Identifier: BSD-2-Clause
"""Checks of the arguments of gridding, for `jaxbind_ducc.wgridder`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Required, TypedDict

import ducc0
import jax
import jax.numpy as jnp
import numpy as np

from jaxbind_ducc import _dtypes, _errors, _gridding

# Settings that are not real numbers.
_TYPES: dict[str, type] = dict.fromkeys(("npix_x", "npix_y"), int) | dict.fromkeys(
    ("flip_u", "flip_v", "flip_w", "do_wgridding", "divide_by_n", "allow_nshift", "double_precision_accumulation"), bool
)


class Gridding(TypedDict, total=False):
    """Keyword arguments of `dirty2vis_bda` and `vis2dirty_bda`; `dirty2vis` describes them and has their defaults."""

    pixsize_x: Required[float]
    pixsize_y: Required[float]
    epsilon: Required[float]
    do_wgridding: bool
    nthreads: int
    verbosity: int
    flip_u: bool
    flip_v: bool
    flip_w: bool
    divide_by_n: bool
    sigma_min: float
    sigma_max: float
    center_x: float
    center_y: float
    allow_nshift: bool


def checked_uvw(operator: str, uvw: Any) -> jax.Array:
    """The baselines, one per row."""
    array = _dtypes.as_array(operator, "uvw", uvw, "real")
    if array.ndim != 2 or array.shape[1] != 3:
        raise _errors.bad_shape(operator, "uvw", array, "(nrow, 3)", "Give one row per baseline and time")
    return array


def checked_freq(operator: str, argument: str, freq: Any) -> jax.Array:
    """Frequencies, in one list."""
    array = _dtypes.as_array(operator, argument, freq, "real")
    if array.ndim != 1:
        raise _errors.bad_shape(operator, argument, array, "(nchan,)", "Give one frequency in Hz per channel")
    return array


def checked_dirty(operator: str, dirty: Any) -> jax.Array:
    """The image."""
    array = _dtypes.as_array(operator, "dirty", dirty, "real")
    if array.ndim != 2:
        raise _errors.bad_shape(operator, "dirty", array, "(npix_x, npix_y)", "Use jax.vmap for several images")
    return array


def checked_vis(operator: str, vis: Any, shape: tuple[int, ...]) -> jax.Array:
    """The visibilities."""
    array = _dtypes.as_array(operator, "vis", vis, "complex")
    if array.shape != shape:
        remedy = "Give one visibility per row and channel, and use jax.vmap for several data sets"
        raise _errors.bad_shape(operator, "vis", array, str(shape), remedy)
    return array


def checked_wgt(operator: str, wgt: Any, dtype: Any, shape: tuple[int, ...]) -> jax.Array | None:
    """The weights, in the precision of the data."""
    if wgt is None:
        return None
    array = _dtypes.as_array(operator, "wgt", wgt, "real")
    if array.dtype != _dtypes.real_dtype(dtype):
        expected = _dtypes.real_dtype(dtype).name
        raise _errors.bad_dtype(operator, "wgt", array.dtype, f"{expected}, the precision of the data", expected)
    return _like_vis(operator, "wgt", array, shape)


def checked_mask(operator: str, mask: Any, shape: tuple[int, ...]) -> jax.Array | None:
    """The mask as ducc0 takes it."""
    if mask is None:
        return None
    return _like_vis(operator, "mask", jnp.asarray(mask).astype(bool).astype(jnp.uint8), shape)


def _like_vis(operator: str, argument: str, array: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    if array.shape != shape:
        remedy = "Give one number per visibility"
        raise _errors.bad_shape(operator, argument, array, f"{shape}, the shape of the visibilities", remedy)
    return array


def checked_settings(operator: str, dtype: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """The static settings with one type each, so that equal ones are compiled once."""
    settings = {name: _TYPES.get(name, float)(value) for name, value in given.items()}
    for name in ("npix_x", "npix_y"):
        n = settings[name]
        if n < 2 or n % 2:
            raise _errors.bad_value(operator, name, n, "an even number of pixels", "Pad the image by a row or column")
    along_x, along_y = _gridding.pixel_cosines(**settings)
    farthest = np.max(np.abs(along_x)) ** 2 + np.max(np.abs(along_y)) ** 2
    if settings["do_wgridding"] and farthest >= 1:
        remedy = "Use smaller pixels (pixsize_x and pixsize_y are in radians) or fewer"
        found = f"so large that a corner has l^2 + m^2 = {farthest:.3g}"
        raise _errors.bad_value(operator, "pixsize", found, "less than 1, a direction above the horizon", remedy)
    best = ducc0.nufft.bestEpsilon(
        # Gridding in w is a third dimension for ducc0's choice of the kernel.
        ndim=3 if settings["do_wgridding"] else 2,
        singleprec=_dtypes.real_dtype(dtype) == np.float32,
        sigma_min=settings["sigma_min"],
        sigma_max=settings["sigma_max"],
    )
    if not best <= settings["epsilon"] < 1:
        remedy = "Use double precision for more accuracy, or allow more oversampling with sigma_max"
        expected = f"at least {best:.1e} for {dtype} and below 1"
        raise _errors.bad_value(operator, "epsilon", settings["epsilon"], expected, remedy)
    return settings


def checked_lists(operator: str, uvw: Any, ids: Any, counts: Any, freqs: Any) -> tuple[tuple[jax.Array, ...], int]:
    """The fixed arguments for rows with lists of frequencies, and the number of visibilities.

    Which list a row has decides how many visibilities there are, so that `freqlist_id` and `freqlist_nfreqs` are
    constants.
    """
    uvw = checked_uvw(operator, uvw)
    freqs = checked_freq(operator, "freqlist_freqs", freqs)
    for name, array in (("freqlist_id", ids), ("freqlist_nfreqs", counts)):
        if isinstance(array, jax.core.Tracer):
            raise _errors.traced(operator, name)
    ids, counts = np.asarray(ids), np.asarray(counts)
    if ids.shape != uvw.shape[:1] or not np.issubdtype(ids.dtype, np.integer):
        found = f"of shape {ids.shape} and dtype {ids.dtype}"
        raise _errors.bad_value(operator, "freqlist_id", found, f"{uvw.shape[0]} integers", "Give one per row of uvw")
    if ids.size and not 0 <= ids.min() <= ids.max() < len(counts):
        found = f"between {ids.min()} and {ids.max()}"
        expected = f"numbers of the {len(counts)} lists, from 0 on"
        raise _errors.bad_value(operator, "freqlist_id", found, expected, "Check it against freqlist_nfreqs")
    if counts.sum() != freqs.shape[0]:
        expected = f"{counts.sum()} numbers, the sum of freqlist_nfreqs"
        raise _errors.bad_shape(operator, "freqlist_freqs", freqs, expected, "Concatenate all lists")
    lists = (jnp.asarray(ids, jnp.uint32), jnp.asarray(counts, jnp.uint32))
    return (uvw, freqs, *lists), int(counts[ids].sum())
