# SPDX-License-Identifier: BSD-2-Clause
"""The operators behind `jaxbind_ducc.wgridder`: host functions, shapes, and the change with uvw and frequency.

With the direction cosines (l, m, n) of pixel x, the baseline (u, v, w) in metres and the frequency f,

    dirty2vis    V = sum_x I_x / n exp(-i phi_x),      phi_x = 2 pi f / c (u l + v m - w (n - 1))
    vis2dirty    I_x = Re sum_V V / n exp(+i phi_x)

Both are real-linear between real images and complex visibilities. In JAX's convention the transpose of ``V = A I`` is
``Re(A^T V)``, without the conjugation that vis2dirty contains. Turning the signs of u, v and w conjugates A, so the
transpose of each is the other one with all three flips turned. ducc0 lets `flip_u` turn the direction of the pixels,
with the centre of the image in its place: the sign of `center_x` in l turns with that of u, and so it must be turned
back.

The change with the coordinates is the same map of an image times a coordinate,

    dV = -i sum_d dphi_d A (q_d I),     dI = sum_d q_d A^H (i dphi_d V),     q = (l, m, 1 - n),

with dphi_d = 2 pi / c d(f uvw_d): two or three griddings. Without w-gridding w is taken as zero and n as one.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import ducc0
import jax
import jax.numpy as jnp
import jaxbind
import numpy as np

from jaxbind_ducc import _dtypes, _errors, _threads
from jaxbind_ducc._bind import Operator, Shapes

SPEED_OF_LIGHT = 299792458.0  # metres per second, exact by definition


# The fixed arguments in front of the mask, as ducc0 calls them, and the dtypes that it takes. Coordinates are in double
# precision only, and so they stay accurate for images in single precision.
_BY_CHANNEL: dict[str, Any] = {"uvw": np.float64, "freq": np.float64}
_BY_LIST: dict[str, Any] = {
    "uvw": np.float64,
    "freqlist_freqs": np.float64,
    "freqlist_id": np.uint64,
    "freqlist_nfreqs": np.uint64,
}


def _arguments(args: Any, kwargs_dump: Any, *, conjugate: bool) -> tuple[bool, Any, dict[str, Any]]:
    """Whether there are lists of frequencies, the values to transform, and the keyword arguments for ducc0."""
    options = jaxbind.load_kwargs(kwargs_dump)
    *fixed, values = args
    has_lists = options.pop("nvis", None) is not None
    names = _BY_LIST if has_lists else _BY_CHANNEL
    options |= {name: np.asarray(a, dtype) for (name, dtype), a in zip(names.items(), fixed, strict=False)}
    freq = options["freqlist_freqs" if has_lists else "freq"]
    ends: Any = np.cumsum(options["freqlist_nfreqs"].astype(int))[:-1] if has_lists else []
    if any(np.any(np.diff(channels) < 0) for channels in np.split(freq, ends)):
        raise _errors.descending_channels(freq)
    if len(fixed) > len(names):
        options["mask"] = fixed[-1]
    if conjugate:
        options |= {f"flip_{name}": not options.get(f"flip_{name}", False) for name in "uvw"}
        options |= {f"center_{name}": -options.get(f"center_{name}", 0.0) for name in "xy"}
    pixels = options.pop("npix_x") * options.pop("npix_y")
    width = 2 - math.log10(options["epsilon"])
    work = 20 * pixels * math.log2(pixels + 2) + len(fixed[0]) * len(freq) * width**2
    options["nthreads"] = _threads.choose(options.get("nthreads", 0), work)
    return has_lists, values, options


def _to_vis(out: Any, args: Any, kwargs_dump: Any, conjugate: bool) -> None:
    has_lists, dirty, options = _arguments(args, kwargs_dump, conjugate=conjugate)
    options.pop("double_precision_accumulation", None)
    if out[0].size:
        call = ducc0.wgridder.experimental.dirty2vis_bda if has_lists else ducc0.wgridder.dirty2vis
        call(dirty=dirty, vis=out[0], **options)


def _to_dirty(out: Any, args: Any, kwargs_dump: Any, conjugate: bool) -> None:
    has_lists, vis, options = _arguments(args, kwargs_dump, conjugate=conjugate)
    call = ducc0.wgridder.experimental.vis2dirty_bda if has_lists else ducc0.wgridder.vis2dirty
    call(vis=vis, dirty=out[0], **options)


def _dirty2vis(out: Any, args: Any, kwargs_dump: Any) -> None:
    _to_vis(out, args, kwargs_dump, False)


def _dirty2vis_transpose(out: Any, args: Any, kwargs_dump: Any) -> None:
    _to_dirty(out, args, kwargs_dump, True)


def _vis2dirty(out: Any, args: Any, kwargs_dump: Any) -> None:
    _to_dirty(out, args, kwargs_dump, False)


def _vis2dirty_transpose(out: Any, args: Any, kwargs_dump: Any) -> None:
    _to_vis(out, args, kwargs_dump, True)


def _vis_shape(uvw: Any, freq: Any, *others: Any, nvis: int | None = None, **_: Any) -> Shapes:
    shape = (uvw.shape[0], freq.shape[0]) if nvis is None else (nvis,)
    return ((shape, _dtypes.complex_dtype(others[-1].dtype)),)


def _dirty_shape(*args: Any, npix_x: int, npix_y: int, **_: Any) -> Shapes:
    return (((npix_x, npix_y), _dtypes.real_dtype(args[-1].dtype)),)


def _dirty2vis_change(primals: Any, tangents: Any, **options: Any) -> tuple[jax.Array]:
    """Change of the visibilities with uvw and frequency, see the module."""
    *fixed, dirty = primals
    operator = _OPERATORS[len(fixed)][0]
    parts = []
    for change, cosine in zip(_phase_changes(fixed, tangents, **options), _cosines(**options), strict=True):
        [vis] = operator(*fixed, dirty * cosine.astype(dirty.dtype), **options)
        parts.append(-1j * change.astype(vis.dtype) * vis)
    return (functools.reduce(jnp.add, parts),)


def _vis2dirty_change(primals: Any, tangents: Any, **options: Any) -> tuple[jax.Array]:
    """Change of the image with uvw and frequency, see the module."""
    *fixed, vis = primals
    operator = _OPERATORS[len(fixed)][1]
    parts = []
    for change, cosine in zip(_phase_changes(fixed, tangents, **options), _cosines(**options), strict=True):
        [dirty] = operator(*fixed, 1j * change.astype(vis.dtype) * vis, **options)
        parts.append(cosine.astype(dirty.dtype) * dirty)
    return (functools.reduce(jnp.add, parts),)


def _phase_changes(fixed: Any, tangents: Any, *, do_wgridding: bool, **options: Any) -> list[Any]:
    """dphi_d for each visibility, without the third if w has no influence."""
    (uvw, freq), (change_uvw, change_freq) = map(jnp.asarray, fixed[:2]), tangents[:2]
    row, channel = _rows_and_channels(fixed, options.get("nvis"))
    dtype = jnp.promote_types(uvw.dtype, freq.dtype)
    parts = []
    if change_uvw is not None:
        parts.append(change_uvw.T.astype(dtype)[:, row] * freq.astype(dtype)[channel])
    if change_freq is not None:
        parts.append(uvw.T.astype(dtype)[:, row] * change_freq.astype(dtype)[channel])
    signs = [-1.0 if options.get(f"flip_{name}", False) else 1.0 for name in "uvw"]
    turned = functools.reduce(jnp.add, parts)
    scaled = [np.array(2 * np.pi / SPEED_OF_LIGHT * sign, dtype) * one for sign, one in zip(signs, turned, strict=True)]
    return scaled[: 3 if do_wgridding else 2]


def _rows_and_channels(fixed: Any, nvis: int | None) -> tuple[Any, Any]:
    """Indices of the row and the frequency of each visibility, in a shape that broadcasts to theirs."""
    uvw, freq = fixed[:2]
    if nvis is None:
        return np.arange(uvw.shape[0])[:, None], np.arange(freq.shape[0])[None, :]
    lists, counts = fixed[2].astype(int), fixed[3].astype(int)
    ends = jnp.cumsum(counts[lists])  # One past the last visibility of each row.
    row = jnp.repeat(np.arange(uvw.shape[0]), counts[lists], total_repeat_length=nvis)
    first_frequency = (jnp.cumsum(counts) - counts)[lists]
    return row, np.arange(nvis) - (ends - counts[lists])[row] + first_frequency[row]


def _cosines(*, do_wgridding: bool, **options: Any) -> list[Any]:
    """q_d of each pixel; the third is 1 - n, without the cancellation of computing n first."""
    along_x, along_y = pixel_cosines(**options)
    squares = along_x[:, None] ** 2 + along_y**2
    found = [along_x[:, None], along_y[None, :]]
    return [*found, squares / (1 + np.sqrt(1 - squares))] if do_wgridding else found


def pixel_cosines(
    *,
    npix_x: int,
    npix_y: int,
    pixsize_x: float,
    pixsize_y: float,
    center_x: float = 0.0,
    center_y: float = 0.0,
    flip_u: bool = False,
    flip_v: bool = False,
    **_: Any,
) -> tuple[Any, Any]:
    """Direction cosines l and m of the pixels along each axis, up to the sign that a flip gives to all of them."""
    along_x = (-center_x if flip_u else center_x) + (np.arange(npix_x) - npix_x // 2) * pixsize_x
    return along_x, (-center_y if flip_v else center_y) + (np.arange(npix_y) - npix_y // 2) * pixsize_y


def _bound(fixed: int) -> tuple[Operator, Operator]:
    """dirty2vis and vis2dirty with this number of fixed arguments. They batch by a loop."""
    dirty2vis = jaxbind.get_linear_call(
        _dirty2vis,
        _dirty2vis_transpose,
        _vis_shape,
        _dirty_shape,
        first_n_args_fixed=fixed,
        fixed_derivative=_dirty2vis_change,
    )
    vis2dirty = jaxbind.get_linear_call(
        _vis2dirty,
        _vis2dirty_transpose,
        _dirty_shape,
        _vis_shape,
        first_n_args_fixed=fixed,
        fixed_derivative=_vis2dirty_change,
    )
    return dirty2vis, vis2dirty


# By the number of fixed arguments: two, or four with lists of frequencies, and one more with a mask.
_OPERATORS = {fixed: _bound(fixed) for fixed in (2, 3, 4, 5)}
dirty2vis_operator, vis2dirty_operator = _OPERATORS[2]
masked_dirty2vis_operator, masked_vis2dirty_operator = _OPERATORS[3]


def apply_dirty2vis(
    fixed: tuple[jax.Array, ...], dirty: jax.Array, wgt: jax.Array | None, mask: jax.Array | None, **settings: Any
) -> jax.Array:
    """Degrid with the operator that fits the arguments; the weights are multiplied in JAX, and so differentiable."""
    fixed = fixed if mask is None else (*fixed, mask)
    [vis] = _OPERATORS[len(fixed)][0](*fixed, dirty, **settings)
    return vis if wgt is None else vis * wgt.astype(vis.dtype)


def apply_vis2dirty(
    fixed: tuple[jax.Array, ...], vis: jax.Array, wgt: jax.Array | None, mask: jax.Array | None, **settings: Any
) -> jax.Array:
    """Grid with the operator that fits the arguments."""
    fixed = fixed if mask is None else (*fixed, mask)
    weighted = vis if wgt is None else vis * wgt.astype(vis.dtype)
    [dirty] = _OPERATORS[len(fixed)][1](*fixed, weighted, **settings)
    return dirty
