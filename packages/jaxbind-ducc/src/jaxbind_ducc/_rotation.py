# SPDX-License-Identifier: BSD-2-Clause
"""Rotations of a field on the sphere, in terms of its spherical harmonic coefficients.

Owns `rotate_alm`, and its derivative in the Euler angles.

Mathematics. With active rotations of a right-handed system, R(psi, theta, phi) = Rz(phi) Ry(theta) Rz(psi). R preserves
the inner product of fields, so that its adjoint is its inverse R(-phi, -theta, -psi), also where input or output are
cut at an order mmax; `jaxbind_ducc._real_pairing` makes the transpose of it. About the axis z

    (Rz(phi) a)_lm = exp(-i m phi) a_lm,      d Rz(phi)/d phi = D Rz(phi),    (D a)_lm = -i m a_lm.

About y the same holds between two quarter turns, Ry(theta) = Rx(-pi/2) Rz(theta) Rx(pi/2) with
Rx(alpha) = Rz(-pi/2) Ry(alpha) Rz(pi/2). So all derivatives are rotations again:

    dR = dphi D R a + dpsi R D a + dtheta R(theta + pi/2, -pi/2, phi - pi/2) D R(psi + pi/2, pi/2, -pi/2) a
"""

from __future__ import annotations

import operator as op
from typing import Any

import ducc0
import jax
import jax.numpy as jnp
import jaxbind
import numpy as np

from jaxbind_ducc import _alm_layout, _arguments, _errors, _threads
from jaxbind_ducc._bind import Shapes, batched_shapes, over_batch
from jaxbind_ducc._real_pairing import adjoint_to_transpose, transpose_to_adjoint


def _rotate(out: Any, a: Any, angles: Any, lmax: int, mmax_in: int, mmax_out: int, nthreads: int) -> None:
    zonal = slice(0, lmax + 1)
    if np.any(a[:, zonal].imag):  # ducc0 would not ignore them.
        a = a.copy()
        a[:, zonal].imag = 0
    threads = _threads.choose(nthreads, 8.0 * len(a) * (lmax + 1) ** 3)
    ducc0.sht.rotate_alm(a, lmax, *map(float, angles), threads, mmax_in=mmax_in, mmax_out=mmax_out, out=out)


@over_batch(fixed=1)
def _rotate_alm(outs: Any, angles: Any, alm: Any, **static: Any) -> None:
    _rotate(outs[0], alm, angles, **static)


@over_batch(fixed=1)
def _rotate_alm_transpose(
    outs: Any, angles: Any, c: Any, *, lmax: int, mmax_in: int, mmax_out: int, nthreads: int
) -> None:
    cotangent = transpose_to_adjoint(c, _alm_layout.contiguous(lmax, mmax_out))
    _rotate(outs[0], cotangent, [-angle for angle in reversed(angles)], lmax, mmax_out, mmax_in, nthreads)
    adjoint_to_transpose(outs[0], _alm_layout.contiguous(lmax, mmax_in))


@batched_shapes
def _rotated_shape(angles: Any, alm: Any, *, lmax: int, mmax_out: int, **_: Any) -> Shapes:
    return (((_alm_layout.count(lmax, mmax_out),), alm.dtype),)


@batched_shapes
def _original_shape(angles: Any, c: Any, *, lmax: int, mmax_in: int, **_: Any) -> Shapes:
    return (((_alm_layout.count(lmax, mmax_in),), c.dtype),)


