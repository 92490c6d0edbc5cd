# SPDX-License-Identifier: BSD-2-Clause
"""What a natively batching function with two arguments is told, in nested vmap and in the transpose."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxbind import get_linear_call, load_kwargs

Arrays = tuple[np.ndarray, ...]
BatchAxes = tuple[tuple[int, ...], ...] | None


def fronted(args: Arrays, batch_axes: BatchAxes) -> list[np.ndarray]:
    """Move the batch axes of every array to the front, the newest first; an array that has none stays as it is."""
    axes = batch_axes or ((),) * len(args)
    return [np.moveaxis(a, own, range(len(own))[::-1]) for a, own in zip(args, axes, strict=True)]


def product(name: str, subscripts: str) -> Any:
    """Make a host function of a product that NumPy broadcasts over leading axes."""

    def host(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
        batch_axes = load_kwargs(kwargs_dump)["batch_axes"]
        print(f"  {name:3s} shapes {args[0].shape} {args[1].shape}, batch_axes {batch_axes}")
        out[0][...] = np.einsum(subscripts, *fronted(args, batch_axes))

    return host


def describe(core_axis: int) -> Any:
    """Make the function that describes the output: batch axes in front, newest first, then one core axis."""

    def abstract(matrix: Any, x: Any, *, batch_axes: BatchAxes) -> Any:
        of_matrix, of_x = batch_axes or ((), ())
        array, own = (matrix, of_matrix) if of_matrix else (x, of_x)
        batch = tuple(array.shape[axis] for axis in reversed(own))
        core = [size for axis, size in enumerate(matrix.shape) if axis not in of_matrix][core_axis]
        return (((*batch, core), x.dtype, 0),)  # 0: the newest batch dimension is in front

    return abstract


# y = A x, with A fixed. The transpose gets A, then the cotangent of y.
op = get_linear_call(
    product("f", "...mn,...n->...m"),
    product("f_T", "...mn,...m->...n"),
    describe(core_axis=0),
    describe(core_axis=1),
    first_n_args_fixed=1,
    func_can_batch=True,
)


def apply(matrix: jax.Array, x: jax.Array) -> jax.Array:
    """Take the one output out of the list."""
    return op(matrix, x)[0]


def show(title: str, f: Any, *shapes: tuple[int, ...]) -> None:
    """Run a function and compare it with the same function of a JAX product."""
    print(title)
    random = np.random.default_rng(0)
    arrays = [jnp.asarray(random.normal(size=shape), dtype=jnp.float32) for shape in shapes]
    np.testing.assert_allclose(f(apply)(*arrays), f(jnp.dot)(*arrays), rtol=1e-4, atol=1e-5)


vmap = jax.vmap
show("op(A, x)", lambda op: op, (2, 3), (3,))
show("vmap over x", lambda op: vmap(op, (None, 0)), (2, 3), (5, 3))
show("vmap over x, twice", lambda op: vmap(vmap(op, (None, 0)), (None, 2)), (2, 3), (5, 3, 7))
show("inner vmap over A and x, outer over both", lambda op: vmap(vmap(op), (2, 1)), (5, 2, 7, 3), (5, 7, 3))
show("inner vmap over x only, outer over both", lambda op: vmap(vmap(op, (None, 0))), (7, 2, 3), (7, 5, 3))
show(
    "gradient of a batch",
    lambda op: jax.grad(lambda matrix, x: jnp.sum(vmap(op, (None, 0))(matrix, x) ** 2), argnums=1),
    (2, 3),
    (5, 3),
)
