# SPDX-License-Identifier: BSD-2-Clause
"""`jaxbind.contrib.jaxducc0`: programs for jaxbind 1.x keep their results, and hear what to install."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from typing import Any

import ducc0
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxbind.contrib import jaxducc0

RNG = np.random.default_rng(3)
LMAX, MMAX, NSIDE = 5, 4, 2
UVW, FREQ = RNG.normal(size=(5, 3)) * 100, np.array([1e9, 1.1e9])
SKY: dict[str, Any] = {"pixsize_x": 1e-3, "pixsize_y": 2e-3, "epsilon": 1e-6, "do_wgridding": True}


def draw(*shape: int) -> Any:
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


@pytest.mark.parametrize(
    "options", [{}, {"axes": (0, 1)}, {"axes": (1,), "inorm": 1}, {"axes": (-1,), "forward": False}]
)
def test_c2c_returns_a_list_with_the_transform(options: dict[str, Any]) -> None:
    x = draw(4, 6)
    [found] = jaxducc0.c2c(x, **options)
    np.testing.assert_allclose(found, np.asarray(ducc0.fft.c2c(x, **options)), rtol=1e-12)
    [batch] = jax.vmap(functools.partial(jaxducc0.c2c, **options | {"axes": (0,)}), in_axes=1, out_axes=1)(x)
    np.testing.assert_allclose(batch, np.asarray(ducc0.fft.c2c(x, **options | {"axes": (0,)})), rtol=1e-12)


@pytest.mark.parametrize("axes", [(0, 1), (1,), None])
def test_genuine_fht_returns_a_list_and_is_its_own_transpose(axes: Any) -> None:
    x, c = RNG.normal(size=(2, 4, 6))
    transform = functools.partial(jaxducc0.genuine_fht, axes=axes)
    [found] = transform(x)
    np.testing.assert_allclose(found, ducc0.fft.genuine_fht(x, axes), rtol=1e-12)
    [[pulled_back]] = [jax.linear_transpose(transform, x)([c])]
    np.testing.assert_allclose(pulled_back, ducc0.fft.genuine_fht(c, axes), rtol=1e-12)


@pytest.mark.parametrize("op", [jaxducc0.c2c, jaxducc0.genuine_fht], ids=["c2c", "genuine_fht"])
def test_record_can_be_reached_and_changed(op: Any) -> None:
    looped = functools.partial(
        op.func, *op.args, **(op.keywords | {"_func": op.keywords["_func"]._replace(can_batch=False)})
    )
    x = draw(3, 4) if op is jaxducc0.c2c else RNG.normal(size=(3, 4))
    np.testing.assert_allclose(jax.vmap(looped)(x)[0], jax.vmap(op)(x)[0], rtol=1e-12)
    assert op.keywords["nthreads"] == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("spin", [0, 2])
def test_healpix_sht_is_synthesis_of_packed_coefficients(spin: int, dtype: Any) -> None:
    ncomp = 1 if spin == 0 else 2
    alm = draw(ncomp, jaxducc0.nalm(LMAX, MMAX)).astype(np.result_type(dtype, np.complex64))
    alm.imag[:, : LMAX + 1] = 0
    packed = jaxducc0._alm2realalm(alm, LMAX, dtype)
    [found] = jaxducc0.get_healpix_sht(NSIDE, LMAX, MMAX, spin)(packed)
    rings = ducc0.healpix.Healpix_Base(NSIDE, "RING").sht_info()
    expected = ducc0.sht.synthesis(alm=alm, spin=spin, lmax=LMAX, mmax=MMAX, **rings)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 if dtype is np.float32 else 1e-12)


def test_healpix_sht_keeps_its_accuracy_without_double_precision_in_jax() -> None:
    """JAX hands the rings over in single precision then; at high degrees that would move every pixel."""
    program = """
