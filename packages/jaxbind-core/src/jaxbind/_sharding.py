# SPDX-License-Identifier: BSD-2-Clause
"""Several devices under plain jit: every device calls the host function on its own part of the batch.

Owns which dimensions of a call may be sharded: batch dimensions, because a batch element knows nothing of the others.
Core dimensions must be whole on every device, so arrays that are sharded there are gathered first. Under
`jax.shard_map` there is nothing to do: the call is per device already, and `jaxbind._jax_compat.match_varying` keeps
JAX's account of which values differ between devices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.experimental.custom_partitioning import custom_partitioning
from jax.interpreters import mlir
from jax.sharding import NamedSharding, PartitionSpec

from jaxbind._abstract import absolute, output_axes
from jaxbind._inspection import label
from jaxbind._jax_compat import is_partitioned, sharding_rule
from jaxbind._kwargs import Kwargs
from jaxbind._operator import Record
from jaxbind._primitive import Axes, bind

Lowering = Callable[..., Sequence[Any]]


def partitioned(lower: Lowering) -> Lowering:
    """A lowering rule that splits batched calls over the devices of a program, and lowers the others as they are.

    Parameters
    ----------
    lower
        The rule for a call on one device.

    Returns
    -------
    callable
        The rule to register.
    """

    def rule(ctx: Any, *operands: Any, operator: Record, kwargs: Kwargs, axes: Axes) -> Sequence[Any]:
        if not axes[0] or not is_partitioned(ctx):
            return lower(ctx, *operands, operator=operator, kwargs=kwargs, axes=axes)
        split = jax.named_scope(label(operator, kwargs))(_split_call(ctx.avals_in, operator, kwargs, axes))
        results: Sequence[Any] = mlir.lower_fun(split, multiple_results=True)(ctx, *operands)
        return results

    return rule


def _split_call(avals: Sequence[Any], operator: Record, kwargs: Kwargs, axes: Axes) -> Callable[..., Any]:
    """The call as a function that XLA's partitioner may cut along the batch dimensions."""
    ins = [absolute(levels) for levels in axes]
    outs = [absolute(levels) for levels in output_axes(operator, kwargs, axes, avals)]

    def call(*args: Any) -> list[Any]:
        return bind(operator, kwargs, axes, args)

    def infer(mesh: Any, args: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        del results
        entries = _level_entries(args, ins)
        return [NamedSharding(mesh, _spec(entries, positions)) for positions in outs]

    def partition(mesh: Any, args: Sequence[Any], results: Sequence[Any]) -> tuple[Any, Any, Any, Any]:
        entries = _level_entries([*results, *args], [*outs, *ins])
        shardings = [[NamedSharding(mesh, _spec(entries, positions)) for positions in arrays] for arrays in (outs, ins)]
        return mesh, call, shardings[0], tuple(shardings[1])

    split = custom_partitioning(call)
    ranks = [aval.ndim for aval in avals]
    out_ranks = [len(aval.shape) for aval in jax.eval_shape(call, *avals)]
    rule = sharding_rule(_factors("x", ranks, ins), _factors("y", out_ranks, outs))
    split.def_partition(partition, infer_sharding_from_operands=infer, sharding_rule=rule)
    return split


def _level_entries(arrays: Sequence[Any], positions: Sequence[Sequence[int | None]]) -> list[Any]:
    """The mesh axes of each batch level: what the first array that shards it says, each mesh axis used once."""
    entries: list[Any] = []
    used: set[Any] = set()
    for level in range(len(positions[0])):
        entry = next(filter(None, (_entry(a, p[level]) for a, p in zip(arrays, positions, strict=True))), None)
        names = set(entry) if isinstance(entry, tuple) else {entry}
        if entry is not None and used & names:
            entry = None
        used |= names
        entries.append(entry)
    return entries


def _entry(array: Any, position: int | None) -> Any:
    spec = getattr(array.sharding, "spec", ())
    return spec[position] if position is not None and position < len(spec) else None


def _spec(entries: Sequence[Any], positions: Sequence[int | None]) -> PartitionSpec:
    """Batch dimensions by level, core dimensions whole."""
    found = {position: entry for position, entry in zip(positions, entries, strict=True) if position is not None}
    return PartitionSpec(*(found.get(d) for d in range(max(found, default=-1) + 1)))


def _factors(prefix: str, ranks: Sequence[int], positions: Sequence[Sequence[int | None]]) -> list[tuple[str, ...]]:
    """Names of all dimensions for a Shardy rule: a batch level has one name in all arrays, a core dimension its own."""
    named = []
    for k, (rank, levels) in enumerate(zip(ranks, positions, strict=True)):
        batch = {position: f"b{level}" for level, position in enumerate(levels) if position is not None}
        named.append(tuple(batch.get(d, f"{prefix}{k}d{d}") for d in range(rank)))
    return named
