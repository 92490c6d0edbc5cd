# SPDX-License-Identifier: BSD-2-Clause
"""`jaxbind_ducc.alm`: counting and indexing, layouts and what they are for, spectra, random fields."""

from __future__ import annotations

from typing import Any

import ducc0
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxbind_ducc import alm, healpix
from support.sphere import assert_close, assert_same_transpose, dense_twin, draw, matrix, places

LIMITS = [(0, 0), (4, 4), (4, 2), (4, 0)]
every_limit = pytest.mark.parametrize(("lmax", "mmax"), LIMITS)


@every_limit
def test_every_coefficient_has_the_place_that_is_listed(lmax: int, mmax: int) -> None:
    listed = places(lmax, mmax)
    degrees, orders = alm.degrees_and_orders(lmax, mmax)
    assert alm.nalm(lmax, mmax) == len(listed) == len(degrees)
    assert [(degrees[place], orders[place]) for _, _, place in listed] == [(degree, m) for degree, m, _ in listed]
    assert [alm.index(lmax, degree, m) for degree, m, _ in listed] == [place for _, _, place in listed]


@every_limit
def test_real_packing_is_what_its_description_says(lmax: int, mmax: int) -> None:
    a = draw((alm.nalm(lmax, mmax),))
    expected = list(a[: lmax + 1].real)
    for _, _, place in places(lmax, mmax)[lmax + 1 :]:
        expected += [np.sqrt(2) * a[place].real, np.sqrt(2) * a[place].imag]
    np.testing.assert_allclose(alm.alm2realalm(a, lmax, mmax), expected)


