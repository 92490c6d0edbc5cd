# SPDX-License-Identifier: BSD-2-Clause
"""`jaxbind_ducc.sht` on rings and grids: values by explicit sums, transposes by pure JAX, batches, messages."""

from __future__ import annotations

from typing import Any

import ducc0
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxbind_ducc import _azimuth, _rings, sht
from support.sphere import (
    adjoint_field,
    assert_close,
    assert_same_transpose,
    dense_twin,
    draw,
    field,
    matrix,
)

SPINS = {
    "spin 0": (0, "STANDARD"),
    "spin 1": (1, "STANDARD"),
    "spin 2": (2, "STANDARD"),
    "gradient only": (2, "GRAD_ONLY"),
    "derivatives": (1, "DERIV1"),
}
# Storage of coefficients, and the length of an array that has them and more.
STORAGES: dict[str, tuple[dict[str, Any], int]] = {
    "contiguous": ({"lmax": 3}, 10),
    "cut at mmax, longer": ({"lmax": 3, "mmax": 1}, 9),
    "interleaved": ({"lmax": 3, "mmax": 2, "mstart": [0, 15, 4], "lstride": 2}, 30),
}
# Uneven rings with gaps between them, as few pixels as 1, and two rings that are woven into each other.
RINGS: dict[str, dict[str, Any]] = {
    "gaps": {"theta": [0.3, 1.2, 2.9], "nphi": [1, 5, 2], "phi0": [0.1, 0.2, 4.0], "ringstart": [7, 0, 5]},
    "woven": {"theta": [1.0, 1.5], "nphi": [3, 3], "phi0": [0, 1.0], "ringstart": [0, 1], "pixstride": 2},
}
NPIX = 9
GRIDS = {"CC": 6, "F1": 5, "MW": 5, "MWflip": 5, "GL": 4, "DH": 8, "F2": 7}

every_spin = pytest.mark.parametrize(("spin", "mode"), SPINS.values(), ids=SPINS)
every_scheme = pytest.mark.parametrize(
    ("storage", "size", "rings"),
    [
        pytest.param(*STORAGES[storage], RINGS[rings], id=f"{storage}, {rings}")
        for storage, rings in [*((name, "gaps") for name in STORAGES), ("contiguous", "woven")]
    ],
)
every_ring = pytest.mark.parametrize("rings", RINGS.values(), ids=RINGS)
every_grid = pytest.mark.parametrize("geometry", GRIDS)


def sets_and_maps(spin: int, mode: str) -> tuple[int, int]:
    return (1 if spin == 0 or mode != "STANDARD" else 2), (1 if spin == 0 else 2)


def pixels(theta: Any, nphi: Any, phi0: Any, ringstart: Any, pixstride: int = 1) -> tuple[Any, Any]:
    """Index and position of every pixel that is in a ring."""
    held = [
        (s + pixstride * k, t, p + 2 * np.pi * k / n)
        for t, n, p, s in zip(theta, nphi, phi0, ringstart, strict=True)
        for k in range(n)
    ]
    table = np.array(held)
    return table[:, 0].astype(int), table[:, 1:]


@every_scheme
@every_spin
def test_synthesis_and_its_transpose_are_explicit_sums(
    spin: int, mode: str, storage: dict[str, Any], size: int, rings: dict[str, Any]
) -> None:
    index, loc = pixels(**rings)
    sets, maps = sets_and_maps(spin, mode)

    def twin(alm: Any) -> Any:
        return jnp.zeros((maps, NPIX)).at[:, index].set(field(alm, loc, spin=spin, mode=mode, **storage))

    assert_same_transpose(
        lambda a: sht.synthesis(a, spin=spin, mode=mode, npix=NPIX, **storage, **rings), twin, draw((sets, size))
    )


