# SPDX-License-Identifier: BSD-2-Clause
"""`pseudo_analysis` and `pseudo_analysis_general`: pseudo-inverses of the explicit matrices, and their derivatives."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxbind_ducc import pointing, sht
from support.sphere import assert_close, assert_same_transpose, draw, field, places, weights

RINGS: dict[str, Any] = {"theta": [0.5, 1.5, 2.5], "nphi": [12] * 3, "phi0": [0.1] * 3, "ringstart": [0, 12, 24]}
RING_POINTS = np.stack([np.repeat(RINGS["theta"], 12), 0.1 + np.tile(np.arange(12), 3) * np.pi / 6], 1)
# Some are beyond a pole.
POINTS = jnp.array(np.random.default_rng(2).uniform([-0.5, -1.0], [3.5, 7.0], (20, 2)))
SOLVER: dict[str, Any] = {"maxiter": 500, "epsilon": 1e-11}
CASES = [(0, 3), (1, 2), (2, 3)]
every_case = pytest.mark.parametrize(("spin", "lmax"), CASES)


def best_fit(loc: Any, x: Any, spin: int, lmax: int) -> Any:
    """The pseudo-inverse of the matrix of the explicit sums, in the units in which the norm is that of fields."""
    sets, size = 1 if spin == 0 else 2, (lmax + 1) * (lmax + 2) // 2
    roots = np.sqrt(np.tile(np.repeat(weights(size, lmax, lmax), 2), sets))
    units = jnp.asarray(np.eye(sets * size * 2)).reshape(-1, sets, size, 2)
    columns = jax.vmap(lambda u: field(jax.lax.complex(u[..., 0], u[..., 1]), loc, spin=spin, lmax=lmax).ravel())(units)
    # Coefficients below the spin, and imaginary parts at m = 0, have no effect: without their columns the rank is full.
    seen = [(n >= spin, n >= spin and m > 0) for m in range(lmax + 1) for n in range(m, lmax + 1)]
    A = (columns.T / roots)[:, np.tile(np.ravel(seen), sets)]
    if A.shape[0] >= A.shape[1]:
        solved = jnp.linalg.solve(A.T @ A, A.T @ x.ravel())
    else:
        solved = A.T @ jnp.linalg.solve(A @ A.T, x.ravel())
    flat = jnp.zeros(len(roots)).at[np.flatnonzero(np.tile(np.ravel(seen), sets))].set(solved) / roots
    return jax.lax.complex(flat[::2], flat[1::2]).reshape(sets, size)


@pytest.mark.parametrize(("spin", "lmax"), [*CASES, (0, 6), (2, 6)])
def test_on_rings_it_is_the_pseudo_inverse_and_so_is_its_transpose(spin: int, lmax: int) -> None:
    x, twin = draw((1 if spin == 0 else 2, 36), float), pseudo_inverse(spin, lmax)
    assert_same_transpose(lambda x: sht.pseudo_analysis(x, spin=spin, lmax=lmax, **SOLVER, **RINGS), twin, x, 1e-8)


def pseudo_inverse(spin: int, lmax: int) -> Any:
    """The same on rings, where the rank need not be full: by singular values."""
    sets, size = 1 if spin == 0 else 2, (lmax + 1) * (lmax + 2) // 2
    roots = np.sqrt(np.tile(np.repeat(weights(size, lmax, lmax), 2), sets))
    units = np.eye(len(roots)).reshape(-1, sets, size, 2)
    columns = [np.ravel(field(u[..., 0] + 1j * u[..., 1], RING_POINTS, spin=spin, lmax=lmax)) for u in units]
    P = np.linalg.pinv(np.array(columns).T / roots, rcond=1e-8) / roots[:, None]

    def solve(x: Any) -> Any:
        flat = jnp.asarray(P) @ x.ravel()
        return jax.lax.complex(flat[::2], flat[1::2]).reshape(sets, size)

    return solve


@pytest.mark.parametrize(("spin", "lmax"), [*CASES, (0, 5)])
def test_at_points_it_is_the_pseudo_inverse_and_so_is_its_transpose(spin: int, lmax: int) -> None:
    x = draw((1 if spin == 0 else 2, len(POINTS)), float)
    assert_same_transpose(
        lambda x: pointing.pseudo_analysis_general(x, POINTS, spin=spin, lmax=lmax, **SOLVER),
        lambda x: best_fit(POINTS, x, spin, lmax),
        x,
        1e-7,
    )


@pytest.mark.parametrize(("spin", "lmax"), [(0, 3), (2, 3), (0, 5)])
def test_derivatives_in_the_points_are_those_of_the_pseudo_inverse(spin: int, lmax: int) -> None:
    x = jnp.asarray(draw((1 if spin == 0 else 2, len(POINTS)), float))

    def orders(f: Any) -> Any:
        gradient = jax.grad(lambda loc, x: jnp.sum(jnp.sin(jnp.abs(f(loc, x)) ** 2)), (0, 1))
        return jax.jit(lambda *args: jax.jvp(gradient, args, args))(POINTS, x)

    found = orders(lambda loc, x: pointing.pseudo_analysis_general(x, loc, spin=spin, lmax=lmax, **SOLVER))
    assert_close(found, orders(lambda loc, x: best_fit(loc, x, spin, lmax)), 1e-6)


@pytest.mark.parametrize("spin", [0, 2])
def test_other_layouts_hold_the_same_coefficients_and_zeros(spin: int) -> None:
    layout: dict[str, Any] = {"lmax": 3, "mmax": 2, "mstart": [0, 15, 4], "lstride": 2}
    held = [place for _, _, place in places(3, 2, layout["mstart"], 2)]
    maps = 1 if spin == 0 else 2
    for call in (
        lambda **storage: sht.pseudo_analysis(draw((maps, 36), float), spin=spin, **SOLVER, **RINGS, **storage),
        lambda **storage: pointing.pseudo_analysis_general(
            draw((maps, 20), float), POINTS, spin=spin, **SOLVER, **storage
        ),
    ):
        spread = np.array(call(ncoeff=30, **layout))
        assert_close(spread[:, held], call(lmax=3, mmax=2))
        assert not np.any(np.delete(spread, held, axis=1))


def test_batches_are_loops() -> None:
    x = draw((3, 1, 20), float)
    found = pointing.pseudo_analysis_general(x, POINTS, spin=0, lmax=2, **SOLVER)
    one = [pointing.pseudo_analysis_general(row, POINTS, spin=0, lmax=2, **SOLVER) for row in x]
    assert_close(found, jnp.stack(one))
    y = draw((3, 1, 36), float)
    found = sht.pseudo_analysis(y, spin=0, lmax=2, **SOLVER, **RINGS)
    assert_close(found, jnp.stack([sht.pseudo_analysis(row, spin=0, lmax=2, **SOLVER, **RINGS) for row in y]))


@pytest.mark.parametrize(
    ("change", "fragments"),
    [
        ({"maxiter": 0}, ["pseudo_analysis_general", "maxiter", "0", "positive"]),
        ({"epsilon": 1e-13}, ["epsilon", "1e-13", "2e-12"]),
        ({"loc": POINTS[:3]}, ["map", "(1, 20)", "1, 3"]),
    ],
)
def test_mistakes_are_named(change: dict[str, Any], fragments: list[str]) -> None:
    given: dict[str, Any] = {"map": draw((1, 20), float), "loc": POINTS, "spin": 0, "lmax": 2, **SOLVER}
    with pytest.raises(ValueError, match="expected") as caught:
        pointing.pseudo_analysis_general(**given | change)
    assert [fragment for fragment in fragments if fragment not in str(caught.value)] == []
