# SPDX-License-Identifier: BSD-2-Clause
"""The operators behind `jaxbind_ducc.nufft`: host functions with plans, shapes, and the change with the coordinates.

With points x_p, modes k, the period P and s = -1 if `forward`, else +1:

    u2nu     c_p = sum_k g_k exp(2 pi i s k x_p / P)              transpose: nu2u with the same sign
    nu2u     g_k = sum_p c_p exp(2 pi i s k x_p / P)              transpose: u2nu with the same sign
    nu2nu    d_q = sum_p c_p exp(i s x_p y_q)                     transpose: nu2nu with x and y exchanged

The change with the coordinates is a transform of the same kind,

    dc_p = (2 pi i s / P) dx_p sum_k (k g_k) exp(..),             dg_k = (2 pi i s / P) k sum_p (c_p dx_p) exp(..),

one per dimension, all of them in one call of ducc0. The rules below are traced by JAX, and what they return can be
differentiated again.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import ducc0
import jax
import jax.numpy as jnp
import jaxbind
import numpy as np

from jaxbind_ducc import _plans, _threads
from jaxbind_ducc._bind import Shapes, batched_shapes, over_batch


def _work(points: int, modes: float, ndim: int, epsilon: float) -> float:
    """Rough number of operations: the FFT, and the spreading with a kernel of one cell per decimal and two more."""
    width = 2 + max(0.0, -math.log10(max(epsilon, 1e-16)))
    return 5 * modes * math.log2(max(modes, 2)) + points * width**ndim


def _grid_plan(
    is_nu2u: bool, coord: Any, *, grid_shape: tuple[int, ...], epsilon: float, nthreads: int, stack: int, **options: Any
) -> Any:
    work = stack * _work(len(coord), math.prod(grid_shape), len(grid_shape), epsilon)
    options |= {"grid_shape": grid_shape, "epsilon": epsilon, "nthreads": _threads.choose(nthreads, work)}
    key = (coord.dtype.char, *options.items())
    return _plans.plan(key, (coord,), lambda: ducc0.nufft.plan(nu2u=is_nu2u, coord=coord, **options))


@over_batch(fixed=1)
def _u2nu(outs: Any, coord: Any, grid: Any, *, forward: bool, verbosity: int, **options: Any) -> None:
    if not coord.size or not grid.size:
        outs[0][...] = 0
        return
    with _grid_plan(False, _same_precision(coord, grid), stack=len(grid), **options) as plan:
        plan.u2nu(forward=forward, verbosity=verbosity, grid=grid, out=outs[0])


@over_batch(fixed=1)
def _nu2u(outs: Any, coord: Any, points: Any, *, forward: bool, verbosity: int, **options: Any) -> None:
    if not coord.size or not outs[0].size:
        outs[0][...] = 0
        return
    with _grid_plan(True, _same_precision(coord, points), stack=len(points), **options) as plan:
        plan.nu2u(forward=forward, verbosity=verbosity, points=points, out=outs[0])


def _nu2nu_plan(coord_in: Any, coord_out: Any, *, epsilon: float, nthreads: int, stack: int, **options: Any) -> Any:
    work = stack * 2 * _work(len(coord_in) + len(coord_out), len(coord_in), coord_in.shape[1], epsilon)
    options |= {"epsilon": epsilon, "nthreads": _threads.choose(nthreads, work)}
    key = ("nu2nu", coord_in.dtype.char, *options.items())
    coordinates = (coord_in, coord_out)
    return _plans.plan(
        key, coordinates, lambda: ducc0.nufft.experimental.plan3(coord_in=coord_in, coord_out=coord_out, **options)
    )


def _type_3(execute: Callable[..., Any], out: Any, coordinates: Sequence[Any], points: Any, **options: Any) -> None:
    """Run ``execute(plan, points_in=..., points_out=...)`` for a stack; the plan transforms one array at a time."""
    if not all(coord.size for coord in coordinates):
        out[...] = 0
        return
    coord_in, coord_out = (_same_precision(coord, points) for coord in coordinates)
    with _nu2nu_plan(coord_in, coord_out, stack=len(points), **options) as plan:
        for one_out, one in zip(out, points, strict=True):
            execute(plan, points_in=one, points_out=one_out)


@over_batch(fixed=2)
def _nu2nu(outs: Any, coord_in: Any, coord_out: Any, points: Any, *, forward: bool, **options: Any) -> None:
    execute = functools.partial(ducc0.nufft.experimental.plan3.exec, forward=forward)
    _type_3(execute, outs[0], (coord_in, coord_out), points, **options)


@over_batch(fixed=2)
def _nu2nu_transpose(outs: Any, coord_in: Any, coord_out: Any, points: Any, *, forward: bool, **options: Any) -> None:
    # The adjoint with the other sign in the exponent is the plain transpose.
    execute = functools.partial(ducc0.nufft.experimental.plan3.exec_adjoint, forward=not forward)
    _type_3(execute, outs[0], (coord_in, coord_out), points, **options)


def _same_precision(coord: Any, values: Any) -> Any:
    """Coordinates in the precision of the values, which is what a plan takes."""
    return coord.astype(values.real.dtype, copy=False)


@batched_shapes
def _points_shape(coord: Any, grid: Any, **_: Any) -> Shapes:
    return ((coord.shape[:1], grid.dtype),)


@batched_shapes
def _grid_shape(coord: Any, points: Any, *, grid_shape: tuple[int, ...], **_: Any) -> Shapes:
    return ((grid_shape, points.dtype),)


@batched_shapes
def _out_shape(coord_in: Any, coord_out: Any, points: Any, **_: Any) -> Shapes:
    return ((coord_out.shape[:1], points.dtype),)


@batched_shapes
def _in_shape(coord_in: Any, coord_out: Any, points: Any, **_: Any) -> Shapes:
    return ((coord_in.shape[:1], points.dtype),)


def _u2nu_change(primals: Any, tangents: Any, **options: Any) -> tuple[jax.Array]:
    """Change of `u2nu` with the coordinates, see the module."""
    coord, grid = primals
    factors = _phase_factors(tangents[0], grid.dtype, **options)
    grids = jnp.stack([grid * modes for modes in _modes(grid.dtype, **options)])
    changes = jax.vmap(lambda one: u2nu_operator(coord, one, **options)[0])(grids)
    return (jnp.sum(factors * changes, axis=0),)


def _nu2u_change(primals: Any, tangents: Any, **options: Any) -> tuple[jax.Array]:
    """Change of `nu2u` with the coordinates, see the module."""
    coord, points = primals
    factors = _phase_factors(tangents[0], points.dtype, **options)
    changes = jax.vmap(lambda one: nu2u_operator(coord, one, **options)[0])(factors * points)
    parts = [change * modes for change, modes in zip(changes, _modes(points.dtype, **options), strict=True)]
    return (functools.reduce(jnp.add, parts),)


def _nu2nu_change(primals: Any, tangents: Any, **options: Any) -> tuple[jax.Array]:
    """Change of `nu2nu`: ``i s sum_p (dx_p y_q + x_p dy_q) c_p exp(i s x_p y_q)``, two transforms per dimension."""
    coord_in, coord_out, points = primals
    sign = -1j if options["forward"] else 1j

    def transform(stack: jax.Array) -> jax.Array:
        return jax.vmap(lambda one: nu2nu_operator(coord_in, coord_out, one, **options)[0])(stack)

    change_in, change_out = (None if t is None else sign * t.T.astype(points.dtype) for t in tangents)
    total = jnp.zeros(coord_out.shape[:1], points.dtype)
    if change_in is not None:
        total += jnp.sum(coord_out.T.astype(points.dtype) * transform(change_in * points), axis=0)
    if change_out is not None:
        total += jnp.sum(change_out * transform(coord_in.T.astype(points.dtype) * points), axis=0)
    return (total,)


def _phase_factors(change: Any, dtype: Any, *, forward: bool, periodicity: tuple[float, ...], **_: Any) -> jax.Array:
    """2 pi i s dx_p / P for each dimension and point."""
    scale = np.array([(-2j if forward else 2j) * np.pi / period for period in periodicity], dtype)
    return jnp.asarray(change).T.astype(dtype) * scale[:, None]


def _modes(dtype: Any, *, grid_shape: tuple[int, ...], fft_order: bool, **_: Any) -> list[Any]:
    """The number k of the mode of each grid entry, one broadcastable array per dimension."""
    found = []
    for axis, n in enumerate(grid_shape):
        modes = np.arange(n) - n // 2
        modes = np.fft.ifftshift(modes) if fft_order else modes
        found.append(modes.astype(dtype).reshape((n,) + (1,) * (len(grid_shape) - axis - 1)))
    return found


u2nu_operator = jaxbind.get_linear_call(
    _u2nu,
    _nu2u,
    _points_shape,
    _grid_shape,
    first_n_args_fixed=1,
    func_can_batch=True,
    fixed_derivative=_u2nu_change,
)
nu2u_operator = jaxbind.get_linear_call(
    _nu2u,
    _u2nu,
    _grid_shape,
    _points_shape,
    first_n_args_fixed=1,
    func_can_batch=True,
    fixed_derivative=_nu2u_change,
)
nu2nu_operator = jaxbind.get_linear_call(
    _nu2nu,
    _nu2nu_transpose,
    _out_shape,
    _in_shape,
    first_n_args_fixed=2,
    func_can_batch=True,
    fixed_derivative=_nu2nu_change,
)
