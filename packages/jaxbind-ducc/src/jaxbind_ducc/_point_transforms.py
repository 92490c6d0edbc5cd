# SPDX-License-Identifier: BSD-2-Clause
"""Spherical harmonic transforms at arbitrary points: the operators, and their change with the points.

Owns the host functions of `synthesis_general` and `adjoint_synthesis_general`, and the two derivative rules.

Mathematics. A field of spin s > 0 is the complex P_s = Q + i U = -sum_lm (E + i B)_lm sY_lm, that of spin 0 is the real
P_0 = sum_lm a_lm Y_lm. With J. N. Goldberg et al., J. Math. Phys. 8, 2155 (1967), eqs. 2.7 and 3.20, the operators that
raise and lower the spin have dsY/dtheta = -(raise + lower) sY / 2, so that with

    c+ = sqrt((l - s) (l + s + 1)),      c- = sqrt((l + s) (l - s + 1))

every derivative is a synthesis again, exact at the poles too, and so on to every order:

    s = 0    dP_0/dtheta = Q_1,  dP_0/dphi = sin(theta) U_1     of the field of spin 1 with E = sqrt(l (l + 1)) a, B = 0
    s = 1    dP_1/dtheta = (-P_0[c- E] - i P_0[c- B] - P_2[c+ E, c+ B]) / 2
    s > 1    dP_s/dtheta = (P_(s-1)[c- E, c- B] - P_(s+1)[c+ E, c+ B]) / 2
    s > 0    dP_s/dphi   = P_s[i m E, i m B]

The adjoint changes by the adjoint of the change. Outside of 0 <= theta <= pi the formulas continue the field through
the pole: (theta, phi) is (2 pi - theta, phi + pi), where both vectors of the basis have turned round, hence (-1)^s.
"""

from __future__ import annotations

from typing import Any

import ducc0
import jax
import jax.numpy as jnp
import jaxbind
import numpy as np

from jaxbind_ducc import _alm_layout, _arguments, _dtypes, _threads
from jaxbind_ducc._alm_layout import Layout
from jaxbind_ducc._bind import Shapes, batched_shapes, over_batch
from jaxbind_ducc._real_pairing import adjoint_to_transpose, transpose_to_adjoint


def on_sphere(loc: Any) -> tuple[Any, Any]:
    """Points in ducc0's range, and which of them were reached through a pole."""
    loc = np.asarray(loc, np.float64)
    # Whole arrays where possible, not columns: with a million points this is a few percent of the transform.
    if loc.min() >= 0 and loc.max() <= 2 * np.pi and loc[:, 0].max() <= np.pi:
        return loc, None
    theta, phi = loc.T
    turned = np.mod(theta, 2 * np.pi)
    beyond = turned > np.pi
    theta = np.where(beyond, 2 * np.pi - turned, turned)
    return np.stack([theta, np.mod(phi + np.pi * beyond, 2 * np.pi)], -1), beyond


def fill_maps(maps: Any, loc: Any, alm: Any, *, layout: Layout, spin: int, **options: Any) -> None:
    """Fill a stack of maps with the values at the points."""
    if not len(loc):
        return
    points, beyond = on_sphere(loc)
    keywords = _keywords(loc, layout, spin=spin, **options)
    for one, coefficients in zip(maps, alm, strict=True):  # At arbitrary points ducc0 has no ntrans.
        ducc0.sht.synthesis_general(alm=coefficients, map=one, loc=points, **keywords)
    if spin % 2 and beyond is not None:
        maps[..., beyond] *= -1


def fill_alm(alm: Any, loc: Any, maps: Any, *, layout: Layout, spin: int, **options: Any) -> None:
    """Fill a stack of coefficients with the sums over the points."""
    if layout.has_gaps or not len(loc):
        alm[...] = 0
    if not len(loc):
        return
    points, beyond = on_sphere(loc)
    if spin % 2 and beyond is not None:
        maps = np.where(beyond, -maps, maps)
    keywords = _keywords(loc, layout, spin=spin, **options)
    for coefficients, one in zip(alm, maps, strict=True):
        ducc0.sht.adjoint_synthesis_general(map=one, alm=coefficients, loc=points, **keywords)


def threads(layout: Layout, loc: Any, nthreads: int) -> int:
    """Threads for one transform."""
    return _threads.choose(nthreads, _arguments.work(layout, layout.lmax, 1) + 200.0 * len(loc))


def _keywords(loc: Any, layout: Layout, nthreads: int, **options: Any) -> dict[str, Any]:
    return options | layout.arguments() | {"nthreads": threads(layout, loc, nthreads)}


@over_batch(fixed=1)
def _synthesis_general(outs: Any, loc: Any, alm: Any, *, layout: Any, **options: Any) -> None:
    fill_maps(outs[0], loc, alm, layout=Layout(*layout), **options)


@over_batch(fixed=1)
def _synthesis_general_transpose(outs: Any, loc: Any, c: Any, *, layout: Any, **options: Any) -> None:
    fill_alm(outs[0], loc, c, layout=Layout(*layout), **options)
    adjoint_to_transpose(outs[0], Layout(*layout))


@over_batch(fixed=1)
def _adjoint_synthesis_general(outs: Any, loc: Any, maps: Any, *, layout: Any, **options: Any) -> None:
    fill_alm(outs[0], loc, maps, layout=Layout(*layout), **options)


