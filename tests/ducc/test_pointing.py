# SPDX-License-Identifier: BSD-2-Clause
"""`jaxbind_ducc.pointing`: values and three orders of derivatives by explicit sums, deflections by ducc0."""

from __future__ import annotations

from typing import Any

import ducc0
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxbind_ducc import healpix, pointing
from support.sphere import adjoint_field, assert_close, assert_same_transpose, draw, field

KINDS = {
    "spin 0": (0, "STANDARD"),
    "spin 1": (1, "STANDARD"),
    "spin 2": (2, "STANDARD"),
    "highest spin": (3, "STANDARD"),
    "spin 1, gradient": (1, "GRAD_ONLY"),
    "spin 2, gradient": (2, "GRAD_ONLY"),
    "derivatives": (1, "DERIV1"),
}
every_kind = pytest.mark.parametrize(("spin", "mode"), KINDS.values(), ids=KINDS)
STORAGE: dict[str, Any] = {"lmax": 3, "mmax": 2, "mstart": [0, 15, 4], "lstride": 2}
SIZE = 23
LOC = np.array([[0.3, 0.2], [1.2, 4.0], [2.9, 6.2]])


def shapes(spin: int, mode: str) -> tuple[int, int]:
    return (1 if spin == 0 or mode != "STANDARD" else 2), (1 if spin == 0 else 2)


def general(alm: Any, loc: Any, spin: int, mode: str) -> Any:
    return pointing.synthesis_general(alm, loc, spin=spin, mode=mode, epsilon=1e-12, **STORAGE)


def adjoint_general(x: Any, loc: Any, spin: int, mode: str) -> Any:
    return pointing.adjoint_synthesis_general(x, loc, spin=spin, mode=mode, epsilon=1e-12, ncoeff=SIZE, **STORAGE)


@every_kind
def test_synthesis_and_its_transpose_are_explicit_sums(spin: int, mode: str) -> None:
    alm = draw((shapes(spin, mode)[0], SIZE))
    assert_same_transpose(
        lambda a: general(a, LOC, spin, mode), lambda a: field(a, LOC, spin=spin, mode=mode, **STORAGE), alm
    )


@every_kind
def test_adjoint_and_its_transpose_are_explicit_sums(spin: int, mode: str) -> None:
    sets, maps = shapes(spin, mode)
    scheme = {"sets": sets, "size": SIZE, "spin": spin, "mode": mode, **STORAGE}
    x = draw((maps, len(LOC)), float)
    assert_same_transpose(lambda x: adjoint_general(x, LOC, spin, mode), lambda x: adjoint_field(x, LOC, **scheme), x)


def loss(f: Any) -> Any:
    """A real function of the result that is not quadratic, so that all orders of derivatives matter."""

    def value(*args: Any) -> Any:
        y = f(*args)
        parts = jnp.concatenate([y.real.ravel(), y.imag.ravel()]) if jnp.iscomplexobj(y) else y.ravel()
        return jnp.sum(jnp.sin(parts) * jnp.arange(1.0, 1.0 + parts.size))

    return value


def orders(f: Any, *args: Any, third: bool = False) -> Any:
    """Gradient, and second and third derivatives along a direction, in both arguments."""
    directions = tuple(jnp.asarray(draw(arg.shape, arg.dtype, seed=4)) for arg in args)

    def first_and_second(*args: Any) -> Any:
        return jax.jvp(jax.grad(loss(f), (0, 1)), args, directions)

    if third:
        return jax.jit(lambda *args: jax.jvp(first_and_second, args, directions))(*args)
    return jax.jit(first_and_second)(*args)


@every_kind
def test_all_derivatives_are_those_of_explicit_sums(spin: int, mode: str) -> None:
    alm = jnp.asarray(draw((shapes(spin, mode)[0], SIZE)))
    args, third = (alm, jnp.asarray(LOC)), (spin, mode) == (2, "STANDARD")
    found = orders(lambda a, loc: general(a, loc, spin, mode), *args, third=third)
    expected = orders(lambda a, loc: field(a, loc, spin=spin, mode=mode, **STORAGE), *args, third=third)
    assert_close(found, expected, 1e-8)


