# SPDX-License-Identifier: BSD-2-Clause
"""shard_map and pmap: one call per device, with JAX's account of replication kept, so that gradients are summed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P  # JAX's own spelling.
from support import ramp

try:
    from jax import shard_map
except ImportError:  # JAX 0.6
    from jax.experimental.shard_map import shard_map

Function = Callable[..., Any]
OPERATORS = [ramp.looped, ramp.native]
P_ROWS = np.random.default_rng(0).normal(size=(8, 5))
X_ROWS = np.random.default_rng(1).normal(size=(8, 5))


def _mesh() -> jax.sharding.Mesh:
    return jax.make_mesh((4,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))


def _rows(f: Function) -> Function:
    return shard_map(jax.vmap(f), mesh=_mesh(), in_specs=(P("i"), P("i")), out_specs=P("i"))


def _shared_rows(f: Function) -> Function:
    return shard_map(jax.vmap(f, (0, None)), mesh=_mesh(), in_specs=(P("i"), P()), out_specs=P("i"))


def _gradient_outside(f: Function) -> Function:
    return jax.grad(lambda p, x: jnp.sum(jnp.sin(_shared_rows(f)(p, x[0]))), argnums=1)


def _gradient_inside(f: Function) -> Function:
    def local(p: jax.Array, x: jax.Array) -> jax.Array:
        return jax.grad(lambda x: jax.lax.psum(jnp.sum(jnp.sin(jax.vmap(f, (0, None))(p, x))), "i"))(x)

    return lambda p, x: shard_map(local, mesh=_mesh(), in_specs=(P("i"), P()), out_specs=P())(p, x[0])


def _tangent(f: Function) -> Function:
    return lambda p, x: jax.jvp(lambda x: _shared_rows(f)(p, x[0]), (x,), (jnp.cos(x),))[1]


def _second_order(f: Function) -> Function:
    return lambda p, x: jax.jvp(lambda x: _gradient_outside(f)(p, x), (x,), (jnp.cos(x),))[1]


@pytest.mark.parametrize("compile_it", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("transform", [_rows, _gradient_outside, _gradient_inside, _tangent, _second_order])
def test_shard_map_equals_the_twin(transform: Function, operator: Function, compile_it: bool) -> None:
    function = jax.jit(transform(operator)) if compile_it else transform(operator)
    np.testing.assert_allclose(function(P_ROWS, X_ROWS), transform(ramp.twin)(P_ROWS, X_ROWS), rtol=1e-12)


@pytest.mark.parametrize("operator", OPERATORS)
def test_gradient_of_a_replicated_input_equals_the_one_without_devices(operator: Function) -> None:
    plain = jax.grad(lambda x: jnp.sum(jnp.sin(jax.vmap(ramp.twin, (0, None))(P_ROWS, x))))(X_ROWS[0])
    np.testing.assert_allclose(_gradient_outside(operator)(P_ROWS, X_ROWS)[0], plain, rtol=1e-12)
    np.testing.assert_allclose(_gradient_inside(operator)(P_ROWS, X_ROWS), plain, rtol=1e-12)


@pytest.mark.parametrize("operator", OPERATORS)
def test_pmap_equals_vmap(operator: Function) -> None:
    result = jax.pmap(operator, in_axes=(None, 0))(P_ROWS[0], X_ROWS[:4])
    np.testing.assert_allclose(result, jax.vmap(ramp.twin, (None, 0))(P_ROWS[0], X_ROWS[:4]), rtol=1e-12)