@over_batch(fixed=1)
def _adjoint_synthesis_general_transpose(outs: Any, loc: Any, c: Any, *, layout: Any, **options: Any) -> None:
    fill_maps(outs[0], loc, transpose_to_adjoint(c, Layout(*layout)), layout=Layout(*layout), **options)


@batched_shapes
def _maps_shape(loc: Any, alm: Any, *, spin: int, mode: str, **_: Any) -> Shapes:
    return (((_arguments.components(spin, mode)[1], loc.shape[0]), _dtypes.real_dtype(alm.dtype)),)


@batched_shapes
def _alm_shape(loc: Any, maps: Any, *, spin: int, mode: str, layout: Any, **_: Any) -> Shapes:
    return (((_arguments.components(spin, mode)[0], Layout(*layout).size), _dtypes.complex_dtype(maps.dtype)),)


def change_of_values(primals: tuple[Any, ...], tangents: tuple[Any, ...], **static: Any) -> tuple[jax.Array]:
    """The change of the values with the points, by the formulas above."""
    (loc, alm), (change,) = primals, tangents
    dtheta, dphi = change.astype(alm.real.dtype).T
    if static["mode"] == "DERIV1":  # A field of spin 1 with scaled coefficients.
        static = static | {"mode": "GRAD_ONLY"}
        alm = _scaled(alm, _ladder(Layout(*static["layout"]), 0, 1))
    layout, spin = Layout(*static["layout"]), static["spin"]
    if spin == 0:
        return (_change_of_scalar(loc, alm, dtheta, dphi, layout, static),)
    orders = np.maximum(_alm_layout.degrees_and_orders(layout)[1], 0)
    along_phi = _values(loc, _scaled(alm, 1j * orders), spin, static)
    return (dtheta * _along_theta(loc, alm, layout, static) + dphi * along_phi,)


def _change_of_scalar(loc: Any, alm: Any, dtheta: Any, dphi: Any, layout: Layout, static: dict[str, Any]) -> Any:
    """The change of a field of spin 0."""
    if layout.lmax == 0:
        return jnp.zeros((1, loc.shape[0]), dtheta.dtype)
    gradient = _values(loc, _scaled(alm, _ladder(layout, 0, 1)), 1, static | {"mode": "GRAD_ONLY"})
    sine = jnp.sin(loc[:, 0]).astype(dtheta.dtype)
    return (dtheta * gradient[0] + dphi * sine * gradient[1])[None]


def _along_theta(loc: Any, alm: Any, layout: Layout, static: dict[str, Any]) -> jax.Array:
    """The derivative in theta of a field with spin."""
    spin, lowered = static["spin"], _scaled(alm, _ladder(layout, static["spin"], -1))
    if spin == 1:
        scalars = [-_values(loc, part[None], 0, static | {"mode": "STANDARD"}) for part in lowered]
        below = jnp.concatenate([*scalars, *(jnp.zeros_like(scalars[0]) for _ in range(2 - len(scalars)))])
    else:
        below = _values(loc, lowered, spin - 1, static)
    if spin == layout.lmax:  # Nothing is left to raise.
        return 0.5 * below
    return 0.5 * (below - _values(loc, _scaled(alm, _ladder(layout, spin, 1)), spin + 1, static))


def _values(loc: Any, alm: Any, spin: int, static: dict[str, Any]) -> jax.Array:
    values: jax.Array = synthesis_operator(loc, alm, **static | {"spin": spin})[0]
    return values


def _scaled(alm: Any, factors: Any) -> Any:
    return jnp.asarray(factors, alm.dtype) * alm


def _ladder(layout: Layout, spin: int, step: int) -> Any:
    """The factors c+ (step 1) or c- (step -1) for every entry, 0 where there is no field of one of the spins."""
    degrees = _alm_layout.degrees_and_orders(layout)[0].astype(np.float64)
    squares = (degrees - step * spin) * (degrees + step * spin + 1)
    return np.sqrt(np.where(degrees >= max(spin, spin + step), squares, 0.0))


def change_of_adjoint(primals: tuple[Any, ...], tangents: tuple[Any, ...], **static: Any) -> tuple[jax.Array]:
    """The adjoint of the change: its transpose, conjugated, over the weights."""
    (loc, maps), layout = primals, Layout(*static["layout"])
    sets = _arguments.components(static["spin"], static["mode"])[0]
    alm = jax.ShapeDtypeStruct((sets, layout.size), _dtypes.complex_dtype(maps.dtype))
    transposed = jax.linear_transpose(lambda a: change_of_values((loc, a), tangents, **static)[0], alm)
    [c] = transposed(maps)
    weights = np.where(_alm_layout.degrees_and_orders(layout)[1] > 0, 0.5, 1.0)
    return (_scaled(jnp.conj(c), weights),)


synthesis_operator = jaxbind.get_linear_call(
    _synthesis_general,
    _synthesis_general_transpose,
    _maps_shape,
    _alm_shape,
    first_n_args_fixed=1,
    func_can_batch=True,
    fixed_derivative=change_of_values,
)
adjoint_synthesis_operator = jaxbind.get_linear_call(
    _adjoint_synthesis_general,
    _adjoint_synthesis_general_transpose,
    _alm_shape,
    _maps_shape,
    first_n_args_fixed=1,
    func_can_batch=True,
    fixed_derivative=change_of_adjoint,
)