@every_scheme
@every_spin
def test_adjoint_synthesis_and_its_transpose_are_explicit_sums(
    spin: int, mode: str, storage: dict[str, Any], size: int, rings: dict[str, Any]
) -> None:
    index, loc = pixels(**rings)
    sets, maps = sets_and_maps(spin, mode)

    def twin(x: Any) -> Any:
        return adjoint_field(x[:, index], loc, sets=sets, size=size, spin=spin, mode=mode, **storage)

    assert_same_transpose(
        lambda x: sht.adjoint_synthesis(x, spin=spin, mode=mode, ncoeff=size, **storage, **rings),
        twin,
        draw((maps, NPIX), float),
    )


def grid_points(geometry: str, ntheta: int, nphi: int, phi0: float) -> Any:
    """Positions of the pixels of a grid: ducc0's colatitudes, found from the field cos(theta)."""
    dipole = np.array([[0, np.sqrt(4 * np.pi / 3)]], complex)
    cosine = ducc0.sht.synthesis_2d(alm=dipole, spin=0, lmax=1, mmax=0, geometry=geometry, ntheta=ntheta, nphi=1)
    theta, phi = np.arccos(np.clip(cosine[0, :, 0], -1, 1)), phi0 + 2 * np.pi * np.arange(nphi) / nphi
    return np.stack(np.meshgrid(theta, phi, indexing="ij"), -1).reshape(-1, 2)


@every_grid
@every_spin
def test_synthesis_2d_and_its_adjoint_are_explicit_sums(spin: int, mode: str, geometry: str) -> None:
    sets, maps = sets_and_maps(spin, mode)
    storage, size = STORAGES["interleaved"]
    shape, factor = (GRIDS[geometry], 6), np.arange(1.0, 1 + GRIDS[geometry])
    grid = {"geometry": geometry, "phi0": 0.4, "ringfactor": factor}
    loc = grid_points(geometry, *shape, 0.4)

    def twin(alm: Any) -> Any:
        return factor[:, None] * field(alm, loc, spin=spin, mode=mode, **storage).reshape(maps, *shape)

    def adjoint_twin(x: Any) -> Any:
        scaled = (x * factor[:, None]).reshape(maps, -1)
        return adjoint_field(scaled, loc, sets=sets, size=size, spin=spin, mode=mode, **storage)

    options: dict[str, Any] = {"spin": spin, "mode": mode, **storage, **grid}
    # arccos of the probe above loses half of the digits at the poles.
    assert_same_transpose(
        lambda a: sht.synthesis_2d(a, ntheta=shape[0], nphi=shape[1], **options), twin, draw((sets, size)), 1e-6
    )
    assert_same_transpose(
        lambda x: sht.adjoint_synthesis_2d(x, ncoeff=size, **options), adjoint_twin, draw((maps, *shape), float), 1e-6
    )


@pytest.mark.parametrize("spin", [0, 2])
@every_grid
def test_analysis_2d_is_the_inverse_of_synthesis_2d(geometry: str, spin: int) -> None:
    storage, size = STORAGES["interleaved"]
    options: dict[str, Any] = {"spin": spin, "geometry": geometry, "phi0": 0.4, **storage}
    x = sht.synthesis_2d(draw((1 if spin == 0 else 2, size)), ntheta=GRIDS[geometry], nphi=7, **options)
    alm = sht.analysis_2d(x, ncoeff=size, **options)
    assert_close(sht.synthesis_2d(alm, ntheta=GRIDS[geometry], nphi=7, **options), x)


@pytest.mark.parametrize("spin", [0, 2])
@every_grid
def test_transposes_of_analysis_2d_and_its_adjoint_are_those_of_their_matrices(geometry: str, spin: int) -> None:
    sets = 1 if spin == 0 else 2
    options: dict[str, Any] = {
        "spin": spin,
        "geometry": geometry,
        "lmax": 2,
        "ringfactor": np.arange(1, 1 + GRIDS[geometry]),
    }

    def analysis(x: Any) -> Any:
        return sht.analysis_2d(x, **options)

    def adjoint(alm: Any) -> Any:
        return sht.adjoint_analysis_2d(alm, ntheta=GRIDS[geometry], nphi=5, **options)

    x, alm = draw((sets, GRIDS[geometry], 5), float), draw((sets, 6))
    assert_same_transpose(analysis, dense_twin(analysis, x), x)
    assert_same_transpose(adjoint, dense_twin(adjoint, alm), alm)


