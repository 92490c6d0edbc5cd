# SPDX-License-Identifier: BSD-2-Clause
"""Coefficients that fit maps best: the pseudo-inverse of a synthesis, by an iterative solver, and its transpose.

Owns `pseudo_analysis`, for maps on rings. ducc0 solves ``min |A a - x|`` by LSMR (D. C.-L. Fong, M. Saunders, SIAM J.
Sci. Comput. 33, 2950 (2011)), with the result a = A+ x, where A+ is the pseudo-inverse with respect to the inner
product of fields. The adjoint of A+ is the pseudo-inverse of A', which `jaxbind_ducc._least_squares` has.
`jaxbind_ducc._real_pairing` makes the transpose of it.
"""

from __future__ import annotations

from typing import Any, Unpack

import ducc0
import jax
import jaxbind
import numpy as np

from jaxbind_ducc import _alm_layout, _arguments, _dtypes, _least_squares, _rings, _threads
from jaxbind_ducc._alm_layout import Layout
from jaxbind_ducc._bind import Shapes, batched_shapes, over_batch
from jaxbind_ducc._real_pairing import transpose_to_adjoint
from jaxbind_ducc._ring_transforms import RingScheme
from jaxbind_ducc._rings import Rings


@over_batch()
def _pseudo_analysis(outs: Any, maps: Any, *, layout: Any, geometry: Any, npix: int, **solver: Any) -> None:
    storage = Layout(*layout)
    solver["nthreads"] = _threads_for(storage, geometry, maps, solver["nthreads"])
    _least_squares.fill(outs[0], storage, ducc0.sht.pseudo_analysis, map=maps, **Rings(*geometry).arguments(), **solver)


@over_batch()
def _pseudo_analysis_transpose(
    outs: Any,
    c: Any,
    *,
    layout: Any,
    geometry: Any,
    npix: int,
    epsilon: float,
    maxiter: int,
    nthreads: int,
    **options: Any,
) -> None:
    storage = Layout(*layout)
    options |= storage.arguments() | Rings(*geometry).arguments()
    options["nthreads"] = _threads_for(storage, geometry, outs[0], nthreads)

    def synthesis(alm: Any) -> Any:
        return ducc0.sht.synthesis(alm=alm, map=np.zeros_like(outs[0][0]), **options)

    def adjoint(maps: Any) -> Any:
        return ducc0.sht.adjoint_synthesis(map=maps, alm=np.zeros_like(c[0]), **options)

    for out, alm in zip(outs[0], transpose_to_adjoint(c, storage), strict=True):
        _least_squares.solve(out, alm, synthesis, adjoint, storage, epsilon, maxiter)


def _threads_for(layout: Layout, geometry: Any, maps: Any, nthreads: int) -> int:
    return _threads.choose(nthreads, _arguments.work(layout, len(geometry[0]), maps.shape[0] * maps.shape[1]))


@batched_shapes
def _alm_shape(maps: Any, *, layout: Any, **_: Any) -> Shapes:
    return (((maps.shape[0], Layout(*layout).size), _dtypes.complex_dtype(maps.dtype)),)


@batched_shapes
def _maps_shape(c: Any, *, npix: int, **_: Any) -> Shapes:
    return (((c.shape[0], npix), _dtypes.real_dtype(c.dtype)),)


_pseudo_analysis_operator = jaxbind.get_linear_call(
    _pseudo_analysis, _pseudo_analysis_transpose, _alm_shape, _maps_shape, func_can_batch=True
)


def pseudo_analysis(
    map: jax.Array,
    *,
    spin: int,
    maxiter: int,
    epsilon: float,
    theta_interpol: bool = False,
    ncoeff: int | None = None,
    nthreads: int = 0,
    **scheme: Unpack[RingScheme],
) -> jax.Array:
    """Coefficients whose synthesis fits maps on rings best, by an iterative solver.

    On the grids of `analysis_2d` use that, which is exact and faster.

    Parameters
    ----------
    map
        Real array, shape ``(..., nmaps, npix)``; leading dimensions are a batch.
    spin, theta_interpol, ncoeff, nthreads, **scheme
        As in `adjoint_synthesis`.
    maxiter
        Largest number of iterations.
    epsilon
        Relative tolerance at which iterations stop.

    Returns
    -------
    jax.Array
        Complex array of the same precision, shape ``(..., nmaps, ncoeff)``. What ducc0 reports of the convergence is
        not returned; call `ducc0.sht.pseudo_analysis` once to see it.

    Raises
    ------
    TypeError, ValueError
        If dtypes, shapes, storage, rings and spin do not fit together, or `maxiter` or `epsilon` is out of range.

    Notes
    -----
    The function is `ducc0.sht.pseudo_analysis`, the pseudo-inverse of `synthesis`. It is linear up to `epsilon`, if the
    solver converged within `maxiter` iterations; so are its derivatives, which are exact pseudo-inverses up to the same
    tolerance and not derivatives of the iteration. The transpose solves the adjoint problem and costs about as much.
    """
    _arguments.check_names("pseudo_analysis", scheme, RingScheme)
    layout = _alm_layout.checked("pseudo_analysis", scheme, ncoeff)
    rings = _rings.checked("pseudo_analysis", scheme)
    spin = _arguments.checked_spin("pseudo_analysis", spin, "STANDARD", layout.lmax)
    maps = _arguments.checked_array(
        "pseudo_analysis", "map", map, "real", (_arguments.components(spin, "STANDARD")[1], "npix")
    )
    npix = _rings.checked_npix("pseudo_analysis", "map.shape[-1]", maps.shape[-1], rings)
    solver = _least_squares.checked("pseudo_analysis", maxiter, epsilon)
    static = {"layout": tuple(layout), "geometry": tuple(rings), "spin": spin, "npix": npix, "nthreads": nthreads}
    return _arguments.apply(_pseudo_analysis_operator, maps, 2, theta_interpol=theta_interpol, **static, **solver)
