# SPDX-License-Identifier: BSD-2-Clause
"""vmap of every operator: any axes, any nesting, shared arguments, and everything under or around a derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import zoo
from support.arrays import draw
from support.oracles import assert_close, loss

Function = Callable[..., Any]


def _spread(case: zoo.Case, levels: list[dict[int, int]], sizes: list[int]) -> tuple[tuple[Any, ...], Function]:
    """Arguments with the axes of some vmap levels (innermost first: position -> axis), and the nested vmap."""
    shapes = [list(np.shape(a)) for a in case.args]
    for mapped, size in zip(levels, sizes, strict=True):
        for i, axis in mapped.items():
            shapes[i].insert(axis % (len(shapes[i]) + 1), size)
    dtypes = [np.asarray(a).dtype for a in case.args]
    args = tuple(draw(60 + i, tuple(shapes[i]), dtypes[i]) for i in range(len(shapes)))

    def nest(f: Function) -> Function:
        for mapped in levels:
            f = jax.vmap(f, in_axes=tuple(mapped.get(i) for i in range(len(case.args))))
        return f

    return args, nest


def _check(case: zoo.Case, levels: list[dict[int, int]], sizes: list[int]) -> None:
    args, nest = _spread(case, levels, sizes)
    assert_close(nest(case.call)(*args), nest(case.twin)(*map(jnp.asarray, args)))


@zoo.every()
def test_all_arguments_mapped(case: zoo.Case) -> None:
    _check(case, [dict.fromkeys(range(len(case.args)), 0)], [3])


@zoo.every()
def test_each_argument_mapped_alone_and_last_axis(case: zoo.Case) -> None:
    for i in range(len(case.args)):
        _check(case, [{i: -1}], [3])


@zoo.every()
def test_nested_levels_map_different_arguments(case: zoo.Case) -> None:
    last = len(case.args) - 1
    _check(case, [{0: 0}, {last: -1}, dict.fromkeys(range(last + 1), 0)], [2, 3, 2])


@zoo.every()
@pytest.mark.parametrize("size", [0, 1])
def test_batches_of_size_zero_and_one(case: zoo.Case, size: int) -> None:
    args, nest = _spread(case, [{len(case.args) - 1: 0}], [size])
    found = nest(case.call)(*args)
    expected = [jnp.zeros((size, *o.shape), o.dtype) for o in case.twin(*map(jnp.asarray, case.args))]
    assert [(f.shape, f.dtype) for f in found] == [(e.shape, e.dtype) for e in expected]
    if size:
        assert_close(found, nest(case.twin)(*map(jnp.asarray, args)))


@zoo.every()
def test_gradient_of_a_batch_sums_over_shared_arguments(case: zoo.Case) -> None:
    for i in case.moving:
        args, nest = _spread(case, [{i: -1}], [3])
        found, expected = (
            jax.grad(loss(nest(f)), case.moving)(*map(jnp.asarray, args)) for f in (case.call, case.twin)
        )
        assert_close(found, expected)


@zoo.every("linear", "multilinear")
def test_gradient_of_a_nested_batch(case: zoo.Case) -> None:
    everything = dict.fromkeys(range(len(case.args)), 0)
    args, nest = _spread(case, [everything, dict.fromkeys(everything, -1)], [3, 2])
    found, expected = (jax.grad(loss(nest(f)), case.moving)(*map(jnp.asarray, args)) for f in (case.call, case.twin))
    assert_close(found, expected)


@zoo.every()
def test_batch_of_gradients(case: zoo.Case) -> None:
    args, nest = _spread(case, [{len(case.args) - 1: 0}, {case.fixed: 0}], [3, 2])
    found, expected = (nest(jax.grad(loss(f), case.moving))(*map(jnp.asarray, args)) for f in (case.call, case.twin))
    assert_close(found, expected)


@zoo.every()
def test_batch_of_tangents_along_shared_primals(case: zoo.Case) -> None:
    primals = tuple(map(jnp.asarray, (case.args[i] for i in case.moving)))
    tangents = tuple(jnp.asarray(draw(70 + i, (4, *np.shape(x)), x.dtype)) for i, x in enumerate(primals))
    found, expected = (
        jax.vmap(lambda *t, f=f: jax.jvp(case.freeze(f), primals, t)[1])(*tangents) for f in (case.call, case.twin)
    )
    assert_close(found, expected)


@zoo.every()
def test_jit_of_a_nested_batch_with_output_axes(case: zoo.Case) -> None:
    args, _ = _spread(case, [{0: 0}], [3])
    mapped = (0, *(None for _ in args[1:]))
    found, expected = (
        jax.jit(jax.vmap(lambda *a, f=f: tuple(jnp.atleast_1d(o) for o in f(*a)), mapped, 1))(*map(jnp.asarray, args))
        for f in (case.call, case.twin)
    )
    assert_close(found, expected)


def test_spmd_axis_name_is_accepted() -> None:
    case = zoo.ALL[0]
    x = draw(1, (4, 5))
    mesh = jax.make_mesh((4,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    with jax.set_mesh(mesh) if hasattr(jax, "set_mesh") else mesh:
        found = jax.jit(jax.vmap(case.call, spmd_axis_name="i"))(x)
    assert_close(found, (jnp.cumsum(x, 1),))


def test_unmapped_arguments_are_not_copied_per_element() -> None:
    (case,) = (c for c in zoo.ALL if c.name == "complex with fixed argument")
    program = jax.make_jaxpr(jax.vmap(case.call, (None, 0)))(case.args[0], draw(1, (6, 4), np.complex128))
    assert [v.aval.shape for v in program.eqns[0].invars] == [(4,), (6, 4)]
    assert [e.primitive.name for e in program.eqns] == ["jaxbind_call"]


@hypothesis.settings(max_examples=hypothesis.settings.default.max_examples // 2)
@hypothesis.given(data=st.data(), case=st.sampled_from(zoo.ALL))
def test_any_nesting(data: st.DataObject, case: zoo.Case) -> None:
    ranks = [np.ndim(a) for a in case.args]
    levels, sizes = [], []
    for _ in range(data.draw(st.integers(1, 3))):
        mapped = data.draw(st.sets(st.sampled_from(range(len(ranks))), min_size=1))
        level = {i: data.draw(st.integers(-ranks[i] - 1, ranks[i])) for i in sorted(mapped)}
        for i in mapped:
            ranks[i] += 1
        levels.append(level)
        sizes.append(data.draw(st.integers(1, 3)))
    _check(case, levels, sizes)