ORDERS: dict[str, tuple[dict[str, Any], int, list[int]]] = {
    "all": ({"lmax": 3}, 10, [0, 1, 2, 3]),
    "some": ({"lmax": 4, "mval": [3, 1], "mstart": [0, 7]}, 14, [3, 1]),
}


@pytest.mark.parametrize(("storage", "size", "orders"), ORDERS.values(), ids=ORDERS)
@every_spin
def test_alm2leg_is_complex_linear_with_the_transposes_of_its_matrix(
    spin: int, mode: str, storage: dict[str, Any], size: int, orders: list[int]
) -> None:
    sets, maps = sets_and_maps(spin, mode)
    options: dict[str, Any] = {"theta": [0.3, 1.1, 2.9], "spin": spin, "mode": mode, **storage}

    def to_leg(alm: Any) -> Any:
        return sht.alm2leg(alm, **options)

    def to_alm(leg: Any) -> Any:
        return sht.leg2alm(leg, ncoeff=size, **options)

    alm, leg = draw((sets, size)), draw((maps, 3, len(orders)))
    assert_close(to_leg(1j * alm), 1j * to_leg(alm))
    assert_same_transpose(to_leg, dense_twin(to_leg, alm), alm)
    assert_same_transpose(to_alm, dense_twin(to_alm, leg), leg)
    np.testing.assert_allclose(matrix(to_alm, leg), matrix(to_leg, alm).T, atol=1e-12)


@every_ring
def test_leg2map_is_an_explicit_sum_and_map2leg_its_adjoint(rings: dict[str, Any]) -> None:
    index, (_, phi) = pixels(**rings)[0], pixels(**rings)[1].T
    ring = np.repeat(np.arange(len(rings["nphi"])), rings["nphi"])
    shares = np.array([1, 2, 2]) * np.exp(1j * np.outer(phi, np.arange(3)))

    def twin(leg: Any) -> Any:
        return jnp.zeros((2, NPIX)).at[:, index].set(jnp.sum(leg[:, ring] * shares, -1).real)

    def adjoint_twin(x: Any) -> Any:
        zeros = jnp.zeros((2, len(rings["nphi"]), 3), complex)
        return zeros.at[:, ring].add(x[:, index, None].astype(complex) * np.exp(-1j * np.outer(phi, np.arange(3))))

    assert_same_transpose(lambda leg: sht.leg2map(leg, npix=NPIX, **rings), twin, draw((2, len(rings["nphi"]), 3)))
    assert_same_transpose(lambda x: sht.map2leg(x, mmax=2, **rings), adjoint_twin, draw((2, NPIX), float))


def test_maps_that_held_something_else_are_filled_between_the_rings() -> None:
    maps, rings = np.full((1, 2, NPIX), np.nan), _rings.checked("leg2map", RINGS["gaps"])
    _azimuth._fill_maps(maps, draw((1, 2, 3, 3)), geometry=tuple(rings), mmax=2, npix=NPIX, nthreads=1)
    assert np.all(np.isfinite(maps))
    assert not np.any(maps[..., 8])


def test_the_two_halves_make_a_synthesis() -> None:
    alm, rings = draw((2, 10)), RINGS["gaps"]
    leg = sht.alm2leg(alm, theta=rings["theta"], spin=2, lmax=3)
    assert_close(sht.leg2map(leg, **rings), sht.synthesis(alm, spin=2, lmax=3, **rings))


def test_functions_for_derivatives_are_the_mode() -> None:
    alm, rings, grid = draw((1, 10)), RINGS["gaps"], {"geometry": "GL", "ntheta": 4, "nphi": 7}
    mode: dict[str, Any] = {"spin": 1, "mode": "DERIV1", "lmax": 3}
    assert_close(sht.synthesis_deriv1(alm, lmax=3, **rings), sht.synthesis(alm, **mode, **rings))
    assert_close(sht.synthesis_2d_deriv1(alm, lmax=3, **grid), sht.synthesis_2d(alm, **mode, **grid))
    leg = sht.alm2leg(alm, theta=rings["theta"], **mode)
    assert_close(sht.alm2leg_deriv1(alm, theta=rings["theta"], lmax=3), leg)


