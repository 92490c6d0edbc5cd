# SPDX-License-Identifier: BSD-2-Clause
"""Spherical harmonic transforms: `ducc0.sht` for JAX.

If unsure: `jaxbind_ducc.healpix` for HEALPix maps, `synthesis_2d` and `analysis_2d` for grids that you may choose,
`synthesis` for other pixels on rings, `synthesis_general` for any points on the sphere.

Coefficients a_lm of real fields have m >= 0, are complex, and are stored in the last axis as `Storage` says; the axis
before holds one set for spin 0, and gradient and curl for other spins. All transforms take more leading dimensions as a
batch, with the geometry in common, and so does `jax.vmap`; ducc0 processes a batch in one call.

*Linear over which numbers?* Maps between coefficients and real pixels are linear over the real numbers. As functions of
complex arrays they ignore imaginary parts at m = 0, and have zeros there. Their transposes are the plain ones of JAX:
for a real function, `jax.grad` gives ``w_m conj(adjoint)`` with ``w_0 = 1`` and ``w_m = 2``, so that ``Re
sum(jax.grad(f)(a) da)`` is the change of f. The packing `jaxbind_ducc.alm.alm2realalm` has no such weights. Only
`alm2leg` and `leg2alm` are linear over the complex numbers.

With `nthreads=0` large transforms use all threads, small ones a single one.
"""

from __future__ import annotations

from jaxbind_ducc._alm_layout import Storage
from jaxbind_ducc._azimuth import leg2map, map2leg
from jaxbind_ducc._grid_transforms import (
    GridScheme,
    adjoint_analysis_2d,
    adjoint_synthesis_2d,
    analysis_2d,
    synthesis_2d,
    synthesis_2d_deriv1,
)
from jaxbind_ducc._legendre import Orders, alm2leg, alm2leg_deriv1, leg2alm
from jaxbind_ducc._pseudo_analysis import pseudo_analysis
from jaxbind_ducc._ring_transforms import RingScheme, adjoint_synthesis, synthesis, synthesis_deriv1
from jaxbind_ducc._rings import RingGeometry
from jaxbind_ducc._rotation import rotate_alm
from jaxbind_ducc.pointing import (
    PointScheme,
    SolverScheme,
    adjoint_synthesis_general,
    pseudo_analysis_general,
    synthesis_general,
)

__all__ = [
    "GridScheme",
    "Orders",
    "PointScheme",
    "RingGeometry",
    "RingScheme",
    "SolverScheme",
    "Storage",
    "adjoint_analysis_2d",
    "adjoint_synthesis",
    "adjoint_synthesis_2d",
    "adjoint_synthesis_general",
    "alm2leg",
    "alm2leg_deriv1",
    "analysis_2d",
    "leg2alm",
    "leg2map",
    "map2leg",
    "pseudo_analysis",
    "pseudo_analysis_general",
    "rotate_alm",
    "synthesis",
    "synthesis_2d",
    "synthesis_2d_deriv1",
    "synthesis_deriv1",
    "synthesis_general",
]
