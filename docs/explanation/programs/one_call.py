# SPDX-License-Identifier: BSD-2-Clause
"""Follow one array from the call of an operator to the NumPy view in its host function."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxbind import get_linear_call, load_kwargs

Arrays = tuple[np.ndarray, ...]
addresses = []


def scale(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Multiply by a factor, and note where the arrays are."""
    addresses.append((args[0].ctypes.data, out[0].ctypes.data))
    np.multiply(args[0], load_kwargs(kwargs_dump)["factor"], out=out[0])


def same(x: Any, *, factor: float) -> Any:
    """One output, like the input."""
    return ((x.shape, x.dtype),)


op = get_linear_call(scale, scale, same, same)
x = jnp.arange(1_000_000.0)

print("1. traced: one equation")
print(jax.make_jaxpr(lambda x: op(x, factor=2.0))(x))

print("\n2. lowered: one custom call, whose attributes are all that it knows")
lowered = jax.jit(lambda x: op(x, factor=2.0)).lower(x)
print(next(line.strip() for line in lowered.as_text().splitlines() if "jaxbind" in line))

print("\n3. run: NumPy views of the same memory")
[y] = lowered.compile()(x)
y.block_until_ready()
[(read, written)] = addresses
print("args[0] is the memory of x:", read == x.unsafe_buffer_pointer())
print("out[0] is the memory of y: ", written == y.unsafe_buffer_pointer())
