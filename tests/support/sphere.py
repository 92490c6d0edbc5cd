# SPDX-License-Identifier: BSD-2-Clause
"""Fields on the sphere by explicit sums in JAX, and dense twins of linear maps: oracles for `jaxbind_ducc`.

Spin-weighted harmonics are those of J. N. Goldberg et al., J. Math. Phys. 8, 2155 (1967), eq. 3.1. They share no code
with the package or with ducc0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def harmonics(spin: int, degrees: Any, orders: Any, theta: Any, phi: Any) -> Any:
    """sY_lm, one row per pair of l and m, at points: JAX for JAX arrays, else NumPy, which is quicker for constants."""
    xp = jnp if isinstance(theta, jax.Array) else np
    top = 2 * max(degrees) + 1
    # Row k: how much of cos(theta / 2)^k sin(theta / 2)^(2l - k) there is.
    shares, rest = np.zeros((len(degrees), top)), np.zeros((len(degrees), top), int)
    for row, (l, m) in enumerate(zip(degrees, orders, strict=True)):  # noqa: E741  # the field's name of a degree
        factorials = [math.factorial(n) for n in (l + m, l - m, l + spin, l - spin)]
        norm = math.sqrt(factorials[0] * factorials[1] / factorials[2] / factorials[3] * (2 * l + 1) / (4 * np.pi))
        for r in range(max(0, m - spin), min(l - spin, l + m) + 1):
            power = 2 * r + spin - m
            sign = -1 if (l + m - r - spin) % 2 else 1
            shares[row, power] = sign * norm * math.comb(l - spin, r) * math.comb(l + spin, r + spin - m)
            rest[row, power] = 2 * l - power
    cosines = xp.stack([xp.cos(theta / 2) ** k for k in range(top)])
    sines = xp.stack([xp.sin(theta / 2) ** k for k in range(top)])
    phases = xp.exp(1j * np.asarray(orders)[:, None] * phi.astype(complex))
    return xp.einsum("ak,kj,akj->aj", shares, cosines, sines[rest]).astype(complex) * phases


def places(lmax: int, mmax: int, mstart: Sequence[int] | None = None, lstride: int = 1) -> list[tuple[int, int, int]]:
    """Degree, order and index of every coefficient."""
    if mstart is None:
        mstart = [m * (2 * lmax + 1 - m) // 2 for m in range(mmax + 1)]
    return [(n, m, mstart[m] + n * lstride) for m in range(mmax + 1) for n in range(m, lmax + 1)]


def field(
    alm: Any,
    loc: Any,
    *,
    spin: int,
    lmax: int,
    mmax: int | None = None,
    mstart: Sequence[int] | None = None,
    lstride: int = 1,
    mode: str = "STANDARD",
) -> Any:
    """Values of a field at points, one row per component: what ducc0 calls synthesis, in all modes."""
    theta, phi = loc.T
    scalar, spin = spin == 0, 1 if mode == "DERIV1" else spin
    held = [place for place in places(lmax, lmax if mmax is None else mmax, mstart, lstride) if place[0] >= spin]
    l, m, index = np.array(held).T  # noqa: E741  # the field's name of a degree
    sets = alm[:, index] * (np.sqrt(l * (l + 1.0)) if mode == "DERIV1" else np.ones(len(l))).astype(complex)
    sets = jnp.where(m == 0, sets.real.astype(complex), sets)
    conjugate = ((-1.0) ** m * (m > 0)).astype(complex) * sets.conj()
    if len(sets) == 2:
        sets, conjugate = (pair[:1] + 1j * pair[1:] for pair in (sets, conjugate))
    above, below = (harmonics(spin, l, sign * m, theta, phi) for sign in (1, -1))
    total = (sets @ above + conjugate @ below)[0]
    return total.real[None] if scalar else -jnp.stack([total.real, total.imag])


def weights(size: int, lmax: int, mmax: int, mstart: Sequence[int] | None = None, lstride: int = 1) -> Any:
    """1 for coefficients with m = 0, 2 for others, and infinity for entries that hold none."""
    found = np.full(size, np.inf)
    for _, m, place in places(lmax, mmax, mstart, lstride):
        found[place] = 2.0 if m else 1.0
    return found


def adjoint_field(maps: Any, loc: Any, *, sets: int, size: int, **scheme: Any) -> Any:
    """What ducc0 calls adjoint synthesis: the adjoint for the inner product in which m > 0 counts twice."""
    storage = {name: scheme[name] for name in ("mstart", "lstride") if name in scheme}
    lmax = scheme["lmax"]
    w = jnp.asarray(weights(size, lmax, scheme.get("mmax", lmax), **storage), complex)
    [transposed] = jax.vjp(lambda a: field(a, loc, **scheme), jnp.zeros((sets, size), complex))[1](maps)
    return transposed.conj() / w


def matrix(f: Callable[[Any], Any], x: Any) -> Any:
    """The real matrix of a real-linear map, from unit vectors, real and imaginary ones in turn."""
    units = [1, 1j] if np.iscomplexobj(x) else [1]
    vectors = [unit * basis.reshape(x.shape) for basis in np.eye(x.size) for unit in units]
    results = np.array([np.ravel(f(np.asarray(vector, x.dtype))) for vector in vectors]).T
    return np.stack([results.real, results.imag], 1).reshape(-1, len(vectors)) if np.iscomplexobj(results) else results


def dense_twin(f: Callable[[Any], Any], x: Any) -> Callable[[Any], Any]:
    """The same real-linear map in pure JAX: a product with its matrix."""
    A, y = jnp.asarray(matrix(f, x)), f(x)

    def as_real(z: Any) -> Any:
        return jnp.stack([z.real, z.imag], -1).ravel() if jnp.iscomplexobj(z) else z.ravel()

    def twin(x: Any) -> Any:
        flat = A @ as_real(x)
        return (jax.lax.complex(flat[::2], flat[1::2]) if jnp.iscomplexobj(y) else flat).reshape(y.shape)

    return twin


def draw(shape: Sequence[int], dtype: Any = complex, seed: int = 0) -> Any:
    """Numbers without symmetry; complex ones have imaginary parts everywhere."""
    rng = np.random.default_rng([seed, *shape])
    x = rng.normal(size=shape)
    if np.issubdtype(dtype, np.complexfloating):
        return (x + 1j * rng.normal(size=shape)).astype(dtype)
    return x.astype(dtype)


def assert_close(found: Any, expected: Any, accuracy: float = 1e-10) -> None:
    """Every leaf has the same shape and dtype, and values that differ less than `accuracy` times the largest one."""
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=0, atol=accuracy * max(1.0, np.abs(b).max(initial=0)))


def assert_same_transpose(f: Callable[[Any], Any], twin: Callable[[Any], Any], x: Any, accuracy: float = 1e-10) -> None:
    """Values, and products with the transposed Jacobian for a cotangent without symmetry, are those of the twin."""
    c = draw(jax.eval_shape(f, x).shape, jax.eval_shape(f, x).dtype, seed=1)

    def both(f: Callable[[Any], Any]) -> Any:
        # One compilation each: the twins are many small operations.
        def value_and_product(x: Any, c: Any) -> Any:
            y, pull = jax.vjp(f, x)
            return y, pull(c)

        return jax.jit(value_and_product)(x, c)

    assert_close(both(f), both(twin), accuracy)
