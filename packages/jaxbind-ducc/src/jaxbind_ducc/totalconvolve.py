# SPDX-License-Identifier: BSD-2-Clause
"""A sky convolved with a beam of any shape, for any pointing and orientation: `ducc0.totalconvolve` for JAX.

The signal ``y_j`` of a detector that points to (theta_j, phi_j), its beam turned by psi_j, is the integral of the sky
over the beam in that position. In terms of spherical harmonic coefficients, with R(psi, theta, phi) the rotation of
`jaxbind_ducc.sht.rotate_alm`,

    interpol      y_j = sum_components sum_lm w_m Re(conj(s_lm) (R(psi_j, theta_j, phi_j) b)_lm),    w_0 = 1, w_m = 2
    deinterpol    the adjoint in the sky

where the beam is given as it looks when it points to the north pole. Both are differentiable in all arguments, angles
included.

Source: G. Prezeau, M. Reinecke, Astrophys. J. Suppl. Ser. 190, 267 (2010), in the implementation of ducc0.
"""

from __future__ import annotations

import operator as op
from typing import Any, TypedDict, Unpack

import jax
import jax.numpy as jnp
import numpy as np

from jaxbind_ducc import _alm_layout, _arguments, _convolver, _dtypes, _errors

__all__ = ["Accuracy", "deinterpol", "interpol"]


class Accuracy(TypedDict, total=False):
    """Keyword arguments of both functions, in ducc0's words.

    Attributes
    ----------
    sigma_min, sigma_max
        Smallest and largest oversampling that ducc0 may choose. Defaults: 1.1 and 2.6.
    nthreads
        Number of threads; 0, the default, for all if the problem is large, else one.
    """

    sigma_min: float
    sigma_max: float
    nthreads: int


def interpol(
    slm: jax.Array,
    blm: jax.Array,
    ptg: jax.Array,
    *,
    lmax: int,
    kmax: int,
    epsilon: float,
    **accuracy: Unpack[Accuracy],
) -> jax.Array:
    """The signal of a beam that is moved over a sky.

    Parameters
    ----------
    slm
        Complex array, shape ``(..., ncomp, nalm(lmax))``: coefficients of the sky, in the contiguous order of
        `jaxbind_ducc.sht.Storage`; leading dimensions are a batch. The signals of the components are added.
    blm
        Complex array, shape ``(ncomp, nalm(lmax, kmax))``: those of the beam.
    ptg
        Real array, shape ``(nptg, 3)``: colatitude theta, longitude phi and orientation psi, in radians.
    lmax, kmax
        Highest degree, and highest order of the beam.
    epsilon
        Relative accuracy, at best about 1e-6 in single and 2e-13 in double precision.
    **accuracy
        See `Accuracy`.

    Returns
    -------
    jax.Array
        Real array of the same precision, shape ``(..., nptg)``.

    Raises
    ------
    TypeError, ValueError
        If dtypes, shapes, `lmax`, `kmax` and `epsilon` do not fit together.

    Notes
    -----
    The function is that of `ducc0.totalconvolve.Interpolator`. It is linear over the real numbers in sky and beam each,
    and ignores imaginary parts at m = 0. A derivative in `ptg` costs four more signals, and exists to every order.

    Examples
    --------
    A beam without extension sees the value of the sky:

    >>> import jax.numpy as jnp, numpy as np
    >>> from jaxbind_ducc import totalconvolve
    >>> slm = jnp.array([[0, np.sqrt(4 * np.pi / 3), 0]], dtype=jnp.complex64)
    >>> point = jnp.array([[np.sqrt(1 / (4 * np.pi)), np.sqrt(3 / (4 * np.pi))]], dtype=jnp.complex64)
    >>> y = totalconvolve.interpol(slm, point, jnp.array([[1.0, 2.0, 0.0]]), lmax=1, kmax=0, epsilon=1e-4)
    >>> bool(jnp.allclose(y, jnp.cos(1.0), atol=1e-3))
    True
    """
    slm = _coefficients("interpol", "slm", slm, lmax, lmax)
    static = _checked("interpol", slm, lmax, kmax, epsilon, accuracy)
    blm = _coefficients("interpol", "blm", blm, lmax, kmax)
    ptg = _pointings("interpol", ptg)
    if blm.ndim != 2 or blm.shape[0] != slm.shape[-2] or blm.dtype != slm.dtype:
        expected = f"({slm.shape[-2]}, {blm.shape[-1]}) and dtype {slm.dtype}, as slm"
        raise _errors.bad_shape("interpol", "blm", blm, expected, "Use jax.vmap for several beams")

    def signal(s: jax.Array, ptg: jax.Array, blm: jax.Array) -> Any:
        return _convolver.interpol_operator(ptg, s, blm, **static)[0]

    for _ in slm.shape[:-2]:
        signal = jax.vmap(signal, in_axes=(0, None, None))
    y: jax.Array = signal(slm, ptg, blm)
    return y


