# SPDX-License-Identifier: BSD-2-Clause
"""Radio interferometry: images to visibilities and back, `ducc0.wgridder` for JAX.

With the direction cosines (l, m, n) of a pixel, baselines (u, v, w) in metres and frequencies f in Hz:

    dirty2vis    V = wgt sum_x I_x / n exp(-2 pi i f/c (u l + v m - w (n - 1)))
    vis2dirty    I_x = Re sum_V wgt V / n exp(+2 pi i f/c (u l + v m - w (n - 1)))

Without `do_wgridding` w counts as zero and n as one; without `divide_by_n` the division by n is left out. Pixel
``(npix_x // 2, npix_y // 2)`` is at ``(center_x, center_y)``. With one unit of I per pixel, V has the same unit (Jy per
pixel gives Jy; multiply an image in Jy/sr by ``pixsize_x * pixsize_y`` first).

All are differentiable in the image or the visibilities, in `wgt`, `uvw` and `freq`, to every order. The derivative with
respect to coordinates costs two griddings, three with `do_wgridding`. ducc0 has no batches of images: `jax.vmap` runs a
compiled loop.

Where the channels differ from row to row there are `dirty2vis_bda` and `vis2dirty_bda`.

`dirty2vis_operator` is the bare operator, for programs that expect what `jaxbind` binds: called with ``(uvw, freq,
image)`` and static keyword arguments (`npix_x` and `npix_y` among them), it returns a list with one array.

Source of the method: H. Ye, S. F. Gull, S. M. Tan, B. Nikolic, MNRAS 510, 4110 (2022); P. Arras, M. Reinecke, R.
Westermann, T. A. Ensslin, A&A 646, A58 (2021), in the implementation of ducc0.
"""

from __future__ import annotations

import inspect
from typing import Any, Unpack

import jax
from jax.typing import ArrayLike

from jaxbind_ducc import _arguments, _gridding
from jaxbind_ducc import _gridding_arguments as checks
from jaxbind_ducc._gridding import dirty2vis_operator
from jaxbind_ducc._gridding_arguments import Gridding

__all__ = [
    "Gridding",
    "dirty2ms",
    "dirty2vis",
    "dirty2vis_bda",
    "dirty2vis_operator",
    "ms2dirty",
    "vis2dirty",
    "vis2dirty_bda",
]

Array = jax.Array


