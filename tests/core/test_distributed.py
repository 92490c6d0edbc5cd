# SPDX-License-Identifier: BSD-2-Clause
"""Several processes with jax.distributed on one machine: a data-parallel gradient equals that of one process."""

from __future__ import annotations

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import process, ramp

PROGRAM = """
import json
from support import ramp

p = np.random.default_rng(0).normal(size=(8, 5))
x = np.random.default_rng(1).normal(size=5)
loss = lambda p, x: jnp.sum(jnp.sin(jax.vmap(ramp.looped, (0, None))(p, x)))
gradient = jax.jit(jax.grad(loss, argnums=1))(put(p, rows), put(x, shared))
print(json.dumps([gradient.addressable_data(0).tolist(), len(ramp.seen), jax.device_count()]))
"""


@pytest.mark.parametrize("count", [2, 4])
def test_a_data_parallel_gradient_over_processes(count: int) -> None:
    p = np.random.default_rng(0).normal(size=(8, 5))
    x = np.random.default_rng(1).normal(size=5)
    expected = jax.grad(lambda x: jnp.sum(jnp.sin(jax.vmap(ramp.twin, (0, None))(p, x))))(x)
    for output in process.run_together(PROGRAM, count):
        gradient, calls, devices = json.loads(output.splitlines()[-1])
        np.testing.assert_allclose(gradient, expected, rtol=1e-12)
        assert (calls, devices) == (8 // count, count)
