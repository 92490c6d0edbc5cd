# SPDX-License-Identifier: BSD-2-Clause
"""Non-uniform transforms: `jaxbind_finufft` beside `jax_finufft` and FINUFFT's own plan, in turns in one process.

Times are taken as in the other benchmarks: the fastest of many runs of some 2 ms, then the median over rounds; a ratio
is taken within a round. Points are the same in every call, except in the row "new points". FINUFFT's plan is made and
sorted outside the time. All use one thread, except in the row "own threads", where each package decides, as it does for
whoever says nothing. A stack of arrays is mapped by `jax.vmap`; from JAX 0.10 on the peer cannot be mapped and is given
the stack as one array, which leads to the same call of FINUFFT.

`python noxfile.py -s bench -- nufft` makes an environment with both and takes about eight minutes; `--only "type 1"`
measures what begins so, and keeps what the result has of the rest.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import finufft
import jax
import jax.numpy as jnp
import jax_finufft
import jaxbind_finufft
import numpy as np
from _timing import circumstances, interleaved, spread
from report import beside_peer

# Points -> modes per dimension, for each number of dimensions.
SIZES = {
    100: {1: (100,), 2: (16, 16), 3: (8, 8, 8)},
    1_000: {1: (1_000,), 2: (32, 32), 3: (10, 10, 10)},
    10_000: {1: (10_000,), 2: (64, 64), 3: (20, 20, 20)},
    100_000: {1: (100_000,), 2: (256, 256), 3: (40, 40, 40)},
    1_000_000: {1: (1_000_000,), 2: (1024, 1024), 3: (100, 100, 100)},
}
EPS = 1e-6
STACK = 32  # transforms with the same points
ITERATIONS = 100  # of conjugate gradients

ROUNDS, SECONDS = 5, 0.25  # of each line: how many, and how long one takes unless its calls are slow
RUN = 2e-3  # seconds of one timed run, of every way, as in `worker.py`

Calls = dict[str, Callable[[], Any]]
PACKAGES: dict[str, Any] = {"ours": jaxbind_finufft, "peer": jax_finufft}
# jax-finufft 1.3.1 calls what JAX 0.10 took away.
MAPPED = ("ours", "peer") if jax.__version_info__ < (0, 10) else ("ours",)


def ready(function: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    """A call of the jitted function, on arrays that JAX has already, that waits for the result."""
    jitted = jax.jit(function)
    arrays = [jnp.asarray(arg) for arg in args]
    return lambda: jax.block_until_ready(jitted(*arrays))


class Problem:
    """The arrays of one size."""

    def __init__(self, count: int, ndim: int, dtype: str, nthreads: int, stack: int = 0) -> None:
        rng = np.random.default_rng(count + ndim)
        real = np.finfo(dtype).dtype
        leading = (stack,) if stack else ()
        self.count, self.dtype, self.nthreads, self.transforms = count, dtype, nthreads, max(stack, 1)
        self.sizes = SIZES[count][ndim]
        self.points = [rng.uniform(-np.pi, np.pi, count).astype(real) for _ in range(ndim)]
        self.strengths = (rng.normal(size=(*leading, count)) + 1j * rng.normal(size=(*leading, count))).astype(dtype)
        shape = (*leading, *self.sizes)
        self.modes = (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)

    def options(self, package: Any) -> dict[str, Any]:
        """Keyword arguments of the transforms of a package."""
        return {"eps": EPS, "opts": package.options.Opts(nthreads=self.nthreads)}

    def plan(self, kind: int) -> Callable[[], Any]:
        """FINUFFT's own call, with its points sorted already."""
        sign = 1 if kind == 1 else -1
        plan = finufft.Plan(kind, self.sizes, self.transforms, EPS, sign, self.dtype, nthreads=self.nthreads)
        plan.setpts(*self.points)
        data = self.strengths if kind == 1 else self.modes
        return lambda: plan.execute(data)


