# SPDX-License-Identifier: BSD-2-Clause
"""Every operator of `fft`, `nufft` and `wgridder` under every transformation, against the same on a pure-JAX twin."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.fft
from jaxbind_ducc import _gridding, fft, nufft, wgridder

RNG = np.random.default_rng(7)
REAL = RNG.normal(size=(4, 5))
COMPLEX = RNG.normal(size=(4, 3)) + 1j * RNG.normal(size=(4, 3))
POINTS, OTHER_POINTS = RNG.uniform(-2, 2, (2, 6, 2))
STRENGTHS = RNG.normal(size=6) + 1j * RNG.normal(size=6)
KERNEL = RNG.normal(size=5)
UVW, FREQ = RNG.normal(size=(3, 3)) * 20, np.array([1.0, 1.2])
PIXELS: dict[str, Any] = {"pixsize_x": 0.02, "pixsize_y": 0.03, "epsilon": 1e-12, "do_wgridding": True}
EXACT: dict[str, Any] = {"forward": True, "epsilon": 1e-13}
Function = Callable[..., Any]


class Case(NamedTuple):
    """An operator, a twin that shares no code with it, and arguments; both are differentiable in all of them."""

    name: str
    ours: Function
    twin: Function
    args: tuple[Any, ...]


def matrix_twin(transform: Function) -> Function:
    """A real transform of the rows of a matrix, from its values for unit vectors."""
    matrix = np.stack([transform(unit) for unit in np.eye(REAL.shape[1])], axis=1)
    return lambda x: jnp.einsum("kj,...j->...k", matrix, x)


def halfcomplex(x: Any) -> Any:
    """FFTPACK's order: r0, r1, i1, r2, i2 for five numbers."""
    spectrum = jnp.fft.rfft(x, axis=1)
    pairs = jnp.stack([spectrum.real, spectrum.imag], -1).reshape(x.shape[0], -1)
    return jnp.concatenate([pairs[:, :1], pairs[:, 2:]], 1)


def hartley(x: Any) -> Any:
    spectrum = jnp.fft.fftn(x)
    return spectrum.real - spectrum.imag


