# SPDX-License-Identifier: BSD-2-Clause
"""Operators are equal by what they were made of: nothing is traced or compiled twice."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jaxbind import get_linear_call, get_nonlinear_call
from support import hosts, zoo

SAME = zoo.like(0)


def _linear(**changes: Any) -> Any:
    options = {"first_n_args_fixed": 0, "func_can_batch": False} | changes
    return get_linear_call(hosts.cumsum, hosts.cumsum_t, SAME, SAME, **options)


def _record(operator: Any) -> Any:
    return operator.keywords["_func"]


def test_equal_functions_and_options_make_equal_operators() -> None:
    assert _record(_linear()) == _record(_linear())
    assert hash(_record(_linear())) == hash(_record(_linear()))


@pytest.mark.parametrize(
    "other",
    [
        _linear(first_n_args_fixed=1),
        _linear(func_can_batch=True),
        _linear(fixed_derivative=lambda p, t: p),
        get_linear_call(hosts.cumsum_t, hosts.cumsum, SAME, SAME),
        get_linear_call(hosts.cumsum, hosts.cumsum_t, SAME, zoo.like(0)),
        get_nonlinear_call(hosts.cumsum, (hosts.cumsum, hosts.cumsum_t), SAME, SAME),
    ],
)
def test_other_functions_or_options_make_other_operators(other: Any) -> None:
    assert _record(other) != _record(_linear())


def test_bound_methods_of_one_object_are_one_function() -> None:
    class Scale:
        def run(self, out: Any, args: Any, kwargs_dump: Any) -> None:
            out[0][...] = 2 * args[0]

    scale, other = Scale(), Scale()
    first = get_linear_call(scale.run, scale.run, SAME, SAME)
    assert _record(first) == _record(get_linear_call(scale.run, scale.run, SAME, SAME))
    assert _record(first) != _record(get_linear_call(other.run, other.run, SAME, SAME))


def test_an_equal_operator_is_not_traced_again() -> None:
    traced = []

    def abstract(x: Any, **kwargs: Any) -> Any:
        traced.append(kwargs)
        return ((x.shape, x.dtype),)

    def call(x: Any, **kwargs: Any) -> Any:
        return get_linear_call(hosts.cumsum, hosts.cumsum_t, abstract, abstract)(x, **kwargs)[0]

    x = jnp.arange(3.0)
    call(x, factor=2.0)
    count = len(traced)
    for _ in range(3):
        call(x, factor=2.0)
    assert len(traced) == count
    call(x, factor=3.0)
    assert len(traced) > count


def test_a_changed_record_is_another_operator() -> None:
    record = _record(_linear(func_can_batch=True))
    assert record._replace(can_batch=False) == _record(_linear())
    with pytest.raises(AttributeError):
        record.can_batch = False


def test_repr_names_the_operator_and_its_kind() -> None:
    assert repr(_record(_linear())) == "<linear operator cumsum>"
    assert "<linear operator cumsum>" in str(jax.make_jaxpr(_linear())(1.0))


COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda operator: pickle.loads(pickle.dumps(operator)),
}


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize(
    "operator",
    [
        get_linear_call(hosts.cumsum, hosts.cumsum_t, hosts.same, hosts.same),
        get_nonlinear_call(hosts.polar, (hosts.polar_jvp, hosts.polar_vjp), hosts.same, hosts.same),
    ],
    ids=["linear", "nonlinear"],
)
def test_a_copy_is_equal(operator: Any, how: str) -> None:
    assert _record(COPIES[how](operator)) == _record(operator)


class Scale:
    """A host function that is an object with state."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, out: Any, args: Any, kwargs_dump: Any) -> None:
        out[0][...] = self.factor * args[0]


@pytest.mark.parametrize("how", ["deepcopy", "pickle"])
def test_a_copied_object_is_a_function_of_its_own(how: str) -> None:
    scale = Scale(2.0)
    original = get_linear_call(scale, scale, hosts.same, hosts.same)
    copied = COPIES[how](original)
    _record(copied).f.call.factor = 5.0
    assert (original(1.0)[0].item(), copied(1.0)[0].item()) == (2.0, 5.0)


@pytest.mark.parametrize("hashable", [True, False])
def test_two_objects_of_one_class_are_two_functions(hashable: bool) -> None:
    kind = Scale if hashable else type("Unhashable", (Scale,), {"__hash__": None})
    found = [get_linear_call(kind(k), kind(k), SAME, SAME)(1.0)[0].item() for k in (2.0, 3.0)]
    assert found == [2.0, 3.0]