def transform(kind: int) -> Callable[[Problem], Calls]:
    """One transform of type 1 or 2, or as many as the problem has arrays."""

    def calls(problem: Problem) -> Calls:
        found: Calls = {"plan": problem.plan(kind)}
        for name, package in PACKAGES.items():
            options = problem.options(package)
            if kind == 1:
                call = lambda c, *x, p=package, o=options: p.nufft1(problem.sizes, c, *x, **o)  # noqa: E731
            else:
                call = lambda f, *x, p=package, o=options: p.nufft2(f, *x, **o)  # noqa: E731
            if problem.transforms > 1 and name in MAPPED:
                call = jax.vmap(call, in_axes=(0, *(None,) * len(problem.points)))
            found[name] = ready(call, problem.strengths if kind == 1 else problem.modes, *problem.points)
        return found

    return calls


def gradient(problem: Problem) -> Calls:
    """Value and gradient of a loss of type 2, in the modes and the points."""
    found: Calls = {}
    for name, package in PACKAGES.items():
        options = problem.options(package)

        def loss(f: Any, *x: Any, package: Any = package, options: Any = options) -> Any:
            return jnp.sum(jnp.abs(package.nufft2(f, *x, **options) - problem.strengths) ** 2)

        argnums = tuple(range(1 + len(problem.points)))
        found[name] = ready(jax.value_and_grad(loss, argnums), problem.modes, *problem.points)
    return found


def new_points(problem: Problem) -> Calls:
    """A transform of type 1 whose points are different in every call."""
    shifts = [[jnp.asarray(p * (1 - 1e-3 * k)).block_until_ready() for p in problem.points] for k in range(8)]
    strengths = jnp.asarray(problem.strengths)
    found: Calls = {}
    for name, package in PACKAGES.items():
        options = problem.options(package)
        jitted = jax.jit(lambda c, *x, p=package, o=options: p.nufft1(problem.sizes, c, *x, **o))
        turn = itertools.cycle(shifts)
        counter = itertools.count()

        def call(jitted: Any = jitted, turn: Iterator[Any] = turn, counter: Iterator[int] = counter) -> Any:
            # No set of points ever returns, or the cache of plans would know it.
            scale = 1 - 1e-9 * next(counter)
            first, *rest = next(turn)
            return jax.block_until_ready(jitted(strengths, first * scale, *rest))

        found[name] = call
    return found


def solve(problem: Problem) -> Calls:
    """A conjugate-gradient solve of the normal equations of type 2, all in one program."""
    found: Calls = {}
    for name, package in PACKAGES.items():
        options = problem.options(package)

        def program(b: Any, *x: Any, package: Any = package, options: Any = options) -> Any:
            def normal(f: Any) -> Any:
                values = package.nufft2(f, *x, iflag=-1, **options)
                return package.nufft1(problem.sizes, values, *x, iflag=1, **options) / problem.count + f

            return jax.scipy.sparse.linalg.cg(normal, b, tol=0.0, atol=0.0, maxiter=ITERATIONS)[0]

        found[name] = ready(program, problem.modes, *problem.points)
    return found


class Row(NamedTuple):
    """What is measured, for which problems; `stack` arrays with the same points; `nthreads` 0 leaves the choice."""

    how: Callable[[Problem], Calls]
    sizes: list[tuple[int, int]]
    dtypes: tuple[str, ...] = ("complex128",)
    stack: int = 0
    nthreads: int = 1


BOTH = ("complex64", "complex128")
EVERY_SIZE = list(itertools.product(SIZES, (1, 2, 3)))
FLAT = [(count, 2) for count in SIZES]
SOLVER = f"{ITERATIONS} CG steps"
ROWS = {
    "type 1": Row(transform(1), EVERY_SIZE, BOTH),
    "type 2": Row(transform(2), EVERY_SIZE, BOTH),
    "value and gradient": Row(gradient, EVERY_SIZE, BOTH),
    "new points": Row(new_points, FLAT),
    f"vmap of {STACK}": Row(transform(1), FLAT[:4], stack=STACK),
    SOLVER: Row(solve, FLAT[:3]),
    f"{SOLVER}, own threads": Row(solve, FLAT[:3], nthreads=0),
}