@pytest.mark.parametrize(
    ("call", "shape", "dtype"),
    [
        (lambda a: sht.synthesis(a, spin=2, lmax=3, **RINGS["gaps"]), (2, 10), complex),
        (lambda x: sht.adjoint_synthesis(x, spin=2, lmax=3, **RINGS["gaps"]), (2, 8), float),
        (lambda a: sht.synthesis_2d(a, spin=2, lmax=3, geometry="CC", ntheta=5, nphi=4), (2, 10), complex),
        (lambda x: sht.analysis_2d(x, spin=2, lmax=2, geometry="CC"), (2, 5, 6), float),
        (lambda a: sht.alm2leg(a, spin=2, lmax=3, theta=[1.0, 2.0]), (2, 10), complex),
        (lambda x: sht.leg2map(x, **RINGS["gaps"]), (2, 3, 4), complex),
        (lambda x: sht.map2leg(x, mmax=2, **RINGS["gaps"]), (2, 8), float),
    ],
    ids=["synthesis", "adjoint_synthesis", "synthesis_2d", "analysis_2d", "alm2leg", "leg2map", "map2leg"],
)
def test_batches_are_loops_on_every_axis(call: Any, shape: tuple[int, ...], dtype: Any) -> None:
    x = draw((3, 2, *shape), dtype)
    expected = jnp.stack([jnp.stack([call(one) for one in row]) for row in x])
    assert_close(call(x), expected)
    for axis in range(len(shape) + 1):
        moved = np.moveaxis(x, 0, axis)
        assert_close(jax.vmap(jax.vmap(call), in_axes=axis)(moved), expected)
    c = jnp.asarray(draw(expected.shape, expected.dtype, seed=2))
    pull = [
        jnp.stack([jax.vjp(call, one)[1](k)[0] for one, k in zip(row, cs, strict=True)])
        for row, cs in zip(x, c, strict=True)
    ]
    assert_close(jax.vjp(jax.vmap(jax.vmap(call)), x)[1](c)[0], jnp.stack(pull))


@pytest.mark.parametrize("spin", [0, 2])
def test_single_precision_stays_single(spin: int) -> None:
    alm = draw((1 if spin == 0 else 2, 10), np.complex64)
    x = sht.synthesis(alm, spin=spin, lmax=3, **RINGS["gaps"])
    assert x.dtype == np.float32
    np.testing.assert_allclose(x, sht.synthesis(alm.astype(complex), spin=spin, lmax=3, **RINGS["gaps"]), atol=1e-5)
    assert sht.adjoint_synthesis(x, spin=spin, lmax=3, **RINGS["gaps"]).dtype == np.complex64


def test_second_derivatives_of_a_misfit_are_the_normal_equations() -> None:
    alm, rings = jnp.asarray(draw((1, 6))), RINGS["gaps"]

    def predict(a: Any) -> Any:
        return sht.synthesis(a, spin=0, lmax=2, **rings)

    def twin(a: Any) -> Any:
        index, loc = pixels(**rings)
        return jnp.zeros((1, 8)).at[:, index].set(field(a, loc, spin=0, lmax=2))

    def curvature(f: Any) -> Any:
        gradient = jax.grad(lambda a: jnp.sum(f(a) ** 4))
        return jax.jit(lambda a, da: jax.jvp(gradient, (a,), (da,))[1])(alm, 1j * alm)

    assert_close(curvature(predict), curvature(twin))


