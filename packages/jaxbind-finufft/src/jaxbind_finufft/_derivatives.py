# SPDX-License-Identifier: BSD-2-Clause
"""The operators that JAX sees, and how they change with the points.

Owns the binding of the host functions, their shapes, and the derivatives. With points x_p, modes k, targets s_q, and
the sign sigma of the exponent, in any number of dimensions:

    type 1   f_k = sum_p c_p exp(i sigma k x_p)             transpose: type 2 with the same sign
    type 2   c_p = sum_k f_k exp(i sigma k x_p)             transpose: type 1 with the same sign
    type 3   d_q = sum_p c_p exp(i sigma s_q x_p)           transpose: type 3 with s and x exchanged

The change with the points is a transform of the same kind for each dimension a in which they move,

    df_k = sum_a k_a       sum_p (i sigma dx_pa c_p) exp(..)
    dc_p = sum_a i sigma dx_pa  sum_k (k_a f_k)      exp(..)
    dd_q = sum_a s_qa      sum_p (i sigma dx_pa c_p) exp(..)  +  sum_a i sigma ds_qa sum_p (x_pa c_p) exp(..)

one call of FINUFFT for each of the sums over a. The rules are traced by JAX and contain the operators themselves, so
that what they return can be differentiated again, in both modes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import jaxbind
import numpy as np

from jaxbind_finufft import _execution
from jaxbind_finufft._execution import BatchAxes, batch_sizes

Operator = functools.partial[list[jax.Array]]
Shapes = tuple[tuple[tuple[int, ...], Any, int], ...]


def _stacked(core: Callable[..., tuple[int, ...]]) -> Callable[..., Shapes]:
    """Make an abstract function of ``core(*args, **kwargs)``, the shape of one result of a stack."""

    @functools.wraps(core)
    def abstract(*args: Any, batch_axes: BatchAxes | None = None, **kwargs: Any) -> Shapes:
        axes = batch_axes or ((),) * len(args)
        sizes = batch_sizes(kwargs["name"], args, axes)
        own = [
            tuple(n for k, n in enumerate(arg.shape) if k not in mapped) for arg, mapped in zip(args, axes, strict=True)
        ]
        return (((*sizes, own[-1][0], *core(own, **kwargs)), args[-1].dtype, 0),)

    return abstract


@_stacked
def _modes(shapes: Sequence[tuple[int, ...]], *, modes: tuple[int, ...], **_: Any) -> tuple[int, ...]:
    return modes


@_stacked
def _points(shapes: Sequence[tuple[int, ...]], **_: Any) -> tuple[int, ...]:
    return shapes[0]


@_stacked
def _targets(shapes: Sequence[tuple[int, ...]], **_: Any) -> tuple[int, ...]:
    return shapes[(len(shapes) - 1) // 2]


def _nufft1_change(primals: Any, tangents: Any, **options: Any) -> tuple[jax.Array]:
    """Change of type 1, see the module."""
    *points, strengths = primals
    moving = [a for a, t in enumerate(tangents) if t is not None]
    stack = _join([strengths * _phase(tangents[a], **options) for a in moving])
    changes = _split(nufft1_operators[len(points)](*points, stack, **options)[0], len(moving))
    wave = _wave_numbers(strengths.dtype, **options)
    return (_sum([change * wave[a] for a, change in zip(moving, changes, strict=True)]),)


def _nufft2_change(primals: Any, tangents: Any, **options: Any) -> tuple[jax.Array]:
    """Change of type 2, see the module."""
    *points, modes = primals
    moving = [a for a, t in enumerate(tangents) if t is not None]
    wave = _wave_numbers(modes.dtype, **options)
    changes = _split(
        nufft2_operators[len(points)](*points, _join([modes * wave[a] for a in moving]), **options)[0], len(moving)
    )
    return (_sum([change * _phase(tangents[a], **options) for a, change in zip(moving, changes, strict=True)]),)


def _nufft3_change(primals: Any, tangents: Any, **options: Any) -> tuple[jax.Array]:
    """Change of type 3, see the module.

    Moving points and moving targets are two calls: a stack with both would be linear in the tangents in one part only,
    and JAX could not transpose it.
    """
    *coordinates, strengths = primals
    ndim = len(coordinates) // 2
    terms = []
    for first in (0, ndim):
        moving = [a for a in range(first, first + ndim) if tangents[a] is not None]
        if moving:
            phases = [_phase(tangents[a], **options) for a in moving]
            partners = [coordinates[(a + ndim) % (2 * ndim)].astype(strengths.dtype) for a in moving]
            before, after = (phases, partners) if first == 0 else (partners, phases)
            stack = _join([strengths * factor for factor in before])
            changes = _split(nufft3_operators[ndim](*coordinates, stack, **options)[0], len(moving))
            terms += [change * factor for change, factor in zip(changes, after, strict=True)]
    return (_sum(terms),)


def _phase(change: Any, *, sign: int, **_: Any) -> jax.Array:
    """``i sigma dx`` for the tangent dx of some coordinates."""
    change = jnp.asarray(change)
    return jax.lax.complex(jnp.zeros_like(change), change if sign > 0 else -change)


def _wave_numbers(dtype: Any, *, modes: tuple[int, ...], modeord: int, **_: Any) -> list[Any]:
    """The number k of each mode, one broadcastable array per dimension."""
    found = []
    for axis, n in enumerate(modes):
        wave = np.arange(n) - n // 2
        wave = np.fft.ifftshift(wave) if modeord else wave
        found.append(wave.astype(dtype).reshape((n,) + (1,) * (len(modes) - axis - 1)))
    return found


def _join(stacks: Sequence[jax.Array]) -> jax.Array:
    return stacks[0] if len(stacks) == 1 else jnp.concatenate(stacks)


def _split(stack: jax.Array, count: int) -> list[jax.Array]:
    return [stack] if count == 1 else jnp.split(stack, count)


def _sum(terms: Sequence[jax.Array]) -> jax.Array:
    return functools.reduce(jnp.add, terms)


def _bind(f: Any, f_T: Any, shape: Any, shape_T: Any, rule: Any, per_dimension: int = 1) -> dict[int, Operator]:  # noqa: N803
    """One operator per number of dimensions; they differ in how many arguments are points."""
    return {
        ndim: jaxbind.get_linear_call(
            f,
            f_T,
            shape,
            shape_T,
            first_n_args_fixed=per_dimension * ndim,
            func_can_batch=True,
            fixed_derivative=rule,
        )
        for ndim in (1, 2, 3)
    }


nufft1_operators = _bind(_execution.nufft1_host, _execution.nufft2_host, _modes, _points, _nufft1_change)
nufft2_operators = _bind(_execution.nufft2_host, _execution.nufft1_host, _points, _modes, _nufft2_change)
nufft3_operators = _bind(
    _execution.nufft3_host, _execution.nufft3_transposed_host, _targets, _points, _nufft3_change, per_dimension=2
)