def dirty2vis(
    uvw: ArrayLike,
    freq: ArrayLike,
    dirty: ArrayLike,
    wgt: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    pixsize_x: float,
    pixsize_y: float,
    epsilon: float,
    do_wgridding: bool = False,
    nthreads: int = 0,
    verbosity: int = 0,
    flip_u: bool = False,
    flip_v: bool = False,
    flip_w: bool = False,
    divide_by_n: bool = True,
    sigma_min: float = 1.1,
    sigma_max: float = 2.6,
    center_x: float = 0.0,
    center_y: float = 0.0,
    allow_nshift: bool = True,
) -> Array:
    """Visibilities of a sky image.

    Parameters
    ----------
    uvw
        Real array, shape ``(nrow, 3)``, baselines in metres. ducc0 computes with them in double precision.
    freq
        Real array, shape ``(nchan,)``, frequencies in Hz.
    dirty
        Real array, shape ``(npix_x, npix_y)``, both even. Its precision is that of the computation.
    wgt
        Real array, shape ``(nrow, nchan)``, multiplied to the result. Default: ones.
    mask
        Boolean or integer array, shape ``(nrow, nchan)``; where it is zero, the result is zero and costs nothing.
    pixsize_x, pixsize_y
        Sizes of a pixel in l and m, in radians near the centre.
    epsilon
        Relative accuracy, at best about 1e-6 in single and 1e-13 in double precision.
    do_wgridding
        Whether to account for w.
    nthreads
        Number of threads; 0 for all if the problem is large, else one.
    verbosity
        1 to let ducc0 print what it does.
    flip_u, flip_v, flip_w
        Whether to turn the sign of that coordinate. The first two turn the direction of the pixels: with `flip_u`
        pixel i is at ``l = center_x - (i - npix_x // 2) pixsize_x``.
    divide_by_n
        Whether to divide the image by n (only with `do_wgridding`).
    sigma_min, sigma_max
        Smallest and largest oversampling that ducc0 may choose.
    center_x, center_y
        Position (l, m) of the centre of the image.
    allow_nshift
        Whether ducc0 may shift the planes in w to save some; the result is the same.

    Returns
    -------
    jax.Array
        Complex array, shape ``(nrow, nchan)``, of the precision of `dirty`.

    Raises
    ------
    TypeError, ValueError
        If dtypes or shapes do not fit, `epsilon` cannot be reached, or the image reaches beyond the horizon.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxbind_ducc import wgridder
    >>> point_source = jnp.zeros((32, 32)).at[16, 16].set(2.0)
    >>> uvw, freq = jnp.array([[100.0, 20.0, 3.0]]), jnp.array([1e9])
    >>> vis = wgridder.dirty2vis(uvw, freq, point_source, pixsize_x=1e-3, pixsize_y=1e-3, epsilon=1e-4)
    >>> vis.real.round(2).tolist()
    [[2.0]]
    """
    dirty = checks.checked_dirty("dirty2vis", dirty)
    size = {"npix_x": dirty.shape[0], "npix_y": dirty.shape[1], "pixsize_x": pixsize_x, "pixsize_y": pixsize_y}
    place = {"center_x": center_x, "center_y": center_y, "flip_u": flip_u, "flip_v": flip_v, "flip_w": flip_w}
    method: dict[str, Any] = {"do_wgridding": do_wgridding, "divide_by_n": divide_by_n, "allow_nshift": allow_nshift}
    method |= {"epsilon": epsilon, "sigma_min": sigma_min, "sigma_max": sigma_max}
    settings = checks.checked_settings("dirty2vis", dirty.dtype, size | place | method)
    settings |= {"nthreads": nthreads, "verbosity": verbosity}
    uvw, freq = checks.checked_uvw("dirty2vis", uvw), checks.checked_freq("dirty2vis", "freq", freq)
    shape = (uvw.shape[0], freq.shape[0])
    wgt, mask = checks.checked_wgt("dirty2vis", wgt, dirty.dtype, shape), checks.checked_mask("dirty2vis", mask, shape)
    return _gridding.apply_dirty2vis((uvw, freq), dirty, wgt, mask, **settings)


def vis2dirty(
    uvw: ArrayLike,
    freq: ArrayLike,
    vis: ArrayLike,
    wgt: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    npix_x: int,
    npix_y: int,
    pixsize_x: float,
    pixsize_y: float,
    epsilon: float,
    do_wgridding: bool = False,
    nthreads: int = 0,
    verbosity: int = 0,
    flip_u: bool = False,
    flip_v: bool = False,
    flip_w: bool = False,
    divide_by_n: bool = True,
    sigma_min: float = 1.1,
    sigma_max: float = 2.6,
    center_x: float = 0.0,
    center_y: float = 0.0,
    allow_nshift: bool = True,
    double_precision_accumulation: bool = False,
) -> Array:
    """Dirty image of visibilities: the adjoint of `dirty2vis`.

    Parameters
    ----------
    uvw, freq
        As in `dirty2vis`.
    vis
        Complex array, shape ``(nrow, nchan)``. Its precision is that of the computation.
    wgt
        Real array, shape ``(nrow, nchan)``, multiplied to `vis`. Default: ones.
    mask
        Boolean or integer array, shape ``(nrow, nchan)``; where it is zero, `vis` is ignored, also if it is NaN.
    npix_x, npix_y
        Size of the image, both even.
    pixsize_x, pixsize_y, epsilon, do_wgridding, nthreads, verbosity, flip_u, flip_v, flip_w, divide_by_n
        As in `dirty2vis`.
    sigma_min, sigma_max, center_x, center_y, allow_nshift
        As in `dirty2vis`.
    double_precision_accumulation
        Whether to sum in double precision also for `vis` in single precision.

    Returns
    -------
    jax.Array
        Real array, shape ``(npix_x, npix_y)``, of the precision of `vis`.

    Raises
    ------
    TypeError, ValueError
        As in `dirty2vis`.
    """
    uvw, freq = checks.checked_uvw("vis2dirty", uvw), checks.checked_freq("vis2dirty", "freq", freq)
    vis = checks.checked_vis("vis2dirty", vis, (uvw.shape[0], freq.shape[0]))
    size = {"npix_x": npix_x, "npix_y": npix_y, "pixsize_x": pixsize_x, "pixsize_y": pixsize_y}
    place = {"center_x": center_x, "center_y": center_y, "flip_u": flip_u, "flip_v": flip_v, "flip_w": flip_w}
    method: dict[str, Any] = {"do_wgridding": do_wgridding, "divide_by_n": divide_by_n, "allow_nshift": allow_nshift}
    method |= {"epsilon": epsilon, "sigma_min": sigma_min, "sigma_max": sigma_max}
    method |= {"double_precision_accumulation": double_precision_accumulation}
    settings = checks.checked_settings("vis2dirty", vis.dtype, size | place | method)
    settings |= {"nthreads": nthreads, "verbosity": verbosity}
    wgt = checks.checked_wgt("vis2dirty", wgt, vis.dtype, vis.shape)
    mask = checks.checked_mask("vis2dirty", mask, vis.shape)
    return _gridding.apply_vis2dirty((uvw, freq), vis, wgt, mask, **settings)


