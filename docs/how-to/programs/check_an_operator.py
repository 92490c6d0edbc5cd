# SPDX-License-Identifier: BSD-2-Clause
"""Two operators on a complex FFT, one right and one with the mistake that people make most often."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxbind import get_linear_call
from jaxbind.testing import check_operator

Arrays = tuple[np.ndarray, ...]


def fft(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Transform; the matrix is symmetric, so this is its own transpose."""
    out[0][...] = np.fft.fft(args[0])


def adjoint(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Apply the adjoint, which is not the transpose."""
    out[0][...] = np.fft.ifft(args[0], norm="forward")


def same(x: Any) -> Any:
    """One output, like the input."""
    return ((x.shape, x.dtype),)


x = jnp.ones(5, dtype=jnp.complex64)
print(check_operator(get_linear_call(fft, fft, same, same), x))

report = check_operator(get_linear_call(fft, adjoint, same, same), x, raise_on_failure=False)
print(f"\n{len(report.failures)} failures with the adjoint in place of the transpose, the first:")
print(report.failures[0])
