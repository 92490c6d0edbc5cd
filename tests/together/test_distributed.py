# SPDX-License-Identifier: BSD-2-Clause
"""Transforms of both plugins over several processes: each holds and computes its part of a batch, and of a gradient."""

from __future__ import annotations

import json
from typing import Any

import ducc0
import finufft
import numpy as np
import pytest
from support import process

LMAX, GRID = 5, {"geometry": "GL", "ntheta": 6, "nphi": 11}
ALM = np.random.default_rng(0).normal(size=(8, 1, 21)) + 0j  # real, as the coefficients with m = 0 have to be
MAPS = np.random.default_rng(1).normal(size=(8, 1, 6, 11))
MODES = np.random.default_rng(2).normal(size=(8, 4, 5)) + 1j * np.random.default_rng(3).normal(size=(8, 4, 5))
DATA = np.random.default_rng(4).normal(size=(8, 7))
POINTS = np.random.default_rng(5).uniform(-3, 3, (2, 7))

SETUP = f"""
import json
from jaxbind_ducc import sht
from jaxbind_finufft import nufft2

def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)

def part(a):
    [shard] = a.addressable_shards
    data = np.asarray(shard.data)
    return shard.index[0].start or 0, data.real.tolist(), np.imag(data).tolist()

def show(a, text):
    assert not any(gathering in text for gathering in ("all-gather", "all-to-all", "collective-permute")), text
    print(json.dumps(part(a)))

synthesis = jax.vmap(lambda a: sht.synthesis_2d(a, spin=0, lmax={LMAX}, **{GRID}))
alm, maps = normal(0, 8, 1, 21) + 0j, normal(1, 8, 1, 6, 11)
modes, data = normal(2, 8, 4, 5) + 1j * normal(3, 8, 4, 5), normal(4, 8, 7)
points = np.random.default_rng(5).uniform(-3, 3, (2, 7))
transform = lambda modes, points: jax.vmap(lambda c: nufft2(c, *points, eps=1e-12))(modes)
"""
SPLIT = """
compiled = jax.jit(synthesis).lower(put(alm, rows)).compile()
show(compiled(put(alm, rows)), compiled.as_text())
loss = lambda a, m: jnp.sum((synthesis(a) - m) ** 2)
gradient = jax.jit(jax.grad(loss)).lower(put(alm, rows), put(maps, rows)).compile()
show(gradient(put(alm, rows), put(maps, rows)), gradient.as_text())
compiled = jax.jit(transform).lower(put(modes, rows), put(points, shared)).compile()
show(compiled(put(modes, rows), put(points, shared)), compiled.as_text())
"""
SHARED = """
loss = lambda modes, data, points: jnp.sum(jnp.abs(transform(modes, points) - data) ** 2)
gradient = jax.jit(jax.grad(loss, argnums=2))(put(modes, rows), put(data, rows), put(points, shared))
print(json.dumps(gradient.addressable_data(0).tolist()))
"""


def _synthesis(alm: Any) -> Any:
    return np.stack([ducc0.sht.synthesis_2d(alm=a, spin=0, lmax=LMAX, **GRID) for a in alm])


def _whole(outputs: list[str], line: int, count: int) -> Any:
    """The parts that the processes printed, put together in the order of their places in the whole."""
    parts = sorted(json.loads(output.splitlines()[-3 + line]) for output in outputs)
    assert [start for start, *_ in parts] == list(range(0, 8, 8 // count))
    return np.concatenate([np.array(real) + 1j * np.array(imag) for _, real, imag in parts])


@pytest.mark.parametrize("count", [2, 4])
def test_each_process_transforms_its_part_of_a_batch(count: int) -> None:
    outputs = process.run_together(SETUP + SPLIT, count)
    np.testing.assert_allclose(_whole(outputs, 0, count), _synthesis(ALM), atol=1e-13)
    residual = _synthesis(ALM) - MAPS
    # The derivative of a real number by a complex one is conjugate to its direction of steepest ascent.
    pulled = np.stack([ducc0.sht.adjoint_synthesis_2d(map=2 * r, spin=0, lmax=LMAX, geometry="GL") for r in residual])
    pulled[..., LMAX + 1 :] *= 2  # a coefficient with m > 0 stands for that with -m too
    np.testing.assert_allclose(_whole(outputs, 1, count), pulled.conj(), atol=1e-12)
    expected = np.stack([finufft.nufft2d2(*POINTS, c, isign=-1, eps=1e-13) for c in MODES])
    np.testing.assert_allclose(_whole(outputs, 2, count), expected, atol=1e-11)


@pytest.mark.parametrize("count", [2, 4])
def test_gradient_in_shared_points_sums_over_the_processes(count: int) -> None:
    k, l = np.meshgrid(np.arange(4) - 2, np.arange(5) - 2, indexing="ij")  # noqa: E741  # the second wave number
    waves = np.exp(-1j * (POINTS[0][:, None, None] * k + POINTS[1][:, None, None] * l))
    values = np.einsum("pkl,bkl->bp", waves, MODES)
    slopes = [np.einsum("pkl,kl,bkl->bp", waves, -1j * wave, MODES) for wave in (k, l)]
    expected = [np.sum(2 * ((values - DATA).conj() * slope).real, axis=0) for slope in slopes]
    for output in process.run_together(SETUP + SHARED, count):
        np.testing.assert_allclose(json.loads(output.splitlines()[-1]), expected, rtol=1e-9, atol=1e-9)
