# SPDX-License-Identifier: BSD-2-Clause
"""The matrix: every operator under every transformation in every place, beside its twin.

A transformation makes a function of one element from an operator. A place runs that function for all rows of a batch:
on one device, on eight, per device in `shard_map`, in two processes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from support import traced, zoo

try:
    from jax import shard_map
except ImportError:  # JAX 0.6
    from jax.experimental.shard_map import shard_map

Function = Callable[..., Any]
ROWS = 8
GATHERS = ("all-gather", "all-to-all", "collective-permute", "all-reduce")


class Subject(NamedTuple):
    """An operator and its twin as functions of the arguments that have derivatives, how often, and what goes first."""

    operator: Function
    twin: Function
    args: tuple[Any, ...]
    fixed: int = 0
    orders: int = 3


def _subjects() -> dict[str, dict[str, Subject]]:
    kinds: dict[str, dict[str, Subject]] = {"linear": {}, "multilinear": {}, "nonlinear": {}, "traced": {}}
    for case in zoo.ALL:
        orders = 1 if case.kind == "nonlinear" else 3  # Host functions for jvp and vjp serve the first only.
        kinds[case.kind][case.name] = Subject(case.call, case.twin, case.args, case.fixed, orders)
    for name, (operator, twin, args) in traced.LINEAR.items():
        kinds["traced"][f"{name}, fixed argument too"] = Subject(operator, twin, args)
    x, y = np.array([1.5, 2.0, 0.3]), np.array([2.0, 0.5, 1.2])
    kinds["traced"]["nonlinear"] = Subject(lambda x, y: traced.power(x, y)[0], jnp.power, (x, y))
    return kinds


KINDS = _subjects()
SUBJECTS = {name: subject for kind in KINDS.values() for name, subject in kind.items()}


def _loss(f: Function) -> Function:
    """A real function that depends on every real and imaginary part in its own way, with small derivatives."""

    def loss(*args: Any) -> Any:
        parts = [part for out in jax.tree.leaves(f(*args)) for part in _parts(out)]
        return sum(jnp.sum(jnp.sin(0.2 * (k + 1.0) * part)) for k, part in enumerate(parts))

    return loss


def _parts(array: Any) -> list[Any]:
    return [array.real, array.imag] if jnp.iscomplexobj(array) else [array]


def _gradient(f: Function) -> Function:
    """The gradient; `jax.grad` itself seeds with a constant that JAX 0.6 refuses inside `shard_map`."""

    def gradient(*args: Any) -> Any:
        value, pull = jax.vjp(_loss(f), *args)
        return pull(0 * value + 1)

    return gradient


def _gradient_norm(f: Function) -> Function:
    """A real function with the derivatives of the gradient in its own gradient."""
    return lambda *args: sum(
        jnp.sum((k + 1.0) * part**2) for g in _gradient(f)(*args) for k, part in enumerate(_parts(g))
    )


def _jvp(f: Function) -> Function:
    return lambda *args: jax.jvp(f, args, tuple(jnp.cos(arg) for arg in args))


def _vjp(f: Function) -> Function:
    def pulled(*args: Any) -> Any:
        out, pull = jax.vjp(f, *args)
        return pull(jax.tree.map(jnp.cos, out))

    return pulled


def _linearize(f: Function) -> Function:
    return lambda *args: jax.linearize(f, *args)[1](*(jnp.cos(arg) for arg in args))


def _scan(f: Function) -> Function:
    def total(*args: Any) -> Any:
        def step(carry: Any, scale: Any) -> Any:
            return carry + _loss(f)(*(scale.astype(arg.dtype) * arg for arg in args)), None

        start = 0 * _loss(f)(*args)  # Differs between devices, as what is added to it does.
        return jax.lax.scan(step, start, jnp.array([1.0, 0.5, 2.0]))[0]

    return total


def _while(f: Function) -> Function:
    def count(*args: Any) -> Any:
        more = lambda c: (c[0] + 1, jax.tree.map(jnp.add, c[1], f(*args)))  # noqa: E731
        return jax.lax.while_loop(lambda c: c[0] < 2, more, (0, f(*args)))

    return count


def _map(f: Function) -> Function:
    return lambda *args: jax.lax.map(
        lambda pair: f(*pair), tuple(jnp.stack([arg, (arg / 2).astype(arg.dtype)]) for arg in args)
    )


def _cond(f: Function) -> Function:
    def choose(*args: Any) -> Any:
        return jax.lax.cond(args[0].ravel()[0].real > 0, _loss(f), lambda *args: -_loss(f)(*args), *args)

    return choose


def _custom(f: Function) -> Function:
    """A function with a derivative of its own, which is the operator's."""
    outer = jax.custom_vjp(f)
    outer.defvjp(lambda *args: jax.vjp(f, *args), lambda pull, c: pull(c))
    return outer


