# SPDX-License-Identifier: BSD-2-Clause
"""Non-uniform Fourier transforms in one to three dimensions: `ducc0.nufft` for JAX.

With points x_p, integer modes k, the period P, and the minus sign if `forward`:

    u2nu     c_p = sum_k g_k exp(-+2 pi i k x_p / P)     modes to points (type 2)
    nu2u     g_k = sum_p c_p exp(-+2 pi i k x_p / P)     points to modes (type 1)
    nu2nu    d_q = sum_p c_p exp(-+i x_p y_q)            points to points (type 3)

All are differentiable in the coordinates too, to every order: a derivative costs one transform per dimension. Batches
(of `jax.vmap`, and leading dimensions) with common coordinates are one call of ducc0. Coordinates that were seen
before reuse their plan.

Source of the method: A. Barnett, J. Magland, L. af Klinteberg, SIAM J. Sci. Comput. 41, C479 (2019), in the
implementation of ducc0. `epsilon` is the relative error in the Euclidean norm, of values and, up to the factor k, of
derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ducc0
import jax
import numpy as np
from jax.typing import ArrayLike

from jaxbind_ducc import _dtypes, _errors, _nonuniform

__all__ = ["nu2nu", "nu2u", "u2nu"]

Periodicity = float | Sequence[float]


def u2nu(
    grid: ArrayLike,
    coord: ArrayLike,
    *,
    forward: bool,
    epsilon: float,
    nthreads: int = 0,
    verbosity: int = 0,
    sigma_min: float = 1.19,
    sigma_max: float = 2.51,
    periodicity: Periodicity = 2 * np.pi,
    fft_order: bool = False,
) -> jax.Array:
    """Values at non-uniform points of a function given by its Fourier modes (type 2).

    Parameters
    ----------
    grid
        Complex array of modes, shape ``(..., nx[, ny[, nz]])``; leading dimensions are a batch.
    coord
        Real array of points, shape ``(npoints, ndim)``. Its last length says how many axes of `grid` are transformed.
    forward
        Whether the exponent has the negative sign.
    epsilon
        Relative accuracy, at best about 1e-6 in single and 1e-14 in double precision.
    nthreads
        Number of threads; 0 for all if the transform is large, else one.
    verbosity
        1 to let ducc0 print what it does.
    sigma_min, sigma_max
        Smallest and largest oversampling that ducc0 may choose.
    periodicity
        The period in each dimension, or one for all, in the unit of `coord`.
    fft_order
        False if the modes run from ``-(n // 2)`` on, True if mode 0 comes first.

    Returns
    -------
    jax.Array
        Complex array, shape ``(..., npoints)``, of the dtype of `grid`.

    Raises
    ------
    TypeError, ValueError
        If dtypes or shapes do not fit, or `epsilon` cannot be reached.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxbind_ducc import nufft
    >>> modes = jnp.array([0, 1, 1], dtype=complex)  # 1 + exp(i x)
    >>> points = jnp.array([[0.0], [3.14159265]])
    >>> nufft.u2nu(modes, points, forward=False, epsilon=1e-5).real.round(3).tolist()
    [2.0, 0.0]
    """
    grid = _dtypes.as_array("u2nu", "grid", grid, "complex")
    coord = _checked_points("u2nu", "coord", coord)
    ndim = coord.shape[1]
    if grid.ndim < ndim:
        raise _errors.bad_shape(
            "u2nu", "grid", grid, f"at least {ndim} axes, as many as coord has columns", "Check both"
        )
    options = _checked_options("u2nu", grid.dtype, ndim, epsilon, sigma_min, sigma_max)
    options |= {"grid_shape": grid.shape[grid.ndim - ndim :], "periodicity": _periods("u2nu", periodicity, ndim)}
    options |= {"forward": bool(forward), "nthreads": nthreads, "verbosity": verbosity, "fft_order": bool(fft_order)}
    return _over_leading(lambda one: _nonuniform.u2nu_operator(coord, one, **options)[0], grid, ndim)


def nu2u(
    points: ArrayLike,
    coord: ArrayLike,
    *,
    grid_shape: Sequence[int],
    forward: bool,
    epsilon: float,
    nthreads: int = 0,
    verbosity: int = 0,
    sigma_min: float = 1.19,
    sigma_max: float = 2.51,
    periodicity: Periodicity = 2 * np.pi,
    fft_order: bool = False,
) -> jax.Array:
    """Fourier modes of a sum of point sources (type 1).

    Parameters
    ----------
    points
        Complex strengths of the points, shape ``(..., npoints)``; leading dimensions are a batch.
    coord
        Real array of points, shape ``(npoints, ndim)``.
    grid_shape
        Numbers of modes, as many as there are dimensions (in ducc0 the shape of ``out``).
    forward, epsilon, nthreads, verbosity, sigma_min, sigma_max, periodicity, fft_order
        As in `u2nu`.

    Returns
    -------
    jax.Array
        Complex array, shape ``(..., *grid_shape)``, of the dtype of `points`.

    Raises
    ------
    TypeError, ValueError
        As in `u2nu`.
    """
    points = _dtypes.as_array("nu2u", "points", points, "complex")
    coord = _checked_points("nu2u", "coord", coord)
    ndim = coord.shape[1]
    grid_shape = tuple(int(n) for n in grid_shape)
    if len(grid_shape) != ndim or min(grid_shape) < 0:
        raise _errors.bad_value(
            "nu2u", "grid_shape", grid_shape, f"{ndim} lengths, one per column of coord", "Check both"
        )
    _check_strengths("nu2u", points, "coord", coord)
    options = _checked_options("nu2u", points.dtype, ndim, epsilon, sigma_min, sigma_max)
    options |= {"grid_shape": grid_shape, "periodicity": _periods("nu2u", periodicity, ndim), "forward": bool(forward)}
    options |= {"nthreads": nthreads, "verbosity": verbosity, "fft_order": bool(fft_order)}
    return _over_leading(lambda one: _nonuniform.nu2u_operator(coord, one, **options)[0], points, 1)


def nu2nu(
    points_in: ArrayLike,
    coord_in: ArrayLike,
    coord_out: ArrayLike,
    *,
    forward: bool,
    epsilon: float,
    nthreads: int = 0,
    verbosity: int = 0,
    sigma_min: float = 1.19,
    sigma_max: float = 2.51,
) -> jax.Array:
    """Fourier sum from non-uniform points to non-uniform frequencies (type 3).

    Parameters
    ----------
    points_in
        Complex strengths of the points, shape ``(..., npoints_in)``; leading dimensions are a batch.
    coord_in, coord_out
        Real arrays, shapes ``(npoints_in, ndim)`` and ``(npoints_out, ndim)``. The cost grows with the product of their
        extents.
    forward, epsilon, nthreads, verbosity, sigma_min, sigma_max
        As in `u2nu`.

    Returns
    -------
    jax.Array
        Complex array, shape ``(..., npoints_out)``: ``sum_p points_in_p exp(-+i coord_in_p . coord_out_q)``.

    Raises
    ------
    TypeError, ValueError
        As in `u2nu`.
    """
    points_in = _dtypes.as_array("nu2nu", "points_in", points_in, "complex")
    coord_in = _checked_points("nu2nu", "coord_in", coord_in)
    coord_out = _checked_points("nu2nu", "coord_out", coord_out)
    ndim = coord_in.shape[1]
    if coord_out.shape[1] != ndim:
        raise _errors.bad_shape("nu2nu", "coord_out", coord_out, f"{ndim} columns, as coord_in has", "Check both")
    _check_strengths("nu2nu", points_in, "coord_in", coord_in)
    options = _checked_options("nu2nu", points_in.dtype, ndim, epsilon, sigma_min, sigma_max)
    options |= {"forward": bool(forward), "nthreads": nthreads, "verbosity": verbosity}
    return _over_leading(lambda one: _nonuniform.nu2nu_operator(coord_in, coord_out, one, **options)[0], points_in, 1)


def _over_leading(transform: Callable[[jax.Array], jax.Array], values: jax.Array, own: int) -> jax.Array:
    """Apply a transform of the last `own` axes to all elements of the leading ones, as one batch."""
    leading = values.shape[: values.ndim - own]
    if not leading:
        return transform(values)
    flat = values.reshape(math.prod(leading), *values.shape[len(leading) :])
    found = jax.vmap(transform)(flat)
    return found.reshape(*leading, *found.shape[1:])


def _checked_points(operator: str, argument: str, coord: Any) -> jax.Array:
    points = _dtypes.as_array(operator, argument, coord, "real")
    if points.ndim != 2 or not 1 <= points.shape[1] <= 3:
        remedy = "Give one row per point, and use jax.vmap for several sets of points"
        raise _errors.bad_shape(operator, argument, points, "(npoints, ndim) with ndim 1, 2 or 3", remedy)
    return points


def _check_strengths(operator: str, points: jax.Array, argument: str, coord: jax.Array) -> None:
    if points.ndim < 1 or points.shape[-1] != coord.shape[0]:
        name = "points" if argument == "coord" else "points_in"
        expected = f"(..., {coord.shape[0]}), one strength per row of {argument}"
        raise _errors.bad_shape(operator, name, points, expected, "Check both")


def _checked_options(
    operator: str, dtype: Any, ndim: int, epsilon: float, sigma_min: float, sigma_max: float
) -> dict[str, Any]:
    options = {"sigma_min": float(sigma_min), "sigma_max": float(sigma_max)}
    best = ducc0.nufft.bestEpsilon(ndim=ndim, singleprec=dtype == np.complex64, **options)
    if not best <= epsilon < 1:
        remedy = "Use double precision for more accuracy, or allow more oversampling with sigma_max"
        raise _errors.bad_value(operator, "epsilon", epsilon, f"at least {best:.1e} for {dtype} and below 1", remedy)
    return {**options, "epsilon": float(epsilon)}


def _periods(operator: str, periodicity: Periodicity, ndim: int) -> tuple[float, ...]:
    periods = tuple(float(p) for p in np.broadcast_to(np.asarray(periodicity, float), (ndim,)))
    if not all(p > 0 for p in periods):
        raise _errors.bad_value(operator, "periodicity", periods, "positive periods", "Pass one, or one per dimension")
    return periods
