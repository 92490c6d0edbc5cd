# SPDX-License-Identifier: BSD-2-Clause
"""Control flow, devices, programs that were stored: the transforms go where any function of JAX goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jaxbind
import numpy as np
import pytest
from jax import export
from jax.sharding import NamedSharding, PartitionSpec
from jaxbind_finufft import nufft1, nufft2
from support import process
from support.arrays import draw
from support.nonuniform import PROBLEMS, Problem, distance, name
from support.oracles import assert_close

try:
    from jax import shard_map
except ImportError:  # JAX 0.6
    from jax.experimental.shard_map import shard_map

Function = Callable[..., Any]
ONE_OF_EACH = [p for p in PROBLEMS if p.ndim == 2]


def _scan(function: Function, args: tuple[Any, ...]) -> Any:
    steps = jnp.linspace(0.5, 2, 4).astype(complex)
    return jax.lax.scan(lambda n, s: (n + 1, function(s * args[0], *args[1:])), 0, steps)[1]


def _while_loop(function: Function, args: tuple[Any, ...]) -> Any:
    def body(state: Any) -> Any:
        count, total = state
        return count + 1, total + function(args[0], *(p / count for p in args[1:]))

    start = (1.0, jnp.zeros_like(function(*args)))
    return jax.lax.while_loop(lambda state: state[0] < 4, body, start)[1]


def _cond(function: Function, args: tuple[Any, ...]) -> Any:
    return [jax.lax.cond(yes, function, lambda *a: -function(*a), *args) for yes in (True, False)]


def _map(function: Function, args: tuple[Any, ...]) -> Any:
    return jax.lax.map(lambda s: function(args[0], *(s * p for p in args[1:])), jnp.linspace(0.5, 2, 4))


def _custom_vjp(function: Function, args: tuple[Any, ...]) -> Any:
    scaled = jax.custom_vjp(lambda c: function(c, *args[1:]))
    scaled.defvjp(lambda c: (function(c, *args[1:]), None), lambda _, g: (2 * jnp.ones_like(args[0]) * jnp.sum(g),))
    return jax.grad(lambda c: jnp.sum(scaled(c)).real)(jnp.asarray(args[0]))


@pytest.mark.parametrize("use", [_scan, _while_loop, _cond, _map, _custom_vjp], ids=lambda f: f.__name__.strip("_"))
@pytest.mark.parametrize("problem", ONE_OF_EACH, ids=name)
def test_control_flow(problem: Problem, use: Callable[..., Any]) -> None:
    args = tuple(map(jnp.asarray, problem.arguments()))
    assert_close(jax.jit(lambda: use(problem.fast(), args))(), use(problem.direct, args), 1e-9)


def _mesh() -> jax.sharding.Mesh:
    return jax.make_mesh((4,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))


X, Y = draw(0, (6,)), draw(1, (6,))
SPLIT: dict[str, tuple[Function, tuple[Any, ...], tuple[bool, ...]]] = {
    "vmap over strengths": (
        lambda f, c, x: jax.vmap(f, (0, None, None))(c, x, Y),
        (draw(2, (8, 6), complex), X),
        (True, False),
    ),
    "leading axis of the strengths": (lambda f, c, x: f(c, x, Y), (draw(2, (8, 6), complex), X), (True, False)),
    "two leading axes": (lambda f, c, x: f(c, x, Y), (draw(2, (8, 3, 6), complex), X), (True, False)),
    "vmap over points": (
        lambda f, c, x: jax.vmap(f, (None, 0, None))(c, x, Y),
        (draw(2, (6,), complex), draw(3, (8, 6))),
        (False, True),
    ),
    "leading axes of both": (lambda f, c, x: f(c, x, Y), (draw(2, (8, 3, 6), complex), draw(3, (8, 6))), (True, True)),
    "gradient in the strengths": (
        lambda f, c, x: jax.grad(lambda c: jnp.sum(jnp.abs(f(c, x, Y)) ** 2))(c),
        (draw(2, (8, 6), complex), X),
        (True, False),
    ),
    "gradient in mapped points": (
        lambda f, c, x: jax.grad(lambda x: jnp.sum(jnp.abs(jax.vmap(f, (0, 0, None))(c, x, Y)) ** 2))(x),
        (draw(2, (8, 6), complex), draw(3, (8, 6))),
        (True, True),
    ),
}


@pytest.mark.parametrize("case", SPLIT)
def test_batches_are_split_over_devices_without_gathering(case: str) -> None:
    use, arrays, split = SPLIT[case]

    def transform(c: Any, x: Any) -> Any:
        return use(lambda *args: nufft1((5, 4), *args, eps=1e-12), c, x)

    specs = [PartitionSpec("i") if yes else PartitionSpec() for yes in split]
    args = [jax.device_put(a, NamedSharding(_mesh(), s)) for a, s in zip(arrays, specs, strict=True)]
    compiled = jax.jit(transform).lower(*args).compile()
    found = compiled(*args)
    assert distance(found, transform(*arrays)) < 1e-12
    assert found.sharding.spec[0] == "i"
    assert not any(word in compiled.as_text() for word in ("all-gather", "all-to-all", "collective-permute"))


def test_gradient_of_shared_points_is_summed_over_devices() -> None:
    def gradient(c: Any, x: Any) -> Any:
        return jax.grad(lambda x: jnp.sum(jnp.abs(jax.vmap(lambda c: nufft1((5, 4), c, x, Y, eps=1e-12))(c)) ** 2))(x)

    c = draw(2, (8, 6), complex)
    compiled = jax.jit(gradient).lower(jax.device_put(c, NamedSharding(_mesh(), PartitionSpec("i"))), X).compile()
    text = compiled.as_text()
    assert ("all-reduce" in text, "all-gather" in text) == (True, False)
    split = jax.device_put(c, NamedSharding(_mesh(), PartitionSpec("i")))
    assert distance(compiled(split, X), gradient(c, X)) < 1e-12


@pytest.mark.parametrize("problem", ONE_OF_EACH, ids=name)
def test_shard_map_and_its_gradient(problem: Problem) -> None:
    source, *rest = problem.arguments()
    sources = np.stack([source * (1 + k) for k in range(4)])
    spec = PartitionSpec("i")

    def total(function: Function) -> Function:
        def local(sources: Any, *rest: Any) -> Any:
            return jax.lax.psum(jnp.sum(jnp.abs(jax.vmap(lambda c: function(c, *rest))(sources)) ** 2), "i")

        mapped = shard_map(
            local, mesh=_mesh(), in_specs=(spec, *(PartitionSpec(),) * len(rest)), out_specs=PartitionSpec()
        )
        return jax.jit(jax.grad(mapped, tuple(range(1 + len(rest)))))

    def whole(function: Function) -> Function:
        value = lambda sources, *rest: jnp.sum(jnp.abs(jax.vmap(lambda c: function(c, *rest))(sources)) ** 2)  # noqa: E731
        return jax.grad(value, tuple(range(1 + len(rest))))

    for found, expected in zip(
        total(problem.fast())(sources, *rest), whole(problem.direct)(sources, *rest), strict=True
    ):
        assert distance(found, expected) < 1e-9


def test_exported_program_runs_in_another_process(tmp_path: Any) -> None:
    def transform(f: Any, x: Any) -> Any:
        return jnp.sum(jnp.abs(nufft2(f, x, eps=1e-12)) ** 2)

    f, x = Problem(2, 1).arguments()
    program = export.export(jax.jit(jax.value_and_grad(transform, 1)), disabled_checks=jaxbind.export_checks())(f, x)
    (tmp_path / "program").write_bytes(bytes(program.serialize()))
    np.savez(tmp_path / "arguments", f=f, x=x)
    printed = process.run(f"""
