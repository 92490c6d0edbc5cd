# SPDX-License-Identifier: BSD-2-Clause
"""Every operator under every transformation: on one device, on eight, in shard_map, in two processes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import jax
import pytest
from support import matrix

CELLS = matrix.cells()


@pytest.mark.parametrize(("name", "transformation"), CELLS, ids=[" - ".join(cell) for cell in CELLS])
@pytest.mark.parametrize("place", matrix.PLACES)
def test_operator_equals_its_twin(name: str, transformation: str, place: str) -> None:
    assert jax.device_count() == 8
    subject = matrix.SUBJECTS[name]
    function = matrix.of_one_row(subject, subject.operator, transformation)
    matrix.compare(matrix.PLACES[place](function, matrix.batch(subject)), matrix.expected(name, transformation))


PROGRAM = """
import json, sys
rank, port, kind = int(sys.argv[1]), sys.argv[2], sys.argv[3]
import jax
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=2, process_id=rank)
from support import matrix

failed = {}
for name, transformation in matrix.cells(kind):
    subject = matrix.SUBJECTS[name]
    function = matrix.of_one_row(subject, subject.operator, transformation)
    try:
        found = matrix.many_devices(function, matrix.batch(subject))
        matrix.compare(found, matrix.expected(name, transformation))
    except Exception as error:
        failed[f"{name} - {transformation}"] = f"{type(error).__name__}: {error}"[:300]
print(json.dumps({"cells": len(matrix.cells(kind)), "devices": jax.device_count(), "failed": failed}))
"""


@pytest.mark.parametrize("kind", matrix.KINDS)
def test_two_processes_equal_the_twin(kind: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-c", PROGRAM]
    environment = {key: value for key, value in os.environ.items() if key != "XLA_FLAGS"}
    processes = [
        subprocess.Popen(
            [*command, str(rank), port, kind],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parent.parent,
            env=environment,
        )
        for rank in range(2)
    ]
    outputs = [process.communicate(timeout=400) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    for out, _ in outputs:
        told = json.loads(out.splitlines()[-1])
        assert told == {"cells": len(matrix.cells(kind)), "devices": 2, "failed": {}}
