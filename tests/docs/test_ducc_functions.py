# SPDX-License-Identifier: BSD-2-Clause
"""The page on the functions of ducc0 has each of them once, names what exists, and its expressions are right."""

from __future__ import annotations

import collections
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import ducc0
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.spatial.transform import Rotation, Slerp

PAGE = (Path(__file__).resolve().parents[2] / "docs/reference/ducc-functions.md").read_text()
SECTION = re.compile(r"^## (ducc0[\w.]*)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| (`.*?) \| (.*) \|$", re.MULTILINE)
REFERENCE = re.compile(r"\{py:\w+\}`([\w.]+)`")
EXPRESSION = re.compile(r"^JAX: `([^`]+)`")


def public_names(module: ModuleType, path: str) -> Iterator[str]:
    """Full names of the functions, the classes and their methods below a module of ducc0."""
    for name in (name for name in dir(module) if not name.startswith("_")):
        found = getattr(module, name)
        if inspect.ismodule(found):
            yield from public_names(found, f"{path}.{name}")
            continue
        yield f"{path}.{name}"
        if inspect.isclass(found):
            yield from (f"{path}.{name}.{method}" for method in dir(found) if not method.startswith("_"))


ROWS = [
    ([f"{module}.{name}" for name in re.findall(r"`([\w.]+)`", names)], what)
    for module, body in SECTION.findall(PAGE)
    for names, what in ROW.findall(body)
]
LISTED = [name for names, _ in ROWS for name in names]
EXISTING = set(public_names(ducc0, "ducc0"))


def test_no_function_of_ducc0_is_missing() -> None:
    assert len(EXISTING) > 100
    assert sorted(EXISTING - set(LISTED)) == []


def test_every_function_of_ducc0_is_listed_once() -> None:
    assert [name for name, count in collections.Counter(LISTED).items() if count > 1] == []


def test_every_listed_function_is_one_of_ducc0() -> None:
    assert sorted(set(LISTED) - EXISTING) == []


@pytest.mark.parametrize(("names", "what"), ROWS, ids=[names[0] for names, _ in ROWS])
def test_row_says_something_and_names_what_exists(names: list[str], what: str) -> None:
    assert what, names
    for reference in REFERENCE.findall(what):
        module, _, name = reference.rpartition(".")
        home = importlib.import_module(module)
        assert name in getattr(home, "__all__", ()), reference


def drawn(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def filled(call: Callable[[Any], Any], shape: tuple[int, ...]) -> Any:
    """What a function of ducc0 writes into an array."""
    out = np.full(shape, np.nan)
    call(out)
    return out


def rotated(values: Any, **arguments: Any) -> Any:
    """What ducc0 makes of the values, in place."""
    copy = values.copy()
    ducc0.misc.lensing_rotate(copy, **arguments)
    return copy


def detector(rot: Any, quat: Any, times: Any, new_times: Any) -> Any:
    provider = ducc0.pointingprovider.PointingProvider(times[0], 1 / (times[1] - times[0]), quat)
    step = new_times[1] - new_times[0]
    return provider.get_rotated_quaternions(new_times[0], 1 / step, rot, len(new_times), rot_left=True)


A, B = drawn(4, 3) + 1j * drawn(4, 3, seed=1), drawn(4, 3, seed=2) + 1j * drawn(4, 3, seed=3)
ANGLES = np.array([[0.3, 0.2, -0.4], [2.1, 5.0, 1.7], [1.0, 3.3, 2.9]])
VECTORS = drawn(5, 3), drawn(5, 3, seed=1)
ROLLED: dict[str, Any] = {"inp": drawn(5, 6), "roll_inp": (2, -1), "roll_out": (3, 1)}
ADDED: dict[str, Any] = {"a": drawn(2, 4, 3), "index": np.array([3, 0, 3, 1, 0]), "b": drawn(2, 5, 3)}
TURNED: dict[str, Any] = {"values": A, "gamma": drawn(4, 3), "spin": 2}
GAUSS: dict[str, Any] = {"a": A, "b": B, "c": np.abs(drawn(4, 3))}
QUATERNIONS = np.asarray(ducc0.misc.ptg2quat(np.array([[0.3, 0.2, 0.1], [0.6, 0.4, 0.5], [0.9, 0.3, 0.8]])))
FLIGHT: dict[str, Any] = {"quat": QUATERNIONS, "rot": QUATERNIONS[1], "times": np.array([1.0, 2.0, 3.0])}
FLIGHT |= {"new_times": np.array([1.2, 1.7, 2.2, 2.7])}
WEIGHTED = ducc0.misc.experimental.LogUnnormalizedGaussProbabilityWithDeriv

# Function of ducc0 -> arguments, and what it makes of them.
CALLS: dict[str, tuple[dict[str, Any], Callable[..., Any]]] = {
    "healpix.ang2vec": ({"ang": ANGLES[:, :2]}, ducc0.healpix.ang2vec),
    "healpix.vec2ang": ({"vec": VECTORS[0]}, ducc0.healpix.vec2ang),
    "healpix.v_angle": ({"v1": VECTORS[0], "v2": VECTORS[1]}, ducc0.healpix.v_angle),
    "pointingprovider.PointingProvider": (FLIGHT, detector),
    "misc.lensing_rotate": (TURNED, rotated),
    "misc.ptg2quat": ({"ptg": ANGLES}, ducc0.misc.ptg2quat),
    "misc.quat2ptg": ({"quat": QUATERNIONS}, ducc0.misc.quat2ptg),
    "misc.roll_resize_roll": (
        ROLLED,
        lambda **given: filled(lambda out: ducc0.misc.roll_resize_roll(out=out, **given), (7, 4)),
    ),
    "misc.special_add_at": (ADDED, lambda a, **given: ducc0.misc.special_add_at(a.copy(), 1, **given)),
    "misc.vdot": ({"a": A, "b": B}, ducc0.misc.vdot),
    "misc.l2error": ({"a": A, "b": B}, ducc0.misc.l2error),
    "misc.experimental.mul_conj": ({"a": A, "b": B}, ducc0.misc.experimental.mul_conj),
    "misc.experimental.div_conj": ({"a": A, "b": B}, ducc0.misc.experimental.div_conj),
    "misc.experimental.LogUnnormalizedGaussProbability": (
        GAUSS,
        ducc0.misc.experimental.LogUnnormalizedGaussProbability,
    ),
    "misc.experimental.LogUnnormalizedGaussProbabilityWithDeriv": (
        GAUSS,
        lambda **given: (WEIGHTED(**given)[0], np.conj(WEIGHTED(**given)[1])),
    ),
}
EXPRESSIONS = {names[0].removeprefix("ducc0."): found[1] for names, what in ROWS if (found := EXPRESSION.match(what))}


def test_every_expression_is_compared() -> None:
    assert set(CALLS) == set(EXPRESSIONS)


@pytest.mark.parametrize("name", CALLS)
def test_expression_gives_what_ducc0_gives(name: str) -> None:
    arguments, theirs = CALLS[name]
    known = {"jax": jax, "jnp": jnp, "Rotation": Rotation, "Slerp": Slerp}
    arrays = {key: jnp.asarray(value) if isinstance(value, np.ndarray) else value for key, value in arguments.items()}
    with jax.numpy_dtype_promotion("standard"):  # As a reader has it.
        found = eval(EXPRESSIONS[name], known | arrays)
    expected = theirs(**arguments)
    for ours, one in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(ours, one, rtol=1e-12, atol=1e-14)
