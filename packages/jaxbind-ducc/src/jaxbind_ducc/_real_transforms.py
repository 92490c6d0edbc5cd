# SPDX-License-Identifier: BSD-2-Clause
"""Transforms of real arrays to real arrays: half-complex storage, cosine, sine and Hartley transforms.

All but the genuine Hartley transforms are products of one matrix per axis, and all transposes have one form: scale some
entries along each axis, transform, scale some entries. With T' the transform of the transpose:

    orthogonal (inorm=1) DCT and DST, DST-1, DST-4, DCT-4, Hartley      T^T = T, except types 2 and 3, which swap
    DCT-1    y_k = x_0 + (-1)^k x_(n-1) + 2 sum_j x_j cos(..)           double both ends, DCT-1, halve both ends
    DCT-2    y_k = 2 sum_j x_j cos(pi k (2j+1) / 2n)                    double the first, DCT-3
    DCT-3    y_k = x_0 + 2 sum_(j>0) x_j cos(pi j (2k+1) / 2n)          DCT-2, halve the first
    DST-2, DST-3                                                        the same with the last instead of the first
    real to half-complex   (Re, Im) y_k = sum_j x_j (cos, -+sin)(..)    halve the pairs, half-complex to real
    half-complex to real   x_j = Re sum_k m_k y_k exp(..)               real to half-complex, double the pairs

A pair is the real and imaginary part of an entry that stands for two of the full spectrum (see
`jaxbind_ducc._fourier`). The sign of the exponent turns, because with (Re, Im) exp(-i t) = (cos t, -sin t)

    c_re cos t - c_im sin t = Re (c_re + i c_im) exp(+i t).

In `r2r_fftw` `forward` says both the direction and the sign, in `r2r_fftpack` the sign alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ducc0
import jaxbind

from jaxbind_ducc import _axes
from jaxbind_ducc._bind import Operator, along_axes, same_layout

# Parts of an axis of length n, each with the factor for its entries.
Scaling = Sequence[tuple[slice, float]]
_FIRST, _LAST = slice(0, 1), slice(-1, None)
_SWAPPED = {1: 1, 2: 3, 3: 2, 4: 4}


def _scale(a: Any, axes: Sequence[int], scaling: Callable[[int], Scaling]) -> None:
    """Multiply parts of an array, along each of the axes, in place."""
    for axis in axes:
        for part, factor in scaling(a.shape[axis]):
            a[(slice(None),) * axis + (part,)] *= factor


def _ends(first: float, last: float) -> Callable[[int], Scaling]:
    parts = [(part, factor) for part, factor in ((_FIRST, first), (_LAST, last)) if factor != 1]
    return lambda n: parts


_ONCE = _ends(1, 1)
# (kind, type) -> scaling before, scaling after the transform of the transpose.
_ENDS = {
    ("dct", 1): (_ends(2, 2), _ends(0.5, 0.5)),
    ("dct", 2): (_ends(2, 1), _ONCE),
    ("dct", 3): (_ONCE, _ends(0.5, 1)),
    ("dst", 2): (_ends(1, 2), _ONCE),
    ("dst", 3): (_ONCE, _ends(1, 0.5)),
}


def _fftpack_pairs(factor: float) -> Callable[[int], Scaling]:
    """r0, r1, i1, r2, i2, .., and with even n the unpaired r_(n/2) at the end."""
    return lambda n: [(slice(1, n - (n + 1) % 2), factor)]


def _fftw_pairs(factor: float) -> Callable[[int], Scaling]:
    """r0, r1, r2, .., i2, i1, and with even n the unpaired r_(n/2) in the middle."""
    return lambda n: [(slice(1, (n + 1) // 2), factor), (slice(n // 2 + 1, n), factor)]


def _trigonometric_transpose(
    kind: str, out: Any, c: Any, *, type: int, axes: list[int], inorm: int, nthreads: int
) -> None:
    before, after = (_ONCE, _ONCE) if inorm == 1 else _ENDS.get((kind, type), (_ONCE, _ONCE))
    out[...] = c
    _scale(out, axes, before)
    transform = getattr(ducc0.fft, kind)
    transform(out, _SWAPPED[type], axes, inorm, out, _axes.threads(nthreads, c.shape, axes))
    _scale(out, axes, after)


@along_axes
def _dct(out: Any, a: Any, *, type: int, axes: list[int], inorm: int, nthreads: int) -> None:
    ducc0.fft.dct(a, type, axes, inorm, out, _axes.threads(nthreads, a.shape, axes))


@along_axes
def _dct_transpose(out: Any, c: Any, **kwargs: Any) -> None:
    _trigonometric_transpose("dct", out, c, **kwargs)


@along_axes
def _dst(out: Any, a: Any, *, type: int, axes: list[int], inorm: int, nthreads: int) -> None:
    ducc0.fft.dst(a, type, axes, inorm, out, _axes.threads(nthreads, a.shape, axes))


@along_axes
def _dst_transpose(out: Any, c: Any, **kwargs: Any) -> None:
    _trigonometric_transpose("dst", out, c, **kwargs)


@along_axes
def _r2r_fftpack(
    out: Any, a: Any, *, axes: list[int], real2hermitian: bool, forward: bool, inorm: int, nthreads: int
) -> None:
    n = _axes.threads(nthreads, a.shape, axes)
    ducc0.fft.r2r_fftpack(a, axes, real2hermitian, forward, inorm, out, n)


@along_axes
def _r2r_fftpack_transpose(
    out: Any, c: Any, *, axes: list[int], real2hermitian: bool, forward: bool, inorm: int, nthreads: int
) -> None:
    out[...] = c
    if real2hermitian:
        _scale(out, axes, _fftpack_pairs(0.5))
    n = _axes.threads(nthreads, c.shape, axes)
    ducc0.fft.r2r_fftpack(out, axes, not real2hermitian, not forward, inorm, out, n)
    if not real2hermitian:
        _scale(out, axes, _fftpack_pairs(2))


@along_axes
def _r2r_fftw(out: Any, a: Any, *, axes: list[int], forward: bool, inorm: int, nthreads: int) -> None:
    ducc0.fft.r2r_fftw(a, axes, forward, inorm, out, _axes.threads(nthreads, a.shape, axes))


@along_axes
def _r2r_fftw_transpose(out: Any, c: Any, *, axes: list[int], forward: bool, inorm: int, nthreads: int) -> None:
    out[...] = c
    if forward:
        _scale(out, axes, _fftw_pairs(0.5))
    ducc0.fft.r2r_fftw(out, axes, not forward, inorm, out, _axes.threads(nthreads, c.shape, axes))
    if not forward:
        _scale(out, axes, _fftw_pairs(2))


@along_axes
def _separable_hartley(out: Any, a: Any, *, axes: list[int], inorm: int = 0, nthreads: int = 0) -> None:
    ducc0.fft.separable_hartley(a, axes, inorm, out, _axes.threads(nthreads, a.shape, axes))


@along_axes
def _genuine_hartley(out: Any, a: Any, *, axes: list[int], inorm: int = 0, nthreads: int = 0) -> None:
    ducc0.fft.genuine_hartley(a, axes, inorm, out, _axes.threads(nthreads, a.shape, axes))


@along_axes
def _separable_fht(out: Any, a: Any, *, axes: list[int], inorm: int = 0, nthreads: int = 0) -> None:
    ducc0.fft.separable_fht(a, axes, inorm, out, _axes.threads(nthreads, a.shape, axes))


@along_axes
def _genuine_fht(out: Any, a: Any, *, axes: list[int], inorm: int = 0, nthreads: int = 0) -> None:
    ducc0.fft.genuine_fht(a, axes, inorm, out, _axes.threads(nthreads, a.shape, axes))


@same_layout
def _same(a: Any, *, axes: list[int], **_: Any) -> tuple[tuple[int, ...], Any]:
    return a.shape, a.dtype


def _bound(f: Callable[..., None], f_transpose: Callable[..., None]) -> Operator:
    return jaxbind.get_linear_call(f, f_transpose, _same, _same, func_can_batch=True)


dct_operator = _bound(_dct, _dct_transpose)
dst_operator = _bound(_dst, _dst_transpose)
r2r_fftpack_operator = _bound(_r2r_fftpack, _r2r_fftpack_transpose)
r2r_fftw_operator = _bound(_r2r_fftw, _r2r_fftw_transpose)
# Symmetric matrices: cos + sin of the product of both indices.
separable_hartley_operator = _bound(_separable_hartley, _separable_hartley)
genuine_hartley_operator = _bound(_genuine_hartley, _genuine_hartley)
separable_fht_operator = _bound(_separable_fht, _separable_fht)
genuine_fht_operator = _bound(_genuine_fht, _genuine_fht)
