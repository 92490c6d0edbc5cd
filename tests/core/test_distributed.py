# SPDX-License-Identifier: BSD-2-Clause
"""Several processes with jax.distributed on one machine: a data-parallel gradient equals that of one process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import ramp

PROGRAM = """
import sys
rank, count, port = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
import jax
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=count, process_id=rank)
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from support import ramp

mesh = jax.sharding.Mesh(np.array(jax.devices()), ("i",))
rows, shared = NamedSharding(mesh, PartitionSpec("i")), NamedSharding(mesh, PartitionSpec())
p = np.random.default_rng(0).normal(size=(8, 5))
x = np.random.default_rng(1).normal(size=5)
put = lambda a, s: jax.make_array_from_callback(a.shape, s, lambda i: a[i])
loss = lambda p, x: jnp.sum(jnp.sin(jax.vmap(ramp.looped, (0, None))(p, x)))
gradient = jax.jit(jax.grad(loss, argnums=1))(put(p, rows), put(x, shared))
print("gradient", np.asarray(gradient.addressable_data(0)).tolist())
print("calls", len(ramp.seen), "devices", jax.device_count())
"""


@pytest.mark.parametrize("count", [2, 4])
def test_a_data_parallel_gradient_over_processes(count: int) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    tests = Path(__file__).parent.parent
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(rank), str(count), port],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tests,
            env=_environment(),
        )
        for rank in range(count)
    ]
    outputs = [process.communicate(timeout=180) for process in processes]
    assert [process.returncode for process in processes] == [0] * count, outputs

    p = np.random.default_rng(0).normal(size=(8, 5))
    x = np.random.default_rng(1).normal(size=5)
    expected = jax.grad(lambda x: jnp.sum(jnp.sin(jax.vmap(ramp.twin, (0, None))(p, x))))(x)
    for out, _ in outputs:
        lines = dict(line.split(" ", 1) for line in out.splitlines() if line.split(" ", 1)[0] in ("gradient", "calls"))
        np.testing.assert_allclose(eval(lines["gradient"]), expected, rtol=1e-12)
        assert lines["calls"] == f"{8 // count} devices {count}"


def _environment() -> dict[str, str]:
    """One device per process, whatever the tests themselves run with."""
    return {key: value for key, value in os.environ.items() if key != "XLA_FLAGS"}
