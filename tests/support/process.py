# SPDX-License-Identifier: BSD-2-Clause
"""Programs in fresh interpreters, one or several that work together."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

PREAMBLE = """
import gc, signal, sys, threading, time, weakref
signal.signal(signal.SIGINT, signal.default_int_handler)  # A shell's background job has it ignored.
import jax, jax.numpy as jnp, numpy as np
jax.config.update("jax_enable_x64", True)
import jaxbind

def same(x, *rest, **kwargs):
    return ((x.shape, x.dtype),)
"""

# Starts what several processes do together: one device each, and arrays of which each holds its own part.
TOGETHER = """
import sys
rank, count, port = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
import jax
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=count, process_id=rank)
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

mesh = jax.sharding.Mesh(np.array(jax.devices()), ("i",))
rows, shared = NamedSharding(mesh, PartitionSpec("i")), NamedSharding(mesh, PartitionSpec())

def put(a, sharding):
    return jax.make_array_from_callback(a.shape, sharding, lambda index: a[index])
"""
TESTS = Path(__file__).resolve().parents[1]


def run(program: str, *, preamble: str = PREAMBLE, timeout: float = 120, code: int = 0, **environment: str) -> str:
    """Run a program, demand its exit code, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", preamble + program],
        capture_output=True,
        text=True,
        cwd=TESTS,
        env=_one_device() | environment,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def run_together(program: str, count: int, *, timeout: float = 240) -> list[str]:
    """Run a program in several processes that `jax.distributed` connects, and return what each of them printed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", TOGETHER + program, str(rank), str(count), port],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=TESTS,
            env=_one_device(),
        )
        for rank in range(count)
    ]
    try:
        outputs = [process.communicate(timeout=timeout) for process in processes]
    finally:
        for process in processes:  # one that waits for a failed other
            process.kill()
    assert [process.returncode for process in processes] == [0] * count, outputs
    return [out for out, _ in outputs]


def _one_device() -> dict[str, str]:
    """The environment without the devices that the tests themselves run with."""
    return {key: value for key, value in os.environ.items() if key != "XLA_FLAGS"}
