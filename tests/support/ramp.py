# SPDX-License-Identifier: BSD-2-Clause
"""One linear operator with a fixed argument and its pure-JAX twin, for tests that run programs in other processes too.

    y_n = p_n sum_{m <= n} x_m

It stands at the top level of a module, so that its host functions have stable names. `seen` records the shapes that the
host function received.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxbind import get_linear_call, load_kwargs

seen: list[tuple[tuple[int, ...], ...]] = []


def forward(out: Any, args: Any, kwargs_dump: Any) -> None:
    p, x = args
    seen.append((p.shape, x.shape))
    np.multiply(p, np.cumsum(x), out=out[0])


def backward(out: Any, args: Any, kwargs_dump: Any) -> None:
    p, c = args
    out[0][...] = np.cumsum((p * c)[::-1])[::-1]


def natively(out: Any, args: Any, kwargs_dump: Any) -> None:
    """The same for batches: cumulative sum along the one axis of x that no vmap added."""
    p, x = args
    seen.append((p.shape, x.shape))
    batched = load_kwargs(kwargs_dump)["batch_axes"] or ((), ())
    order, shape = np.broadcast_to(_batch_first(p, batched[0]), out[0].shape), out[0].shape
    out[0][...] = order * np.cumsum(np.broadcast_to(_batch_first(x, batched[1]), shape), axis=-1)


def natively_back(out: Any, args: Any, kwargs_dump: Any) -> None:
    p, c = args
    batched = load_kwargs(kwargs_dump)["batch_axes"] or ((), ())
    product = _batch_first(p, batched[0]) * _batch_first(c, batched[1])
    out[0][...] = np.cumsum(np.broadcast_to(product, out[0].shape)[..., ::-1], axis=-1)[..., ::-1]


def _batch_first(array: Any, axes: tuple[int, ...]) -> Any:
    """Newest level first, core axis last."""
    return np.moveaxis(array, axes[::-1], range(len(axes)))


def describe(p: Any, x: Any) -> Any:
    return ((x.shape, x.dtype),)


def describe_natively(p: Any, x: Any, batch_axes: Any = None) -> Any:
    sizes = next(
        (tuple(a.shape[i] for i in axes[::-1]) for a, axes in zip((p, x), batch_axes or ((), ()), strict=True) if axes),
        (),
    )
    core = next(size for i, size in enumerate(x.shape) if i not in (batch_axes or ((), ()))[1])
    return (((*sizes, core), x.dtype, 0),)


ramp = get_linear_call(forward, backward, describe, describe, first_n_args_fixed=1)
native_ramp = get_linear_call(
    natively, natively_back, describe_natively, describe_natively, first_n_args_fixed=1, func_can_batch=True
)


def looped(p: jax.Array, x: jax.Array) -> jax.Array:
    """The operator whose batches are looped over."""
    return ramp(p, x)[0]


def native(p: jax.Array, x: jax.Array) -> jax.Array:
    """The operator that processes batches itself."""
    return native_ramp(p, x)[0]


def twin(p: jax.Array, x: jax.Array) -> jax.Array:
    """The same in JAX."""
    return p * jnp.cumsum(x)