import jaxbind_finufft
from jax import export
arguments = np.load({str(tmp_path / "arguments.npz")!r})
program = export.deserialize(bytearray(open({str(tmp_path / "program")!r}, "rb").read()))
value, gradient = program.call(arguments["f"], arguments["x"])
print(float(value), *map(float, gradient))
""")
    value, gradient = jax.value_and_grad(transform, 1)(f, x)
    assert_close([float(word) for word in printed.split()], [float(value), *map(float, gradient)], 1e-9)


def test_second_process_finds_the_compiled_program(tmp_path: Any) -> None:
    program = """
import logging
logging.basicConfig(level=logging.DEBUG)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
from jaxbind_finufft import nufft1
x = np.linspace(-3, 3, 9)
hits = []
jax.monitoring.register_event_listener(lambda event, **_: hits.append(event) if "cache_hits" in event else None)
f = jax.jit(lambda c: nufft1(5, c, x) * 2)
print(complex(f(x + 1j)[0]), len(hits) > 0)
"""
    runs = [process.run(program, JAX_COMPILATION_CACHE_DIR=str(tmp_path)).split() for _ in range(2)]
    assert [hit for _, hit in runs] == ["False", "True"]
    assert runs[0][0] == runs[1][0]


def test_program_that_was_compiled_ahead_of_time_outlives_everything() -> None:
    program = """
from jaxbind_finufft import nufft1, clear_plan_cache
x = np.linspace(-3, 3, 9)
compiled = jax.jit(lambda c: nufft1(5, c, x, eps=1e-12)).lower(x + 1j).compile()
before = compiled(x + 1j)
clear_plan_cache(); jax.clear_caches(); gc.collect()
print(bool((compiled(x + 1j) == before).all()))
"""
    assert process.run(program) == "True\n"
