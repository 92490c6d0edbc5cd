# SPDX-License-Identifier: BSD-2-Clause
"""Transposes of maps from and to the coefficients of real fields, from the adjoints that ducc0 has.

Owns the step from ducc0's adjoint to JAX's transpose, for one layout of coefficients. Knows no transform.

Mathematics. With the weights w of `jaxbind_ducc._alm_layout` a synthesis is

    x_j = Re sum_lm w_m Y_lm(j) a_lm.                                                            (1)

It is linear over the real numbers. ducc0's adjoint refers to the inner product of fields, <a, b> = sum w Re(conj(a) b):

    A'(x)_lm = sum_j conj(Y_lm(j)) x_j.                                                          (2)

JAX's transpose of a real-linear map x = Re(B a) is B^T x, and that of a = C x with complex a and real x is Re(C^T a):

    transpose of (1):   c_lm = w_m sum_j Y_lm(j) x_j     = w_m conj(A'(x)_lm)
    transpose of (2):   x_j  = Re sum_lm conj(Y_lm) c_lm = A(conj(c) / w)

The same two formulas hold for every pair (A, A') of a map from coefficients and its adjoint, and for both arguments of
a map from coefficients to coefficients. Imaginary parts at m = 0 are ignored by A and are zero in A', so the transposes
are right for every complex array, not only for coefficients of real fields.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxbind_ducc import _alm_layout
from jaxbind_ducc._alm_layout import Layout


def adjoint_to_transpose(alm: Any, layout: Layout) -> None:
    """Multiply with the weights and conjugate, in place: from ``A'(x)`` to ``w conj(A'(x))``."""
    np.conjugate(alm, out=alm)
    alm[..., _alm_layout.paired(layout)] *= 2


def transpose_to_adjoint(c: Any, layout: Layout) -> Any:
    """Conjugate and divide by the weights, into a new array: from c to ``conj(c) / w``."""
    a = np.conjugate(c)
    a[..., _alm_layout.paired(layout)] *= 0.5
    return a