def dirty2ms(
    uvw: ArrayLike,
    freq: ArrayLike,
    dirty: ArrayLike,
    wgt: ArrayLike | None,
    pixsize_x: float,
    pixsize_y: float,
    nu: int = 0,
    nv: int = 0,
    *,
    epsilon: float,
    do_wstacking: bool = False,
    nthreads: int = 0,
    verbosity: int = 0,
    mask: ArrayLike | None = None,
) -> Array:
    """`dirty2vis` under its older name in ducc0. Prefer `dirty2vis`.

    Parameters
    ----------
    uvw, freq, dirty, wgt, pixsize_x, pixsize_y, epsilon, nthreads, verbosity, mask
        As in `dirty2vis`.
    nu, nv
        Ignored, as in ducc0.
    do_wstacking
        `do_wgridding` of `dirty2vis`.

    Returns
    -------
    jax.Array
        As `dirty2vis`.
    """
    settings: dict[str, Any] = {"pixsize_x": pixsize_x, "pixsize_y": pixsize_y, "epsilon": epsilon}
    settings |= {"do_wgridding": do_wstacking, "nthreads": nthreads, "verbosity": verbosity}
    return dirty2vis(uvw, freq, dirty, wgt, mask, **settings)


def ms2dirty(
    uvw: ArrayLike,
    freq: ArrayLike,
    ms: ArrayLike,
    wgt: ArrayLike | None,
    npix_x: int,
    npix_y: int,
    pixsize_x: float,
    pixsize_y: float,
    nu: int = 0,
    nv: int = 0,
    *,
    epsilon: float,
    do_wstacking: bool = False,
    nthreads: int = 0,
    verbosity: int = 0,
    mask: ArrayLike | None = None,
    double_precision_accumulation: bool = False,
) -> Array:
    """`vis2dirty` under its older name in ducc0. Prefer `vis2dirty`.

    Parameters
    ----------
    uvw, freq, wgt, npix_x, npix_y, pixsize_x, pixsize_y, epsilon, nthreads, verbosity, mask
        As in `vis2dirty`.
    ms
        `vis` of `vis2dirty`.
    nu, nv
        Ignored, as in ducc0.
    do_wstacking
        `do_wgridding` of `vis2dirty`.
    double_precision_accumulation
        As in `vis2dirty`.

    Returns
    -------
    jax.Array
        As `vis2dirty`.
    """
    settings: dict[str, Any] = {"npix_x": npix_x, "npix_y": npix_y, "pixsize_x": pixsize_x, "pixsize_y": pixsize_y}
    settings |= {"epsilon": epsilon, "do_wgridding": do_wstacking, "nthreads": nthreads, "verbosity": verbosity}
    accumulation = double_precision_accumulation
    return vis2dirty(uvw, freq, ms, wgt, mask, double_precision_accumulation=accumulation, **settings)