def _change(
    primals: tuple[Any, ...], tangents: tuple[Any, ...], *, lmax: int, mmax_in: int, mmax_out: int, nthreads: int
) -> tuple[jax.Array]:
    """The formula for dR above, factor by factor."""
    (angles, alm), (change,) = primals, tangents
    psi, theta, phi = angles
    quarter = jnp.asarray(np.pi / 2, angles.dtype)
    dpsi, dtheta, dphi = change.astype(alm.dtype)

    def rotated(a: Any, *angles: Any, mmax_in: int, mmax_out: int) -> Any:
        static = {"lmax": lmax, "mmax_in": mmax_in, "mmax_out": mmax_out, "nthreads": nthreads}
        return _rotate_operator(jnp.stack(angles), a, **static)[0]

    def turned(a: Any, mmax: int) -> Any:
        orders = _alm_layout.degrees_and_orders(_alm_layout.contiguous(lmax, mmax))[1]
        return jnp.asarray(-1j * orders, a.dtype) * a

    cut = {"mmax_in": mmax_in, "mmax_out": mmax_out}
    about_z = turned(rotated(alm, psi, theta, phi, **cut), mmax_out)
    about_old_z = rotated(turned(alm, mmax_in), psi, theta, phi, **cut)
    first = rotated(alm, psi + quarter, quarter, -quarter, mmax_in=mmax_in, mmax_out=lmax)
    about_y = rotated(turned(first, lmax), theta + quarter, -quarter, phi - quarter, mmax_in=lmax, mmax_out=mmax_out)
    return (dphi * about_z + dpsi * about_old_z + dtheta * about_y,)


_rotate_operator = jaxbind.get_linear_call(
    _rotate_alm,
    _rotate_alm_transpose,
    _rotated_shape,
    _original_shape,
    first_n_args_fixed=1,
    func_can_batch=True,
    fixed_derivative=_change,
)


def rotate_alm(
    alm: jax.Array,
    lmax: int,
    psi: Any,
    theta: Any,
    phi: Any,
    nthreads: int = 0,
    *,
    mmax_in: int | None = None,
    mmax_out: int | None = None,
) -> jax.Array:
    """Coefficients of a rotated field: first by psi about z, then by theta about the original y, then by phi about z.

    Parameters
    ----------
    alm
        Complex array, shape ``(..., ncoeff_in)``, in the contiguous order of `jaxbind_ducc.sht.Storage`; leading
        dimensions are a batch. Each row is a field of spin 0; the gradient and the curl of a field with spin rotate
        alike.
    lmax
        Highest degree.
    psi, theta, phi
        Euler angles in radians, numbers or arrays without dimensions. Rotations are active, in a right-handed system.
    nthreads
        Number of threads; 0 for all if the transform is large, else one.
    mmax_in, mmax_out
        Highest orders of input and output. Default: `lmax`. Orders above `mmax_out` are cut off.

    Returns
    -------
    jax.Array
        Complex array of the same dtype, shape ``(..., ncoeff_out)``.

    Raises
    ------
    TypeError, ValueError
        If dtype, shape and orders do not fit together.

    Notes
    -----
    The function is `ducc0.sht.rotate_alm`. It is linear over the real numbers; imaginary parts at m = 0, which no real
    field has, are ignored. It can be differentiated in the angles too, to every order, at the cost of four rotations.

    Examples
    --------
    >>> import jax.numpy as jnp, numpy as np
    >>> from jaxbind_ducc import sht
    >>> along_z, along_x = jnp.array([[0, 1, 0], [0, 0, -(0.5**0.5)]], dtype=jnp.complex64)
    >>> bool(jnp.allclose(sht.rotate_alm(along_z, 1, 0.0, np.pi / 2, 0.0), along_x, atol=1e-6))
    True
    """
    lmax = op.index(lmax)
    orders = [_alm_layout.checked("rotate_alm", {"lmax": lmax, "mmax": mmax}).mmax for mmax in (mmax_in, mmax_out)]
    size = _alm_layout.count(lmax, orders[0])
    alm = _arguments.checked_array("rotate_alm", "alm", alm, "complex", (size,))
    angles = [jnp.asarray(angle) for angle in (psi, theta, phi)]
    for name, angle in zip(("psi", "theta", "phi"), angles, strict=True):
        if angle.ndim or jnp.iscomplexobj(angle):
            raise _errors.bad_shape("rotate_alm", name, angle, "a real number", "Use jax.vmap for several rotations")
    triplet = jnp.stack([angle.astype(jnp.result_type(float)) for angle in angles])
    static = {"lmax": lmax, "mmax_in": orders[0], "mmax_out": orders[1], "nthreads": nthreads}
    return _arguments.apply(_rotate_operator, alm, 1, triplet, **static)
