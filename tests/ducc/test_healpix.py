# SPDX-License-Identifier: BSD-2-Clause
"""`jaxbind_ducc.healpix`: values at ducc0's pixel centres by explicit sums, transposes, the iterative analysis."""

from __future__ import annotations

from typing import Any

import ducc0
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxbind_ducc import healpix, sht
from support.sphere import adjoint_field, assert_close, assert_same_transpose, dense_twin, draw, field

SPINS = {"spin 0": (0, "STANDARD"), "spin 2": (2, "STANDARD"), "derivatives": (1, "DERIV1")}
every_spin = pytest.mark.parametrize(("spin", "mode"), SPINS.values(), ids=SPINS)


def shapes(spin: int, mode: str) -> tuple[int, int]:
    return (1 if spin == 0 or mode != "STANDARD" else 2), (1 if spin == 0 else 2)


@pytest.mark.parametrize("nside", [1, 2, 3])
def test_pixel_centres_are_those_of_ducc0(nside: int) -> None:
    centres = healpix.pixel_centres(nside)
    assert centres.shape == (healpix.npix(nside), 2)
    base = ducc0.healpix.Healpix_Base(nside, "RING")
    np.testing.assert_allclose(centres, base.pix2ang(np.arange(base.npix())), atol=1e-14)


@every_spin
def test_synthesis_and_its_transpose_are_explicit_sums(spin: int, mode: str) -> None:
    loc = healpix.pixel_centres(2)
    assert_same_transpose(
        lambda a: healpix.synthesis(a, nside=2, lmax=3, mmax=2, spin=spin, mode=mode),
        lambda a: field(a, loc, spin=spin, mode=mode, lmax=3, mmax=2),
        draw((shapes(spin, mode)[0], 9)),
    )


@every_spin
def test_adjoint_synthesis_and_its_transpose_are_explicit_sums(spin: int, mode: str) -> None:
    loc, (sets, maps) = healpix.pixel_centres(2), shapes(spin, mode)
    assert_same_transpose(
        lambda x: healpix.adjoint_synthesis(x, nside=2, lmax=3, spin=spin, mode=mode),
        lambda x: adjoint_field(x, loc, sets=sets, size=10, spin=spin, mode=mode, lmax=3),
        draw((maps, 48), float),
    )


@pytest.mark.parametrize("spin", [0, 2])
def test_more_iterations_bring_the_analysis_nearer_to_the_coefficients(spin: int) -> None:
    sets = 1 if spin == 0 else 2
    # Coefficients that the synthesis sees: real at m = 0, and none below the spin.
    a = sht.analysis_2d(
        sht.synthesis_2d(draw((sets, 28)), spin=spin, lmax=6, geometry="GL", ntheta=7, nphi=13),
        spin=spin,
        lmax=6,
        geometry="GL",
    )
    x = healpix.synthesis(a, nside=4, lmax=6, spin=spin)
    errors = [np.abs(healpix.analysis(x, lmax=6, spin=spin, iterations=n) - a).max() for n in (0, 1, 3, 8)]
    assert errors[0] > 1e-3
    assert errors[3] < 1e-6
    assert errors == sorted(errors, reverse=True)


@pytest.mark.parametrize("spin", [0, 2])
def test_transpose_of_the_analysis_is_that_of_its_matrix(spin: int) -> None:
    def analysis(x: Any) -> Any:
        return healpix.analysis(x, lmax=2, spin=spin, iterations=2)

    x = draw((1 if spin == 0 else 2, 12), float)
    assert_same_transpose(analysis, dense_twin(analysis, x), x)


def test_batches_are_loops() -> None:
    a = draw((2, 3, 1, 6))
    one = [[healpix.synthesis(b, nside=1, lmax=2) for b in row] for row in a]
    expected = jnp.stack([jnp.stack(row) for row in one])
    assert_close(healpix.synthesis(a, nside=1, lmax=2), expected)
    assert_close(jax.vmap(lambda b: healpix.synthesis(b, nside=1, lmax=2), 1, 1)(a), expected)
    back = healpix.analysis(expected, lmax=2)
    assert_close(back[1, 2], healpix.analysis(expected[1, 2], lmax=2))


@pytest.mark.parametrize(
    ("call", "fragments"),
    [
        (lambda: healpix.synthesis(np.ones((1, 6), complex), nside=0, lmax=2), ["nside", "0", "at least 1"]),
        (lambda: healpix.adjoint_synthesis(np.ones((1, 13)), lmax=2), ["map", "(1, 13)", "12 nside**2"]),
        (lambda: healpix.adjoint_synthesis(np.ones((1, 12)), nside=2, lmax=2), ["map", "(1, 12)", "nside = 2"]),
        (lambda: healpix.analysis(np.ones((1, 12)), lmax=2, iterations=-1), ["analysis", "iterations", "-1"]),
    ],
)
def test_mistakes_are_named(call: Any, fragments: list[str]) -> None:
    with pytest.raises(ValueError, match="expected") as caught:
        call()
    assert [fragment for fragment in fragments if fragment not in str(caught.value)] == []