def modes_twin(grid: Any, coord: Any) -> Any:
    along_x, along_y = (
        jnp.exp(-1j * (coord[:, d, None] * (np.arange(n) - n // 2.0)).astype(complex)) for d, n in ((0, 4), (1, 3))
    )
    return jnp.einsum("pk,pl,kl->p", along_x, along_y, grid)


def sources_twin(points: Any, coord: Any) -> Any:
    [grid] = jax.linear_transpose(lambda g: modes_twin(g, coord), jnp.zeros((4, 3), complex))(points)
    return grid


def waves(uvw: Any, freq: Any) -> Any:
    """The measurement equation for 4 x 6 pixels, frequencies in units of the speed of light."""
    along_x, along_y = (np.arange(4)[:, None] - 2) * 0.02, (np.arange(6) - 3) * 0.03
    n = np.sqrt(1 - along_x**2 - along_y**2)
    u, v, w = (uvw.T[:, :, None] * freq)[..., None, None]
    phase = 2 * np.pi * (u * along_x + v * along_y - w * (n - 1))
    return jnp.exp(-1j * phase.astype(complex)) / n.astype(complex)


SPEED = _gridding.SPEED_OF_LIGHT
CASES = [
    Case("c2c", fft.c2c, jnp.fft.fftn, (COMPLEX,)),
    Case("c2c_inverse", lambda x: fft.c2c(x, (1,), False, 2), lambda x: jnp.fft.ifft(x, axis=1), (COMPLEX,)),
    Case("c2c_real", fft.c2c, lambda x: jnp.fft.fftn(x.astype(complex)), (REAL,)),
    Case("r2c_odd", fft.r2c, jnp.fft.rfftn, (REAL,)),
    Case("r2c_even", lambda x: fft.r2c(x, (1, 0)), lambda x: jnp.fft.rfftn(x, axes=(1, 0)), (REAL,)),
    Case(
        "c2r_odd",
        lambda x: fft.c2r(x, lastsize=5, forward=False, inorm=2),
        lambda x: jnp.fft.irfftn(x, (4, 5)),
        (COMPLEX,),
    ),
    Case(
        "c2r_even",
        lambda x: fft.c2r(x, lastsize=4, forward=False, inorm=2),
        lambda x: jnp.fft.irfftn(x, (4, 4)),
        (COMPLEX,),
    ),
    Case("r2r_fftpack", lambda x: fft.r2r_fftpack(x, (1,), True, True), halfcomplex, (REAL,)),
    Case("dct", lambda x: fft.dct(x, 2, (1,)), matrix_twin(scipy.fft.dct), (REAL,)),
    Case("dst", lambda x: fft.dst(x, 3, (1,)), matrix_twin(functools.partial(scipy.fft.dst, type=3)), (REAL,)),
    Case("genuine_fht", fft.genuine_fht, hartley, (REAL,)),
    Case(
        "convolve_axis",
        lambda x, k: fft.convolve_axis(x, 1, k),
        lambda x, k: jnp.fft.irfft(jnp.fft.rfft(x, axis=1) * jnp.fft.rfft(k), 5, axis=1),
        (REAL, KERNEL),
    ),
    Case("u2nu", functools.partial(nufft.u2nu, **EXACT), modes_twin, (COMPLEX, POINTS)),
    Case("nu2u", functools.partial(nufft.nu2u, grid_shape=(4, 3), **EXACT), sources_twin, (STRENGTHS, POINTS)),
    Case(
        "nu2nu",
        functools.partial(nufft.nu2nu, **EXACT),
        lambda c, x, y: jnp.exp(-1j * (y @ x.T).astype(complex)) @ c,
        (STRENGTHS, POINTS, OTHER_POINTS),
    ),
    Case(
        "dirty2vis",
        lambda image, uvw, freq: wgridder.dirty2vis(uvw, freq * SPEED, image, **PIXELS),
        lambda image, uvw, freq: jnp.einsum("rcxy,xy->rc", waves(uvw, freq), image.astype(complex)),
        (RNG.normal(size=(4, 6)), UVW, FREQ),
    ),
    Case(
        "vis2dirty",
        lambda vis, uvw, freq: wgridder.vis2dirty(uvw, freq * SPEED, vis, npix_x=4, npix_y=6, **PIXELS),
        lambda vis, uvw, freq: jnp.einsum("rcxy,rc->xy", waves(uvw, freq).conj(), vis).real,
        (RNG.normal(size=(3, 2)) + 1j * RNG.normal(size=(3, 2)), UVW, FREQ),
    ),
]


def loss(f: Function) -> Function:
    """A real function of the result in which every entry counts differently, and not quadratic."""

    def value(*args: Any) -> Any:
        y = f(*args)
        squares = jnp.abs(y) ** 2
        return jnp.sum(jnp.sin(squares / 50) * jnp.cos(jnp.arange(y.size, dtype=squares.dtype)).reshape(y.shape))

    return value


def gradient(f: Function) -> Function:
    return lambda *args: jax.grad(loss(f), tuple(range(len(args))))(*args)


def stacked(args: tuple[Any, ...], count: int = 2) -> tuple[Any, ...]:
    return tuple(jnp.stack([a * (1 + 0.1 * k) for k in range(count)], -1) for a in args)


def scanned(f: Function) -> Function:
    def value(*args: Any) -> Any:
        def step(carry: Any, factor: Any) -> Any:
            return carry + jnp.sum(jnp.abs(f(*(a * factor.astype(a.dtype) for a in args))) ** 2), None

        return jax.lax.scan(step, jnp.zeros(()), jnp.array([1.0, 0.9]))[0]

    return value


def tangents(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(0.1 * a[::-1] for a in args)


def second_gradient(f: Function) -> Function:
    """The gradient of a sum over the gradient."""
    return gradient(lambda *args: jnp.concatenate([jnp.abs(part).ravel() for part in gradient(f)(*args)]))


def transposed(f: Function, args: tuple[Any, ...]) -> Any:
    y = f(*args)
    cotangent = jnp.cos(jnp.arange(y.size, dtype=y.real.dtype)).reshape(y.shape).astype(y.dtype)
    return jax.linear_transpose(lambda x: f(x, *args[1:]), args[0])(cotangent)


TRANSFORMATIONS: dict[str, Callable[[Function, tuple[Any, ...]], Any]] = {
    "vmap": lambda f, args: jax.vmap(f, -1, -1)(*stacked(args)),
    "vmap of the first": lambda f, args: jax.vmap(f, (-1, *(None,) * (len(args) - 1)))(*stacked(args[:1]), *args[1:]),
    "vmap of vmap": lambda f, args: jax.vmap(jax.vmap(f, -1, -1), 0)(*(jnp.stack([a, 2 * a]) for a in stacked(args))),
    "jvp": lambda f, args: jax.jvp(f, args, tangents(args)),
    "grad of checkpoint": lambda f, args: gradient(jax.checkpoint(f))(*args),
    "vmap of grad": lambda f, args: jax.vmap(gradient(f), -1, -1)(*stacked(args)),
    "grad of vmap": lambda f, args: gradient(jax.vmap(f, -1, -1))(*stacked(args)),
    "jvp of grad": lambda f, args: jax.jvp(gradient(f), args, tangents(args)),
    "grad of grad": lambda f, args: second_gradient(f)(*args),
    "grad of scan": lambda f, args: jax.grad(scanned(f), tuple(range(len(args))))(*args),
    "linear transpose": transposed,
}


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_transformation_equals_that_of_the_twin(case: Case, transformation: str) -> None:
    transform = TRANSFORMATIONS[transformation]
    both = jax.jit(lambda *args: (transform(case.ours, args), transform(case.twin, args)))
    found, expected = map(jax.tree.leaves, both(*case.args))
    for a, b in zip(found, expected, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-8 * max(1, np.abs(b).max()))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_call_without_jit_equals_the_twin(case: Case) -> None:
    np.testing.assert_allclose(case.ours(*case.args), case.twin(*case.args), rtol=0, atol=1e-9)


@pytest.mark.parametrize("case", [case for case in CASES if case.args[0] is COMPLEX], ids=lambda case: case.name)
def test_batch_on_several_devices_is_not_gathered(case: Case) -> None:
    devices = jax.devices()
    assert len(devices) > 1, "conftest.py asks for several host devices"
    mesh = jax.sharding.Mesh(np.array(devices), ("batch",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("batch"))
    stack = jax.device_put(np.stack([COMPLEX * k for k in range(2 * len(devices))]), sharding)
    batched = jax.jit(jax.vmap(lambda x: case.ours(x, *case.args[1:])))
    assert "all-gather" not in str(batched.lower(stack).compile().as_text())
    found = batched(stack)
    assert found.sharding.spec[0] == "batch"
    expected = np.stack([case.twin(x, *case.args[1:]) for x in np.asarray(stack)])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
