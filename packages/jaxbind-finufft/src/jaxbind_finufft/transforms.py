# SPDX-License-Identifier: BSD-2-Clause
"""Non-uniform fast Fourier transforms of types 1, 2 and 3 in one, two and three dimensions.

If unsure: `nufft2` evaluates a function given by its Fourier modes at arbitrary points, `nufft1` is its transpose, and
`nufft3` goes from arbitrary points to arbitrary frequencies. With points x_p, integer modes k and the sign of `iflag`:

    nufft1    f_k = sum_p c_p exp(+-i k x_p)
    nufft2    c_p = sum_k f_k exp(+-i k x_p)
    nufft3    d_q = sum_p c_p exp(+-i s_q x_p)

Nothing is normalised. All are differentiable in the strengths, the points and the targets, to every order, in forward
and reverse mode; a derivative in the points costs one transform per dimension. Calls with points that were seen before
reuse their plan, see `plan_cache_info`.

Source: A. Barnett, J. Magland, L. af Klinteberg, "A parallel nonuniform fast Fourier transform library based on an
exponential of semicircle kernel", SIAM J. Sci. Comput. 41, C479 (2019). The calling convention is that of
`jax_finufft`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.typing import ArrayLike

from jaxbind_finufft import _accuracy, _calls, _errors
from jaxbind_finufft.options import NestedOpts, Opts, unpack_opts

__all__ = ["nufft1", "nufft2", "nufft3"]

Options = Opts | NestedOpts | None


def nufft1(
    output_shape: int | Sequence[int],
    source: ArrayLike,
    *points: ArrayLike,
    iflag: int = 1,
    eps: float = 1e-6,
    opts: Options = None,
) -> jax.Array:
    """Fourier modes of a sum of point sources (type 1).

    Parameters
    ----------
    output_shape
        Numbers of modes, one per dimension; an integer in one dimension.
    source
        Strengths c, shape ``(..., m)``. Leading axes are a batch. Real ones become complex.
    *points
        Coordinates x, y, z in radians, one array of shape ``(m,)`` per dimension. They are periodic with 2 pi, but
        accuracy is lost far away from zero. Leading axes belong to the first leading axes of `source`.
    iflag
        Sign of the exponent: positive (or zero) or negative.
    eps
        Relative accuracy in the Euclidean norm; at best 1.2e-7 in single and some 1e-15 in double precision.
    opts
        Options of FINUFFT, see `jaxbind_finufft.options`.

    Returns
    -------
    jax.Array
        Modes, shape ``(..., *output_shape)``, from ``-(n // 2)`` to ``(n - 1) // 2`` along each axis unless
        ``opts.modeord`` says otherwise. complex128 if any argument has double precision, else complex64.

    Raises
    ------
    TypeError, ValueError
        If shapes or dtypes do not fit. NaN or infinite points are an error when the transform runs.

    Notes
    -----
    ``f[k1, k2] = sum_p source[p] exp(+-i (k1 x[p] + k2 y[p]))``.

    Examples
    --------
    >>> modes = nufft1(4, jnp.array([1.0, 1.0]), jnp.array([0.0, jnp.pi]))  # k = -2, -1, 0, 1
    >>> abs(modes).round(4).tolist()
    [2.0, 0.0, 2.0, 0.0]
    """
    _ndim("nufft1", 1, len(points))
    modes = _checked_modes(output_shape, len(points))
    return _call("nufft1", 1, modes, source, points, iflag, eps, opts)


def nufft2(
    source: ArrayLike, *points: ArrayLike, iflag: int = -1, eps: float = 1e-6, opts: Options = None
) -> jax.Array:
    """Values at points of a function given by its Fourier modes (type 2).

    Parameters
    ----------
    source
        Modes f, shape ``(..., n1[, n2[, n3]])``, one axis per dimension, in the order of the result of `nufft1`.
        Leading axes are a batch. Real ones become complex.
    *points, iflag, eps, opts
        As in `nufft1`.

    Returns
    -------
    jax.Array
        Values, shape ``(..., m)``.

    Raises
    ------
    TypeError, ValueError
        As in `nufft1`.

    Notes
    -----
    ``c[p] = sum_k1 sum_k2 source[k1, k2] exp(+-i (k1 x[p] + k2 y[p]))``. With the same sign this is the transpose of
    `nufft1`, with the opposite sign its adjoint.

    Examples
    --------
    >>> cosine = jnp.array([0.5, 0.0, 0.5])  # k = -1, 0, 1
    >>> nufft2(cosine, jnp.array([0.0, jnp.pi / 3])).real.round(4).tolist()
    [1.0, 0.5]
    """
    return _call("nufft2", 2, (), source, points, iflag, eps, opts)


def nufft3(
    source: ArrayLike, *points_then_targets: ArrayLike, iflag: int = -1, eps: float = 1e-6, opts: Options = None
) -> jax.Array:
    """Fourier sum from points to arbitrary frequencies (type 3).

    Parameters
    ----------
    source
        Strengths c, shape ``(..., m)``. Leading axes are a batch. Real ones become complex.
    *points_then_targets
        First the coordinates x, y, z of the points, one array of shape ``(m,)`` per dimension, then as many arrays s,
        t, u of shape ``(n,)`` with the frequencies. Neither is periodic: time and memory grow with the product of
        their extents, in every dimension. Leading axes belong to the first leading axes of `source`.
    iflag, eps, opts
        As in `nufft1`. ``opts.modeord`` has no meaning here.

    Returns
    -------
    jax.Array
        Values at the targets, shape ``(..., n)``.

    Raises
    ------
    TypeError, ValueError
        As in `nufft1`.

    Notes
    -----
    ``d[q] = sum_p source[p] exp(+-i (s[q] x[p] + t[q] y[p]))``.

    Examples
    --------
    >>> nufft3(jnp.array([1.0, 1.0]), jnp.array([0.0, 1.0]), jnp.array([0.0, jnp.pi])).real.round(4).tolist()
    [2.0, 0.0]
    """
    return _call("nufft3", 3, (), source, points_then_targets, iflag, eps, opts)


def _ndim(operator: str, kind: int, count: int) -> int:
    """Number of dimensions, from the number of arrays of points and targets."""
    ndim = count // 2 if kind == 3 else count
    if ndim not in (1, 2, 3) or (kind == 3 and count % 2):
        expected = "2, 4 or 6, those of the points and those of the targets" if kind == 3 else "1, 2 or 3"
        raise _errors.bad_count(operator, count, expected)
    return ndim


def _checked_modes(output_shape: Any, ndim: int) -> tuple[int, ...]:
    """Numbers of modes, one per dimension."""
    if isinstance(output_shape, jax.core.Tracer):
        raise _errors.traced("nufft1", "output_shape")
    if (
        type(output_shape) is tuple
        and len(output_shape) == ndim
        and all(type(n) is int and n >= 0 for n in output_shape)
    ):
        return output_shape  # nearly always; NumPy takes longer
    sizes = np.atleast_1d(np.asarray(output_shape))
    expected = f"{ndim} integers, one per array of points, not negative"
    remedy = "Give an integer in one dimension, a tuple in more"
    if sizes.dtype.kind not in "iuf" or sizes.ndim != 1 or any(n != int(n) for n in sizes):
        raise _errors.bad_type("nufft1", "output_shape", output_shape, expected, remedy)
    if len(sizes) != ndim or min(sizes, default=0) < 0:
        raise _errors.bad_value("nufft1", "output_shape", output_shape, expected, remedy)
    return tuple(int(n) for n in sizes)


def _call(
    operator: str,
    kind: int,
    modes: tuple[int, ...],
    source: Any,
    points: Sequence[Any],
    iflag: Any,
    eps: Any,
    opts: Options,
) -> jax.Array:
    """Check what is not an array, and go on inside `jax.jit`, which does the rest once per kind of call."""
    ndim = _ndim(operator, kind, len(points))
    names = ("source", *_calls.point_names(kind, ndim))
    for name, array in zip(names, (source, *points), strict=True):
        if not hasattr(array, "dtype") and not hasattr(array, "__jax_array__"):
            raise _errors.bad_array(operator, name, array)
    if not isinstance(opts, (Opts, NestedOpts, type(None))):
        raise _errors.bad_type(operator, "opts", opts, "options.Opts or NestedOpts", "Make it with options.Opts")
    forward, backward = _static_options(kind, opts)
    accuracy = _accuracy.checked_eps(operator, eps)
    upsampfac = dict(forward).get("upsampfac", 0.0)
    if accuracy < _accuracy.ALWAYS_REACHED or upsampfac:
        dtype = _calls.complex_dtype(operator, names, (source, *points))
        accuracy = _accuracy.reachable(operator, accuracy, kind, ndim, dtype.name, upsampfac)
    result: jax.Array = _calls.call(
        source,
        tuple(points),
        operator=operator,
        kind=kind,
        modes=modes,
        sign=_checked_sign(operator, iflag),
        eps=accuracy,
        forward=forward,
        backward=backward,
    )
    return result


def _checked_sign(operator: str, iflag: Any) -> int:
    if isinstance(iflag, jax.core.Tracer):
        raise _errors.traced(operator, "iflag")
    try:
        return 1 if int(iflag) >= 0 else -1
    except (TypeError, ValueError):
        raise _errors.bad_type(operator, "iflag", iflag, "an integer", "Give the sign of the exponent") from None


@functools.lru_cache(maxsize=64)
def _static_options(kind: int, opts: Options) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Options of the transform and of its transpose, as numbers."""
    there, back = unpack_opts(opts, kind, True), unpack_opts(opts, {1: 2, 2: 1, 3: 3}[kind], False)
    forward, backward = dict(there.changed()), dict(back.changed())
    backward.pop("modeord", None)
    if "modeord" in forward:
        backward["modeord"] = forward["modeord"]
    # FINUFFT's own default is to print warnings; here they reach the user as warnings of Python.
    return tuple({"showwarn": 0, **forward}.items()), tuple({"showwarn": 0, **backward}.items())