RING: dict[str, Any] = {"theta": [1.0], "nphi": [4], "phi0": [0.0], "ringstart": [0]}
GRID: dict[str, Any] = {"geometry": "GL", "ntheta": 3, "nphi": 5}
ALM = np.ones((1, 6), complex)
MISTAKES: dict[str, tuple[Any, Any, list[str]]] = {
    "dtype": (
        lambda: sht.synthesis(ALM.real, spin=0, lmax=2, **RING),
        TypeError,
        ["synthesis", "alm", "float64", "complex64"],
    ),
    "components": (lambda: sht.synthesis(ALM, spin=2, lmax=2, **RING), ValueError, ["alm", "(1, 6)", "2, ncoeff"]),
    "too short": (
        lambda: sht.synthesis(ALM, spin=0, lmax=3, **RING),
        ValueError,
        ["alm", "6 long", "at least 10", "lmax"],
    ),
    "mmax": (lambda: sht.synthesis(ALM, spin=0, lmax=2, mmax=3, **RING), ValueError, ["mmax", "3", "lmax = 2"]),
    "spin": (lambda: sht.synthesis(ALM, spin=3, lmax=2, **RING), ValueError, ["spin", "3", "at most lmax = 2"]),
    "mode": (lambda: sht.synthesis(ALM, spin=0, lmax=2, mode="GRAD", **RING), ValueError, ["mode", "GRAD", "DERIV1"]),
    "unknown": (
        lambda: sht.synthesis(ALM, spin=0, lmax=2, nside=2, **RING),
        TypeError,
        ["synthesis", "unexpected nside"],
    ),
    "missing": (
        lambda: sht.synthesis(ALM, spin=0, lmax=2, theta=[1.0]),
        TypeError,
        ["synthesis", "no nphi", "no ringstart"],
    ),
    "overlap": (
        lambda: sht.synthesis(ALM, spin=0, lmax=2, theta=[1, 2], nphi=[4, 4], phi0=[0, 0], ringstart=[0, 3]),
        ValueError,
        ["ringstart", "do not overlap", "nphi"],
    ),
    "same place": (
        lambda: sht.synthesis(ALM, spin=0, lmax=2, mstart=[0, 0, 0], **RING),
        ValueError,
        ["mstart", "different place"],
    ),
    "ring lengths": (
        lambda: sht.synthesis(ALM, spin=0, lmax=2, **RING | {"nphi": [4, 4]}),
        ValueError,
        ["nphi", "(1,)"],
    ),
    "theta": (
        lambda: sht.synthesis(ALM, spin=0, lmax=2, **RING | {"theta": [4.0]}),
        ValueError,
        ["theta", "between 0 and pi"],
    ),
    "pixels": (
        lambda: sht.adjoint_synthesis(np.ones((1, 3)), spin=0, lmax=2, **RING),
        ValueError,
        ["map", "3", "at least 4"],
    ),
    "traced": (
        lambda: jax.jit(lambda t: sht.synthesis(ALM, spin=0, lmax=2, **RING | {"theta": t}))(jnp.ones(1)),
        TypeError,
        ["theta", "traced", "constant"],
    ),
    "geometry": (
        lambda: sht.synthesis_2d(ALM, spin=0, lmax=2, **GRID | {"geometry": "XY"}),
        ValueError,
        ["XY", "CC", "F2"],
    ),
    "coarse": (
        lambda: sht.analysis_2d(np.ones((1, 3, 5)), spin=0, lmax=3, geometry="GL"),
        ValueError,
        ["analysis_2d", "lmax", "3", "at most 2", "GL"],
    ),
    "coarse in phi": (
        lambda: sht.analysis_2d(np.ones((1, 3, 4)), spin=0, lmax=2, geometry="GL"),
        ValueError,
        ["analysis_2d", "mmax", "at most 1"],
    ),
    "mval": (
        lambda: sht.alm2leg(ALM, theta=[1.0], lmax=2, mval=[1, 1], mstart=[0, 1]),
        ValueError,
        ["mval", "distinct"],
    ),
    "mval needs mstart": (lambda: sht.alm2leg(ALM, theta=[1.0], lmax=2, mval=[1]), ValueError, ["mstart", "1 numbers"]),
}


@pytest.mark.parametrize(("call", "error", "fragments"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_named(call: Any, error: type[Exception], fragments: list[str]) -> None:
    with pytest.raises(error) as caught:
        call()
    assert [fragment for fragment in fragments if fragment not in str(caught.value)] == []
