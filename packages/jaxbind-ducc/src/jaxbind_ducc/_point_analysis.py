# SPDX-License-Identifier: BSD-2-Clause
"""Coefficients that fit values at arbitrary points best: the pseudo-inverse of `synthesis_general`.

Owns `pseudo_analysis_general`; see `jaxbind_ducc._pseudo_analysis` for the adjoint.

Mathematics. While the rank of A stays the same, its pseudo-inverse P changes with the points by

    dP = - P dA P + P P' dA' (1 - A P) + (1 - P A) dA' P' P

(G. H. Golub, V. Pereyra, SIAM J. Numer. Anal. 10, 413 (1973), theorem 4.3), in which all factors are operators of this
package. So derivatives in the points exist to every order, up to the tolerance of the solver.
"""

from __future__ import annotations

from typing import Any, Unpack

import ducc0
import jax
import jax.numpy as jnp
import jaxbind
import numpy as np

from jaxbind_ducc import _alm_layout, _arguments, _dtypes, _least_squares, _point_transforms
from jaxbind_ducc._alm_layout import Layout, Storage
from jaxbind_ducc._bind import Shapes, batched_shapes, over_batch
from jaxbind_ducc._real_pairing import transpose_to_adjoint

SHARE = 0.1  # The accuracy of ducc0's transforms in units of the tolerance of its solver.


@over_batch(fixed=1)
def _pseudo_analysis_general(
    outs: Any, loc: Any, maps: Any, *, layout: Any, spin: int, nthreads: int, **solver: Any
) -> None:
    storage = Layout(*layout)
    if not len(loc):
        outs[0][...] = 0
        return
    points, beyond = _point_transforms.on_sphere(loc)
    if spin % 2 and beyond is not None:
        maps = np.where(beyond, -maps, maps)
    solver |= {"spin": spin, "loc": points, "nthreads": _point_transforms.threads(storage, loc, nthreads)}
    for alm, one in zip(outs[0], maps, strict=True):
        _least_squares.fill(alm, storage, ducc0.sht.pseudo_analysis_general, map=one, **solver)


@over_batch(fixed=1)
def _pseudo_analysis_general_transpose(
    outs: Any, loc: Any, c: Any, *, layout: Any, epsilon: float, maxiter: int, **options: Any
) -> None:
    storage = Layout(*layout)
    options |= {"layout": storage, "mode": "STANDARD", "epsilon": SHARE * epsilon}

    def synthesis(alm: Any) -> Any:
        maps = np.empty_like(outs[0][:1])
        _point_transforms.fill_maps(maps, loc, alm[None], **options)
        return maps[0]

    def adjoint(maps: Any) -> Any:
        alm = np.empty_like(c[:1])
        _point_transforms.fill_alm(alm, loc, maps[None], **options)
        return alm[0]

    for out, alm in zip(outs[0], transpose_to_adjoint(c, storage), strict=True):
        _least_squares.solve(out, alm, synthesis, adjoint, storage, epsilon, maxiter)


@batched_shapes
def _alm_shape(loc: Any, maps: Any, *, layout: Any, **_: Any) -> Shapes:
    return (((maps.shape[0], Layout(*layout).size), _dtypes.complex_dtype(maps.dtype)),)


@batched_shapes
def _maps_shape(loc: Any, c: Any, **_: Any) -> Shapes:
    return (((c.shape[0], loc.shape[0]), _dtypes.real_dtype(c.dtype)),)


