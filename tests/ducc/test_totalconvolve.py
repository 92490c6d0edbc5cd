# SPDX-License-Identifier: BSD-2-Clause
"""`jaxbind_ducc.totalconvolve`: values and all derivatives by rotating the beam to every pointing."""

from __future__ import annotations

from typing import Any

import ducc0
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxbind_ducc import alm, sht, totalconvolve
from support.sphere import assert_close, draw

LMAX = 3
# The first two are beyond a pole and beyond one turn.
PTG = jnp.array([[-0.3, 8.0, 0.5], [3.4, -20.0, 2.0], [1.0, 2.0, -9.0], [2.0, 0.1, 4.0]])
WEIGHTS = np.where(alm.degrees_and_orders(LMAX)[1] > 0, 2.0, 1.0)
every_order = pytest.mark.parametrize("kmax", [0, 2, 3])


def arguments(kmax: int, components: int = 2) -> tuple[Any, Any]:
    return draw((components, alm.nalm(LMAX))), draw((components, alm.nalm(LMAX, kmax)), seed=1)


def signal(kmax: int) -> Any:
    return lambda slm, blm, ptg: totalconvolve.interpol(slm, blm, ptg, lmax=LMAX, kmax=kmax, epsilon=1e-12)


def rotated_beams(kmax: int) -> Any:
    """The product of the sky with the beam in every position."""

    def one(slm: Any, blm: Any, ptg: Any) -> Any:
        theta, phi, psi = ptg
        beam = sht.rotate_alm(blm, LMAX, psi, theta, phi, mmax_in=kmax)
        return jnp.sum(
            WEIGHTS * (slm.conj() * beam).real
        )  # The beam is real where m = 0, so the sky's phase is ignored.

    return jax.vmap(one, in_axes=(None, None, 0))


@every_order
def test_values_are_products_of_the_sky_with_the_moved_beam(kmax: int) -> None:
    slm, blm = arguments(kmax)
    assert_close(signal(kmax)(slm, blm, PTG), rotated_beams(kmax)(slm, blm, PTG))


def test_values_are_those_of_the_interpolator_of_ducc0() -> None:
    slm, blm = arguments(2, components=1)
    ptg = np.array(PTG[2:])
    plan = ducc0.totalconvolve.Interpolator(slm, blm, False, LMAX, 2, epsilon=1e-12)
    np.testing.assert_allclose(signal(2)(slm, blm, ptg), plan.interpol(ptg)[0], atol=1e-9)
    back = ducc0.totalconvolve.Interpolator(LMAX, 2, 1, epsilon=1e-12)
    back.deinterpol(ptg, np.array([[1.0, 3.0]]))
    found = totalconvolve.deinterpol(jnp.array([1.0, 3.0]), blm, ptg, lmax=LMAX, kmax=2, epsilon=1e-12)
    np.testing.assert_allclose(found, back.getSlm(blm), atol=1e-9)


@every_order
def test_derivatives_in_all_arguments_are_those_of_the_moved_beam(kmax: int) -> None:
    args = (*map(jnp.asarray, arguments(kmax)), PTG)
    directions = tuple(jnp.asarray(draw(arg.shape, arg.dtype, seed=3)) for arg in args)

    def orders(f: Any) -> Any:
        gradient = jax.grad(lambda *args: jnp.sum(jnp.sin(f(*args)) * jnp.arange(1.0, 5.0)), (0, 1, 2))
        return jax.jit(lambda args, directions: jax.jvp(gradient, args, directions))(args, directions)

    assert_close(orders(signal(kmax)), orders(rotated_beams(kmax)), 1e-8)


@every_order
def test_deinterpol_is_the_adjoint_in_the_sky(kmax: int) -> None:
    slm, blm = arguments(kmax)
    y = draw((4,), float)
    a = totalconvolve.deinterpol(y, blm, PTG, lmax=LMAX, kmax=kmax, epsilon=1e-12)
    product = np.sum(WEIGHTS * (np.conj(a) * slm).real)
    np.testing.assert_allclose(product, np.sum(y * signal(kmax)(slm, blm, PTG)), rtol=1e-10)
    assert not np.any(np.abs(a[:, : LMAX + 1].imag) > 1e-12)


def test_batches_are_loops() -> None:
    slm, blm = draw((3, 2, 2, 10)), arguments(2)[1]
    f = signal(2)
    expected = jnp.stack([jnp.stack([f(s, blm, PTG) for s in row]) for row in slm])
    assert_close(f(slm, blm, PTG), expected)
    beams, pointings = jnp.stack([blm, 2 * blm]), jnp.stack([PTG, PTG[::-1]])
    each = jax.vmap(f)(slm[0], beams, pointings)
    assert_close(each, jnp.stack([f(s, b, p) for s, b, p in zip(slm[0], beams, pointings, strict=True)]))
    options: dict[str, Any] = {"lmax": LMAX, "kmax": 2, "epsilon": 1e-12}
    back = totalconvolve.deinterpol(expected, blm, PTG, **options)
    assert_close(back[2, 1], totalconvolve.deinterpol(expected[2, 1], blm, PTG, **options))


def test_single_precision() -> None:
    slm, blm = (x.astype(np.complex64) for x in arguments(2))
    found = totalconvolve.interpol(slm, blm, PTG.astype(np.float32), lmax=LMAX, kmax=2, epsilon=1e-5)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, rotated_beams(2)(*arguments(2), PTG), atol=2e-3)
    edge = jnp.array([[np.pi, 2 * np.pi, 0.0], [0.0, 0.0, 0.0]], np.float32)
    assert np.all(np.isfinite(totalconvolve.interpol(slm, blm, edge, lmax=LMAX, kmax=2, epsilon=1e-5)))


def test_no_pointings_give_no_signal() -> None:
    slm, blm = arguments(2)
    assert signal(2)(slm, blm, np.zeros((0, 3))).shape == (0,)


@pytest.mark.parametrize(
    ("change", "fragments"),
    [
        ({"kmax": 4}, ["interpol", "kmax", "4", "lmax = 3"]),
        ({"ptg": PTG.T}, ["ptg", "(3, 4)", "(nptg, 3)"]),
        ({"epsilon": 1e-14}, ["epsilon", "1e-14", "2e-13"]),
        ({"slm": draw((2, 9))}, ["slm", "(2, 9)", "10"]),
        ({"blm": draw((1, 9))}, ["blm", "(1, 9)", "(2, 9)"]),
    ],
)
def test_mistakes_are_named(change: dict[str, Any], fragments: list[str]) -> None:
    slm, blm = arguments(2)
    given: dict[str, Any] = {"slm": slm, "blm": blm, "ptg": PTG, "lmax": LMAX, "kmax": 2, "epsilon": 1e-9}
    with pytest.raises(ValueError, match="expected") as caught:
        totalconvolve.interpol(**given | change)
    assert [fragment for fragment in fragments if fragment not in str(caught.value)] == []
