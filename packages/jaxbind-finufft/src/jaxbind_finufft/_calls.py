# SPDX-License-Identifier: BSD-2-Clause
"""From the arrays of a call to one call of an operator: dtypes, layout, batches.

Owns everything that depends on the arrays. All of it runs while JAX traces, once per kind of call, so that a call
outside `jax.jit` costs no more than one inside.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbind_finufft import _errors, _shapes
from jaxbind_finufft._derivatives import Operator, nufft1_operators, nufft2_operators, nufft3_operators


def point_names(kind: int, ndim: int) -> list[str]:
    """Names of the arrays of points and targets, for messages."""
    names = [f"points[{a}]" for a in range(ndim)]
    return names + [f"targets[{a}]" for a in range(ndim)] if kind == 3 else names


def complex_dtype(operator: str, names: Sequence[str], arrays: Sequence[Any]) -> np.dtype[Any]:
    """complex128 if any array has double precision, else complex64; integers are what JAX makes of them."""
    dtypes = [jax.dtypes.canonicalize_dtype(array.dtype) for array in map(jnp.asarray, arrays)]
    for name, dtype in zip(names, dtypes, strict=True):
        allowed = "real or complex numbers" if name == "source" else "real numbers"
        is_complex = jnp.issubdtype(dtype, jnp.complexfloating)
        if (is_complex and name != "source") or not (jnp.issubdtype(dtype, jnp.number) or dtype == np.dtype(bool)):
            raise _errors.bad_dtype(operator, name, dtype, allowed)
    inexact = [dtype for dtype in dtypes if jnp.issubdtype(dtype, jnp.inexact)] or [jnp.asarray(0.0).dtype]
    double = any(dtype in (np.float64, np.complex128) for dtype in inexact)
    return np.dtype(np.complex128 if double else np.complex64)


@functools.partial(jax.jit, static_argnames=("operator", "kind", "modes", "sign", "eps", "forward", "backward"))
def call(
    source: Any,
    points: tuple[Any, ...],
    *,
    operator: str,
    kind: int,
    modes: tuple[int, ...],
    sign: int,
    eps: float,
    forward: tuple[Any, ...],
    backward: tuple[Any, ...],
) -> jax.Array:
    """Bring arrays to one dtype and layout, and call the operator."""
    ndim = len(points) // 2 if kind == 3 else len(points)
    names = ("source", *point_names(kind, ndim))
    dtype = complex_dtype(operator, names, (source, *points))
    source = jnp.asarray(source).astype(dtype)
    points = tuple(jnp.asarray(p).astype(np.finfo(dtype).dtype) for p in points)
    core = ndim if kind == 2 else 1
    if source.ndim < core:
        remedy = "Give one axis per dimension, after the batch" if kind == 2 else "Give a vector of strengths"
        raise _errors.bad_shape(operator, "source", source.shape, f"at least {core} axes", remedy)
    shapes = [p.shape for p in points]
    groups = [("points", shapes[:ndim])] + ([("targets", shapes[ndim:])] if kind == 3 else [])
    layout = _shapes.arrange(operator, source.shape, core, groups)
    if kind != 2 and source.shape[-1] != layout.points[0][-1]:
        expected = f"{layout.points[0][-1]} as its last length, the number of points"
        raise _errors.bad_shape(operator, "source", source.shape, expected, "Give one strength per point")

    keywords: dict[str, Any] = {"name": operator, "sign": sign, "eps": eps}
    if kind == 3:
        keywords |= {"ndim": ndim, "forward": forward, "backward": backward}
    else:
        modeord = dict(forward).get("modeord", 0)
        types = ("type1", "type2") if kind == 1 else ("type2", "type1")
        keywords |= dict(zip(types, (forward, backward), strict=True))
        keywords |= {"modes": modes or source.shape[-ndim:], "modeord": modeord}
    operators = {1: nufft1_operators, 2: nufft2_operators, 3: nufft3_operators}[kind]
    return _apply(functools.partial(operators[ndim], **keywords), layout, source, points, core)


def _apply(
    bound: Operator, layout: _shapes.Layout, source: jax.Array, points: Sequence[jax.Array], core: int
) -> jax.Array:
    """Call an operator for a layout: one level of `vmap` for each looped axis, with the stacked axes as one.

    If nothing is looped over, the stacked axes are levels of `vmap`, so that JAX may split them over devices.
    """
    mapped, joined = (layout.looped, layout.stacked) if layout.looped else (layout.stacked, ())
    end = source.shape[source.ndim - core :]
    stacked = source.transpose(*mapped, *joined, *range(len(layout.batch), source.ndim))
    arrays = [stacked.reshape(*stacked.shape[: len(mapped)], math.prod(layout.sizes(joined)), *end)]
    for p, shape in zip(points, layout.points, strict=True):
        whole = jnp.broadcast_to(p, (*p.shape[:-1], shape[-1])).reshape(shape)
        arrays.append(whole.transpose(*mapped, *joined, whole.ndim - 1).reshape(*(shape[k] for k in mapped), shape[-1]))

    # The strengths lead, so that an axis that all arrays have in size 1 is mapped by one of them.
    repeated = [[layout.batch[k] != layout.source[k] for k in mapped]]
    repeated += [[shape[k] == 1 for k in mapped] for shape in layout.points]
    arrays = [a.squeeze([k for k, once in enumerate(own) if once]) for a, own in zip(arrays, repeated, strict=True)]

    def transform(strengths: jax.Array, *coordinates: jax.Array) -> jax.Array:
        return bound(*coordinates, strengths)[0]

    for level in reversed(range(len(mapped))):
        transform = jax.vmap(transform, in_axes=tuple(None if own[level] else 0 for own in repeated))
    found = transform(*arrays)
    restored = found.reshape(*layout.sizes(mapped), *layout.sizes(joined), *found.shape[len(mapped) + 1 :])
    back = np.argsort((*mapped, *joined)).tolist()
    return restored.transpose(*back, *range(len(back), restored.ndim))
