# SPDX-License-Identifier: BSD-2-Clause
"""Least squares between maps and coefficients: a call of ducc0's solver, and the solver that it has no counterpart of.

The latter finds maps whose adjoint synthesis fits coefficients best: conjugate gradients on the normal equations (CGLS;
A. Bjorck, Numerical Methods for Least Squares Problems, SIAM 1996, sect. 7.4) for ``min |A' x - a|`` with the norm of
fields on the side of a. They begin at 0, and so end at the solution of smallest norm, the pseudo-inverse of A'.
"""

from __future__ import annotations

import operator as op
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxbind_ducc import _alm_layout, _errors
from jaxbind_ducc._alm_layout import Layout

Operator = Callable[[Any], Any]


def fill(alm: Any, layout: Layout, solver: Callable[..., Any], **arguments: Any) -> None:
    """Fill an array of coefficients by a solver of ducc0.

    Parameters
    ----------
    alm
        Where the coefficients go, in some layout.
    layout
        That layout.
    solver
        `ducc0.sht.pseudo_analysis` or `ducc0.sht.pseudo_analysis_general`.
    arguments
        Its other arguments.
    """
    compact = _alm_layout.contiguous(layout.lmax, layout.mmax)
    if compact == layout:
        solver(alm=alm, lmax=layout.lmax, mmax=layout.mmax, **arguments)
        return
    # In other layouts ducc0 0.42 iterates on uninitialised memory where there is no coefficient, and returns it.
    found = np.zeros((*alm.shape[:-1], compact.size), alm.dtype)
    solver(alm=found, lmax=layout.lmax, mmax=layout.mmax, **arguments)
    alm[...] = 0
    alm[..., _alm_layout.places(layout)] = found


def solve(
    x: Any, alm: Any, synthesis: Operator, adjoint: Operator, layout: Layout, epsilon: float, maxiter: int
) -> None:
    """Fill an array with the solution.

    Parameters
    ----------
    x
        Where the map goes.
    alm
        The coefficients, in some layout.
    synthesis, adjoint
        The functions A and A'.
    layout
        Says which coefficients count twice.
    epsilon
        Relative size of the gradient at which iterations stop.
    maxiter
        Largest number of iterations.
    """
    weights = np.where(_alm_layout.degrees_and_orders(layout)[1] > 0, 2.0, 1.0)
    x[...] = 0
    residual = alm.copy()
    gradient = synthesis(residual)
    direction = gradient
    size = first = np.vdot(gradient, gradient)
    for _ in range(maxiter):
        if size <= epsilon**2 * first:
            return
        change = adjoint(direction)
        step = size / np.sum(weights * np.abs(change) ** 2)
        x += (step * direction).astype(x.dtype)
        residual -= (step * change).astype(residual.dtype)
        gradient = synthesis(residual)
        previous, size = size, np.vdot(gradient, gradient)
        direction = (gradient + size / previous * direction).astype(x.dtype)


def checked(operator: str, maxiter: int, epsilon: float) -> dict[str, Any]:
    """The keyword arguments of a solver."""
    for name, value in (("maxiter", maxiter), ("epsilon", epsilon)):
        if value <= 0:
            raise _errors.bad_value(operator, name, value, "a positive number", "Raise it")
    return {"maxiter": op.index(maxiter), "epsilon": float(epsilon)}