def dirty2vis_bda(
    uvw: ArrayLike,
    freqlist_id: ArrayLike,
    freqlist_nfreqs: ArrayLike,
    freqlist_freqs: ArrayLike,
    dirty: ArrayLike,
    wgt: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    **settings: Unpack[Gridding],
) -> Array:
    """Visibilities of a sky image where the channels differ from row to row (baseline-dependent averaging).

    Parameters
    ----------
    uvw, dirty
        As in `dirty2vis`.
    freqlist_id
        Integers, shape ``(nrow,)``: the number of the list of frequencies that each row has. A constant.
    freqlist_nfreqs
        Integers: the length of each list. A constant.
    freqlist_freqs
        Real array: all lists, one after the other, each ascending, in Hz.
    wgt, mask
        As in `dirty2vis`, of the shape of the result.
    **settings
        See `Gridding` and `dirty2vis`.

    Returns
    -------
    jax.Array
        Complex array, shape ``(nvis,)``: the visibilities of row 0, then those of row 1, and so on.

    Raises
    ------
    TypeError, ValueError
        As in `dirty2vis`, or if the lists do not fit together.

    Notes
    -----
    The function is `ducc0.wgridder.experimental.dirty2vis_bda`.
    """
    dirty = checks.checked_dirty("dirty2vis_bda", dirty)
    fixed, nvis = checks.checked_lists("dirty2vis_bda", uvw, freqlist_id, freqlist_nfreqs, freqlist_freqs)
    size = {"npix_x": dirty.shape[0], "npix_y": dirty.shape[1]}
    static = _with_defaults("dirty2vis_bda", dirty.dtype, size, settings) | {"nvis": nvis}
    wgt = checks.checked_wgt("dirty2vis_bda", wgt, dirty.dtype, (nvis,))
    return _gridding.apply_dirty2vis(fixed, dirty, wgt, checks.checked_mask("dirty2vis_bda", mask, (nvis,)), **static)


def vis2dirty_bda(
    uvw: ArrayLike,
    freqlist_id: ArrayLike,
    freqlist_nfreqs: ArrayLike,
    freqlist_freqs: ArrayLike,
    vis: ArrayLike,
    wgt: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    npix_x: int,
    npix_y: int,
    **settings: Unpack[Gridding],
) -> Array:
    """Dirty image of visibilities where the channels differ from row to row: the adjoint of `dirty2vis_bda`.

    Parameters
    ----------
    uvw, freqlist_id, freqlist_nfreqs, freqlist_freqs, wgt, mask, **settings
        As in `dirty2vis_bda`.
    vis
        Complex array, shape ``(nvis,)``.
    npix_x, npix_y
        Size of the image, both even.

    Returns
    -------
    jax.Array
        Real array, shape ``(npix_x, npix_y)``, of the precision of `vis`.

    Raises
    ------
    TypeError, ValueError
        As in `dirty2vis_bda`.

    Notes
    -----
    The function is `ducc0.wgridder.experimental.vis2dirty_bda`.
    """
    fixed, nvis = checks.checked_lists("vis2dirty_bda", uvw, freqlist_id, freqlist_nfreqs, freqlist_freqs)
    vis = checks.checked_vis("vis2dirty_bda", vis, (nvis,))
    size = {"npix_x": npix_x, "npix_y": npix_y}
    static = _with_defaults("vis2dirty_bda", vis.dtype, size, settings) | {"nvis": nvis}
    wgt = checks.checked_wgt("vis2dirty_bda", wgt, vis.dtype, (nvis,))
    return _gridding.apply_vis2dirty(fixed, vis, wgt, checks.checked_mask("vis2dirty_bda", mask, (nvis,)), **static)


def _with_defaults(operator: str, dtype: Any, size: dict[str, int], settings: Gridding) -> dict[str, Any]:
    """The static settings, with the defaults of `dirty2vis`."""
    _arguments.check_names(operator, settings, Gridding)
    parameters = inspect.signature(dirty2vis).parameters
    complete = {name: settings.get(name, parameters[name].default) for name in Gridding.__annotations__}
    threads = {name: complete.pop(name) for name in ("nthreads", "verbosity")}
    return checks.checked_settings(operator, dtype, complete | size) | threads
