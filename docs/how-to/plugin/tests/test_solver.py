# SPDX-License-Identifier: BSD-2-Clause
"""The solver against dense matrices and JAX's own solver, under the transformations, and in exported programs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jaxbind
import jaxbind_tridiagonal
import numpy as np
import pytest
from jax import export
from jaxbind.testing import check_operator
from jaxbind_tridiagonal.solver import operator, solve

jax.config.update("jax_enable_x64", True)

RNG = np.random.default_rng(1)
N, BATCH = 5, 3
# Diagonally dominant; not symmetric, so that a forgotten transposition shows.
LOWER, UPPER, B = RNG.normal(size=(3, BATCH, N))
DIAGONAL = 5 + RNG.normal(size=(BATCH, N))
SYSTEMS = (LOWER, DIAGONAL, UPPER, B)
SYSTEM = tuple(array[0] for array in SYSTEMS)


def dense(lower: Any, diagonal: Any, upper: Any, b: Any) -> Any:
    """The oracle: the whole matrix, solved by LAPACK."""
    return jnp.linalg.solve(jnp.diag(lower[1:], -1) + jnp.diag(diagonal) + jnp.diag(upper[:-1], 1), b)


def loss(solver: Callable[..., Any]) -> Callable[..., Any]:
    """A number whose derivatives see every element of the solution."""
    return lambda *system: jnp.sum(jnp.sin(solver(*system)))


TRANSFORMATIONS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "value": lambda f: f,
    "gradient": lambda f: jax.grad(loss(f), (0, 1, 2, 3)),
    "second derivatives": lambda f: jax.jacfwd(jax.grad(loss(f), (1, 3)), (0, 3)),
}


def assert_equal(found: Any, expected: Any) -> None:
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12), found, expected)


def test_the_operator_passes_every_check() -> None:
    report = check_operator(operator, *SYSTEM)
    assert report.passed
    assert {"transpose", "vmap"} <= {check.name.split()[0] for check in report.checks}


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_transformation_agrees_with_the_dense_matrix(name: str) -> None:
    transformed = TRANSFORMATIONS[name]
    assert_equal(jax.jit(transformed(solve))(*SYSTEM), jax.jit(transformed(dense))(*SYSTEM))


@pytest.mark.parametrize("name", ["value", "gradient"])
@pytest.mark.parametrize("in_axes", [(0, 0, 0, 0), (None, None, None, 0), (0, None, 0, None)])
def test_a_batch_agrees_with_the_dense_matrices(name: str, in_axes: tuple[int | None, ...]) -> None:
    arrays = [many if axis == 0 else one for many, one, axis in zip(SYSTEMS, SYSTEM, in_axes, strict=True)]
    found, expected = (jax.jit(jax.vmap(TRANSFORMATIONS[name](solver), in_axes)) for solver in (solve, dense))
    assert_equal(found(*arrays), expected(*arrays))


@pytest.mark.parametrize("n", [0, 1, 2, 1000])
def test_every_size_is_solved(n: int) -> None:
    lower, upper, b = RNG.normal(size=(3, n))
    diagonal = 5 + RNG.normal(size=n)
    matrix = np.diag(lower[1:], -1) + np.diag(diagonal) + np.diag(upper[:-1], 1) if n else np.zeros((0, 0))
    np.testing.assert_allclose(solve(lower, diagonal, upper, b), np.linalg.solve(matrix, b), rtol=1e-11)


@pytest.mark.parametrize(
    ("position", "array", "error", "message"),
    [
        (3, B[0].astype(np.float32), TypeError, "b has dtype float32; expected float64"),
        (0, LOWER[0, 1:], ValueError, r"lower has shape \(4,\), diagonal \(5,\)"),
        # While the program runs; JAX's exception depends on its version.
        (1, 0 * DIAGONAL[0], (ValueError, RuntimeError), "ZeroDivisionError: .* pivot of row 0 is zero"),
    ],
)
def test_a_mistake_is_told(position: int, array: np.ndarray, error: Any, message: str) -> None:
    system = [*SYSTEM[:position], array, *SYSTEM[position + 1 :]]
    with pytest.raises(error, match=message):
        solve(*system).block_until_ready()


def test_the_plugin_is_found() -> None:
    found = {plugin.name: plugin for plugin in jaxbind.plugins()}["tridiagonal"]
    assert found == ("tridiagonal", "jaxbind_tridiagonal", "jaxbind-tridiagonal", jaxbind_tridiagonal.__version__)


READER = """
import sys, jax
jax.config.update("jax_enable_x64", True)
{imports}
from jax import export
program = export.deserialize(bytearray(open("program", "rb").read()))
print(program.call(*map(jax.numpy.asarray, {arrays})).tolist())
"""


def read_program(folder: Path, imports: str) -> subprocess.CompletedProcess[str]:
    """Run the exported program in a fresh process."""
    code = READER.format(imports=imports, arrays=[array.tolist() for array in SYSTEM])
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)


def test_an_exported_program_runs_where_the_plugin_is_imported(tmp_path: Path) -> None:
    program = export.export(jax.jit(solve), disabled_checks=jaxbind.export_checks())(*SYSTEM)
    (tmp_path / "program").write_bytes(program.serialize())
    done = read_program(tmp_path, "import jaxbind_tridiagonal")
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(json.loads(done.stdout), dense(*SYSTEM), rtol=1e-11)
    refused = read_program(tmp_path, "import jaxbind")
    assert refused.returncode != 0
    assert "jaxbind_tridiagonal.solver" in refused.stderr
