# SPDX-License-Identifier: BSD-2-Clause
"""Every way through the bridge, many times, with what is left behind: memory, blocks, references.

`python tests/support/growth.py` (`nox -s growth`) makes a million calls of each way that is cheap enough; the tests
make a thousand.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jaxbind
import numpy as np
from jaxbind._lowering import FFI_TARGET
from jaxbind._targets import target_id


def _same(x: Any, *rest: Any, **kwargs: Any) -> Any:
    return ((x.shape, x.dtype),)


def _copy(out: Any, args: Any, kwargs_dump: Any) -> None:
    jaxbind.load_kwargs(kwargs_dump)
    out[0][...] = args[0]


def _fail(out: Any, args: Any, kwargs_dump: Any) -> None:
    if args[0].flat[0] >= 0:
        raise ValueError(args)  # The exception holds the views, as tracebacks do too.


def _answer(out: Any, args: Any, kwargs_dump: Any) -> Any:
    return args


_kept: list[Any] = []


def _keep(out: Any, args: Any, kwargs_dump: Any) -> None:
    _kept.append(args[0])


def _bind(function: Any, **options: Any) -> Any:
    operator = jaxbind.get_linear_call(function, function, _same, _same, **options)
    return lambda x, **kwargs: operator(x, **kwargs)[0]


copy, fail, answer, keep = map(_bind, (_copy, _fail, _answer, _keep))
shared = _bind(_copy, batch_threads=2)
X = jnp.arange(4.0)
ROWS = jnp.zeros((100, 4))


def _raises(call: Callable[[], Any]) -> Callable[[], None]:
    def run() -> None:
        try:
            jax.block_until_ready(call())
        except RuntimeError:
            _kept.clear()
            return
        raise AssertionError("the call should have failed")

    return run


def _foreign(name: str, masks: int = 1) -> Callable[[], Any]:
    """A program that names a host function of our choice, or has too many masks."""
    attributes = {"id": np.int64(target_id(name, "[]")), "name": name, "kwargs": "[]", "batch_ndim": np.int64(0)}
    attributes |= {"batch_masks": np.zeros(masks, np.int64), "batch_threads": np.int64(1)}
    bound = jax.ffi.ffi_call(FFI_TARGET, jax.ShapeDtypeStruct(X.shape, X.dtype))
    program = jax.jit(lambda x: bound(x, **attributes))
    return lambda: program(X)


class Way(NamedTuple):
    """One way through the bridge: what to run, how many calls that is, what part of them is affordable, the least."""

    run: Callable[[], Any]
    calls: int = 1
    part: float = 1.0
    least: int = 20

    def repeats(self, calls: int) -> int:
        """How often to run for so many calls."""
        return max(int(calls * self.part) // self.calls, self.least)


def ways() -> dict[str, Way]:
    """All ways by name."""
    jitted = jax.jit(copy)
    batch, threads, failing = (jax.jit(jax.vmap(f)) for f in (copy, shared, fail))
    loop = jax.jit(lambda x: jax.lax.scan(lambda c, _: (copy(c), None), x, None, length=1000)[0])
    return {
        "eager": Way(lambda: copy(X)),
        "keyword arguments": Way(lambda: copy(X, factor=[1.0, "a"], table={"a": 1}), part=0.2),
        "jit": Way(lambda: jitted(X)),
        "scan": Way(lambda: jax.block_until_ready(loop(X)), 1000),
        "vmap": Way(lambda: jax.block_until_ready(batch(ROWS)), 100),
        "vmap on two threads": Way(lambda: jax.block_until_ready(threads(ROWS)), 100),
        "derivative": Way(lambda: jax.grad(lambda x: jnp.sum(copy(x)))(X), 1, 0.005),
        "exception": Way(_raises(lambda: fail(X)), 1, 0.05),
        "exception in a batch": Way(_raises(lambda: failing(ROWS)), 1, 0.05),
        "value returned": Way(_raises(lambda: answer(X)), 1, 0.05),
        "view kept": Way(_raises(lambda: keep(X)), 1, 0.00002, 2),
        "unknown function": Way(_raises(_foreign("nowhere:function")), 1, 0.05),
        "malformed call": Way(_raises(_foreign("nowhere:function", 2)), 1, 0.05),
        "new operator": Way(lambda: _bind(lambda out, args, kwargs_dump: None), 1, 0.2),
        "new operator, called": Way(_new_operator, 1, 0.0005),
    }


def _new_operator() -> None:
    operator = _bind(lambda out, args, kwargs_dump: None)
    jax.block_until_ready(jax.jit(operator)(X))
    del operator
    jax.clear_caches()


class Left(NamedTuple):
    """What a process holds: resident bytes, blocks of Python's allocator, references to what every call touches."""

    memory: int
    blocks: int
    references: tuple[int, ...]

    @classmethod
    def now(cls) -> Left:
        """Count after a collection."""
        for _ in range(3):
            gc.collect()
        touched = (_copy, _fail, _answer, _keep, np.dtype(np.float64), np.dtype(np.float32), np.ndarray, ValueError)
        memory = int(Path("/proc/self/statm").read_text().split()[1]) * 4096
        return cls(memory, sys.getallocatedblocks(), tuple(map(sys.getrefcount, touched)))


def grown(way: Way, calls: int) -> Left:
    """By how much so many calls changed what the process holds, after a tenth of them to fill the caches."""
    repeats = way.repeats(calls)
    for _ in range(max(repeats // 10, way.least // 2)):
        way.run()
    before = Left.now()
    for _ in range(repeats):
        way.run()
    after = Left.now()
    references = tuple(b - a for a, b in zip(before.references, after.references, strict=True))
    return Left(after.memory - before.memory, after.blocks - before.blocks, references)


def main() -> int:
    """Make the calls and print one line for each way; the exit status tells whether something grew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("-k", default="", help="only the ways with this word in their name")
    options = parser.parse_args()
    failed = []
    for name, way in ways().items():
        if options.k not in name:
            continue
        start = time.perf_counter()
        left = grown(way, options.calls)
        calls = way.repeats(options.calls) * way.calls
        # One pointer a call would be 8 bytes; a tenth of that is noise of the allocators.
        if left.memory > max(2**21, 0.8 * calls) or left.blocks > 800 or max(map(abs, left.references)) > 4:
            failed.append(name)
        seconds = time.perf_counter() - start
        print(
            f"{name:24} {calls:9,} calls {seconds:6.1f} s {left.memory / 1024:+8.0f} KiB {left.blocks:+6} blocks, "
            f"references {left.references}",
            flush=True,
        )
    print(f"grew: {', '.join(failed) or 'nothing'}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