def _change(primals: tuple[Any, ...], tangents: tuple[Any, ...], **static: Any) -> tuple[jax.Array]:
    """The formula for dP above, applied to the maps."""
    loc, maps = primals
    layout = Layout(*static["layout"])
    transform = {name: static[name] for name in ("layout", "spin", "sigma_min", "sigma_max", "nthreads")}
    transform |= {"mode": "STANDARD", "epsilon": SHARE * static["epsilon"]}
    weights = jnp.asarray(
        np.where(_alm_layout.degrees_and_orders(layout)[1] > 0, 2.0, 1.0), _dtypes.complex_dtype(maps.dtype)
    )

    def P(x: Any) -> Any:  # noqa: N802  # the symbols of the formula
        return pseudo_operator(loc, x, **static)[0]

    def P_adjoint(a: Any) -> Any:  # noqa: N802
        return jax.linear_transpose(P, jax.ShapeDtypeStruct(maps.shape, maps.dtype))(
            jnp.asarray(weights, a.dtype) * a.conj()
        )[0]

    def A(a: Any) -> Any:  # noqa: N802
        return _point_transforms.synthesis_operator(loc, a, **transform)[0]

    def dA(a: Any) -> Any:  # noqa: N802
        return _point_transforms.change_of_values((loc, a), tangents, **transform)[0]

    def dA_adjoint(x: Any) -> Any:  # noqa: N802
        return _point_transforms.change_of_adjoint((loc, x), tangents, **transform)[0]

    fit = P(maps)
    outside = dA_adjoint(P_adjoint(fit))
    return (P(P_adjoint(dA_adjoint(maps - A(fit))) - dA(fit) - A(outside)) + outside,)


pseudo_operator = jaxbind.get_linear_call(
    _pseudo_analysis_general,
    _pseudo_analysis_general_transpose,
    _alm_shape,
    _maps_shape,
    first_n_args_fixed=1,
    func_can_batch=True,
    fixed_derivative=_change,
)


class SolverScheme(Storage, total=False):
    """Keyword arguments of `pseudo_analysis_general`: what `Storage` lists, and the oversampling, in ducc0's words.

    Attributes
    ----------
    sigma_min, sigma_max
        Smallest and largest oversampling that ducc0 may choose. Defaults: 1.1 and 2.6.
    """

    sigma_min: float
    sigma_max: float


def pseudo_analysis_general(
    map: jax.Array,
    loc: jax.Array,
    *,
    spin: int,
    maxiter: int,
    epsilon: float,
    ncoeff: int | None = None,
    nthreads: int = 0,
    **scheme: Unpack[SolverScheme],
) -> jax.Array:
    """Coefficients whose values at arbitrary points fit given ones best, by an iterative solver.

    Parameters
    ----------
    map
        Real array, shape ``(..., nmaps, npix)``; leading dimensions are a batch.
    loc, spin, ncoeff, nthreads
        As in `adjoint_synthesis_general`.
    maxiter
        Largest number of iterations.
    epsilon
        Relative tolerance at which iterations stop, at best about 1e-5 in single and 2e-12 in double precision.
    **scheme
        The storage of coefficients, ``lmax``, ``mmax``, ``mstart``, ``lstride``, and the oversampling, ``sigma_min``
        and ``sigma_max``. All are constants.

    Returns
    -------
    jax.Array
        Complex array of the same precision, shape ``(..., nmaps, ncoeff)``.

    Raises
    ------
    TypeError, ValueError
        If dtypes, shapes, storage and spin do not fit together, or `maxiter` or `epsilon` is out of range.

    Notes
    -----
    The function is `ducc0.sht.pseudo_analysis_general`, the pseudo-inverse of `synthesis_general`. It is linear up to
    `epsilon`, if the solver converged within `maxiter` iterations. Transpose and derivatives, also those in `loc`, are
    those of the pseudo-inverse up to the same tolerance, and not of the iteration.
    """
    name = "pseudo_analysis_general"
    _arguments.check_names(name, scheme, SolverScheme)
    layout = _alm_layout.checked(name, scheme, ncoeff)
    spin = _arguments.checked_spin(name, spin, "STANDARD", layout.lmax)
    points = _arguments.checked_points(name, loc)
    core = (_arguments.components(spin, "STANDARD")[1], points.shape[0])
    maps = _arguments.checked_array(name, "map", map, "real", core)
    _arguments.checked_epsilon(name, epsilon, maps.dtype, SHARE)
    sigmas = _arguments.oversampling(scheme)
    static = sigmas | _least_squares.checked(name, maxiter, epsilon) | {"layout": tuple(layout), "spin": spin}
    return _arguments.apply(pseudo_operator, maps, 2, points, nthreads=nthreads, **static)
