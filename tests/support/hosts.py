# SPDX-License-Identifier: BSD-2-Clause
"""Host functions of the zoo, in NumPy. Their pure-JAX twins are in `support.zoo` and share no code with them."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxbind import load_kwargs

RNG = np.random.default_rng(20)
BLOCKS = {(i, j): RNG.normal(size=(rows, columns)) for i, rows in enumerate((4, 2)) for j, columns in enumerate((3, 4))}
MIXED = RNG.normal(size=(3, 4)) + 1j * RNG.normal(size=(3, 4))


def same(x: Any, *rest: Any, **kwargs: Any) -> Any:
    """An abstract function at the top level of a module, which can be pickled: one output like the first argument."""
    return ((x.shape, x.dtype),)


def cumsum(out: Any, args: Any, kwargs_dump: Any) -> None:
    factor = load_kwargs(kwargs_dump).pop("factor", 1.0)
    out[0][...] = factor * np.cumsum(args[0])


def cumsum_t(out: Any, args: Any, kwargs_dump: Any) -> None:
    factor = load_kwargs(kwargs_dump).pop("factor", 1.0)
    out[0][...] = factor * np.cumsum(args[0][::-1])[::-1]


def fourier(out: Any, args: Any, kwargs_dump: Any) -> None:
    """Compute y = F (w x) with the symmetric Fourier matrix F."""
    w, x = args
    out[0][...] = np.fft.fft(w * x)


def fourier_t(out: Any, args: Any, kwargs_dump: Any) -> None:
    w, c = args
    out[0][...] = w * np.fft.fft(c)


def blocks(out: Any, args: Any, kwargs_dump: Any) -> None:
    """A block matrix of two inputs, one of them two-dimensional, and two outputs."""
    a, b = args
    for i in (0, 1):
        out[i][...] = BLOCKS[i, 0] @ a + BLOCKS[i, 1] @ b.ravel()


def blocks_t(out: Any, args: Any, kwargs_dump: Any) -> None:
    u, v = args
    out[0][...] = BLOCKS[0, 0].T @ u + BLOCKS[1, 0].T @ v
    out[1][...] = (BLOCKS[0, 1].T @ u + BLOCKS[1, 1].T @ v).reshape(2, 2)


def real_to_complex(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] = MIXED @ args[0]


def real_to_complex_t(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] = (args[0] @ MIXED).real


def complex_to_real(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] = (MIXED @ args[0]).real


def complex_to_real_t(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] = args[0] @ MIXED


def convolve(out: Any, args: Any, kwargs_dump: Any) -> None:
    """Circular convolution, scaled by a fixed argument."""
    p, a, b = args
    n = len(a)
    for i in range(n):
        out[0][i] = p[i] * sum(a[j] * b[(i - j) % n] for j in range(n))


def convolve_t(out: Any, args: Any, kwargs_dump: Any) -> None:
    """Serves both arguments, because convolution commutes."""
    p, other, c = args
    n = len(c)
    for j in range(n):
        out[0][j] = sum(p[i] * c[i] * other[(i - j) % n] for i in range(n))


def triple(out: Any, args: Any, kwargs_dump: Any) -> None:
    """u_i = a_i sum_j b_j C_ij, and the scalar v = sum_i a_i b_i C_i0."""
    a, b, c = args
    out[0][...] = a * (c @ b)
    out[1][...] = np.sum(a * b[: len(a)] * c[:, 0])


def triple_t0(out: Any, args: Any, kwargs_dump: Any) -> None:
    b, c, u, v = args
    out[0][...] = u * (c @ b) + v * b[: len(u)] * c[:, 0]


def triple_t1(out: Any, args: Any, kwargs_dump: Any) -> None:
    a, c, u, v = args
    out[0][...] = (u * a) @ c
    out[0][: len(a)] += v * a * c[:, 0]


def triple_t2(out: Any, args: Any, kwargs_dump: Any) -> None:
    a, b, u, v = args
    out[0][...] = np.outer(u * a, b)
    out[0][:, 0] += v * a * b[: len(a)]


def wave(out: Any, args: Any, kwargs_dump: Any) -> None:
    """Compute y = x^n sin(z), n fixed and integer."""
    n, x, z = args
    out[0][...] = x**n * np.sin(z)


def wave_jvp(out: Any, args: Any, kwargs_dump: Any) -> None:
    n, x, z, dx, dz = args
    out[0][...] = n * x ** (n - 1) * np.sin(z) * dx + x**n * np.cos(z) * dz


def wave_vjp(out: Any, args: Any, kwargs_dump: Any) -> None:
    n, x, z, c = args
    out[0][...] = n * x ** (n - 1) * np.sin(z) * c
    out[1][...] = np.sum(x**n * np.cos(z) * c)


def polar(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] = args[0] * np.cos(args[1])
    out[1][...] = args[0] * np.sin(args[1])


def polar_jvp(out: Any, args: Any, kwargs_dump: Any) -> None:
    r, t, dr, dt = args
    out[0][...] = np.cos(t) * dr - r * np.sin(t) * dt
    out[1][...] = np.sin(t) * dr + r * np.cos(t) * dt


def polar_vjp(out: Any, args: Any, kwargs_dump: Any) -> None:
    r, t, u, v = args
    out[0][...] = np.cos(t) * u + np.sin(t) * v
    out[1][...] = -r * np.sin(t) * u + r * np.cos(t) * v