@pytest.mark.parametrize(("spin", "mode"), [(0, "STANDARD"), (2, "STANDARD"), (1, "DERIV1")])
def test_all_derivatives_of_the_adjoint_are_those_of_explicit_sums(spin: int, mode: str) -> None:
    sets, maps = shapes(spin, mode)
    scheme = {"sets": sets, "size": SIZE, "spin": spin, "mode": mode, **STORAGE}
    x = jnp.asarray(draw((maps, len(LOC)), float))
    found = orders(lambda x, loc: adjoint_general(x, loc, spin, mode), x, jnp.asarray(LOC))
    # Entries that hold no coefficient are 0 / infinity in the oracle, whose derivatives are 0 too.
    expected = orders(lambda x, loc: adjoint_field(x, loc, **scheme), x, jnp.asarray(LOC))
    assert_close(found, expected, 1e-8)


@pytest.mark.parametrize("spin", [0, 1, 2])
def test_points_beyond_a_pole_continue_the_field(spin: int) -> None:
    alm = draw((1 if spin == 0 else 2, SIZE))
    loc = jnp.array([[-0.2, 1.0], [3.3, -20.0], [7.0, 50.0], [0.0, 0.0], [np.pi, 2 * np.pi]])
    f, twin = (lambda loc: general(alm, loc, spin, "STANDARD")), (lambda loc: field(alm, loc, spin=spin, **STORAGE))
    assert_close(f(loc), twin(loc), 1e-9)
    assert_close(jax.jvp(f, (loc,), (jnp.ones_like(loc),))[1], jax.jvp(twin, (loc,), (jnp.ones_like(loc),))[1], 1e-9)


@pytest.mark.parametrize("in_axes", [(0, None), (None, 0), (0, 0), (1, 2)])
def test_batches_are_loops(in_axes: tuple[Any, Any]) -> None:
    args = []
    for shape, dtype, axis in [((2, SIZE), complex, in_axes[0]), ((3, 2), float, in_axes[1])]:
        full = draw(shape if axis is None else (*shape[:axis], 4, *shape[axis:]), dtype)
        args.append(jnp.asarray(full))
    call = lambda a, loc: general(a, loc, 2, "STANDARD")  # noqa: E731  # two lines would say less
    picked = [
        [arg if axis is None else jnp.take(arg, k, axis) for arg, axis in zip(args, in_axes, strict=True)]
        for k in range(4)
    ]
    assert_close(jax.vmap(call, in_axes)(*args), jnp.stack([call(*one) for one in picked]))
    gradient = jax.grad(loss(call), (0, 1))
    singles = [gradient(*one) for one in picked]
    assert_close(jax.vmap(gradient, in_axes)(*args), jax.tree.map(lambda *leaves: jnp.stack(leaves), *singles), 1e-9)


def test_no_points_give_no_values_and_no_coefficients() -> None:
    assert general(draw((1, SIZE)), np.zeros((0, 2)), 0, "STANDARD").shape == (1, 0)
    np.testing.assert_array_equal(
        adjoint_general(np.zeros((1, 0)), np.zeros((0, 2)), 0, "STANDARD"), np.zeros((1, SIZE))
    )


def test_single_precision() -> None:
    alm, loc = jnp.asarray(draw((1, SIZE), np.complex64)), jnp.asarray(LOC, np.float32)

    def value(loc: Any) -> Any:
        return pointing.synthesis_general(alm, loc, spin=0, epsilon=1e-5, **STORAGE).sum()

    assert value(loc).dtype == np.float32
    gradient = jax.grad(value)(loc)
    expected = jax.grad(lambda loc: field(alm.astype(complex), loc, spin=0, **STORAGE).sum())(jnp.asarray(LOC))
    assert gradient.dtype == np.float32
    np.testing.assert_allclose(gradient, expected, atol=1e-3)


