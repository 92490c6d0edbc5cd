# SPDX-License-Identifier: BSD-2-Clause
"""The half of a spherical harmonic transform that runs over degrees l, on meridians.

Owns `alm2leg`, `leg2alm` and `alm2leg_deriv1`. The other half, over azimuths in rings, is `jaxbind_ducc._azimuth`.

Mathematics. With real Lambda_lm(theta), up to a factor i for the curl of a field with spin,

    leg_m(theta) = sum_l Lambda_lm(theta) a_lm,

which is linear over the complex numbers: every order m is on its own, and those with m = 0 may be complex. leg2alm is
the adjoint, so the transposes in JAX's convention are ``conj(leg2alm(conj(c)))`` and ``conj(alm2leg(conj(c)))``.
"""

from __future__ import annotations

import operator as op
from collections.abc import Mapping
from typing import Any, Unpack

import ducc0
import jax
import jaxbind
import numpy as np

from jaxbind_ducc import _alm_layout, _arguments, _errors, _rings, _threads
from jaxbind_ducc._alm_layout import Storage
from jaxbind_ducc._bind import Shapes, batched_shapes, over_batch


class Orders(Storage, total=False):
    """Keyword arguments of `alm2leg` and `leg2alm`: what `Storage` lists, and a choice of orders.

    Attributes
    ----------
    mval
        The orders m that are transformed, distinct and at most `lmax`. Needs `mstart`, one number for each of them.
        Default: 0, 1, ..., `mmax`.
    """

    mval: Any


def _fill_leg(leg: Any, alm: Any, **transform: Any) -> None:
    keywords = _keywords(leg, **transform)
    for one, coefficients in zip(leg, alm, strict=True):  # Here ducc0 has no ntrans.
        ducc0.sht.alm2leg(alm=coefficients, leg=one, **keywords)


def _fill_alm(alm: Any, leg: Any, **transform: Any) -> None:
    alm[...] = 0  # ducc0 leaves entries that hold no coefficient as they are.
    keywords = _keywords(leg, **transform)
    for coefficients, one in zip(alm, leg, strict=True):
        ducc0.sht.leg2alm(leg=one, alm=coefficients, **keywords)


def _keywords(leg: Any, ncoeff: int, lmax: int, nthreads: int, **transform: Any) -> dict[str, Any]:
    work = 4.0 * leg[0].size * lmax
    return transform | {"lmax": lmax, "nthreads": _threads.choose(nthreads, work)}


@over_batch()
def _alm2leg(outs: Any, alm: Any, **transform: Any) -> None:
    _fill_leg(outs[0], alm, **transform)


@over_batch()
def _alm2leg_transpose(outs: Any, c: Any, **transform: Any) -> None:
    _fill_alm(outs[0], np.conjugate(c), **transform)
    np.conjugate(outs[0], out=outs[0])


@over_batch()
def _leg2alm(outs: Any, leg: Any, **transform: Any) -> None:
    _fill_alm(outs[0], leg, **transform)


@over_batch()
def _leg2alm_transpose(outs: Any, c: Any, **transform: Any) -> None:
    _fill_leg(outs[0], np.conjugate(c), **transform)
    np.conjugate(outs[0], out=outs[0])


@batched_shapes
def _leg_shape(alm: Any, *, spin: int, mode: str, theta: Any, mval: Any, **_: Any) -> Shapes:
    return (((_arguments.components(spin, mode)[1], len(theta), len(mval)), alm.dtype),)


@batched_shapes
def _alm_shape(leg: Any, *, spin: int, mode: str, ncoeff: int, **_: Any) -> Shapes:
    return (((_arguments.components(spin, mode)[0], ncoeff), leg.dtype),)


_alm2leg_operator = jaxbind.get_linear_call(_alm2leg, _alm2leg_transpose, _leg_shape, _alm_shape, func_can_batch=True)
_leg2alm_operator = jaxbind.get_linear_call(_leg2alm, _leg2alm_transpose, _alm_shape, _leg_shape, func_can_batch=True)


def _checked(
    operator: str, scheme: Mapping[str, Any], theta: Any, spin: int, mode: str, size: int | None
) -> dict[str, Any]:
    """The keyword arguments of the operators that say what is transformed."""
    _arguments.check_names(operator, scheme, Orders)
    lmax, mval, mstart = scheme["lmax"], scheme.get("mval"), scheme.get("mstart")
    theta = _rings.constant(operator, "theta", theta, np.float64)
    if theta.ndim != 1:
        raise _errors.bad_shape(operator, "theta", theta, "one dimension", "Give the colatitudes of the rings")
    if mval is None:
        layout = _alm_layout.checked(operator, scheme, size)
        orders, starts = np.arange(layout.mmax + 1), np.array(layout.starts())
        lmax, lstride, size = layout.lmax, layout.lstride, layout.size
    else:
        orders = _rings.constant(operator, "mval", mval, np.int64)
        if mstart is None or len(mstart) != len(orders):
            raise _errors.bad_value(
                operator, "mstart", mstart, f"{len(orders)} numbers, as mval", "Give one for each m"
            )
        starts, lstride, lmax = np.asarray(mstart, np.int64), op.index(scheme.get("lstride", 1)), op.index(lmax)
        if len(set(orders)) < len(orders) or np.any((orders < 0) | (orders > lmax)):
            raise _errors.bad_value(operator, "mval", orders, f"distinct orders up to lmax = {lmax}", "Check them")
        size = _alm_layout.room(operator, orders.tolist(), starts.tolist(), lmax, lstride, size)
    spin = _arguments.checked_spin(operator, spin, mode, lmax)
    numbers = {"mval": orders.astype(np.uint64), "mstart": starts.astype(np.uint64), "lstride": lstride, "lmax": lmax}
    return numbers | {"theta": theta, "spin": spin, "mode": mode, "ncoeff": size}


