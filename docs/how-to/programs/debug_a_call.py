# SPDX-License-Identifier: BSD-2-Clause
"""Find out what a call does: its equation, what arrives, what went wrong, without JAX at all."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxbind import get_linear_call, load_kwargs

Arrays = tuple[np.ndarray, ...]


def smooth(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Average over a window; a window longer than the data is a mistake."""
    window = load_kwargs(kwargs_dump)["window"]
    if window > args[0].size:
        raise ValueError(f"window of {window} on {args[0].size} points")
    out[0][...] = np.convolve(args[0], np.full(window, 1 / window), mode="same")


def same(x: Any, *, window: int) -> Any:
    """One output, like the input."""
    return ((x.shape, x.dtype),)


op = get_linear_call(smooth, smooth, same, same)  # symmetric for odd windows
x = jnp.arange(5.0)

print("1. What is called, and how it is batched")
print(op.keywords["_func"])
print(jax.make_jaxpr(jax.vmap(lambda x: op(x, window=3)[0]))(jnp.ones((2, 5))))

print("\n2. What the host function was told, and where it failed")
try:
    jax.jit(lambda x: op(x, window=7)[0])(x).block_until_ready()
except jax.errors.JaxRuntimeError as error:
    print(error)

print("\n3. The host function by itself, on arrays of your own")
captured = []


def capture(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Keep what arrives: copies, because the memory belongs to the call."""
    captured.append(([arg.copy() for arg in args], kwargs_dump))
    smooth(out, args, kwargs_dump)


get_linear_call(capture, smooth, same, same)(x, window=3)[0].block_until_ready()
(arrays, kwargs_dump), *_ = captured
result = np.full_like(arrays[0], np.nan)  # what stays NaN was never written
smooth((result,), tuple(arrays), kwargs_dump)
print(kwargs_dump, result)

print("\n4. Without compilation: print and pdb work in a host function in any case, and here in everything else")
with jax.disable_jit():
    print(jax.jit(lambda x: op(x, window=3)[0])(x))
