# SPDX-License-Identifier: BSD-2-Clause
"""A transform from real to complex numbers and its transpose, compared with those of jnp.fft."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxbind import get_linear_call

Arrays = tuple[np.ndarray, ...]
N = 8


def rfft(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Compute y = A x: x real, y complex, the first half of the spectrum."""
    out[0][...] = np.fft.rfft(args[0])


def rfft_transposed(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Compute Re(A^T c): pad the other half with zeros, transform forward again, take the real part."""
    out[0][...] = np.fft.fft(args[0], n=N).real


def half(x: Any) -> Any:
    """Describe the spectrum."""
    return (((N // 2 + 1,), np.complex128),)


def full(c: Any) -> Any:
    """Describe the signal."""
    return (((N,), np.float64),)


def real_part(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Compute y = Re(F x): x complex, y real."""
    out[0][...] = np.fft.fft(args[0]).real


def real_part_transposed(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Compute F^T c: the cotangent is real, what it fills is complex."""
    out[0][...] = np.fft.fft(args[0])


def like(dtype: Any) -> Any:
    """Describe an output of the same shape."""
    return lambda x: ((x.shape, dtype),)


jax.config.update("jax_enable_x64", True)
to_complex = get_linear_call(rfft, rfft_transposed, half, full)
to_real = get_linear_call(real_part, real_part_transposed, like(np.float64), like(np.complex128))

random = np.random.default_rng(0)
x = jnp.asarray(random.normal(size=N))
z = x + 1j * jnp.asarray(random.normal(size=N))
weights = jnp.asarray(random.normal(size=N // 2 + 1) + 1j * random.normal(size=N // 2 + 1))

pairs = {
    "real to complex": (lambda x: jnp.sum(jnp.abs(to_complex(x)[0] - weights) ** 2),
                        lambda x: jnp.sum(jnp.abs(jnp.fft.rfft(x) - weights) ** 2), x),
    "complex to real": (lambda z: jnp.sum(to_real(z)[0] ** 3), lambda z: jnp.sum(jnp.fft.fft(z).real ** 3), z),
}  # fmt: skip
for name, (ours, twin, at) in pairs.items():
    difference = jnp.max(jnp.abs(jax.grad(ours)(at) - jax.grad(twin)(at)))
    print(f"{name}: gradients differ by {difference:.0e}")
    np.testing.assert_allclose(jax.grad(ours)(at), jax.grad(twin)(at), rtol=1e-10, atol=1e-10)
