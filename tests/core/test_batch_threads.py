# SPDX-License-Identifier: BSD-2-Clause
"""Batches whose elements several threads share: values, who runs when, errors, many calls at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxbind import get_linear_call, get_nonlinear_call
from support import hosts, zoo
from support.meeting import PATIENCE, Meeting
from support.oracles import assert_close, loss
from support.process import run

SAME = zoo.like(0)
LOOPED = [case for case in zoo.ALL if not case.native]


def _bind(function: Any, threads: int) -> Callable[..., Any]:
    operator = get_linear_call(function, function, SAME, SAME, batch_threads=threads)
    return lambda x: operator(x)[0]


@pytest.mark.parametrize("threads", [0, 3])
@pytest.mark.parametrize("case", LOOPED, ids=lambda case: case.name)
def test_values_and_gradients_are_those_of_the_twin(case: zoo.Case, threads: int) -> None:
    args = tuple(jnp.stack([jnp.asarray(arg) * (k + 1) for k in range(7)]) for arg in case.args)
    axes = (0,) * (len(args) - 1) + (None,)  # The last argument has a batch dimension of its own, of another level.

    def nested(f: Callable[..., Any]) -> Callable[..., Any]:
        return jax.vmap(jax.vmap(f, axes), (None,) * (len(args) - 1) + (0,), 1)

    if len(args) == 1:
        nested = jax.vmap
    threaded = case.changed(batch_threads=threads)
    for change in (nested, lambda f: jax.grad(loss(nested(f)), case.moving)):
        assert_close(jax.jit(change(threaded.call))(*args), change(case.twin)(*args))


@pytest.mark.parametrize("size", [0, 1, 2, 50])
@pytest.mark.parametrize("threads", [2, 8])
def test_any_number_of_elements(size: int, threads: int) -> None:
    x = np.random.default_rng(size).normal(size=(size, 4))
    found = jax.vmap(_bind(hosts.cumsum, threads))(x)
    np.testing.assert_allclose(found, np.cumsum(x, axis=1), rtol=1e-13)


@pytest.mark.parametrize("threads", [2, 3])
def test_elements_run_at_the_same_time_and_no_more_than_asked_for(threads: int) -> None:
    meeting = Meeting(threads)
    x = jnp.arange(4.0 * threads)
    np.testing.assert_array_equal(jax.vmap(_bind(meeting, threads))(x), 3 * x)
    assert meeting.most == threads


def test_derivatives_of_a_nonlinear_function_run_at_the_same_time() -> None:
    forward, backward = Meeting(2), Meeting(2)
    operator = get_nonlinear_call(hosts.cumsum, (forward, backward), SAME, SAME, batch_threads=2)
    x = jnp.ones((4, 3))
    jax.jvp(jax.vmap(lambda x: operator(x)[0]), (x,), (x,))
    jax.grad(lambda x: jnp.sum(jax.vmap(lambda x: operator(x)[0])(x)))(x)
    assert (forward.most, backward.most) == (2, 2)


@pytest.mark.parametrize("first_in_time", [1, 2])
def test_the_error_is_that_of_the_first_element_that_fails(first_in_time: int) -> None:
    both = threading.Barrier(2)
    raised = threading.Event()
    seen = []

    def fails(out: Any, args: Any, kwargs_dump: Any) -> None:
        element = int(args[0])
        seen.append(element)
        if element in (1, 2):
            both.wait(PATIENCE)
            if element == first_in_time:
                raised.set()
            elif raised.wait(PATIENCE):
                time.sleep(0.05)  # Until the other error has arrived.
            raise ValueError(f"element {element} is bad")
        out[0][...] = args[0]

    with pytest.raises(jax.errors.JaxRuntimeError, match="element 1 is bad"):
        jax.block_until_ready(jax.vmap(_bind(fails, 2))(jnp.arange(20.0)))
    assert sorted(seen) == [0, 1, 2]  # Nothing is begun after a failure.


def test_more_calls_at_once_than_threads_and_cores() -> None:
    inner = jax.vmap(_bind(hosts.cumsum, 2))

    def outer(out: Any, args: Any, kwargs_dump: Any) -> None:
        out[0][...] = inner(args[0])

    call = jax.jit(jax.vmap(_bind(outer, 2)))
    inputs = np.random.default_rng(0).normal(size=(24, 3, 4, 5))
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda x: np.asarray(call(x)), inputs))
    np.testing.assert_allclose(found, np.cumsum(inputs, axis=-1), rtol=1e-12)


INTERRUPTED = """
def interrupted(out, args, kwargs_dump):
    raise KeyboardInterrupt
op = jaxbind.get_linear_call(interrupted, interrupted, same, same, batch_threads=3)
try:
    try:
        jax.block_until_ready(jax.vmap(lambda x: op(x)[0])(np.ones(9)))
    except RuntimeError:
        for _ in range(100):
            time.sleep(0.01)
except KeyboardInterrupt:
    print("interrupted")
"""
ENDING = """
def slow(out, args, kwargs_dump):
    time.sleep(0.05)
    out[0][...] = args[0]
op = jaxbind.get_linear_call(slow, slow, same, same, batch_threads=3)
jax.jit(jax.vmap(lambda x: op(x)[0]))(np.ones((30, 4)))
print("dispatched")
"""


@pytest.mark.parametrize(("program", "expected"), [(INTERRUPTED, "interrupted\n"), (ENDING, "dispatched\n")])
def test_a_program_ends_cleanly(program: str, expected: str) -> None:
    assert run(program) == expected
