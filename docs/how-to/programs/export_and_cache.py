# SPDX-License-Identifier: BSD-2-Clause
"""Write a compiled program to disk, and run it in another process; let the other process find compiled code too."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jaxbind import export_checks, get_linear_call

Arrays = tuple[np.ndarray, ...]


# At the top level of a module, where another process finds them by name.
def forward(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Compute cumulative sums."""
    np.cumsum(args[0], out=out[0])


def backward(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Apply the transpose: cumulative sums from the end."""
    np.cumsum(args[0][::-1], out=out[0][::-1])


def same(x: Any) -> Any:
    """One output, like the input."""
    return ((x.shape, x.dtype),)


cumsum = get_linear_call(forward, backward, same, same)

# Everything is worth caching here; leave these two out for programs that take long to compile.
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
jax.config.update("jax_compilation_cache_dir", "cache")


def write() -> None:
    """Export a function for batches of every size, and its derivative with it."""
    (n,) = export.symbolic_shape("n")
    batch = jax.ShapeDtypeStruct((n, 3), jnp.float32)
    program = export.export(jax.jit(jax.vmap(lambda x: cumsum(x)[0])), disabled_checks=export_checks())(batch)
    Path("cumsum.jax").write_bytes(program.serialize(vjp_order=1))


def read() -> None:
    """Run what was exported; the operators are bound, because this module is loaded."""
    program = export.deserialize(bytearray(Path("cumsum.jax").read_bytes()))
    x = jnp.array([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]])
    print("values  ", program.call(x).tolist())
    print("gradient", jax.grad(lambda x: program.call(x)[:, 2].sum())(x).tolist())


def use_cache() -> None:
    """Compile, or find what another process compiled."""
    x = jnp.ones(3)
    events: list[str] = []
    jax.monitoring.register_event_listener(lambda event, **_: events.append(event))
    jax.jit(lambda x: cumsum(x)[0])(x).block_until_ready()
    print("found in the cache:", "/jax/compilation_cache/cache_hits" in events)


STEPS = {"write": write, "read": read, "cache": use_cache}

if __name__ == "__main__":
    if len(sys.argv) > 1:
        STEPS[sys.argv[1]]()
    else:
        for step in ("write", "read", "cache", "cache"):
            print(f"-- a new process: {step}", flush=True)
            subprocess.run([sys.executable, __file__, step], check=True)
