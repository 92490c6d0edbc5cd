# SPDX-License-Identifier: BSD-2-Clause
"""`jaxbind_ducc.sht.rotate_alm`: what a rotation does to a field, inverse, transposes, derivatives in the angles."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxbind_ducc import alm, sht
from support.sphere import assert_close, assert_same_transpose, dense_twin, draw, field

ANGLES = (0.3, 0.7, -1.1)
CUTS = [(3, 3), (1, 3), (3, 1), (2, 0)]
every_cut = pytest.mark.parametrize(("mmax_in", "mmax_out"), CUTS)


def turn(axis: int, angle: Any) -> Any:
    """The rotation matrix about z (axis 2) or y (axis 1)."""
    c, s, o, i = jnp.cos(angle), jnp.sin(angle), jnp.zeros_like(angle), jnp.ones_like(angle)
    rows = [[c, -s, o], [s, c, o], [o, o, i]] if axis == 2 else [[c, o, s], [o, i, o], [-s, o, c]]
    return jnp.array(rows)


def rotated_field(a: Any, angles: Any, loc: Any) -> Any:
    """The field at the points from which a rotation brings its values, by explicit sums."""
    psi, theta, phi = angles
    vectors = jnp.stack(
        [jnp.sin(loc[:, 0]) * jnp.cos(loc[:, 1]), jnp.sin(loc[:, 0]) * jnp.sin(loc[:, 1]), jnp.cos(loc[:, 0])]
    )
    x, y, z = (turn(2, phi) @ turn(1, theta) @ turn(2, psi)).T @ vectors
    return field(a[None], jnp.stack([jnp.arctan2(jnp.hypot(x, y), z), jnp.arctan2(y, x)], 1), spin=0, lmax=3)[0]


LOC = jnp.array([[0.4, 0.1], [1.3, 2.0], [2.2, 4.0], [2.8, 6.0]])


def test_a_rotation_moves_the_values_of_the_field() -> None:
    a = draw((10,))
    found = field(sht.rotate_alm(a, 3, *ANGLES)[None], LOC, spin=0, lmax=3)[0]
    assert_close(found, rotated_field(a, jnp.array(ANGLES), LOC))


def test_derivatives_in_the_angles_are_those_of_the_moved_field() -> None:
    def loss(f: Any) -> Any:
        return lambda a, angles: jnp.sum(jnp.sin(f(a, angles)) * jnp.arange(1.0, 5.0))

    def orders(f: Any) -> Any:
        gradient = jax.grad(loss(f), (0, 1))
        args = jnp.asarray(draw((10,))), jnp.array(ANGLES)
        return jax.jit(lambda *args: jax.jvp(gradient, args, args))(*args)

    found = orders(lambda a, angles: field(sht.rotate_alm(a, 3, *angles)[None], LOC, spin=0, lmax=3)[0])
    assert_close(found, orders(lambda a, angles: rotated_field(a, angles, LOC)))


@every_cut
def test_transpose_is_that_of_the_matrix(mmax_in: int, mmax_out: int) -> None:
    def rotate(a: Any) -> Any:
        return sht.rotate_alm(a, 3, *ANGLES, mmax_in=mmax_in, mmax_out=mmax_out)

    a = draw((alm.nalm(3, mmax_in),))
    assert_same_transpose(rotate, dense_twin(rotate, a), a)


@every_cut
def test_orders_that_are_cut_are_zeros_and_are_dropped(mmax_in: int, mmax_out: int) -> None:
    a = draw((alm.nalm(3, mmax_in),))
    longer = np.concatenate([a, np.zeros(10 - len(a))])
    expected = sht.rotate_alm(longer, 3, *ANGLES)[: alm.nalm(3, mmax_out)]
    assert_close(sht.rotate_alm(a, 3, *ANGLES, mmax_in=mmax_in, mmax_out=mmax_out), expected)


def test_derivatives_of_a_cut_rotation_are_those_of_the_whole_one() -> None:
    a, change = draw((alm.nalm(3, 1),)), jnp.array([0.2, 0.5, -0.4])
    longer = np.concatenate([a, np.zeros(10 - len(a))])

    def tangent(f: Any) -> Any:
        return jax.jvp(f, (jnp.array(ANGLES),), (change,))[1]

    expected = tangent(lambda angles: sht.rotate_alm(longer, 3, *angles))[: alm.nalm(3, 2)]
    assert_close(tangent(lambda angles: sht.rotate_alm(a, 3, *angles, mmax_in=1, mmax_out=2)), expected)


def test_reversed_angles_are_the_inverse() -> None:
    a = draw((2, 10))
    psi, theta, phi = ANGLES
    back = sht.rotate_alm(sht.rotate_alm(a, 3, psi, theta, phi), 3, -phi, -theta, -psi)
    assert_close(back, jnp.asarray(np.where(alm.degrees_and_orders(3)[1] == 0, a.real, a)))


def test_batches_of_coefficients_and_of_angles_are_loops() -> None:
    a, theta = draw((4, 10)), jnp.array([0.1, 0.2, 0.3, 0.4])
    expected = jnp.stack([sht.rotate_alm(one, 3, 0.5, t, 0.6) for one, t in zip(a, theta, strict=True)])
    assert_close(jax.vmap(lambda one, t: sht.rotate_alm(one, 3, 0.5, t, 0.6))(a, theta), expected)
    assert_close(sht.rotate_alm(a, 3, 0.5, 0.1, 0.6)[0], expected[0])


@pytest.mark.parametrize(
    ("call", "error", "fragments"),
    [
        (lambda: sht.rotate_alm(draw((9,)), 3, *ANGLES), ValueError, ["rotate_alm", "alm", "(9,)", "10"]),
        (lambda: sht.rotate_alm(draw((10,)), 3, *ANGLES, mmax_out=4), ValueError, ["mmax", "4", "lmax = 3"]),
        (lambda: sht.rotate_alm(draw((10,)), 3, np.ones(2), 0, 0), ValueError, ["psi", "(2,)", "real number", "vmap"]),
    ],
)
def test_mistakes_are_named(call: Any, error: type[Exception], fragments: list[str]) -> None:
    with pytest.raises(error) as caught:
        call()
    assert [fragment for fragment in fragments if fragment not in str(caught.value)] == []