RINGS = dict(ducc0.healpix.Healpix_Base(2, "RING").sht_info())


@pytest.mark.parametrize("size", [1.0, 1e-3])
def test_deflections_are_those_of_ducc0(size: float) -> None:
    deflect = size * draw((48, 2), float)
    geometry = [RINGS[name] for name in ("theta", "phi0", "nphi", "ringstart")]
    expected = ducc0.misc.get_deflected_angles(*geometry, deflect, calc_rotation=True)
    found = np.array(pointing.get_deflected_angles(deflect, calc_rotation=True, **RINGS))
    np.testing.assert_allclose(np.exp(1j * found), np.exp(1j * expected), atol=1e-12)
    np.testing.assert_allclose(pointing.get_deflected_angles(deflect, **RINGS), expected[:, :2], atol=1e-12)


def test_deflection_is_differentiable_where_nothing_is_deflected() -> None:
    none, change = jnp.zeros((48, 2)), jnp.asarray(draw((48, 2), float))
    tangent = jax.jit(lambda d, t: jax.jvp(lambda d: pointing.get_deflected_angles(d, **RINGS), (d,), (t,))[1])(
        none, change
    )
    sine = np.sin(healpix.pixel_centres(2)[:, 0])
    np.testing.assert_allclose(tangent, np.stack([change[:, 0], change[:, 1] / sine], 1), atol=1e-12)
    moved = lambda t: pointing.get_deflected_angles(t * change, **RINGS)[:, 0].sum()  # noqa: E731  # short
    assert np.isfinite(jax.jit(jax.grad(jax.grad(moved)))(0.0))


def test_a_lensed_field_to_first_order_is_the_field_and_its_gradient_times_the_deflection() -> None:
    alm, deflect = draw((1, 10)), 1e-5 * draw((48, 2), float)
    loc = pointing.get_deflected_angles(deflect, **RINGS)
    lensed = pointing.synthesis_general(alm, loc, spin=0, lmax=3, epsilon=1e-12)
    gradient = healpix.synthesis(alm, nside=2, lmax=3, spin=1, mode="DERIV1")
    expected = healpix.synthesis(alm, nside=2, lmax=3) + jnp.sum(gradient * deflect.T, 0)
    np.testing.assert_allclose(lensed, expected, atol=1e-8)


ALM = np.ones((1, 10), complex)
MISTAKES: dict[str, tuple[Any, type[Exception], list[str]]] = {
    "shape of loc": (
        lambda: general(draw((1, SIZE)), LOC.T, 0, "STANDARD"),
        ValueError,
        ["loc", "(2, 3)", "(npix, 2)"],
    ),
    "dtype of loc": (lambda: general(draw((1, SIZE)), LOC.astype(int), 0, "STANDARD"), TypeError, ["loc", "int64"]),
    "accuracy": (
        lambda: pointing.synthesis_general(ALM.astype(np.complex64), LOC, spin=0, lmax=3, epsilon=1e-9),
        ValueError,
        ["epsilon", "1e-09", "1e-06", "complex64"],
    ),
    "no accuracy": (lambda: pointing.synthesis_general(ALM, LOC, spin=0, lmax=3), TypeError, ["no epsilon"]),
    "points": (lambda: adjoint_general(np.ones((1, 5)), LOC, 0, "STANDARD"), ValueError, ["map", "(1, 5)", "1, 3"]),
    "gaps": (
        lambda: pointing.get_deflected_angles(
            np.ones((8, 2)), theta=[1, 2], nphi=[4, 4], phi0=[0, 0], ringstart=[0, 5]
        ),
        ValueError,
        ["ringstart", "without gaps"],
    ),
}


@pytest.mark.parametrize(("call", "error", "fragments"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_named(call: Any, error: type[Exception], fragments: list[str]) -> None:
    with pytest.raises(error) as caught:
        call()
    assert [fragment for fragment in fragments if fragment not in str(caught.value)] == []
