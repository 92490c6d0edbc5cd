# SPDX-License-Identifier: BSD-2-Clause
"""The linear transforms of ducc0 as JAX functions: exact in value and derivative, batched by ducc0 itself.

The modules, and the names and parameters in them, are those of ducc0:

`fft`
    Fourier, cosine, sine and Hartley transforms, convolution along an axis.
`nufft`
    Non-uniform Fourier transforms, differentiable in the coordinates too.
`sht`
    Spherical harmonic transforms on rings, grids and any points.
`healpix`
    The same for HEALPix maps.
`totalconvolve`
    Convolution of sky and beam at any pointing.
`wgridder`
    Radio interferometry: images to visibilities and back.

Three more hold what ducc0 has elsewhere, and what these share:

`alm`
    Arrays of spherical harmonic coefficients: indices, layouts, power spectra.
`noise`
    Noise of detectors from white noise.
`pointing`
    Transforms at any points, differentiable in the points too, and lensing.
"""

from __future__ import annotations

import importlib.metadata

from jaxbind_ducc import alm, fft, healpix, noise, nufft, pointing, sht, totalconvolve, wgridder

__all__ = ["__version__", "alm", "fft", "healpix", "noise", "nufft", "pointing", "sht", "totalconvolve", "wgridder"]

__version__ = importlib.metadata.version("jaxbind-ducc")
