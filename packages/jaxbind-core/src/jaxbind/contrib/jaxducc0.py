# SPDX-License-Identifier: BSD-2-Clause
"""The operators on ducc0 under the names that jaxbind 1.x had, for programs that were written for it.

New programs use `jaxbind_ducc`, which has all of ducc0's linear transforms and returns arrays. Here the operators
return lists with one array, `nthreads` is 1 by default, and the coefficients of `get_healpix_sht` are packed into
real numbers: a real field's coefficients a_lm with m = 0 are real, those with m > 0 count twice in the inner product,
so

    a_00, a_10, .., a_(lmax,0), sqrt(2) Re a_11, sqrt(2) Im a_11, sqrt(2) Re a_21, ..

makes the inner product a plain one, and the transpose of a synthesis the packed adjoint synthesis.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from jaxbind.jaxbind import get_linear_call, load_kwargs

try:
    import ducc0
    import jaxbind_ducc.fft
    import jaxbind_ducc.wgridder
    from jaxbind_ducc.alm import nalm
except ModuleNotFoundError as error:
    missing = (error.name or "").partition(".")[0]
    if missing not in {"ducc0", "jaxbind_ducc"}:
        raise
    raise ModuleNotFoundError(
        f"jaxbind.contrib.jaxducc0 needs the package jaxbind-ducc, but the module {missing} is not installed. "
        "Install it: pip install 'jaxbind-core[ducc]'",
        name=error.name,
    ) from error

__all__ = ["c2c", "genuine_fht", "get_healpix_sht", "get_wgridder", "nalm"]

Operator = functools.partial[list[Any]]

c2c: Operator = functools.partial(jaxbind_ducc.fft.c2c_operator, nthreads=1)
genuine_fht: Operator = functools.partial(jaxbind_ducc.fft.genuine_fht_operator, nthreads=1)


def get_wgridder(
    *,
    pixsize_x: float,
    pixsize_y: float,
    npix_x: int,
    npix_y: int,
    epsilon: float,
    do_wgridding: bool,
    nthreads: int = 1,
    flip_v: bool = False,
    verbosity: int = 0,
    **kwargs: Any,
) -> Operator:
    """Make the operator from sky images to visibilities.

    Parameters
    ----------
    pixsize_x, pixsize_y
        Sizes of a pixel, in radians.
    npix_x, npix_y
        Size of the image.
    epsilon
        Relative accuracy.
    do_wgridding
        Whether to account for w.
    nthreads
        Number of threads, 0 for all.
    flip_v
        Whether to turn the sign of v.
    verbosity
        1 to let ducc0 print what it does.
    **kwargs
        Further keyword arguments of `ducc0.wgridder.dirty2vis`; arrays among them must be NumPy's.

    Returns
    -------
    functools.partial
        Called with ``(uvw, freq, image)``, of shapes ``(nrow, 3)``, ``(nchan,)`` and ``(npix_x, npix_y)``, it returns a
        list with the visibilities, of shape ``(nrow, nchan)``.
    """
    return functools.partial(
        jaxbind_ducc.wgridder.dirty2vis_operator,
        pixsize_x=pixsize_x,
        pixsize_y=pixsize_y,
        npix_x=npix_x,
        npix_y=npix_y,
        epsilon=epsilon,
        do_wgridding=do_wgridding,
        nthreads=nthreads,
        flip_v=flip_v,
        verbosity=verbosity,
        **kwargs,
    )


def _complextype(dtype: Any) -> np.dtype[Any]:
    """The complex dtype of the precision of a real one."""
    return np.result_type(dtype, np.complex64)


def _realtype(dtype: Any) -> np.dtype[Any]:
    """The real dtype of the precision of a complex one."""
    return np.empty(0, dtype).real.dtype


def _alm2realalm(alm: Any, lmax: int, dtype: Any, out: Any = None) -> Any:
    """Pack complex coefficients, shape ``(ncomp, nalm)``, into real numbers of a dtype; into `out` if it is given."""
    if out is None:
        out = np.empty((alm.shape[0], 2 * alm.shape[1] - lmax - 1), dtype)
    out[:, : lmax + 1] = alm[:, : lmax + 1].real
    paired = alm[:, lmax + 1 :] * np.sqrt(2)
    out[:, lmax + 1 :: 2], out[:, lmax + 2 :: 2] = paired.real, paired.imag
    return out


def _realalm2alm(alm: Any, lmax: int, dtype: Any, out: Any = None) -> Any:
    """Unpack real numbers, shape ``(ncomp, 2 nalm - lmax - 1)``, to complex coefficients; into `out` if it is given."""
    if out is None:
        out = np.empty((alm.shape[0], (alm.shape[1] + lmax + 1) // 2), dtype)
    out[:, : lmax + 1] = alm[:, : lmax + 1]
    out[:, lmax + 1 :] = (alm[:, lmax + 1 :: 2] + 1j * alm[:, lmax + 2 :: 2]) * np.sqrt(0.5)
    return out


@functools.lru_cache(maxsize=8)
def _rings(nside: int) -> dict[str, Any]:
    """The rings of a HEALPix map, as ducc0 describes them."""
    info = ducc0.healpix.Healpix_Base(nside, "RING").sht_info()
    return {name: info[name] for name in ("theta", "phi0", "nphi", "ringstart")}


def _transform(args: Any, kwargs_dump: Any) -> tuple[Any, dict[str, Any]]:
    """The values to transform, and the keyword arguments that ducc0 takes in both directions."""
    options = load_kwargs(kwargs_dump)
    # The rings that the operator is called with are in single precision where JAX runs without double.
    return args[-1], options | _rings(options.pop("nside"))


def _healpix_sht(out: Any, args: Any, kwargs_dump: Any) -> None:
    values, options = _transform(args, kwargs_dump)
    alm = _realalm2alm(values, options["lmax"], _complextype(values.dtype))
    ducc0.sht.synthesis(alm=alm, map=out[0], **options)


def _healpix_sht_T(out: Any, args: Any, kwargs_dump: Any) -> None:  # noqa: N802
    values, options = _transform(args, kwargs_dump)
    alm = ducc0.sht.adjoint_synthesis(map=values, **options)
    _alm2realalm(alm, options["lmax"], values.dtype, out[0])


def _healpix_sht_abstract(*args: Any, spin: int, nside: int, **_: Any) -> Any:
    return (((1 if spin == 0 else 2, 12 * nside**2), args[-1].dtype),)


def _healpix_sht_abstract_T(*args: Any, spin: int, lmax: int, mmax: int, **_: Any) -> Any:  # noqa: N802
    return (((1 if spin == 0 else 2, 2 * nalm(lmax, mmax) - lmax - 1), args[-1].dtype),)


_hp_sht: Operator = get_linear_call(
    _healpix_sht, _healpix_sht_T, _healpix_sht_abstract, _healpix_sht_abstract_T, first_n_args_fixed=4
)


def get_healpix_sht(nside: int, lmax: int, mmax: int, spin: int, nthreads: int = 1) -> Operator:
    """Make the operator from packed spherical harmonic coefficients to a HEALPix map in RING order.

    Parameters
    ----------
    nside
        Resolution of the map, which has ``12 * nside**2`` pixels.
    lmax, mmax
        Highest degree and order, inclusive.
    spin
        Spin of the field.
    nthreads
        Number of threads, 0 for all.

    Returns
    -------
    functools.partial
        Called with a real array of shape ``(ncomp, 2 * nalm(lmax, mmax) - lmax - 1)``, it returns a list with the
        map, of shape ``(ncomp, 12 * nside**2)``; `ncomp` is 1 for spin 0, else 2.
    """
    return functools.partial(
        _hp_sht, *_rings(nside).values(), lmax=lmax, mmax=mmax, spin=spin, nthreads=nthreads, nside=nside
    )