@every_limit
def test_real_packing_keeps_products_and_is_undone(lmax: int, mmax: int) -> None:
    r, s = (draw((2, 3, 2 * alm.nalm(lmax, mmax) - lmax - 1), float, seed) for seed in (0, 1))
    a, b = (np.array(alm.realalm2alm(x, lmax, mmax)) for x in (r, s))
    assert_close(alm.alm2realalm(a, lmax, mmax), r)
    w = np.where(alm.degrees_and_orders(lmax, mmax)[1] > 0, 2, 1)
    np.testing.assert_allclose(np.sum(w * np.real(np.conj(a) * b), -1), np.sum(r * s, -1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_packing_keeps_the_precision(dtype: Any) -> None:
    r = draw((9,), dtype)
    a = alm.realalm2alm(r, 2)
    assert a.dtype == np.result_type(dtype, np.complex64)
    assert alm.alm2realalm(a, 2).dtype == dtype


def test_transposes_of_the_packing_are_those_of_its_matrix() -> None:
    for f, x in [(alm.alm2realalm, draw((7,))), (alm.realalm2alm, draw((10,), float))]:
        assert_same_transpose(lambda x, f=f: f(x, 3, 1), dense_twin(lambda x, f=f: f(x, 3, 1), x), x)


@pytest.mark.parametrize("spin", [0, 2])
def test_in_the_real_packing_the_adjoint_is_the_transpose(spin: int) -> None:
    sets = 1 if spin == 0 else 2

    def synthesis(r: Any) -> Any:
        return healpix.synthesis(alm.realalm2alm(r, 3), nside=1, lmax=3, spin=spin)

    def adjoint(x: Any) -> Any:
        return alm.alm2realalm(healpix.adjoint_synthesis(x, lmax=3, spin=spin), 3)

    r, x = draw((sets, 16), float), draw((sets, 12), float)
    np.testing.assert_allclose(matrix(adjoint, x), matrix(synthesis, r).T, atol=1e-13)
    assert_close(jax.vjp(synthesis, r)[1](jnp.asarray(x))[0], adjoint(x))


@pytest.mark.parametrize("sets", [1, 2])
@every_limit
def test_matrix_of_all_orders_is_what_its_description_says(lmax: int, mmax: int, sets: int) -> None:
    a = draw((3, sets, alm.nalm(lmax, mmax)))
    expected = np.zeros((3, lmax + 1, 2 * lmax + 1), complex)
    for degree, m, place in places(lmax, mmax):
        for row, factor in zip(np.moveaxis(a, 1, 0), (1, 1j), strict=False):
            value = row[:, place] if m else row[:, place].real
            expected[:, degree, lmax + m] += factor * value
            if m:
                expected[:, degree, lmax - m] += factor * (-1) ** m * value.conj()
    assert_close(alm.alm2flm(a, lmax, mmax), jnp.asarray(expected))


@pytest.mark.parametrize("spin", [0, 2])
def test_matrix_of_all_orders_is_that_of_ducc0(spin: int) -> None:
    a, f = draw((1 if spin == 0 else 2, alm.nalm(4))), draw((5, 9))
    a[:, :5] = a[:, :5].real
    np.testing.assert_allclose(alm.alm2flm(a, 4), ducc0.sht.experimental.alm2flm(a, spin), atol=1e-14)
    np.testing.assert_allclose(alm.flm2alm(f), ducc0.sht.experimental.flm2alm(f, spin), atol=1e-14)
    expected = ducc0.sht.experimental.flm2alm(f, 0, real=True)
    np.testing.assert_allclose(alm.flm2alm(f, real=True), expected, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("sets", [1, 2])
def test_matrix_of_all_orders_is_undone(sets: int, dtype: Any) -> None:
    a = draw((3, sets, alm.nalm(4)), dtype)
    a[..., :5] = a[..., :5].real
    assert_close(alm.flm2alm(alm.alm2flm(a, 4), real=sets == 1), a, 1e-6)


def test_transposes_of_the_matrix_of_all_orders_are_those_of_ducc0() -> None:
    def theirs(a: Any) -> Any:
        zonal = alm.degrees_and_orders(3)[1] == 0
        return np.asarray(ducc0.sht.experimental.alm2flm(np.where(zonal, a.real, a), 2))

    a, f = draw((2, 10)), draw((4, 7))
    assert_same_transpose(lambda a: alm.alm2flm(a, 3), dense_twin(theirs, a), a)
    assert_same_transpose(alm.flm2alm, dense_twin(lambda f: np.asarray(ducc0.sht.experimental.flm2alm(f, 2)), f), f)


@every_limit
def test_power_spectrum_is_the_sum_over_all_orders(lmax: int, mmax: int) -> None:
    a, b = draw((2, alm.nalm(lmax, mmax))), draw((2, alm.nalm(lmax, mmax)), seed=1)
    expected = np.zeros((2, lmax + 1))
    for degree, m, place in places(lmax, mmax):
        expected[:, degree] += (2 if m else 1) * (a[:, place].conj() * b[:, place]).real / (2 * degree + 1)
    np.testing.assert_allclose(alm.alm2cl(a, b, lmax=lmax, mmax=mmax), expected)
    np.testing.assert_allclose(alm.alm2cl(a, lmax=lmax, mmax=mmax), alm.alm2cl(a, a, lmax=lmax, mmax=mmax))


def test_filters_act_on_degrees() -> None:
    a, f = draw((2, 7)), np.array([1.0, 10.0, 100.0, 1000.0])
    expected = a * 10.0 ** alm.degrees_and_orders(3, 1)[0]
    np.testing.assert_allclose(alm.almxfl(a, f, 3, 1), expected)


def test_random_fields_have_the_spectrum_that_was_asked_for() -> None:
    cl = np.array([2.0, 0.0, 1.0, 5.0])
    fields = alm.random_alm(jax.random.key(1), np.tile(cl, (4000, 1)), 3)
    zonal = alm.degrees_and_orders(3)[1] == 0
    assert not np.any(fields[:, zonal].imag)
    found = np.mean(np.abs(fields) ** 2, 0)
    np.testing.assert_allclose(found, cl[alm.degrees_and_orders(3)[0]], rtol=0.12)
    parts = fields[:, ~zonal]
    np.testing.assert_allclose(np.mean(parts.real**2, 0), np.mean(parts.imag**2, 0), rtol=0.2, atol=1e-12)
    assert np.abs(np.mean(fields, 0)).max() < 0.15


@pytest.mark.parametrize(
    ("call", "fragments"),
    [
        (lambda: alm.alm2realalm(np.ones(5, complex), 2), ["alm2realalm", "alm", "(5,)", "6"]),
        (lambda: alm.realalm2alm(np.ones(8), 2), ["realalm2alm", "realalm", "(8,)", "9"]),
        (lambda: alm.nalm(2, 3), ["nalm", "mmax", "3", "lmax = 2"]),
        (lambda: alm.nalm(-1), ["nalm", "lmax", "-1", "at least 0"]),
        (lambda: alm.alm2flm(np.ones((3, 6), complex), 2), ["alm2flm", "alm", "(3, 6)", "1 or 2"]),
        (lambda: alm.flm2alm(np.ones((3, 4), complex)), ["flm2alm", "flm", "(3, 4)", "2 lmax + 1"]),
        (lambda: alm.random_alm(jax.random.key(0), np.ones(3), 3), ["random_alm", "cl", "(3,)", "4"]),
    ],
)
def test_mistakes_are_named(call: Any, fragments: list[str]) -> None:
    with pytest.raises(ValueError, match="expected") as caught:
        call()
    assert [fragment for fragment in fragments if fragment not in str(caught.value)] == []
