# SPDX-License-Identifier: BSD-2-Clause
"""Plain jit over several devices: the batch is split, and nothing is gathered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec
from support import ramp

AXIS_TYPES = ["Auto", "Explicit"] if hasattr(jax, "set_mesh") else ["Auto"]
OPERATORS = [ramp.looped, ramp.native]


def _mesh(kind: str) -> jax.sharding.Mesh:
    return jax.make_mesh((2, 2), ("i", "j"), axis_types=(getattr(jax.sharding.AxisType, kind),) * 2)


def _draw(seed: int, *shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=shape)


def _shared(f: Callable[..., Any]) -> Callable[..., Any]:
    return jax.vmap(f, (None, 0))


def _nested(f: Callable[..., Any]) -> Callable[..., Any]:
    return jax.vmap(jax.vmap(f, (None, 0)), (None, 0))


def _outer_product(f: Callable[..., Any]) -> Callable[..., Any]:
    return jax.vmap(jax.vmap(f, (None, 0)), (0, None))


def _tangent(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda p, x: jax.jvp(lambda x: _shared(f)(p, x), (x,), (jnp.cos(x),))[1]


def _gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda p, x: jax.grad(lambda x: jnp.sum(jnp.sin(_shared(f)(p, x))))(x)


# name: (function of the operator, arguments, their sharding, sharding of the result, host function's view of p and x)
CASES: dict[str, tuple[Any, ...]] = {
    "shared": (_shared, (_draw(0, 5), _draw(1, 8, 5)), ((), ("i",)), ("i",)),
    "both mapped": (jax.vmap, (_draw(0, 8, 5), _draw(1, 8, 5)), (("i",), ("i",)), ("i",)),
    "two mesh axes": (_shared, (_draw(0, 5), _draw(1, 8, 5)), ((), (("i", "j"),)), (("i", "j"),)),
    "nested": (_nested, (_draw(0, 5), _draw(1, 4, 6, 5)), ((), ("i", "j")), ("i", "j")),
    "outer product": (_outer_product, (_draw(0, 4, 5), _draw(1, 6, 5)), (("i",), ("j",)), ("i", "j")),
    "jvp": (_tangent, (_draw(0, 5), _draw(1, 8, 5)), ((), ("i",)), ("i",)),
    "grad": (_gradient, (_draw(0, 5), _draw(1, 8, 5)), ((), ("i",)), ("i",)),
}


@pytest.mark.parametrize("kind", AXIS_TYPES)
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("case", CASES)
def test_batches_are_split_without_gathering(case: str, operator: Callable[..., Any], kind: str) -> None:
    transform, arrays, shardings, expected = CASES[case]
    mesh = _mesh(kind)
    args = [jax.device_put(a, NamedSharding(mesh, PartitionSpec(*s))) for a, s in zip(arrays, shardings, strict=True)]
    compiled = jax.jit(transform(operator)).lower(*args).compile()
    result = compiled(*args)

    np.testing.assert_allclose(result, transform(ramp.twin)(*map(jnp.asarray, arrays)), rtol=1e-12)
    assert tuple(result.sharding.spec)[: len(expected)] == expected
    text = compiled.as_text()
    assert "jaxbind_call" in text
    assert not any(word in text for word in ("all-gather", "all-to-all", "collective-permute"))


@pytest.mark.parametrize("operator", OPERATORS)
def test_each_device_gets_its_own_part(operator: Callable[..., Any]) -> None:
    mesh = _mesh("Auto")
    x = jax.device_put(_draw(1, 8, 5), NamedSharding(mesh, PartitionSpec(("i", "j"))))
    ramp.seen.clear()
    jax.block_until_ready(jax.jit(_shared(operator))(jnp.arange(5.0), x))
    rows = {shape[:-1] for _, shape in ramp.seen}
    assert (rows, len(ramp.seen)) == (({()}, 8) if operator is ramp.looped else ({(2,)}, 4))


@pytest.mark.parametrize("operator", OPERATORS)
def test_gradient_of_a_shared_argument_is_summed_over_devices(operator: Callable[..., Any]) -> None:
    mesh = _mesh("Auto")
    p = jax.device_put(_draw(0, 8, 5), NamedSharding(mesh, PartitionSpec("i")))

    def gradient(f: Callable[..., Any]) -> Callable[..., Any]:
        return lambda p, x: jax.grad(lambda x: jnp.sum(jnp.sin(jax.vmap(f, (0, None))(p, x))))(x)

    x = jnp.linspace(0.0, 1.0, 5)
    compiled = jax.jit(gradient(operator)).lower(p, x).compile()
    np.testing.assert_allclose(compiled(p, x), gradient(ramp.twin)(np.asarray(p), x), rtol=1e-12)
    assert "all-reduce" in compiled.as_text()
    assert "all-gather" not in compiled.as_text()


@pytest.mark.parametrize("operator", OPERATORS)
def test_arrays_sharded_along_the_core_are_made_whole(operator: Callable[..., Any]) -> None:
    mesh = _mesh("Auto")
    x = jax.device_put(_draw(1, 3, 6), NamedSharding(mesh, PartitionSpec(None, "i")))
    result = jax.jit(_shared(operator))(jnp.arange(6.0), x)
    np.testing.assert_allclose(result, _shared(ramp.twin)(jnp.arange(6.0), np.asarray(x)), rtol=1e-12)


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_batch_that_does_not_divide_evenly(operator: Callable[..., Any]) -> None:
    mesh = _mesh("Auto")
    x = _draw(1, 7, 5)
    split = jax.jit(
        lambda p, x: _shared(operator)(p, jax.lax.with_sharding_constraint(x, NamedSharding(mesh, PartitionSpec("i"))))
    )
    np.testing.assert_allclose(split(jnp.arange(5.0), x), _shared(ramp.twin)(jnp.arange(5.0), x), rtol=1e-12)