import ducc0, numpy as np
from jaxbind.contrib import jaxducc0
lmax, nside = 300, 128
x = np.zeros((1, 2 * jaxducc0.nalm(lmax, lmax) - lmax - 1), np.float32)
x[0, lmax] = 1
[found] = jaxducc0.get_healpix_sht(nside, lmax, lmax, 0)(x)
alm = jaxducc0._realalm2alm(x, lmax, np.complex64)
exact = ducc0.sht.synthesis(alm=alm, spin=0, lmax=lmax, **ducc0.healpix.Healpix_Base(nside, "RING").sht_info())
assert found.dtype == np.float32
np.testing.assert_allclose(found, exact, rtol=0, atol=1e-6 * np.abs(exact).max())
"""
    environment = {**os.environ, "JAX_ENABLE_X64": "0"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


@pytest.mark.parametrize("spin", [0, 1, 2])
def test_transpose_of_healpix_sht_is_exact(spin: int) -> None:
    op = jaxducc0.get_healpix_sht(NSIDE, LMAX, MMAX, spin)
    ncomp, packed = 1 if spin == 0 else 2, 2 * jaxducc0.nalm(LMAX, MMAX) - LMAX - 1
    x, c = RNG.normal(size=(ncomp, packed)), RNG.normal(size=(ncomp, 12 * NSIDE**2))
    dense = np.stack([op(unit.reshape(ncomp, packed))[0].ravel() for unit in np.eye(ncomp * packed)], 1)
    [pulled_back] = jax.linear_transpose(op, x)([c])
    np.testing.assert_allclose(np.ravel(pulled_back), dense.T @ c.ravel(), atol=1e-12)
    doubled = jax.hessian(lambda a: jnp.sum(op(a)[0] ** 2))(x).reshape(dense.shape[1], -1)
    np.testing.assert_allclose(doubled, 2 * dense.T @ dense, atol=1e-10)


@pytest.mark.parametrize("given", [True, False])
def test_packing_keeps_inner_products_and_undoes_itself(given: bool) -> None:
    a, b = draw(2, 1, jaxducc0.nalm(LMAX, MMAX))
    a[:, : LMAX + 1], b[:, : LMAX + 1] = a[:, : LMAX + 1].real, b[:, : LMAX + 1].real
    size = 2 * a.shape[1] - LMAX - 1
    packed_a, packed_b = (
        jaxducc0._alm2realalm(x, LMAX, np.float64, np.empty((1, size)) if given else None) for x in (a, b)
    )
    product = (a.conj() * b).real
    assert np.sum(packed_a * packed_b) == pytest.approx(product[:, : LMAX + 1].sum() + 2 * product[:, LMAX + 1 :].sum())
    back = jaxducc0._realalm2alm(packed_a, LMAX, np.complex128, np.empty_like(a) if given else None)
    np.testing.assert_allclose(back, a)


@pytest.mark.parametrize(("real", "cplx"), [(np.float32, np.complex64), (np.float64, np.complex128)])
def test_partners_of_dtypes(real: Any, cplx: Any) -> None:
    assert jaxducc0._complextype(real) == jaxducc0._complextype(np.dtype(real)) == cplx
    assert jaxducc0._realtype(cplx) == jaxducc0._realtype(np.dtype(cplx)) == real


@pytest.mark.parametrize(("lmax", "mmax", "count"), [(0, 0, 1), (4, 0, 5), (4, 4, 15), (5, 2, 15)])
def test_nalm_counts_coefficients(lmax: int, mmax: int, count: int) -> None:
    assert jaxducc0.nalm(lmax, mmax) == count


@pytest.mark.parametrize(
    "extra", [{}, {"flip_v": True}, {"divide_by_n": False}, {"center_x": 0.01}, {"wgt": np.full((5, 2), 2.0)}]
)
def test_wgridder_is_that_of_ducc0(extra: dict[str, Any]) -> None:
    op = jaxducc0.get_wgridder(npix_x=32, npix_y=34, **SKY, **extra)
    image, vis = RNG.normal(size=(32, 34)), draw(5, 2)
    [found] = op(UVW, FREQ, image)
    np.testing.assert_allclose(
        found, ducc0.wgridder.dirty2vis(uvw=UVW, freq=FREQ, dirty=image, **SKY, **extra), rtol=1e-10, atol=1e-10
    )
    [pulled_back] = jax.linear_transpose(lambda i: op(UVW, FREQ, i), image)([vis])
    theirs = ducc0.wgridder.vis2dirty(uvw=UVW, freq=FREQ, vis=vis.conj(), npix_x=32, npix_y=34, **SKY, **extra)
    np.testing.assert_allclose(pulled_back, theirs, rtol=0, atol=1e-10)


@pytest.mark.parametrize("missing", ["jaxbind_ducc", "ducc0"])
def test_message_names_the_package_to_install(missing: str) -> None:
    program = f"import sys; sys.modules[{missing!r}] = None; import jaxbind.contrib.jaxducc0"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert f"the module {missing} is not installed" in ran.stderr
    assert "pip install 'jaxbind-core[ducc]'" in ran.stderr
