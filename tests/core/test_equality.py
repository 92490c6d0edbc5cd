# SPDX-License-Identifier: BSD-2-Clause
"""Operators are equal by what they were made of: nothing is traced or compiled twice."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from support import hosts, zoo

from jaxbind import get_linear_call, get_nonlinear_call

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
