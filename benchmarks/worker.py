# SPDX-License-Identifier: BSD-2-Clause
"""Measures the bridge of whatever `jaxbind` is installed, and prints one JSON object.

The same file runs in our environment and in the peer's, so both are measured by the same code. `run.py` calls it in
turns. Times are microseconds. Each is the minimum over repetitions: what else the machine does can only add to it.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

SIZE = 8  # float64 in and out
STEPS = 20_000
CALLS = 2_000


def host(out: Any, args: Any, kwargs_dump: Any) -> None:
    """The host function of every small measurement: copy one vector."""
    out[0][()] = args[0]


def describe(x: Any, **kwargs: Any) -> Any:
    """Shape and dtype of the output."""
    return ((x.shape, x.dtype),)


def bound() -> Callable[[Any], Any]:
    """The host function, bound by the installed package."""
    import jaxbind  # noqa: PLC0415  # Not for the measurement without it.

    operator = jaxbind.get_linear_call(host, host, describe, describe)
    return lambda x: operator(x)[0]


def pure_callback(x: Any) -> Any:
    """The same through `jax.pure_callback`."""
    return jax.pure_callback(np.asarray, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="sequential")


def buffer_callback() -> Callable[[Any], Any] | None:
    """The same through `jax.experimental.buffer_callback`, where this JAX has it; it has no batching rule."""
    try:
        from jax.experimental.buffer_callback import buffer_callback as make  # noqa: PLC0415  # Newer than JAX 0.6.
    except ImportError:
        return None

    def copy(ctx: Any, out: Any, x: Any) -> None:
        np.asarray(out)[()] = np.asarray(x)

    return lambda x: make(copy, jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def fastest(run: Callable[[], Any], repetitions: int) -> float:
    """Seconds of the fastest repetition, after one that compiles."""
    run()
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def scan_call(call: Callable[[Any], Any], steps: int) -> float:
    """One call inside `lax.scan`."""
    loop = jax.jit(lambda x: jax.lax.scan(lambda c, _: (call(c), None), x, None, length=steps)[0])
    x = jnp.arange(float(SIZE))
    return 1e6 * fastest(lambda: loop(x).block_until_ready(), 15) / steps


def batch_element(call: Callable[[Any], Any], elements: int) -> float:
    """One element of a `vmap`."""
    loop = jax.jit(jax.vmap(call))
    x = jnp.ones((elements, SIZE))
    return 1e6 * fastest(lambda: loop(x).block_until_ready(), 15) / elements


def jitted_call(call: Callable[[Any], Any]) -> float:
    """One call of a jitted function that does nothing else."""
    function = jax.jit(call)
    x = jnp.arange(float(SIZE))

    def many() -> None:
        for _ in range(CALLS):
            function(x)

    return 1e6 * fastest(many, 15) / CALLS


def small_calls(call: Callable[[Any], Any], *, slow: bool = False, batches: bool = True) -> dict[str, float]:
    """The three small measurements of one way to call the host function."""
    return {
        "scan": scan_call(call, STEPS // 100 if slow else STEPS),
        "jit": jitted_call(call),
        **({"vmap": batch_element(call, STEPS // 100 if slow else STEPS)} if batches else {}),
    }


def overhead(callbacks: bool) -> dict[str, Any]:
    """Every small measurement, and what the machine needs without a bridge."""
    x, out = np.arange(float(SIZE)), np.zeros(SIZE)

    def direct() -> None:
        for _ in range(STEPS):
            host((out,), (x,), None)

    found: dict[str, Any] = {
        "bound": small_calls(bound()),
        "nothing": {"scan": scan_call(jnp.negative, STEPS), "jit": jitted_call(jnp.negative)},
        "direct": 1e6 * fastest(direct, 15) / STEPS,
    }
    if callbacks:
        found["pure_callback"] = small_calls(pure_callback, slow=True)
        if (buffered := buffer_callback()) is not None:
            found["buffer_callback"] = small_calls(buffered, batches=False)
    return found


def memory(megabytes: int) -> dict[str, float]:
    """Peak memory of a call in units of its array (input and output make 2), and its time beside a plain copy."""
    call = jax.jit(bound())
    call(jnp.zeros(SIZE)).block_until_ready()
    count = megabytes * 2**20 // 8
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    x = jnp.ones(count).block_until_ready()
    call(x).block_until_ready()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    source, target = np.ones(count), np.ones(count)
    return {
        "arrays": (peak - before) / (megabytes * 1024),
        "ms": 1e3 * fastest(lambda: call(x).block_until_ready(), 9),
        "numpy ms": 1e3 * fastest(lambda: np.copyto(target, source), 9),
    }


def import_time() -> dict[str, float]:
    """Milliseconds of `import jaxbind` after `import jax`, in a fresh process."""
    program = (
        "import jax, time; jax.numpy; t = time.perf_counter(); import jaxbind; print(1e3 * (time.perf_counter() - t))"
    )
    return {"ms": min(float(subprocess.check_output([sys.executable, "-c", program])) for _ in range(5))}


def main() -> None:
    """Run the measurement that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["overhead", "memory", "import"])
    parser.add_argument("--callbacks", action="store_true", help="measure JAX's own callbacks too")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    measurements: dict[str, Callable[[], Any]] = {
        "overhead": lambda: overhead(options.callbacks),
        "memory": lambda: memory(256),
        "import": import_time,
    }
    print(json.dumps(measurements[options.what]()))


if __name__ == "__main__":
    main()
