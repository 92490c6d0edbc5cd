# SPDX-License-Identifier: BSD-2-Clause
"""Measures the bridge of whatever `jaxbind` is installed, and prints one JSON object.

The same file runs in our environment and in the peer's, and does the same work in both. `run.py` starts it in turns, in
fresh processes. The object is measurement -> way -> figure. Ways: `bound` is the installed `jaxbind`, the two callbacks
are JAX's own, `xla` is the same program with a negation in place of the call, `python` does the work without JAX.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from _timing import interleaved

SIZE = 8  # float64 in and out of the small measurements
RUN = 2e-3  # seconds of one timed run, of every way: on a busy machine a longer one is interrupted more often
TRIAL = 100  # calls from which the number of calls in a run is found
MOST = 10_000  # calls in a run
MIB = 256  # the large array

Call = Callable[[Any], Any]
Figures = dict[str, float]


def host(out: Any, args: Any, kwargs_dump: Any) -> None:
    """The host function: copy one array."""
    out[0][()] = args[0]


def describe(x: Any, **kwargs: Any) -> Any:
    """Shape and dtype of the output."""
    return ((x.shape, x.dtype),)


def bound() -> Call:
    """The host function, bound by the installed package."""
    import jaxbind  # noqa: PLC0415  # Its import is measured in processes of its own.

    operator = jaxbind.get_linear_call(host, host, describe, describe)
    return lambda x: operator(x)[0]


def pure_callback(x: Any) -> Any:
    """The same through `jax.pure_callback`."""
    return jax.pure_callback(np.asarray, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="sequential")


def buffer_callback() -> Call | None:
    """The same through `jax.experimental.buffer_callback`, where this JAX has it."""
    try:
        from jax.experimental.buffer_callback import buffer_callback as make  # noqa: PLC0415  # Newer than JAX 0.6.
    except ImportError:
        return None

    def copy(ctx: Any, out: Any, x: Any) -> None:
        np.asarray(out)[()] = np.asarray(x)

    return lambda x: make(copy, jax.ShapeDtypeStruct(x.shape, x.dtype), vmap_method="sequential")(x)


def scan(call: Call, steps: int) -> Callable[[], Any]:
    """Calls one after the other in `lax.scan`."""
    loop = jax.jit(lambda x: jax.lax.scan(lambda c, _: (call(c), None), x, None, length=steps)[0])
    x = jnp.arange(float(SIZE))
    return lambda: loop(x).block_until_ready()


def vmap(call: Call, elements: int) -> Callable[[], Any]:
    """A `vmap` over so many vectors."""
    loop = jax.jit(jax.vmap(call))
    x = jnp.ones((elements, SIZE))
    return lambda: loop(x).block_until_ready()


def jit(call: Call, calls: int) -> Callable[[], Any]:
    """Calls, from Python, of a jitted function that does nothing else."""
    function = jax.jit(call)
    x = jnp.arange(float(SIZE))

    def many() -> None:
        for _ in range(calls):
            y = function(x)
        y.block_until_ready()

    return many


def directly(function: Callable[..., None], calls: int) -> Callable[[], Any]:
    """Calls of a host function without JAX."""
    x, out = np.arange(float(SIZE)), np.zeros(SIZE)

    def many() -> None:
        for _ in range(calls):
            function((out,), (x,), None)

    return many


def timed(prepare: Callable[[Any, int], Callable[[], Any]], call: Callable[..., Any]) -> tuple[Callable[[], Any], int]:
    """A program of about RUN seconds, and how many calls it makes."""
    seconds = interleaved({"trial": (prepare(call, TRIAL), TRIAL)}, 20)["trial"]
    calls = min(max(int(RUN / seconds), 20), MOST)
    return prepare(call, calls), calls


def small(repetitions: int) -> dict[str, Figures]:
    """Microseconds of a call in a scan, of an element of a vmap, and of a jitted call, each way."""
    ways: dict[str, Call] = {"bound": bound(), "pure_callback": pure_callback, "xla": jnp.negative}
    if (buffered := buffer_callback()) is not None:
        ways["buffer_callback"] = buffered
    found: dict[str, Figures] = {}
    for name, prepare in (("scan", scan), ("vmap", vmap), ("jit", jit)):
        programs = {way: timed(prepare, call) for way, call in ways.items()}
        programs["python"] = timed(directly, host)
        found[name] = {way: 1e6 * seconds for way, seconds in interleaved(programs, repetitions).items()}
    return found


def large(repetitions: int) -> dict[str, Figures]:
    """Peak memory of a call in units of its array (input and output make 2), and milliseconds to copy it.

    Every way makes a new array, as JAX does: most of the time goes into the pages of that array.
    """
    call = bound()
    shape = jax.ShapeDtypeStruct((MIB * 2**20 // 8,), np.dtype("float64"))
    compiled = jax.jit(call).lower(shape).compile()
    negate = jax.jit(jnp.negative).lower(shape).compile()
    before = peak_mib()
    x = jnp.ones(shape.shape).block_until_ready()
    compiled(x).block_until_ready()
    peak = (peak_mib() - before) / MIB
    source = np.ones(shape.shape)
    programs = {
        "bound": (lambda: compiled(x).block_until_ready(), 1),
        "xla": (lambda: negate(x).block_until_ready(), 1),
        "python": (lambda: host((np.empty_like(source),), (source,), None), 1),
    }
    times = interleaved(programs, repetitions)
    return {"memory": {"bound": peak}, "copy": {way: 1e3 * seconds for way, seconds in times.items()}}


def peak_mib() -> float:
    """Most memory that this process has held so far."""
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def import_time(repetitions: int) -> dict[str, Figures]:
    """Milliseconds of `import jaxbind` after `import jax`: median of fresh processes, with byte code written before."""
    program = "import jax, time; t = time.perf_counter(); import jaxbind; print(1e3 * (time.perf_counter() - t))"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    run = partial(subprocess.check_output, [sys.executable, "-c", program], env=environment)
    run()  # Writes the byte code, as an installer does.
    return {"import": {"bound": statistics.median(float(run()) for _ in range(repetitions))}}


def versions() -> dict[str, str]:
    """What is installed here."""
    found = {}
    for name in ("jaxbind-core", "jaxbind", "jax", "jaxlib", "numpy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def main() -> None:
    """Run the measurement that the command line names."""
    measurements: dict[str, Callable[[int], Any]] = {"small": small, "large": large, "import": import_time}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=[*measurements, "versions"])
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    what = options.what
    print(json.dumps(versions() if what == "versions" else measurements[what](options.repetitions)))


if __name__ == "__main__":
    main()
