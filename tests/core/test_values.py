# SPDX-License-Identifier: BSD-2-Clause
"""Values of every operator, called in every way that does not change them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from support import zoo
from support.oracles import assert_close

WAYS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "eager": lambda f: f,
    "jit": jax.jit,
    "jit of jit": lambda f: jax.jit(jax.jit(f)),
    "checkpoint": jax.checkpoint,
    "ahead of time": lambda f: lambda *args: jax.jit(f).lower(*args).compile()(*args),
    "cond": lambda f: lambda *args: jax.lax.cond(jnp.sum(args[-1].real) < 1e9, f, f, *args),
    "switch": lambda f: lambda *args: jax.lax.switch(1, [f, f, f], *args),
    "closed jaxpr": lambda f: lambda *args: tuple(jax.core.eval_jaxpr(*_parts(f, args), *args)),
}


def _parts(f: Callable[..., Any], args: Any) -> Any:
    closed = jax.make_jaxpr(f)(*args)
    return closed.jaxpr, closed.consts


@zoo.every()
@pytest.mark.parametrize("way", WAYS)
def test_value_equals_the_twin(case: zoo.Case, way: str) -> None:
    assert_close(WAYS[way](case.call)(*case.args), case.twin(*map(jnp.asarray, case.args)))


@zoo.every()
def test_value_without_jit_equals_the_twin(case: zoo.Case) -> None:
    with jax.disable_jit():
        assert_close(case.call(*case.args), case.twin(*map(jnp.asarray, case.args)))


@zoo.every()
def test_the_traced_program_has_one_equation(case: zoo.Case) -> None:
    equations = jax.make_jaxpr(case.call)(*case.args).eqns
    assert [equation.primitive.name for equation in equations] == ["jaxbind_call"]
