# SPDX-License-Identifier: BSD-2-Clause
"""Circular convolution along an axis, with a change of its length: a bilinear operator.

With the Fourier matrix F_n (negative exponent), the spectrum K = F_n k of the kernel, and S the map from the spectrum
of length n to that of length m, which pads with zeros or truncates,

    y = (1/n) conj(F_m) S (K * F_n x).

The Fourier matrices are symmetric, so with G = S^T conj(F_m) c the cotangents are

    for x: (1/n) F_n (K * G),        for k: (1/n) F_n sum (F_n x) * G, the sum over all other axes.

S splits or joins the entry of half the sampling frequency: for n < m and even n it goes to both +n/2 and -n/2 with a
factor 1/2; for m < n and even m both +m/2 and -m/2 are added to it (as `scipy.signal.resample` does).
"""

from __future__ import annotations

from typing import Any

import ducc0
import jax
import jaxbind
import numpy as np
from jax.typing import ArrayLike

from jaxbind_ducc import _axes, _dtypes, _errors
from jaxbind_ducc._bind import Shapes


def _convolve_axis(out: Any, args: Any, kwargs_dump: Any) -> None:
    a, kernel = args
    kwargs = jaxbind.load_kwargs(kwargs_dump)
    axis = kwargs["axis"]
    if out[0].size:
        threads = _axes.threads(kwargs["nthreads"], a.shape, [axis])
        ducc0.fft.convolve_axis(a, out[0], axis, kernel, nthreads=threads)


def _convolve_axis_transpose_a(out: Any, args: Any, kwargs_dump: Any) -> None:
    kernel, c = args
    kwargs = jaxbind.load_kwargs(kwargs_dump)
    axis, n = kwargs["axis"], kwargs["size_in"]
    spectrum = _spectrum(kernel, 0, True, 1)
    spectrum = spectrum.reshape(spectrum.shape + (1,) * (c.ndim - axis - 1))
    threads = _axes.threads(kwargs["nthreads"], c.shape, [axis])
    _transform_back(out[0], _resampled(c, axis, n, threads) * spectrum, axis, threads)


def _convolve_axis_transpose_kernel(out: Any, args: Any, kwargs_dump: Any) -> None:
    a, c = args
    kwargs = jaxbind.load_kwargs(kwargs_dump)
    axis = kwargs["axis"]
    threads = _axes.threads(kwargs["nthreads"], a.shape, [axis])
    product = _spectrum(a, axis, True, threads) * _resampled(c, axis, a.shape[axis], threads)
    others = tuple(k for k in range(a.ndim) if k != axis)
    _transform_back(out[0], product.sum(axis=others), 0, 1)


def _spectrum(a: Any, axis: int, forward: bool, threads: int) -> Any:
    """Fourier transform along the axis, the half of it for real arrays."""
    transform = ducc0.fft.c2c if np.iscomplexobj(a) else ducc0.fft.r2c
    return transform(a, (axis,), forward, 0, None, threads)


def _transform_back(out: Any, spectrum: Any, axis: int, threads: int) -> None:
    """(1/n) F_n, to a real array from the half spectrum."""
    if np.iscomplexobj(out):
        ducc0.fft.c2c(spectrum, (axis,), True, 2, out, threads)
    else:
        ducc0.fft.c2r(spectrum, (axis,), out.shape[axis], True, 2, out, threads)


def _resampled(c: Any, axis: int, n: int, threads: int) -> Any:
    """G = S^T conj(F_m) c, or the half of it for real c."""
    m = c.shape[axis]
    source = np.moveaxis(_spectrum(c, axis, False, threads), axis, 0)
    common = min(n, m)
    is_half = not np.iscomplexobj(c)
    result = np.zeros((n // 2 + 1 if is_half else n, *source.shape[1:]), source.dtype)
    positive, negative = (common + 1) // 2, 0 if is_half else (common - 1) // 2
    result[:positive] = source[:positive]
    result[len(result) - negative :] = source[len(source) - negative :]
    if common % 2 == 0:
        half = common // 2
        # The conjugate of a real array's entry is its entry of the opposite sign.
        opposite = source[half].conj() if is_half else source[m - half]
        result[half] = source[half] if m <= n else (source[half] + opposite) / 2
        if not is_half and m < n:
            result[n - half] = source[half]
    return np.moveaxis(result, 0, axis)


def _resize(array: Any, axis: int, size: int) -> Shapes:
    return (((*array.shape[:axis], size, *array.shape[axis + 1 :]), array.dtype),)


def _shape(a: Any, kernel: Any, *, axis: int, size_out: int, **_: Any) -> Shapes:
    return _resize(a, axis, size_out)


def _shape_a(kernel: Any, c: Any, *, axis: int, size_in: int, **_: Any) -> Shapes:
    return _resize(c, axis, size_in)


def _shape_kernel(a: Any, c: Any, *, size_in: int, **_: Any) -> Shapes:
    return (((size_in,), a.dtype),)


operator = jaxbind.get_linear_call(
    _convolve_axis,
    (_convolve_axis_transpose_a, _convolve_axis_transpose_kernel),
    _shape,
    (_shape_a, _shape_kernel),
)


def convolve_axis(
    a: ArrayLike, axis: int, kernel: ArrayLike, *, size: int | None = None, nthreads: int = 0
) -> jax.Array:
    """Circular convolution along one axis, followed by a change of its length in Fourier space.

    Parameters
    ----------
    a
        Real or complex array.
    axis
        The axis to convolve along; negative ones count from the end.
    kernel
        One-dimensional array of the same dtype, as long as that axis; its entry 0 is the centre.
    size
        Length of the axis in the result (in ducc0 that of ``out``). Default: unchanged.
    nthreads
        As in `jaxbind_ducc.fft.c2c`.

    Returns
    -------
    jax.Array
        ``y_j = (1/n) sum_k a_k kernel_k exp(2 pi i j k / size)`` with the spectra of `a` and `kernel`, the sum over the
        frequencies that both lengths have.

    Raises
    ------
    TypeError, ValueError
        If the dtypes differ, or the shapes do not fit.

    Notes
    -----
    The function is `ducc0.fft.convolve_axis`. It is linear in `a` and in `kernel`, and differentiable in both.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxbind_ducc import fft
    >>> fft.convolve_axis(jnp.array([1.0, 2.0, 3.0]), 0, jnp.array([0.0, 1.0, 0.0])).round().tolist()
    [3.0, 1.0, 2.0]
    """
    a = _dtypes.as_array("convolve_axis", "a", a, "any")
    kernel = _dtypes.as_array("convolve_axis", "kernel", kernel, "any")
    (axis,) = _axes.checked_axes("convolve_axis", a, axis)
    if kernel.dtype != a.dtype:
        raise _errors.bad_dtype("convolve_axis", "kernel", kernel.dtype, f"{a.dtype}, that of a", a.dtype.name)
    if kernel.shape != (a.shape[axis],):
        remedy = "Pad or cut the kernel to the length of the axis"
        raise _errors.bad_shape("convolve_axis", "kernel", kernel, f"({a.shape[axis]},)", remedy)
    size = a.shape[axis] if size is None else int(size)
    if size < 1:
        raise _errors.bad_value("convolve_axis", "size", size, "a positive length", "Leave it out to keep the length")
    return operator(a, kernel, axis=axis, size_in=a.shape[axis], size_out=size, nthreads=nthreads)[0]
