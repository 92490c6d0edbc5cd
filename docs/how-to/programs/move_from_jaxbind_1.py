# SPDX-License-Identifier: BSD-2-Clause
# ruff: noqa: ANN001, ANN002, ANN003, ANN201  # as such programs were written
"""A program as it was written for jaxbind 1.x. Every line of it still works."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxbind import get_linear_call, load_kwargs


def scale(out, args, kwargs_dump):
    """Multiply the second argument by the first, which is fixed."""
    kwargs = load_kwargs(kwargs_dump)
    kwargs.pop("batch_axes", None)
    out[0][()] = kwargs.pop("factor") * args[0] * args[1]


def scale_abstract(*args, **kwargs):
    """Describe the output; the third entry is its batch axis, where the function batches natively."""
    shape, dtype = args[1].shape, args[1].dtype
    batch_axes = kwargs.pop("batch_axes", None)
    return ((shape, dtype, batch_axes[1][-1] if batch_axes else None),)


op = get_linear_call(scale, scale, scale_abstract, scale_abstract, first_n_args_fixed=1, func_can_batch=True)
op = partial(op, factor=2.0)

weights, x = jnp.ones(3), jnp.arange(3.0)
(y,) = op(weights, x)  # a list, as before
(gradient,) = jax.vjp(lambda x: op(weights, x), x)[1]([y])
print(y, gradient)

# The record of an operator could be reached and changed; it still can.
record = op.keywords["_func"]
looped = partial(op, _func=record._replace(can_batch=False))
np.testing.assert_allclose(jax.vmap(looped, (None, 0))(weights, jnp.stack([x, x]))[0], jnp.stack([y, y]))
