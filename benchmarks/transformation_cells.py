# SPDX-License-Identifier: BSD-2-Clause
"""Transformations of JAX, each tried on one way of calling foreign code: the rows of the comparison.

`python transformation_cells.py WAY CELL ...` prints one JSON object per cell. A cell compares with the same
transformation of the twin. It raises where JAX or the library refuses, returns a remark where the value is right but
something else is not, and None where all is well. The process may die in a cell; `transformations.py` notices.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from transformation_ways import SIZE, WAYS, Function, Way

jax.config.update("jax_enable_x64", True)
X = jnp.asarray(np.random.default_rng(0).normal(size=SIZE))
ROWS = jnp.asarray(np.random.default_rng(1).normal(size=(8, SIZE)))
GATHERS = ("all-gather", "all-to-all", "collective-permute")
DTYPES = ("bool", "int32", "uint8", "float16", "bfloat16", "complex64", "float8_e4m3fn")

Transform = Callable[[Function], Function]


class WrongValueError(Exception):
    """The call returned, but not what its twin returns."""


def loss(f: Function) -> Function:
    """A real function in which every element counts differently."""
    return lambda x: jnp.sum(jnp.sin(f(x)) * jnp.arange(1.0, SIZE + 1))


def check(found: Any, expected: Any) -> None:
    """Demand equal values."""
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        if a.shape != b.shape or not np.allclose(a, b, rtol=1e-8, atol=1e-8):
            raise WrongValueError


def same(transform: Transform, *args: Any) -> Callable[[Way, Function], None]:
    """The cell of a transformation that is one function of the operator."""
    return lambda way, f: check(transform(f)(*args), transform(way.twin)(*args))


def gradient_norm(f: Function) -> Function:
    """A function whose gradient holds the second derivatives of another."""
    return lambda x: jnp.sum(jax.grad(f)(x) ** 2)


def scanned(f: Function) -> Function:
    """Calls in a loop, each with the result of the one before."""
    return lambda x: jax.lax.scan(lambda c, s: (jnp.sin(f(c)) * s, None), x, jnp.arange(1.0, 4.0))[0]


def around(f: Function) -> Function:
    """A custom derivative around the call, with the call in it."""
    squared = jax.custom_jvp(lambda x: f(x) ** 2)
    squared.defjvp(lambda primals, tangents: (squared(*primals), 2 * f(*primals) * f(*tangents)))
    return squared


def shard(axis_type: Any) -> tuple[Any, Any]:
    """A mesh of all devices, and rows that are split over it."""
    mesh = jax.make_mesh((8,), ("i",), axis_types=(axis_type,))
    return mesh, jax.device_put(ROWS, NamedSharding(mesh, PartitionSpec("i")))


def split(transform: Transform, axis_type: Any = AxisType.Auto) -> Callable[[Way, Function], str | None]:
    """The cell of a program that JAX splits over devices: whether anything is gathered."""

    def cell(way: Way, f: Function) -> str | None:
        _, rows = shard(axis_type)
        compiled = jax.jit(transform(f)).lower(rows).compile()
        check(np.asarray(compiled(rows)), transform(way.twin)(ROWS))
        return "gathers" if any(word in compiled.as_text() for word in GATHERS) else None

    return cell


def per_device(f: Function) -> Function:
    """`shard_map` with its checks on, over a replicated and a split argument."""
    mesh, _ = shard(AxisType.Auto)
    specs = (PartitionSpec("i"), PartitionSpec())
    return jax.jit(jax.shard_map(lambda r, x: jax.vmap(f)(r * x), mesh=mesh, in_specs=specs, out_specs=specs[0]))


def shared_gradient(f: Function) -> Function:
    """The gradient with respect to what all devices share, which is a sum over them."""
    return jax.grad(lambda x: jnp.sum(jnp.sin(per_device(f)(ROWS, x))))


def dtypes(way: Way, f: Function) -> str | None:
    """Arrays that are not float32 or float64."""
    if way.real_only:
        return "not applicable"
    for name in DTYPES:
        x = jnp.asarray([1, 0, 1, 1, 0, 0]).astype(name)
        check(jax.jit(f)(x).astype("complex64"), way.twin(x).astype("complex64"))
    return None


def outlives(way: Way, f: Function) -> None:
    """A program that was compiled ahead of time, after all caches are gone."""
    compiled = jax.jit(f).lower(X).compile()
    jax.clear_caches()
    gc.collect()
    check(compiled(X), way.twin(X))


def exported(f: Function, shape: Any) -> Any:
    """An exported program, with leave for the custom calls in it."""
    text = jax.jit(jax.vmap(f)).lower(ROWS).as_text()
    names = {word.split("(")[0] for word in text.split("custom_call @")[1:]}
    checks = [export.DisabledSafetyCheck.custom_call(name) for name in names]
    return export.export(jax.jit(jax.vmap(f)), disabled_checks=checks)(jax.ShapeDtypeStruct(shape, ROWS.dtype))


def elsewhere(shape: str) -> Callable[[Way, Function], None]:
    """The cell of an exported program that runs in another process."""

    def cell(way: Way, f: Function) -> None:
        with tempfile.TemporaryDirectory() as folder:
            artifact = Path(folder) / "program"
            artifact.write_bytes(exported(f, export.symbolic_shape(shape)).serialize())
            check(np.asarray(fresh("--load", str(artifact))), jax.vmap(way.twin)(ROWS))

    return cell


def cached(way: Way, f: Function) -> str | None:
    """Two processes with one persistent compilation cache."""
    del f
    with tempfile.TemporaryDirectory() as folder:
        runs = [fresh("--cache", folder) for _ in range(2)]
    for run in runs:
        check(np.asarray(run["value"]), way.twin(X))
    return None if runs[1]["hit"] else "no hit"


def fresh(*arguments: str) -> Any:
    """What this file prints in a fresh process."""
    command = [sys.executable, __file__, sys.argv[1], *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:] if done.returncode > 0 else ["the other process crashed"]
        raise RuntimeError(*reason)
    return json.loads(done.stdout.splitlines()[-1])


BATCH_AXES = jnp.arange(2.0 * SIZE * 3).reshape(2, SIZE, 3)
CELLS: dict[str, Callable[[Way, Function], str | None]] = {
    "`jit`": same(jax.jit, X),
    "`jit`, 3 vectors in one batch of `vmap`": same(lambda f: jax.jit(jax.vmap(f)), ROWS[:3]),
    "nested `vmap`, any axes": same(lambda f: jax.vmap(jax.vmap(f, 1, 1)), BATCH_AXES),
    "`vmap` over no elements": same(jax.vmap, ROWS[:0]),
    "`disable_jit`": jax.disable_jit()(same(lambda f: f, X)),
    "`jvp`": same(lambda f: lambda x: jax.jvp(f, (x,), (x**2,)), X),
    "`linearize`": same(lambda f: lambda x: jax.linearize(f, x)[1](x**2), X),
    "`grad`": same(lambda f: jax.jit(jax.grad(loss(f))), X),
    "`linear_transpose`": same(lambda f: jax.linear_transpose(f, X), X),
    "`vmap` of `grad`": same(lambda f: jax.vmap(jax.grad(loss(f))), ROWS),
    "`grad` of `vmap`": same(lambda f: jax.grad(lambda x: jnp.sum(jnp.sin(jax.vmap(f)(ROWS * x)))), X),
    "`jacfwd`": same(jax.jacfwd, X),
    "`jacrev`": same(jax.jacrev, X),
    "`hessian` (forward over reverse)": same(lambda f: jax.hessian(loss(f)), X),
    "reverse over forward": same(lambda f: jax.grad(lambda x: jax.jvp(loss(f), (x,), (x,))[1]), X),
    "reverse over reverse": same(lambda f: jax.grad(gradient_norm(loss(f))), X),
    "third order, reverse": same(lambda f: jax.grad(gradient_norm(gradient_norm(loss(f)))), X),
    "`vmap` of `hessian`": same(lambda f: jax.vmap(jax.hessian(loss(f))), ROWS),
    "`scan`": same(lambda f: jax.jit(scanned(f)), X),
    "`grad` of `scan`": same(lambda f: jax.grad(loss(scanned(f))), X),
    "`while_loop`": same(
        lambda f: lambda x: jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, f(c[1])), (0, x))[1], X
    ),
    "`cond`, with `grad`": same(lambda f: jax.grad(loss(lambda x: jax.lax.cond(x[0] > 0, f, lambda x: -f(x), x))), X),
    "`checkpoint`, with `grad`": same(lambda f: jax.grad(loss(jax.checkpoint(lambda x: jnp.sin(f(jnp.sin(x)))))), X),
    "`custom_jvp` around it, with `grad`": same(lambda f: jax.grad(loss(around(f))), X),
    "donated argument": same(lambda f: lambda x: jax.jit(f, donate_argnums=0)(x + 0), X),
    "dtypes: bool, integers, float16, bfloat16, float8, complex": dtypes,
    "8 devices, `jit` of `vmap`": split(jax.vmap),
    "8 devices, gradient": split(lambda f: jax.grad(lambda r: jnp.sum(jnp.sin(jax.vmap(f)(r))))),
    "8 devices, explicit mesh": split(jax.vmap, AxisType.Explicit),
    "8 devices, `shard_map` with its checks": same(per_device, ROWS, X),
    "8 devices, gradient of what `shard_map` shares": same(shared_gradient, X),
    "8 devices, `pmap`": same(jax.pmap, ROWS),
    "compiled ahead of time, caches cleared": outlives,
    "`jax.export`, another process": elsewhere(f"8, {SIZE}"),
    "`jax.export`, any batch size, another process": elsewhere(f"b, {SIZE}"),
    "persistent cache, another process": cached,
}


def outcome(cell: Callable[[Way, Function], str | None], way: Way) -> tuple[str, str]:
    """What the first variant that works needs, or what the first one says."""
    failures = []
    for by_hand, f in way.variants.items():
        try:
            remark = cell(way, f)
        except WrongValueError:
            failures.append(("wrong value", ""))
        except Exception as error:  # Whatever it is, it is the result.
            failures.append(("error", " ".join(f"{type(error).__name__}: {error}".split("\n")[0].split())))
        else:
            if remark:
                failures.append((remark, ""))
            else:
                return ("by hand", by_hand) if by_hand else ("right", "")
    return failures[0]


def load(path: str, way: Way) -> None:
    """Run an exported program."""
    del way
    program = export.deserialize(bytearray(Path(path).read_bytes()))
    print(json.dumps(np.asarray(program.call(ROWS)).tolist()))


def compile_again(folder: str, way: Way) -> None:
    """Compile with a persistent cache; tell whether it had the program."""
    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    jax.block_until_ready(X + 0)
    hits: list[str] = []
    jax.monitoring.register_event_listener(lambda event, **_: hits.append(event))
    value = jax.jit(lambda x: way.variants[""](x) + 0)(X)
    hit = "/jax/compilation_cache/cache_hits" in hits
    print(json.dumps({"value": np.asarray(value).tolist(), "hit": hit}))


def main() -> None:
    """Run cells, or one of the two programs of another process."""
    name, *rest = sys.argv[1:]
    way = WAYS[name]()
    if rest and rest[0] in ("--load", "--cache"):
        {"--load": load, "--cache": compile_again}[rest[0]](rest[1], way)
        return
    for cell in rest or CELLS:
        print(json.dumps({"cell": cell, "start": True}), flush=True)
        result, detail = outcome(CELLS[cell], way)
        print(json.dumps({"cell": cell, "result": result, "detail": detail}), flush=True)


if __name__ == "__main__":
    main()
