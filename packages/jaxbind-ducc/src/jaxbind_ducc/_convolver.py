# SPDX-License-Identifier: BSD-2-Clause
"""A sky convolved with a beam of any shape and orientation: the operator, and its change with the orientation.

Owns the host functions of `jaxbind_ducc.totalconvolve`.

Mathematics. With R(psi, theta, phi) = Rz(phi) Ry(theta) Rz(psi), and the inner product of fields < , > that weighs
coefficients with m > 0 twice, the signal is bilinear in sky s and beam b:

    y_j = sum_components < s, R(psi_j, theta_j, phi_j) b >.

In ducc0 the values on a cube of angles are, for every order k of the beam, a plane computed from s_lm b_lk; they are
then interpolated. Its `updateSlm` is the adjoint of planes in s. As a plane is linear in b_lk, with u the adjoint for
the beam that is 1 (or i) at all (l, k), the adjoint in the beam is b_lk = sum_m w_m Re(conj(s_lm) u_lm) (with i: its
imaginary part) / w_k.

All derivatives in the angles are such signals again. With the generators L_x, L_y, L_z of rotations, Rz(phi) = exp(-i
phi L_z),

    dy/dpsi = < s, R (-i L_z b) >,        dy/dphi = < i L_z s, R b >,
    dy/dtheta = cos(phi) < i L_y s, R b > - sin(phi) < i L_x s, R b >,

(L_z a)_lm = m a_lm, and L_x, L_y from the ladder operators (L_+- a)_(l, m +- 1) = sqrt((l -+ m) (l +- m + 1)) a_lm.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import ducc0
import jax
import jax.numpy as jnp
import jaxbind
import numpy as np

from jaxbind_ducc import _alm_layout, _dtypes, _threads
from jaxbind_ducc._alm_layout import contiguous
from jaxbind_ducc._bind import Shapes, batched_shapes, over_batch
from jaxbind_ducc._real_pairing import adjoint_to_transpose


class _Convolver:
    """A plan of ducc0 for some orientations, in the precision of an array, with an empty cube."""

    def __init__(self, ptg: Any, dtype: Any, *, lmax: int, kmax: int, nthreads: int, **options: Any) -> None:
        work = 16.0 * (kmax + 1) * (lmax + 1) ** 3 + 500.0 * len(ptg)
        kind = ducc0.totalconvolve.ConvolverPlan if dtype.itemsize == 8 else ducc0.totalconvolve.ConvolverPlan_f
        self.plan = kind(lmax=lmax, kmax=kmax, npoints=len(ptg), nthreads=_threads.choose(nthreads, work), **options)
        self.cube = np.zeros((self.plan.Npsi(), self.plan.Ntheta(), self.plan.Nphi()), dtype)
        self.angles = _in_range(ptg, dtype)
        self.kmax = kmax

    def planes(self) -> Iterator[tuple[int, Any]]:
        """Every order k of the beam, with its part of the cube."""
        for k in range(self.kmax + 1):
            yield k, self.cube[max(0, 2 * k - 1) : 2 * k + 1]

    def signal(self, slm: Any, blm: Any, out: Any) -> None:
        """Fill `out` with the sum over components."""
        self.cube[...] = 0
        for k, planes in self.planes():
            part = np.empty_like(planes)
            for s, b in zip(slm, blm, strict=True):
                self.plan.getPlane(s, b, k, part)
                np.add(planes, part, out=planes)
        self.plan.prepPsi(self.cube)
        self.plan.interpol(self.cube, 0, 0, *self.angles, out)

    def spread(self, y: Any) -> None:
        """Fill the cube with the adjoint of the interpolation of one signal."""
        self.cube[...] = 0
        self.plan.deinterpol(self.cube, 0, 0, *self.angles, y)
        self.plan.deprepPsi(self.cube)

    def update(self, slm: Any, blm: Any, k: int, planes: Any) -> None:
        """Add the adjoint of a plane in the sky; a copy, because ducc0 destroys the planes."""
        self.plan.updateSlm(slm, blm, k, planes.copy())


def _in_range(ptg: Any, dtype: Any) -> Any:
    """Rows theta, phi, psi with theta and phi in ducc0's range, in which every rotation can be written."""
    theta, phi, psi = np.asarray(ptg, np.float64).T
    turned = np.mod(theta, 2 * np.pi)
    beyond = turned > np.pi
    theta = np.where(beyond, 2 * np.pi - turned, turned)
    phi, psi = np.mod(phi + np.pi * beyond, 2 * np.pi), np.mod(psi - np.pi * beyond, 2 * np.pi)
    rows = np.stack([theta, phi, psi]).astype(dtype)
    # Rounding to single precision may go past the ends.
    limits = np.nextafter(np.array([[np.pi], [2 * np.pi]], dtype), dtype.type(0))
    rows[:2] = np.minimum(rows[:2], limits if dtype.itemsize == 4 else np.inf)
    return rows


@over_batch(fixed=1)
def _interpol(outs: Any, ptg: Any, slm: Any, blm: Any, **options: Any) -> None:
    if not len(ptg):
        return
    convolver = _Convolver(ptg, outs[0].dtype, **options)
    for out, s, b in zip(outs[0], slm, blm, strict=True):
        convolver.signal(s, b, out)


@over_batch(fixed=1)
def _interpol_sky_transpose(outs: Any, ptg: Any, blm: Any, c: Any, **options: Any) -> None:
    outs[0][...] = 0
    if not len(ptg):
        return
    convolver = _Convolver(ptg, c.dtype, **options)
    for slm, b, y in zip(outs[0], blm, c, strict=True):
        convolver.spread(y)
        for k, planes in convolver.planes():
            for component, beam in zip(slm, b, strict=True):
                convolver.update(component, beam, k, planes)
    adjoint_to_transpose(outs[0], contiguous(options["lmax"], options["lmax"]))


