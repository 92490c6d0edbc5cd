# SPDX-License-Identifier: BSD-2-Clause
"""Ahead of time and across processes: jax.export, and what happens when the operator is not there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jaxbind
import numpy as np
import pytest
from jax import export
from support import ramp

P = np.linspace(0.5, 1.5, 5)
X = np.random.default_rng(0).normal(size=(3, 5))


def _batched(p: jax.Array, x: jax.Array) -> jax.Array:
    # An exported derivative is one with respect to every argument, and the operator's first is fixed.
    return jax.vmap(ramp.looped, (None, 0))(jax.lax.stop_gradient(p), x)


def _batched_natively(p: jax.Array, x: jax.Array) -> jax.Array:
    return jax.vmap(ramp.native, (None, 0))(jax.lax.stop_gradient(p), x)


def _exported(function: Any, *args: Any) -> Any:
    return export.export(jax.jit(function), disabled_checks=jaxbind.export_checks())(*args)


def _in_another_process(artifact: Path, imports: str) -> subprocess.CompletedProcess[str]:
    """Load the artifact, import `imports`, and print the result and the gradient."""
    program = f"""
import jax, numpy as np
from jax import export
jax.config.update("jax_enable_x64", True)
{imports}
program = export.deserialize(bytearray(open({str(artifact)!r}, "rb").read()))
p, x = np.linspace(0.5, 1.5, 5), np.random.default_rng(0).normal(size=(3, 5))
print(repr(np.asarray(program.call(p, x)).tolist()))
print(repr(np.asarray(jax.grad(lambda x: program.call(p, x).sum())(x)).tolist()))
"""
    tests = Path(__file__).parent.parent
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, cwd=tests, timeout=120, check=False)


@pytest.mark.parametrize("function", [_batched, _batched_natively])
@pytest.mark.parametrize("sizes", ["3", "b"], ids=["fixed size", "symbolic size"])
def test_an_exported_program_and_its_derivative_run_in_another_process(
    function: Any, sizes: str, tmp_path: Path
) -> None:
    shape = export.symbolic_shape(f"{sizes}, 5") if sizes == "b" else (3, 5)
    args = (jax.ShapeDtypeStruct((5,), np.float64), jax.ShapeDtypeStruct(shape, np.float64))
    artifact = tmp_path / "program"
    artifact.write_bytes(_exported(function, *args).serialize(vjp_order=1))

    done = _in_another_process(artifact, "import support.ramp")
    assert done.returncode == 0, done.stderr
    value, gradient = map(eval, done.stdout.splitlines())
    np.testing.assert_allclose(value, jax.vmap(ramp.twin, (None, 0))(P, X), rtol=1e-12)
    expected = jax.grad(lambda x: jnp.sum(jax.vmap(ramp.twin, (None, 0))(P, x)))(X)
    np.testing.assert_allclose(gradient, expected, rtol=1e-12)


def test_a_missing_operator_is_named_with_what_to_import(tmp_path: Path) -> None:
    artifact = tmp_path / "program"
    artifact.write_bytes(_exported(_batched, P, X).serialize(vjp_order=1))
    done = _in_another_process(artifact, "import jaxbind")
    assert done.returncode == 1
    assert "forward: no operator with the host function support.ramp:forward is bound" in done.stderr
    assert "import support.ramp" in done.stderr


def test_an_exported_program_runs_in_the_process_that_made_it() -> None:
    program = export.deserialize(bytearray(_exported(_batched, P, X).serialize()))
    np.testing.assert_allclose(program.call(P, X), jax.vmap(ramp.twin, (None, 0))(P, X), rtol=1e-12)


def test_a_local_host_function_cannot_be_exported() -> None:
    def local(out: Any, args: Any, kwargs_dump: Any) -> None:
        out[0][...] = args[0]

    operator = jaxbind.get_linear_call(local, local, lambda x: ((x.shape, x.dtype),), lambda x: ((x.shape, x.dtype),))
    with pytest.raises(TypeError, match=r"local: cannot be exported.*top level of a module"):
        _exported(lambda x: operator(x)[0], X)


def test_a_keyword_argument_kept_by_reference_cannot_be_exported() -> None:
    operator = jaxbind.get_linear_call(
        ramp.forward, ramp.backward, lambda p, x, tag: ((x.shape, x.dtype),), ramp.describe, first_n_args_fixed=1
    )
    with pytest.raises(TypeError, match=r"forward: cannot be exported.*keyword arguments that are values"):
        _exported(lambda p, x: operator(p, x, tag=object())[0], P, X[0])


def test_export_without_the_check_disabled_is_refused_by_jax() -> None:
    with pytest.raises(ValueError, match="jaxbind_call"):
        export.export(jax.jit(_batched))(P, X)
