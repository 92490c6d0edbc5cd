# SPDX-License-Identifier: BSD-2-Clause
"""Host functions that call JAX, from several Python threads: safe if one program runs at a time."""

from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxbind import get_linear_call

Arrays = tuple[np.ndarray, ...]
matrix = jnp.ones((600, 600)) / 600
average = jax.jit(lambda x: matrix @ x)


def host(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Average blocks of the input, with JAX."""
    out[0][...] = average(args[0].copy().reshape(600, -1)).ravel()


def same(x: Any) -> Any:
    """One output, like the input."""
    return ((x.shape, x.dtype),)


op = get_linear_call(host, host, same, same)  # the matrix is symmetric
program = jax.jit(lambda x: op(x)[0] + op(2 * x)[0])
x = jnp.ones(600 * 500)
one_at_a_time = Lock()  # without it these threads wait for each other for ever


def first_element(scale: float) -> float:
    """Run the program, and wait for its result before another thread may."""
    with one_at_a_time:
        return program(scale * x)[0].item()


with ThreadPoolExecutor(8) as threads:
    results = list(threads.map(first_element, range(8)))
print(np.round(results, 3).tolist())