@over_batch(fixed=1)
def _interpol_beam_transpose(outs: Any, ptg: Any, slm: Any, c: Any, **options: Any) -> None:
    outs[0][...] = 0
    if not len(ptg):
        return
    lmax, kmax = options["lmax"], options["kmax"]
    convolver = _Convolver(ptg, c.dtype, **options)
    beams, skies = contiguous(lmax, kmax), contiguous(lmax, lmax)
    degrees, orders = _alm_layout.degrees_and_orders(skies)
    weighted = slm * np.where(orders > 0, 2, 1).astype(c.dtype)
    for blm, s, y in zip(outs[0], weighted, c, strict=True):
        convolver.spread(y)
        for k, planes in convolver.planes():
            held = _alm_layout.degrees_and_orders(beams)[1] == k
            real, imaginary = (_beam_gradient(convolver, s, k, planes, unit * held, degrees) for unit in (1, 1j))
            # The transpose, not the adjoint: conjugated, and with w_k = 2 for the paired orders already in the planes.
            blm[:, held] = (real - 1j * imaginary * (k > 0))[:, k:]


def _beam_gradient(convolver: _Convolver, weighted: Any, k: int, planes: Any, unit: Any, degrees: Any) -> Any:
    """The change of the signal's product with y along one phase of the beam's (l, k), for each component and l."""
    update = np.zeros_like(weighted[0])
    convolver.update(update, unit.astype(update.dtype), k, planes)
    products = (weighted.conj() * update).real
    return np.stack([np.bincount(degrees, row) for row in products])


@batched_shapes
def _signal_shape(ptg: Any, slm: Any, blm: Any, **_: Any) -> Shapes:
    return (((ptg.shape[0],), _dtypes.real_dtype(slm.dtype)),)


@batched_shapes
def _sky_shape(ptg: Any, blm: Any, c: Any, *, lmax: int, **_: Any) -> Shapes:
    return (((blm.shape[0], contiguous(lmax, lmax).size), blm.dtype),)


@batched_shapes
def _beam_shape(ptg: Any, slm: Any, c: Any, *, lmax: int, kmax: int, **_: Any) -> Shapes:
    return (((slm.shape[0], contiguous(lmax, kmax).size), slm.dtype),)


def _change(primals: tuple[Any, ...], tangents: tuple[Any, ...], **options: Any) -> tuple[jax.Array]:
    """The change of the signal with the angles, by the formulas above."""
    (ptg, slm, blm), (change,) = primals, tangents
    real = _dtypes.real_dtype(slm.dtype)
    dtheta, dphi, dpsi = change.astype(real).T
    lmax, kmax = options["lmax"], options["kmax"]

    def signal(s: Any, b: Any) -> Any:
        return interpol_operator(ptg, s, b, **options)[0]

    def about_z(a: Any, mmax: int) -> Any:
        return jnp.asarray(1j * _alm_layout.degrees_and_orders(contiguous(lmax, mmax))[1], a.dtype) * a

    about_x, about_y = _transverse(slm, lmax)
    azimuth = ptg[:, 1].astype(real)
    tilted = jnp.cos(azimuth) * signal(about_y, blm) - jnp.sin(azimuth) * signal(about_x, blm)
    turned, rolled = signal(about_z(slm, lmax), blm), signal(slm, -about_z(blm, kmax))
    return (dtheta * tilted + dphi * turned + dpsi * rolled,)


def _transverse(alm: Any, lmax: int) -> tuple[jax.Array, jax.Array]:
    """``i L_x a`` and ``i L_y a`` of the coefficients of a real field."""
    from_below, from_above, up, down, zonal = _neighbours(lmax)
    alm = jnp.where(zonal, alm.real.astype(alm.dtype), alm)  # Imaginary parts at m = 0 are no part of the field.
    # Where m = 0, the order below is -1, and a_(l,-1) = -conj(a_l1).
    below = alm[..., from_below]
    below = jnp.where(zonal, -below.conj(), below)
    raised = jnp.asarray(up, alm.dtype) * below
    lowered = jnp.asarray(down, alm.dtype) * alm[..., from_above]
    half = jnp.asarray(0.5, alm.dtype)
    return jnp.asarray(0.5j, alm.dtype) * (raised + lowered), half * (raised - lowered)


@functools.lru_cache(maxsize=4)
def _neighbours(lmax: int) -> tuple[Any, ...]:
    """Places of (l, m - 1) and (l, m + 1), the ladder factors from there, and where m = 0."""
    degrees, orders = _alm_layout.degrees_and_orders(contiguous(lmax, lmax))
    zonal = orders == 0
    up, down = (np.sqrt((degrees + s * orders) * (degrees - s * orders + 1.0)) for s in (1, -1))
    below, above = np.abs(orders - 1), orders + 1  # Order -1 is taken from order 1.
    places = [np.minimum(_place(lmax, degrees, m), len(degrees) - 1) for m in (below, above)]
    return *places, up, down, zonal


def _place(lmax: int, degrees: Any, orders: Any) -> Any:
    """The place of (l, m); of another coefficient where m > l, whose ladder factor is 0."""
    return orders * (2 * lmax + 1 - orders) // 2 + degrees


interpol_operator = jaxbind.get_linear_call(
    _interpol,
    (None, _interpol_sky_transpose, _interpol_beam_transpose),
    _signal_shape,
    (None, _sky_shape, _beam_shape),
    first_n_args_fixed=1,
    func_can_batch=True,
    fixed_derivative=_change,
)
