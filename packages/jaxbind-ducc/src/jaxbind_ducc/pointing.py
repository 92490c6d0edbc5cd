# SPDX-License-Identifier: BSD-2-Clause
"""Fields on the sphere at arbitrary points, differentiable in coefficients and points: lensing, pointing calibration.

The functions of `ducc0.sht` and `ducc0.misc` that know of points: `synthesis_general` and `adjoint_synthesis_general`,
which `jaxbind_ducc.sht` offers too, and `get_deflected_angles`, which makes points of a deflection field.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Required, Unpack

import jax

from jaxbind_ducc import _alm_layout, _arguments, _dtypes, _point_transforms
from jaxbind_ducc._alm_layout import Storage
from jaxbind_ducc._deflection import get_deflected_angles
from jaxbind_ducc._point_analysis import SolverScheme, pseudo_analysis_general

__all__ = [
    "PointScheme",
    "SolverScheme",
    "adjoint_synthesis_general",
    "get_deflected_angles",
    "pseudo_analysis_general",
    "synthesis_general",
]


class PointScheme(Storage, total=False):
    """Keyword arguments of the transforms at arbitrary points: `Storage`, and the accuracy, in ducc0's words.

    Attributes
    ----------
    epsilon
        Relative accuracy, at best about 1e-6 in single and 2e-13 in double precision.
    sigma_min, sigma_max
        Smallest and largest oversampling that ducc0 may choose. Defaults: 1.1 and 2.6.
    verbose
        True to let ducc0 print what it does.
    """

    epsilon: Required[float]
    sigma_min: float
    sigma_max: float
    verbose: bool


def synthesis_general(
    alm: jax.Array,
    loc: jax.Array,
    *,
    spin: int,
    mode: str = "STANDARD",
    nthreads: int = 0,
    **scheme: Unpack[PointScheme],
) -> jax.Array:
    """Values of a field at arbitrary points: ``x_j = sum_lm a_lm Y_lm(theta_j, phi_j)``.

    For points on rings `synthesis` is faster and exact.

    Parameters
    ----------
    alm, spin, mode, nthreads
        As in `synthesis`.
    loc
        Real array, shape ``(npix, 2)``: colatitude and longitude of each point, in radians, at best in double
        precision. Points outside of ``0 <= theta <= pi`` continue the field through the pole.
    **scheme
        The accuracy, ``epsilon``, ``sigma_min``, ``sigma_max``, ``verbose``, and the storage of coefficients, ``lmax``,
        ``mmax``, ``mstart``, ``lstride``, see `PointScheme`. All are constants.

    Returns
    -------
    jax.Array
        Real array of the precision of `alm`, shape ``(..., nmaps, npix)``; `nmaps` is 1 for spin 0, else 2.

    Raises
    ------
    TypeError, ValueError
        If dtypes, shapes, storage, spin, mode and accuracy do not fit together.

    Notes
    -----
    The function is `ducc0.sht.synthesis_general`. It is linear over the real numbers in `alm`, with the transpose of
    `synthesis`, and can be differentiated in `loc` too, for all spins and modes and to every order. Derivatives are
    syntheses of neighbouring spins: one for spin 0, three for the others. With spin, they are those of the two
    components along growing theta and phi at the point.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, numpy as np
    >>> from jaxbind_ducc import pointing
    >>> alm = jnp.array([[0, np.sqrt(4 * np.pi / 3), 0]], dtype=jnp.complex64)
    >>> def field(theta):
    ...     loc = jnp.array([[theta, 0.0]])
    ...     return pointing.synthesis_general(alm, loc, spin=0, lmax=1, epsilon=1e-5)[0, 0]
    >>> bool(jnp.allclose(field(1.0), jnp.cos(1.0), atol=1e-4))
    True
    >>> bool(jnp.allclose(jax.grad(field)(1.0), -jnp.sin(1.0), atol=1e-4))
    True
    """
    alm = _arguments.checked_array("synthesis_general", "alm", alm, "complex", ("nalm", "ncoeff"))
    static = _checked("synthesis_general", scheme, spin, mode, alm, alm.shape[-1])
    core = (_arguments.components(static["spin"], mode)[0], "ncoeff")
    alm = _arguments.checked_array("synthesis_general", "alm", alm, "complex", core)
    loc = _arguments.checked_points("synthesis_general", loc)
    return _arguments.apply(_point_transforms.synthesis_operator, alm, 2, loc, nthreads=nthreads, **static)


def adjoint_synthesis_general(
    map: jax.Array,
    loc: jax.Array,
    *,
    spin: int,
    mode: str = "STANDARD",
    ncoeff: int | None = None,
    nthreads: int = 0,
    **scheme: Unpack[PointScheme],
) -> jax.Array:
    """Sums over points: ``a_lm = sum_j conj(Y_lm(theta_j, phi_j)) x_j``, the adjoint of `synthesis_general`.

    Parameters
    ----------
    map
        Real array, shape ``(..., nmaps, npix)``; leading dimensions are a batch.
    loc, spin, mode, nthreads, **scheme
        As in `synthesis_general`.
    ncoeff
        Length of the result. Default: the smallest possible. Entries that hold no coefficient are 0.

    Returns
    -------
    jax.Array
        Complex array of the precision of `map`, shape ``(..., nalm, ncoeff)``.

    Raises
    ------
    TypeError, ValueError
        As in `synthesis_general`.

    Notes
    -----
    The function is `ducc0.sht.adjoint_synthesis_general`, with the inner product of `adjoint_synthesis`. It can be
    differentiated in `loc` too, to every order.
    """
    static = _checked("adjoint_synthesis_general", scheme, spin, mode, map, ncoeff)
    loc = _arguments.checked_points("adjoint_synthesis_general", loc)
    core = (_arguments.components(static["spin"], mode)[1], loc.shape[0])
    maps = _arguments.checked_array("adjoint_synthesis_general", "map", map, "real", core)
    return _arguments.apply(_point_transforms.adjoint_synthesis_operator, maps, 2, loc, nthreads=nthreads, **static)


def _checked(
    operator: str, scheme: Mapping[str, Any], spin: int, mode: str, array: Any, size: int | None
) -> dict[str, Any]:
    """The keyword arguments of the operators."""
    _arguments.check_names(operator, scheme, PointScheme)
    layout = _alm_layout.checked(operator, scheme, size)
    epsilon = _arguments.checked_epsilon(
        operator, scheme["epsilon"], _dtypes.as_array(operator, "array", array, "any").dtype
    )
    sigmas = _arguments.oversampling(scheme)
    static = {"layout": tuple(layout), "spin": _arguments.checked_spin(operator, spin, mode, layout.lmax), "mode": mode}
    return static | sigmas | {"epsilon": epsilon, "verbose": bool(scheme.get("verbose", False))}
