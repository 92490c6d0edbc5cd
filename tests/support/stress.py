# SPDX-License-Identifier: BSD-2-Clause
"""Many threads that make, run, drop and break operators at random, and check every value.

`python tests/support/stress.py --seconds 120` (`nox -s stress`) prints its seed first; the same seed gives every thread
the same programs again, though not the same interleaving. A hang ends with the stacks of all threads.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import gc
import os
import random
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jaxbind
import numpy as np

THREADS = 6
PATIENCE = 120  # seconds that a thread may take after the end before it counts as hanging


def _same(x: Any, *rest: Any, **kwargs: Any) -> Any:
    return ((x.shape, x.dtype),)


def _operator(factor: float, batch_threads: int) -> Any:
    """Bind y = factor * shift * x, by a host function of its own that fails on demand, or for negative numbers."""

    def scale(out: Any, args: Any, kwargs_dump: Any) -> None:
        kwargs = jaxbind.load_kwargs(kwargs_dump)
        if kwargs.get("fail") or np.any(args[0] < 0):
            raise kwargs.get("fail", ValueError)("as asked")
        if kwargs.get("wait"):
            time.sleep(0)
        out[0][...] = factor * kwargs.get("shift", 1.0) * args[0]

    bound = jaxbind.get_linear_call(scale, scale, _same, _same, batch_threads=batch_threads)
    return lambda x, **kwargs: bound(x, **kwargs)[0]


class Worker:
    """What one thread does; every step draws a program and compares its result with NumPy."""

    def __init__(self, seed: int, number: int) -> None:
        self.random = random.Random(seed * 1000 + number)
        self.done: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.pending: list[tuple[Any, Any]] = []
        # Kept between steps, so that threads come back to compiled programs too.
        self.factor, self.operator = 3.0, _operator(3.0, 1)

    def step(self) -> None:
        """Draw one program and run it."""
        draw = self.random
        if draw.random() < 0.5:
            self.factor = float(draw.randint(1, 50))
            self.operator = _operator(self.factor, draw.choice([1, 1, 2, 0]))
        x = draw.random() * np.ones(draw.choice([0, 1, 3, 1000, 100_000]))
        kind: Callable[[Any], None] = draw.choice(KINDS)
        try:
            kind(self, x)
        except Exception:
            self.wrong.append(f"{kind.__name__}: {traceback.format_exc()}")
        self.done[kind.__name__.strip("_")] += 1
        if draw.random() < 0.02:
            with contextlib.suppress(RuntimeError):  # JAX 0.6 walks over a set to which other threads add.
                jax.clear_caches()
        if draw.random() < 0.05:
            gc.collect()

    def check(self, found: Any, expected: Any) -> None:
        """Compare exactly: both sides do the same multiplications."""
        if not np.array_equal(found, expected):
            self.wrong.append(f"factor {self.factor}: {np.ravel(found)[:3]} is not {np.ravel(expected)[:3]}")

    def _eager(self, x: Any) -> None:
        self.check(self.operator(x, shift=2.0), self.factor * 2.0 * x)

    def _jit(self, x: Any) -> None:
        operator = self.operator
        self.check(jax.jit(lambda x: operator(operator(x), wait=True))(x), self.factor * (self.factor * x))

    def _vmap(self, x: Any) -> None:
        rows = np.stack([x, 2 * x, 3 * x])
        self.check(jax.vmap(self.operator)(rows), self.factor * rows)

    def _gradient(self, x: Any) -> None:
        self.check(jax.grad(lambda x: jnp.sum(self.operator(x)))(jnp.asarray(x)), np.full_like(x, self.factor))

    def _dropped_before_it_runs(self, x: Any) -> None:
        compiled = jax.jit(self.operator).lower(x).compile()
        factor, self.factor, self.operator = self.factor, 2.0, _operator(2.0, 2)
        gc.collect()
        self.check(compiled(x), factor * x)

    def _dropped_in_flight(self, x: Any) -> None:
        """Leave results for later; their operator, program and inputs go now."""
        operator = self.operator
        self.pending.append((jax.jit(lambda x: operator(x + 1, wait=True))(x), self.factor * (x + 1)))
        self.factor, self.operator = 5.0, _operator(5.0, 1)
        if len(self.pending) > 8:
            for found, expected in self.pending:
                self.check(found, expected)
            self.pending.clear()

    def _exception(self, x: Any) -> None:
        self.fails(lambda: self.operator(np.append(x, 1.0), fail=self.random.choice([ValueError, SystemExit])))

    def _exception_in_a_batch(self, x: Any) -> None:
        rows = np.ones((9, 2))
        rows[self.random.randrange(9)] = -1
        self.fails(lambda: jax.vmap(self.operator)(rows))

    def _recursion(self, x: Any) -> None:
        operator = _operator(self.factor, 1)

        def outer(out: Any, args: Any, kwargs_dump: Any) -> None:
            out[0][...] = operator(args[0].copy())

        bound = jaxbind.get_linear_call(outer, outer, _same, _same)
        with INNER_CALLS:
            self.check(bound(x[:3])[0], self.factor * x[:3])

    def fails(self, call: Callable[[], Any]) -> None:
        """Demand the error of the host function."""
        try:
            jax.block_until_ready(call())
        except RuntimeError as error:
            if "as asked" not in str(error):
                self.wrong.append(f"another error: {error}")
        else:
            self.wrong.append("no error")


KINDS = [value for name, value in vars(Worker).items() if name.startswith("_") and not name.startswith("__")]
# JAX's limit, not ours: host functions that wait for JAX may take all of its threads (threads-and-the-gil).
INNER_CALLS = threading.Lock()


def run(seed: int, *, seconds: float = float("inf"), steps: float = float("inf")) -> list[Worker]:
    """Run all threads for so long or so many steps each, whichever ends first."""
    workers = [Worker(seed, number) for number in range(THREADS)]
    end = time.monotonic() + seconds

    def work(worker: Worker) -> None:
        while time.monotonic() < end and sum(worker.done.values()) < steps:
            worker.step()

    threads = [threading.Thread(target=work, args=(worker,), daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + PATIENCE if seconds < threading.TIMEOUT_MAX / 2 else None)
        if thread.is_alive():
            faulthandler.dump_traceback(all_threads=True)
            os._exit(3)
    return workers


def main() -> int:
    """Run for a while and print what was done and what was wrong."""
    faulthandler.enable()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    workers = run(options.seed, seconds=options.seconds)
    total = sum((worker.done for worker in workers), Counter())
    for kind, count in sorted(total.items()):
        print(f"{kind:24} {count:8,}")
    wrong = [text for worker in workers for text in worker.wrong]
    print(f"{total.total():,} programs on {THREADS} threads, {len(wrong)} wrong", *wrong[:5], sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    sys.exit(main())