def deinterpol(
    signal: jax.Array,
    blm: jax.Array,
    ptg: jax.Array,
    *,
    lmax: int,
    kmax: int,
    epsilon: float,
    **accuracy: Unpack[Accuracy],
) -> jax.Array:
    """Sums over pointings: the adjoint of `interpol` in the sky.

    Parameters
    ----------
    signal
        Real array, shape ``(..., nptg)``; leading dimensions are a batch.
    blm, ptg, lmax, kmax, epsilon, **accuracy
        As in `interpol`.

    Returns
    -------
    jax.Array
        Complex array of the same precision, shape ``(..., ncomp, nalm(lmax))``.

    Raises
    ------
    TypeError, ValueError
        As in `interpol`.

    Notes
    -----
    The function is that of `ducc0.totalconvolve.Interpolator` in its adjoint mode: ``deinterpol`` and ``getSlm``. The
    adjoint refers to ``sum_lm w_m Re(conj(a_lm) b_lm)``, in which coefficients with m > 0 count twice.
    """
    blm = _coefficients("deinterpol", "blm", blm, lmax, kmax)
    static = _checked("deinterpol", blm, lmax, kmax, epsilon, accuracy)
    ptg = _pointings("deinterpol", ptg)
    signal = _arguments.checked_array("deinterpol", "signal", signal, "real", (ptg.shape[0],))
    if blm.ndim != 2:
        raise _errors.bad_shape("deinterpol", "blm", blm, "two dimensions", "Use jax.vmap for several beams")
    skies = _alm_layout.contiguous(lmax, lmax)
    sky = jax.ShapeDtypeStruct((blm.shape[0], skies.size), blm.dtype)
    shares = jnp.asarray(np.where(_alm_layout.degrees_and_orders(skies)[1] > 0, 0.5, 1.0), blm.dtype)

    def adjoint(y: jax.Array) -> Any:
        [c] = jax.linear_transpose(lambda s: _convolver.interpol_operator(ptg, s, blm, **static)[0], sky)(y)
        return shares * c.conj()

    for _ in signal.shape[:-1]:
        adjoint = jax.vmap(adjoint)
    slm: jax.Array = adjoint(signal)
    return slm


def _coefficients(operator: str, argument: str, value: Any, lmax: int, mmax: int) -> jax.Array:
    size = _alm_layout.count(lmax, mmax)
    return _arguments.checked_array(operator, argument, value, "complex", ("ncomp", size))


def _pointings(operator: str, ptg: Any) -> jax.Array:
    pointings = _dtypes.as_array(operator, "ptg", ptg, "real")
    if pointings.ndim != 2 or pointings.shape[1] != 3:
        raise _errors.bad_shape(operator, "ptg", pointings, "(nptg, 3)", "Give colatitude, longitude and orientation")
    return pointings


def _checked(operator: str, array: Any, lmax: int, kmax: int, epsilon: float, accuracy: Accuracy) -> dict[str, Any]:
    """The keyword arguments of the operator."""
    _arguments.check_names(operator, accuracy, Accuracy)
    lmax = _alm_layout.checked(operator, {"lmax": lmax}).lmax
    kmax = op.index(kmax)
    if not 0 <= kmax <= lmax:
        raise _errors.bad_value(operator, "kmax", kmax, f"between 0 and lmax = {lmax}", "Choose one in this range")
    epsilon = _arguments.checked_epsilon(operator, epsilon, array.dtype)
    options = _arguments.oversampling(accuracy) | {"nthreads": accuracy.get("nthreads", 0)}
    return options | {"lmax": lmax, "kmax": kmax, "epsilon": epsilon}
