# SPDX-License-Identifier: BSD-2-Clause
"""Many threads, the GIL, recursion into JAX, interrupts."""

from __future__ import annotations

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxbind import get_linear_call
from support import hosts, zoo
from support.process import run

SAME = zoo.like(0)


def _bind(function: Any) -> Any:
    operator = get_linear_call(function, function, SAME, SAME)
    return lambda x: operator(x)[0]


def test_many_threads_and_operators_at_once() -> None:
    def make(factor: float) -> Any:
        def scale(out: Any, args: Any, kwargs_dump: Any) -> None:
            hashlib.sha256(bytes(4096)).digest()  # Releases the GIL.
            out[0][...] = factor * args[0]

        return jax.jit(jax.vmap(_bind(scale)))

    def work(seed: int) -> bool:
        call = make(float(seed))
        x = np.random.default_rng(seed).normal(size=(16, 8))
        return all(np.array_equal(call(x * k), seed * (x * k)) for k in range(20))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))


def test_one_compiled_program_from_many_threads() -> None:
    call = jax.jit(lambda x: _bind(hosts.cumsum)(jnp.sin(x)))
    inputs = [np.random.default_rng(seed).normal(size=50) for seed in range(64)]
    with ThreadPoolExecutor(8) as pool:
        for x, y in zip(inputs, pool.map(call, inputs), strict=True):
            np.testing.assert_allclose(y, np.cumsum(np.sin(x)), rtol=1e-12)


def test_first_use_from_a_thread_that_python_did_not_start() -> None:
    seen = set()

    def note(out: Any, args: Any, kwargs_dump: Any) -> None:
        seen.add(threading.current_thread().name)
        out[0][...] = args[0] + len(seen) * 0

    call = jax.jit(lambda x: sum(_bind(note)(x * k) for k in range(4)))
    x = jnp.ones(300_000)  # Large enough for JAX to leave it to its own threads.
    for _ in range(3):
        np.testing.assert_allclose(call(x), 6.0)
    assert seen


def test_a_host_function_may_call_jax_and_operators() -> None:
    operator = get_linear_call(hosts.cumsum, hosts.cumsum_t, SAME, SAME)

    def inner(x: Any) -> Any:
        return operator(x)[0]

    def outer(out: Any, args: Any, kwargs_dump: Any) -> None:
        out[0][...] = jnp.cos(inner(args[0])) + jax.grad(lambda x: jnp.sum(inner(x)))(jnp.asarray(args[0]))

    x = np.arange(4.0)
    expected = np.cos(np.cumsum(x)) + np.arange(4, 0, -1)
    for function in (_bind(outer), jax.jit(_bind(outer))):
        for _ in range(3):
            np.testing.assert_allclose(function(x), expected, rtol=1e-12)


def test_an_error_in_one_thread_leaves_the_others_alone() -> None:
    def sometimes(out: Any, args: Any, kwargs_dump: Any) -> None:
        if args[0] < 0:
            raise ValueError("negative")
        out[0][...] = args[0]

    call = jax.jit(_bind(sometimes))

    def work(value: float) -> float | str:
        try:
            return float(call(value))
        except Exception as error:
            return "negative" if "negative" in str(error) else repr(error)

    values = [float(v) for v in range(-20, 20)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, values)) == ["negative" if v < 0 else v for v in values]


@pytest.mark.parametrize(
    "around", ["op(1.0)", "jax.jit(lambda x: op(x)[0])(1.0)", "jax.vmap(lambda x: op(x)[0])(np.ones(9))"]
)
def test_an_interrupt_ends_the_program(around: str) -> None:
    program = f"""
calls = []
def interrupted(out, args, kwargs_dump):
    calls.append(1)
    raise KeyboardInterrupt
op = jaxbind.get_linear_call(interrupted, interrupted, same, same)
try:
    try:
        jax.block_until_ready({around})
    except RuntimeError:
        for _ in range(100):
            time.sleep(0.01)
except KeyboardInterrupt:
    print("interrupted", len(calls))
"""
    assert run(program) == "interrupted 1\n"


@pytest.mark.parametrize("ending", ["sys.exit(3)", "raise SystemExit"])
def test_leaving_from_a_host_function_is_an_error_of_the_call(ending: str) -> None:
    program = f"""
def leave(out, args, kwargs_dump):
    {ending}
op = jaxbind.get_linear_call(leave, leave, same, same)
try:
    jax.block_until_ready(op(1.0))
except RuntimeError as error:
    print("leave: the host function raised SystemExit" in str(error))
"""
    assert run(program) == "True\n"
