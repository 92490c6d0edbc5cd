# SPDX-License-Identifier: BSD-2-Clause
"""`jaxbind.testing` on every operator of the sphere, in both directions: linearity, transposes, writes, batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from jaxbind.testing import check_operator
from jaxbind_ducc import (
    _azimuth,
    _convolver,
    _grid_transforms,
    _legendre,
    _point_analysis,
    _point_transforms,
    _pseudo_analysis,
    _ring_transforms,
    _rotation,
)
from support.sphere import draw

# A layout with gaps, in the form in which it reaches host functions: lmax, mmax, mstart, lstride, size.
LAYOUT = (3, 2, (0, 15, 4), 2, 23)
RINGS: tuple[Any, ...] = (np.array([0.5, 1.5]), np.array([5, 7]), np.array([0.1, 0.2]), np.array([8, 0]), None, 1)
ON_RINGS: dict[str, Any] = {"layout": LAYOUT, "geometry": RINGS, "npix": 14, "spin": 2, "nthreads": 1}
ON_GRID: dict[str, Any] = {"layout": LAYOUT, "geometry": "F1", "ntheta": 5, "nphi": 6, "phi0": 0.3, "ringfactor": None}
ON_GRID |= {"spin": 2, "nthreads": 1}
AT_POINTS: dict[str, Any] = {"layout": LAYOUT, "spin": 2, "mode": "STANDARD", "epsilon": 1e-12, "nthreads": 1}
AT_POINTS |= {"sigma_min": 1.1, "sigma_max": 2.6}
ORDERS: dict[str, Any] = {"theta": np.array([0.4, 2.0]), "mval": np.array([2, 0], np.uint64), "ncoeff": 12, "spin": 2}
ORDERS |= {"mstart": np.array([1, 6], np.uint64), "lstride": 1, "lmax": 4, "mode": "STANDARD", "nthreads": 1}
LOC = np.array([[0.3, 0.2], [1.2, 4.0], [3.3, 6.2]])
MAP, ALM = draw((2, 14), float), draw((2, 23))
GRID, STANDARD, EXACT = draw((2, 5, 6), float), {"mode": "STANDARD"}, {"theta_interpol": False}
SOLVER = {"epsilon": 1e-11, "maxiter": 200}
CUT = {"lmax": 3, "mmax_in": 2, "mmax_out": 1, "nthreads": 1}
BEAM = {"lmax": 3, "kmax": 1, "epsilon": 1e-12, "nthreads": 1, "sigma_min": 1.1, "sigma_max": 2.6}
HEALPIX = ON_RINGS | {"geometry": 1, "npix": 12}

CASES: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "synthesis": (_ring_transforms.synthesis_operator, (ALM,), ON_RINGS | STANDARD | EXACT),
    "adjoint_synthesis": (_ring_transforms.adjoint_synthesis_operator, (MAP,), ON_RINGS | STANDARD | EXACT),
    "derivatives": (_ring_transforms.synthesis_operator, (ALM[:1],), ON_RINGS | EXACT | {"mode": "DERIV1", "spin": 1}),
    "healpix": (_ring_transforms.synthesis_operator, (ALM,), HEALPIX | STANDARD | EXACT),
    "synthesis_2d": (_grid_transforms._grids_operator, (ALM,), ON_GRID | STANDARD | {"analysis": False}),
    "adjoint_synthesis_2d": (
        _grid_transforms._coefficients_operator,
        (GRID,),
        ON_GRID | STANDARD | {"analysis": False},
    ),
    "analysis_2d": (_grid_transforms._coefficients_operator, (GRID,), ON_GRID | {"analysis": True}),
    "adjoint_analysis_2d": (_grid_transforms._grids_operator, (ALM,), ON_GRID | {"analysis": True}),
    "alm2leg": (_legendre._alm2leg_operator, (draw((2, 12)),), ORDERS | EXACT),
    "leg2alm": (_legendre._leg2alm_operator, (draw((2, 2, 2)),), ORDERS | EXACT),
    "leg2map": (
        _azimuth._leg2map_operator,
        (draw((2, 2, 4)),),
        {"geometry": RINGS, "mmax": 3, "npix": 14, "nthreads": 1},
    ),
    "map2leg": (_azimuth._map2leg_operator, (MAP,), {"geometry": RINGS, "mmax": 3, "npix": 14, "nthreads": 1}),
    "pseudo_analysis": (_pseudo_analysis._pseudo_analysis_operator, (MAP,), ON_RINGS | SOLVER | EXACT),
    "synthesis_general": (_point_transforms.synthesis_operator, (LOC, ALM), AT_POINTS),
    "adjoint_synthesis_general": (_point_transforms.adjoint_synthesis_operator, (LOC, MAP[:, :3]), AT_POINTS),
    "pseudo_analysis_general": (
        _point_analysis.pseudo_operator,
        (LOC, MAP[:, :3]),
        {name: value for name, value in (AT_POINTS | SOLVER).items() if name != "mode"},
    ),
    "interpol": (_convolver.interpol_operator, (draw((4, 3), float), draw((2, 10)), draw((2, 7), seed=1)), BEAM),
}


# A coefficient with m = 0 is rotated to others together with its conjugate: linear over the real numbers only.
CASES["rotate_alm"] = (_rotation._rotate_operator, (np.array([0.3, 0.7, -1.1]), draw((9,))), CUT)


@pytest.mark.parametrize(("operator", "args", "kwargs"), CASES.values(), ids=CASES)
def test_the_checker_finds_nothing(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    report = check_operator(operator, *args, rtol=1e-8, atol=1e-8, **kwargs)
    assert report.passed
    assert len(report.checks) > 5