def alm2leg(
    alm: jax.Array,
    *,
    theta: Any,
    spin: int = 0,
    mode: str = "STANDARD",
    theta_interpol: bool = False,
    nthreads: int = 0,
    **orders: Unpack[Orders],
) -> jax.Array:
    """Legendre coefficients on meridians from spherical harmonic coefficients.

    Parameters
    ----------
    alm
        Complex array, shape ``(..., nalm, ncoeff)``; leading dimensions are a batch. `nalm` as in `synthesis`.
    theta
        Colatitudes of the rings, in radians. A constant.
    spin, mode, theta_interpol, nthreads
        As in `synthesis`.
    **orders
        The storage of coefficients, ``lmax``, ``mmax``, ``mstart``, ``lstride``, and the choice ``mval`` of orders, see
        `jaxbind_ducc.sht.Orders`. All are constants.

    Returns
    -------
    jax.Array
        Complex array, shape ``(..., nleg, ntheta, nm)``; `nleg` is 1 for spin 0, else 2; `nm` is the number of orders.

    Raises
    ------
    TypeError, ValueError
        If dtypes, shapes, storage, spin or mode do not fit together.

    Notes
    -----
    The function is `ducc0.sht.alm2leg`. Linear over the complex numbers; the transpose is ``conj(leg2alm(conj(c)))``.

    Examples
    --------
    >>> import jax.numpy as jnp, numpy as np
    >>> from jaxbind_ducc import sht
    >>> alm = jnp.array([[np.sqrt(4 * np.pi) + 1j]])
    >>> sht.alm2leg(alm, theta=[0.1, 0.2], lmax=0).real.round(5).tolist()
    [[[1.0], [1.0]]]
    """
    alm = _arguments.checked_array("alm2leg", "alm", alm, "complex", ("nalm", "ncoeff"))
    static = _checked("alm2leg", orders, theta, spin, mode, alm.shape[-1])
    sets = _arguments.components(static["spin"], mode)[0]
    alm = _arguments.checked_array("alm2leg", "alm", alm, "complex", (sets, "ncoeff"))
    return _arguments.apply(_alm2leg_operator, alm, 2, theta_interpol=theta_interpol, nthreads=nthreads, **static)


def leg2alm(
    leg: jax.Array,
    *,
    theta: Any,
    spin: int = 0,
    mode: str = "STANDARD",
    theta_interpol: bool = False,
    ncoeff: int | None = None,
    nthreads: int = 0,
    **orders: Unpack[Orders],
) -> jax.Array:
    """Spherical harmonic coefficients from Legendre coefficients: the adjoint of `alm2leg`.

    Parameters
    ----------
    leg
        Complex array, shape ``(..., nleg, ntheta, nm)``; leading dimensions are a batch.
    theta, spin, mode, theta_interpol, nthreads, **orders
        As in `alm2leg`.
    ncoeff
        Length of the result. Default: the smallest possible. Entries that hold no coefficient are 0.

    Returns
    -------
    jax.Array
        Complex array, shape ``(..., nalm, ncoeff)``.

    Raises
    ------
    TypeError, ValueError
        As in `alm2leg`.

    Notes
    -----
    The function is `ducc0.sht.leg2alm`. The transpose is ``conj(alm2leg(conj(c)))``.
    """
    static = _checked("leg2alm", orders, theta, spin, mode, ncoeff)
    core = (_arguments.components(static["spin"], mode)[1], len(static["theta"]), len(static["mval"]))
    leg = _arguments.checked_array("leg2alm", "leg", leg, "complex", core)
    return _arguments.apply(_leg2alm_operator, leg, 3, theta_interpol=theta_interpol, nthreads=nthreads, **static)


def alm2leg_deriv1(
    alm: jax.Array, *, theta: Any, theta_interpol: bool = False, nthreads: int = 0, **orders: Unpack[Orders]
) -> jax.Array:
    """Legendre coefficients of the two derivatives of a field of spin 0: `alm2leg` with ``mode="DERIV1"``.

    Parameters
    ----------
    alm
        Complex array, shape ``(..., 1, ncoeff)``; leading dimensions are a batch.
    theta, theta_interpol, nthreads, **orders
        As in `alm2leg`.

    Returns
    -------
    jax.Array
        Complex array, shape ``(..., 2, ntheta, nm)``: the derivative in theta, and that in phi divided by sin(theta).

    Raises
    ------
    TypeError, ValueError
        As in `alm2leg`.
    """
    options: dict[str, Any] = {"theta_interpol": theta_interpol, "nthreads": nthreads}
    return alm2leg(alm, theta=theta, spin=1, mode="DERIV1", **options, **orders)