class Transformation(NamedTuple):
    """What to do with an operator, and derivatives of which order that needs."""

    apply: Callable[[Function], Function]
    order: int = 0


TRANSFORMATIONS = {
    "value": Transformation(lambda f: f),
    "jit within": Transformation(jax.jit),
    "map": Transformation(_map),
    "while_loop": Transformation(_while),
    "jvp": Transformation(_jvp, 1),
    "linearize": Transformation(_linearize, 1),
    "vjp": Transformation(_vjp, 1),
    "gradient": Transformation(_gradient, 1),
    "gradient of scan": Transformation(lambda f: _gradient(_scan(f)), 1),
    "gradient of cond": Transformation(lambda f: _gradient(_cond(f)), 1),
    "gradient of checkpoint": Transformation(lambda f: _gradient(jax.checkpoint(f)), 1),
    "gradient of custom_vjp": Transformation(lambda f: _gradient(_custom(f)), 1),
    "forward over reverse": Transformation(lambda f: _jvp(_gradient(f)), 2),
    "reverse over forward": Transformation(lambda f: _gradient(lambda *args: _jvp(f)(*args)[1]), 2),
    "reverse over reverse": Transformation(lambda f: _gradient(_gradient_norm(f)), 2),
    "third order": Transformation(lambda f: _gradient(lambda *args: _jvp(_gradient_norm(f))(*args)[1]), 3),
}


def cells(kind: str | None = None) -> list[tuple[str, str]]:
    """Operators and transformations that belong together."""
    chosen = SUBJECTS if kind is None else KINDS[kind]
    return [(s, t) for s in chosen for t in TRANSFORMATIONS if TRANSFORMATIONS[t].order <= chosen[s].orders]


def of_one_row(subject: Subject, function: Function, transformation: str) -> Function:
    """The transformed function of all arguments, the fixed ones as they are."""
    apply, fixed = TRANSFORMATIONS[transformation].apply, subject.fixed
    return lambda *args: apply(lambda *moving: function(*args[:fixed], *moving))(*args[fixed:])


def batch(subject: Subject) -> tuple[Any, ...]:
    """All arguments with a leading axis, every row another value; integers stay."""
    scales = 1 + 0.1 * np.arange(ROWS)
    return tuple(
        np.stack([arg if np.issubdtype(arg.dtype, np.integer) else (s * arg).astype(arg.dtype) for s in scales])
        for arg in map(np.asarray, subject.args)
    )


@functools.cache
def expected(name: str, transformation: str) -> Any:
    """The rows of the twin."""
    subject = SUBJECTS[name]
    return jax.jit(jax.vmap(of_one_row(subject, subject.twin, transformation)))(*batch(subject))


def one_device(function: Function, rows: tuple[Any, ...]) -> Any:
    """All rows on the first device."""
    return jax.jit(jax.vmap(function))(*rows)


def many_devices(function: Function, rows: tuple[Any, ...]) -> Any:
    """Each device its rows, by JAX's own decision; nothing may be exchanged."""
    sharding = NamedSharding(mesh(), PartitionSpec("i"))
    placed = [jax.make_array_from_callback(row.shape, sharding, lambda index, row=row: row[index]) for row in rows]
    compiled = jax.jit(jax.vmap(function)).lower(*placed).compile()
    found = [word for word in GATHERS if word in compiled.as_text()]
    if found:
        raise AssertionError(f"the compiled program has {found}")
    return compiled(*placed)


def per_device(function: Function, rows: tuple[Any, ...]) -> Any:
    """Each device its rows, as `shard_map` says."""
    spec = PartitionSpec("i")
    return jax.jit(shard_map(jax.vmap(function), mesh=mesh(), in_specs=(spec,) * len(rows), out_specs=spec))(*rows)


def mesh() -> jax.sharding.Mesh:
    """All devices of all processes in a row."""
    return jax.make_mesh((jax.device_count(),), ("i",), axis_types=(jax.sharding.AxisType.Auto,))


PLACES = {"1 device": one_device, "8 devices": many_devices, "shard_map": per_device}


def compare(found: Any, wanted: Any) -> None:
    """Demand equal values in what this process holds of an array."""
    leaves = zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True)
    for array, whole in leaves:
        for shard in array.addressable_shards:
            wanted_here = np.asarray(whole)[shard.index]
            np.testing.assert_allclose(shard.data, wanted_here, rtol=0, atol=1e-9 * max(1, np.abs(wanted_here).max()))
