# SPDX-License-Identifier: BSD-2-Clause
"""Everything that depends on the JAX version or on names that JAX does not publish.

Each entry tells why the obvious public way fails and which versions it serves.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax._src import core as _core
from jax._src import dispatch as _dispatch
from jax._src import source_info_util as _source_info
from jax.core import ShapedArray
from jax.experimental.custom_partitioning import ArrayMapping, SdyShardingRule
from jax.interpreters import ad, mlir
from jax.sharding import NamedSharding, PartitionSpec

__all__ = [
    "Primitive",
    "apply_primitive",
    "hide_frames",
    "instantiate",
    "is_partitioned",
    "is_symbolic",
    "make_aval",
    "match_varying",
    "require_devices",
    "sharding_rule",
    "zero_tangent",
]

# JAX 0.10 to 0.12: jax.extend.core publishes the same class, but importing jax.extend loads Pallas, which takes 50 to
# 80 ms.
Primitive = _core.Primitive

# JAX 0.6 to 0.12: compiles and caches a single primitive for a call outside jit. There is no public name for it, and a
# jitted function kept per operator would need a cache of our own that jax.clear_caches() does not know.
apply_primitive = _dispatch.apply_primitive


def require_devices(primitive: Primitive) -> None:
    """Let the lowering rule of a primitive know the devices of the program, as `jax.pure_callback` does for itself.

    JAX 0.6 to 0.12: otherwise the lowering is shared between programs on different devices and knows of none.
    """
    _dispatch.prim_requires_devices_during_lowering.add(primitive)


def hide_frames(path: str) -> None:
    """Attribute operations to the callers of a package: files below `path` are not the user's.

    JAX 0.6 to 0.12: there is no public name for it, and without it every operation of ours is said to come from the
    same line of this package.
    """
    _source_info.register_exclusion(path)


# JAX 0.6 to 0.8 call it standard_insert_pvary, later ones auto_insert_reshard. The public jax.lax.pvary (later pcast)
# casts one array to given axes; what is missing there is whether the checks are on at all.
_CASTS = ("auto_insert_reshard", "standard_insert_pvary")
_insert_casts: Any = next(getattr(_core, name) for name in _CASTS if hasattr(_core, name))


def match_varying(args: Sequence[Any]) -> Sequence[Any]:
    """Under shard_map: let all arguments vary over the same mesh axes, as every primitive with several operands does.

    The transpose of the cast sums a gradient over the devices; without it gradients of replicated inputs are wrong.
    """
    casted: Sequence[Any] = _insert_casts(*args)
    return casted


def make_aval(shape: Sequence[Any], dtype: Any, like: ShapedArray, spec: Sequence[Any]) -> ShapedArray:
    """The aval of an output.

    Parameters
    ----------
    shape, dtype
        Of the output.
    like
        Aval of an argument after `match_varying`: the output varies over the same mesh axes. The field that says so is
        `vma` in JAX 0.6 to 0.8 and `manual_axis_type` later; `update` keeps either.
    spec
        Explicit sharding, one entry per dimension; without an explicit mesh all are None.
    """
    sharding = NamedSharding(like.sharding.mesh, PartitionSpec(*spec))
    aval: ShapedArray = like.update(shape=tuple(shape), dtype=dtype, weak_type=False, sharding=sharding)
    return aval


def is_partitioned(ctx: Any) -> bool:
    """Whether a lowering is for a program that XLA will split over several devices.

    Not so inside shard_map over the whole mesh, where a program is per device, and in jax.export, which refuses
    programs with Python callbacks for the partitioner.
    """
    if ctx.module_context.lowering_parameters.for_export:
        return False
    context = ctx.module_context.axis_context
    if isinstance(context, mlir.SPMDAxisContext):
        return set(context.manual_axes) != set(context.mesh.axis_names)
    return isinstance(context, mlir.ShardingContext) and context.num_devices > 1


def sharding_rule(operands: Sequence[tuple[str, ...]], results: Sequence[tuple[str, ...]]) -> Any:
    """A Shardy rule from dimension names: those that several arrays share may be sharded, the others must be whole.

    JAX 0.6 cannot say the latter; there the partition function asks for whole core dimensions, which costs a reshard.
    """
    names = [name for array in (*operands, *results) for name in array]
    whole = tuple(sorted({name for name in names if not name.startswith("b")}))
    known = inspect.signature(SdyShardingRule.__init__).parameters
    special: dict[str, Any] = {"need_replication_factors": whole} if "need_replication_factors" in known else {}
    ins, outs = (tuple(ArrayMapping(*array) for array in arrays) for arrays in (operands, results))
    return SdyShardingRule(ins, outs, **special)


def zero_tangent(value: Any) -> ad.Zero:
    """The symbolic zero tangent that belongs to a primal value (float0 where it is an integer)."""
    return ad.Zero(jax.typeof(value).to_tangent_aval())


def instantiate(value: Any, like: Any) -> Any:
    """An array in place of a symbolic zero; `like` is the primal or aval whose shape and dtype it gets.

    ad.instantiate_zeros makes a float0 array where the primal is an integer; a host function is given plain zeros.
    """
    if type(value) is not ad.Zero:
        return value
    return jnp.zeros(like.shape, like.dtype)


def is_symbolic(size: Any) -> bool:
    """Whether a size in a shape is a symbolic dimension of `jax.export`.

    Importing jax.export costs time, and in JAX 0.6 needs absl, which JAX does not require. While nobody has imported it
    there are no symbolic dimensions.
    """
    export = sys.modules.get("jax.export")
    return export is not None and bool(export.is_symbolic_dim(size))