def promised(what: str, points: int) -> float:
    """How many times as long as ours the peer should take, at least."""
    if what.startswith("type") and points <= 1_000:
        return 3.0
    return 2.0 if what.startswith(SOLVER) and points >= 1_000 else 1 / 1.05


def repeated(call: Callable[[], Any], seconds: float) -> tuple[Callable[[], Any], int]:
    """Calls one after the other, as a solver makes them, that last about RUN together; and how many."""
    count = max(1, int(RUN / seconds))

    def run() -> None:
        for _ in range(count):
            call()

    return run, count


def measure(calls: Calls) -> dict[str, Any]:
    """Times in milliseconds, and how long the others take relative to ours."""
    trial = interleaved({name: (call, 1) for name, call in calls.items()}, 2)
    programs = {name: repeated(call, trial[name]) for name, call in calls.items()}
    runs = int(SECONDS / sum(max(RUN, seconds) for seconds in trial.values()))
    rounds = [interleaved(programs, max(runs, 2)) for _ in range(ROUNDS)]
    row: dict[str, Any] = {"ms": {name: 1e3 * statistics.median(each[name] for each in rounds) for name in calls}}
    for other in set(calls) - {"ours"}:
        ratios = [each[other] / each["ours"] for each in rounds]
        row[f"{other} / ours"] = {"median": statistics.median(ratios), "spread": spread(ratios)}
    return row


def shown(row: dict[str, Any]) -> str:
    """One line of the table."""
    ratio = row["peer / ours"]
    times = " ".join(f"{row['ms'].get(name, float('nan')):9.3f}" for name in ("plan", "ours", "peer"))
    head = f"{row['what']:25} {row['points']:8} {row['ndim']:3} {row['dtype']:10}"
    return f"{head} {times} {ratio['median']:9.2f} {ratio['spread']:7.0%} {row['promised']:8.2f} {beside_peer(row)}"


def main() -> None:
    """Print the table, and write it where `--output` says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=1_000_000, help="number of points")
    parser.add_argument("--only", default="", help="what to measure, the beginning of its name")
    parser.add_argument("--quick", action="store_true", help="up to 1,000 points; writes no result")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "nufft.json")
    options = parser.parse_args()
    largest = 1_000 if options.quick else options.largest
    rows = json.loads(options.output.read_text())["rows"] if options.output.exists() else []
    rows = [row for row in rows if options.only and not row["what"].startswith(options.only)]
    heads = " ".join(f"{head:>9}" for head in ("plan ms", "ours ms", "peer ms", "peer/ours"))
    print(f"{'what':25} {'points':>8} dim {'dtype':10} {heads}  spread promised")
    for what, (how, sizes, dtypes, stack, nthreads) in ROWS.items():
        for (count, ndim), dtype in itertools.product(sizes, dtypes):
            if count > largest or not what.startswith(options.only):
                continue
            # The peer has no derivatives in single precision while JAX has double.
            jax.config.update("jax_enable_x64", dtype == "complex128")
            row = {"what": what, "points": count, "ndim": ndim, "dtype": dtype, "promised": promised(what, count)}
            row |= {"nthreads": nthreads} | measure(how(Problem(count, ndim, dtype, nthreads, stack)))
            rows.append(row)
            print(shown(row), flush=True)
    if not options.quick:
        rows.sort(key=lambda row: list(ROWS).index(row["what"]))
        result = circumstances("finufft", "jax-finufft", "jaxbind-finufft") | {"rows": rows}
        options.output.parent.mkdir(exist_ok=True)
        options.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
