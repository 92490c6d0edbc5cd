# SPDX-License-Identifier: BSD-2-Clause
"""Points on the sphere that a deflection field moves along great circles. In JAX, so that all derivatives exist.

Mathematics. At the unit vector n with the tangent vectors e (growing theta) and f (growing phi), the deflection is the
tangent vector d = d_1 e + d_2 f of length r. The end of the great circle of length r in its direction, and the parallel
transport of a tangent vector v to there, are

    n' = cos(r) n + sinc(r) d,          v' = v - (v.d) ((1 - cos r) / r^2 d + sinc(r) n),           sinc(r) = sin(r) /
    r.

All three functions of r are smooth functions of r^2. The rotation gamma is the angle from the transported e to the
vector of growing theta at n': the components Q + i U that a field of spin s has at n', times exp(i s gamma), are those
in the transported basis.

Source: A. Challinor, A. Lewis, Phys. Rev. D 71, 103010 (2005), appendix A.
"""

from __future__ import annotations

from typing import Any, Unpack

import jax
import jax.numpy as jnp
import numpy as np

from jaxbind_ducc import _arguments, _rings
from jaxbind_ducc._rings import RingGeometry


def get_deflected_angles(
    deflect: jax.Array, *, calc_rotation: bool = False, **geometry: Unpack[RingGeometry]
) -> jax.Array:
    """Points to which a deflection field moves the pixels of a map, as lensing does.

    Parameters
    ----------
    deflect
        Real array, shape ``(..., npix, 2)``: components towards growing theta and growing phi, in radians, at each
        pixel; the gradient of a potential, for example `synthesis` in mode "DERIV1" of its coefficients, with the last
        axes exchanged.
    calc_rotation
        Whether to return the rotation too.
    **geometry
        The rings, ``theta``, ``nphi``, ``phi0``, ``ringstart``, see `jaxbind_ducc.sht.RingGeometry`. Constants.

    Returns
    -------
    jax.Array
        Real array of the same dtype, shape ``(..., npix, 2)``: colatitude and longitude, `loc` of `synthesis_general`.
        With `calc_rotation`, shape ``(..., npix, 3)``, and the last is the angle gamma by which fields with spin are to
        be rotated: ``(Q + i U) exp(i spin gamma)``.

    Raises
    ------
    TypeError, ValueError
        If dtypes, shapes and rings do not fit together, or some pixel is in no ring.

    Notes
    -----
    The function is `ducc0.misc.get_deflected_angles`. It is not linear; it can be differentiated in `deflect` to every
    order.
    """
    _arguments.check_names("get_deflected_angles", geometry, RingGeometry)
    rings = _rings.checked("get_deflected_angles", geometry)
    deflect = _arguments.checked_array("get_deflected_angles", "deflect", deflect, "real", (rings.pixels, 2))
    normal, east_south = _frames(*_rings.positions(rings).T)
    n, e, f = (jnp.asarray(vectors, deflect.dtype) for vectors in (normal, *east_south))
    d = deflect[..., :1] * e + deflect[..., 1:] * f
    cosine, sinc, versed = _functions_of_square(jnp.sum(d * d, -1, keepdims=True))
    x, y, z = jnp.moveaxis(cosine * n + sinc * d, -1, 0)
    theta = jnp.arctan2(jnp.hypot(x, y), z)
    phi = jnp.arctan2(y, x)
    angles = [theta, jnp.where(phi < 0, phi + 2 * np.pi, phi)]
    if calc_rotation:
        transported = e - jnp.sum(e * d, -1, keepdims=True) * (versed * d + sinc * n)
        along_theta = jnp.stack([jnp.cos(theta) * jnp.cos(phi), jnp.cos(theta) * jnp.sin(phi), -jnp.sin(theta)], -1)
        along_phi = jnp.stack([-jnp.sin(phi), jnp.cos(phi), jnp.zeros_like(phi)], -1)
        angles.append(jnp.arctan2(-jnp.sum(transported * along_phi, -1), jnp.sum(transported * along_theta, -1)))
    return jnp.stack(angles, -1)


def _frames(theta: Any, phi: Any) -> tuple[Any, tuple[Any, Any]]:
    """The normal, and the vectors of growing theta and of growing phi."""
    st, ct, sp, cp = np.sin(theta), np.cos(theta), np.sin(phi), np.cos(phi)
    along_theta = np.stack([ct * cp, ct * sp, -st], -1)
    return np.stack([st * cp, st * sp, ct], -1), (along_theta, np.stack([-sp, cp, np.zeros_like(phi)], -1))


def _functions_of_square(q: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """cos(r), sin(r) / r and (1 - cos(r)) / r^2 of q = r^2, with all derivatives at 0."""
    small = q < 1e-4
    r = jnp.sqrt(jnp.where(small, 1.0, q))
    cosine = jnp.where(small, 1 - q / 2 * (1 - q / 12 * (1 - q / 30)), jnp.cos(r))
    sinc = jnp.where(small, 1 - q / 6 * (1 - q / 20 * (1 - q / 42)), jnp.sin(r) / r)
    versed = jnp.where(small, 0.5 - q / 24 * (1 - q / 30 * (1 - q / 56)), (1 - jnp.cos(r)) / r**2)
    return cosine, sinc, versed
