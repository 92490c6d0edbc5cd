# SPDX-License-Identifier: BSD-2-Clause
"""Noise of detectors, whose power falls with frequency ("one over f"): `ducc0.misc.OofaNoise` for JAX.

Independent normal numbers x become a series of samples y with approximately the power spectrum, per sample,

    P(f) = sigmawhite^2 ((f^2 + f_knee^2) / (f^2 + f_min^2))^(-slope / 2),

white below `f_min` and above `f_knee`, and proportional to ``f^slope`` in between. A recursive filter that begins at
rest does it: y_t is a sum over x_0, ..., x_t with weights that depend on the distance in time only. Its transpose is
therefore the same filter run backwards, on the reversed array.

Source of the method: S. Plaszczynski, arXiv:astro-ph/0510081, in the implementation of ducc0.
"""

from __future__ import annotations

from typing import Any

import ducc0
import jax
import jaxbind
import numpy as np
from jax.typing import ArrayLike

from jaxbind_ducc import _arguments, _errors
from jaxbind_ducc._bind import Shapes, batched_shapes, over_batch

__all__ = ["filter_gaussian"]


@over_batch()
def _filter(outs: Any, rnd: Any, **spectrum: float) -> None:
    for out, one in zip(outs[0], rnd, strict=True):
        # ducc0 goes on with the series of an object, and knows double precision only.
        out[...] = ducc0.misc.OofaNoise(**spectrum).filterGaussian(one.astype(np.float64, copy=False))


@over_batch()
def _filter_transpose(outs: Any, c: Any, **spectrum: float) -> None:
    for out, one in zip(outs[0], c, strict=True):
        backwards = np.ascontiguousarray(one[::-1], np.float64)
        out[...] = ducc0.misc.OofaNoise(**spectrum).filterGaussian(backwards)[::-1]


@batched_shapes
def _same(rnd: Any, **_: Any) -> Shapes:
    return ((rnd.shape, rnd.dtype),)


_operator = jaxbind.get_linear_call(_filter, _filter_transpose, _same, _same, func_can_batch=True)


def filter_gaussian(
    rnd: ArrayLike, *, sigmawhite: float, f_knee: float, f_min: float, f_samp: float, slope: float
) -> jax.Array:
    """Noise with a falling power spectrum from white noise. Use it as the prior of a drift, or to simulate one.

    To infer `slope` or the frequencies too, multiply a Fourier transform by the square root of the formula above
    instead: here they are constants.

    Parameters
    ----------
    rnd
        Real array, shape ``(..., nsamples)``: independent normal numbers of variance one; leading dimensions are a
        batch of independent series.
    sigmawhite
        Standard deviation of the white part above `f_knee`, in the unit of the result.
    f_knee, f_min
        The frequencies at which the spectrum becomes white, in Hz, with ``0 < f_min < f_knee``.
    f_samp
        Samples per second, in Hz.
    slope
        Exponent of the frequency between them, from -2 to 0.

    Returns
    -------
    jax.Array
        Of the same shape and dtype.

    Raises
    ------
    TypeError, ValueError
        If the dtype is not a real one, or the frequencies and the slope are not as above.

    Notes
    -----
    The function is `ducc0.misc.OofaNoise.filterGaussian` of a new object, so that the result depends on the arguments
    alone. The series begins at rest: it is stationary after a time of about ``1 / f_min``. It is linear, so it can be
    differentiated in both modes to every order. ducc0 computes in double precision.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxbind_ducc import noise
    >>> kick = jnp.zeros(4).at[1].set(1.0)
    >>> noise.filter_gaussian(kick, sigmawhite=1.0, f_knee=1.0, f_min=0.01, f_samp=10.0, slope=-2.0).round(2).tolist()
    [0.0, 1.309999942779541, 0.6200000047683716, 0.6100000143051147]
    """
    given = {"sigmawhite": sigmawhite, "f_knee": f_knee, "f_min": f_min, "f_samp": f_samp, "slope": slope}
    spectrum = {name: float(value) for name, value in given.items()}
    if not 0 < spectrum["f_min"] < spectrum["f_knee"]:
        expected = f"above 0 and below f_knee = {f_knee}"
        raise _errors.bad_value("filter_gaussian", "f_min", f_min, expected, "Lower it, or raise f_knee")
    if not -2 <= spectrum["slope"] <= 0:
        raise _errors.bad_value("filter_gaussian", "slope", slope, "between -2 and 0", "Choose one in this range")
    if not spectrum["f_samp"] > 0:
        raise _errors.bad_value("filter_gaussian", "f_samp", f_samp, "a positive frequency", "Raise it")
    array = _arguments.checked_array("filter_gaussian", "rnd", rnd, "real", ("nsamples",))
    return _arguments.apply(_operator, array, 1, **spectrum)
