# SPDX-License-Identifier: BSD-2-Clause
"""Keyword arguments: they arrive with value and type, are compared by value, and cannot be changed for others."""

from __future__ import annotations

import collections
import dataclasses
import decimal
import fractions
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxbind import get_linear_call, load_kwargs
from jaxbind._kwargs import Kwargs

received: list[dict[str, Any]] = []


def _keep(out: Any, args: Any, kwargs_dump: Any) -> None:
    received.append(load_kwargs(kwargs_dump))
    out[0][...] = args[0]


described: list[dict[str, Any]] = []


def _abstract(x: Any, **kwargs: Any) -> Any:
    described.append(kwargs)
    return ((x.shape, x.dtype),)


keep = get_linear_call(_keep, _keep, _abstract, _abstract)


class Token:
    """An object without encoding."""


class Pair(NamedTuple):
    """A value without encoding that may hold others."""

    order: Any
    scale: Any = None


@dataclasses.dataclass(frozen=True)
class Options:
    """The same as a dataclass."""

    order: Any


VALUES: dict[str, Any] = {
    "None": None,
    "bool": True,
    "int": 3,
    "large int": 2**100,
    "float": 0.1,
    "infinity": float("-inf"),
    "negative zero": -0.0,
    "complex": 1.5 - 2j,
    "str": "grüße \ud800 \0",
    "bytes": b"\x00\xff",
    "tuple": (1, (2.0, "x")),
    "list": [1, [2, None], ()],
    "dict": {"b": 1, "a": {2: [3]}, (1, 2): None},
    "set": {1, 2},
    "frozenset": frozenset({"a"}),
    "slice": slice(1, None, 2),
    "range": range(1, 9, 3),
    "ellipsis": ...,
    "numpy scalar": np.float32(0.1),
    "numpy complex scalar": np.complex64(1 + 2j),
    "numpy bool": np.True_,
    "bfloat16 scalar": jnp.bfloat16(1.5).dtype.type(1.5),
    "datetime": np.datetime64("2020-01-01"),
    "dtype": np.dtype("<f4"),
    "big-endian dtype": np.dtype(">c16"),
    "bfloat16 dtype": jnp.dtype("bfloat16"),
    "numpy type": np.float32,
    "jax type": jnp.float32,
    "python type": float,
    "object": Token(),
    "function": _abstract,
    "fraction": fractions.Fraction(1, 3),
    "list with object": [Token],
}


def _equal(a: Any, b: Any) -> bool:
    return type(a) is type(b) and (a is b or a == b) and repr(a) == repr(b)


@pytest.mark.parametrize("name", VALUES)
def test_value_arrives_with_its_type(name: str) -> None:
    value = VALUES[name]
    received.clear()
    described.clear()
    jax.block_until_ready(keep(1.0, option=value))
    assert _equal(received[-1]["option"], value)
    assert all(_equal(d["option"], value) for d in described)


@pytest.mark.parametrize("dtype", ["f8", ">i4", "c8", "?", "U3", "bfloat16", "M8[s]"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_array_arrives_by_value_and_read_only(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(np.dtype(dtype))
    original = array.copy()
    received.clear()
    call = jax.jit(lambda x: keep(x, option=array)[0])
    compiled = call.lower(1.0).compile()
    if array.size:
        array[...] = array.flat[-1]
    jax.block_until_ready(compiled(1.0))
    found = received[-1]["option"]
    assert (found.dtype, found.shape, type(found)) == (original.dtype, original.shape, np.ndarray)
    assert found.tobytes() == original.tobytes()
    assert not found.flags.writeable


def test_nan_is_equal_to_itself() -> None:
    assert Kwargs.make({"x": float("nan")}) == Kwargs.make({"x": float("nan")})


def test_what_a_host_function_changes_is_not_seen_by_the_next_call() -> None:
    seen = []

    def spoil(out: Any, args: Any, kwargs_dump: Any) -> None:
        kwargs = load_kwargs(kwargs_dump)
        seen.append(repr(kwargs))
        kwargs.pop("a")
        kwargs["b"].append(4)
        kwargs["c"]["k"].clear()
        out[0][...] = args[0]

    operator = get_linear_call(spoil, spoil, _abstract, _abstract)
    call = jax.jit(lambda x: operator(x, a=1, b=[1], c={"k": {2}}))
    jax.block_until_ready([call(1.0), call(2.0)])
    assert seen == ["{'a': 1, 'b': [1], 'c': {'k': {2}}}"] * 2


def test_a_keyword_that_a_host_function_pops_is_there_in_the_next_call() -> None:
    seen = []

    def pop(out: Any, args: Any, kwargs_dump: Any) -> None:
        seen.append(load_kwargs(kwargs_dump).pop("a", None))
        out[0][...] = args[0]

    operator = get_linear_call(pop, pop, _abstract, _abstract)
    call = jax.jit(lambda x: operator(x, a=1, b="flat")[0])
    jax.block_until_ready([call(1.0), call(2.0)])
    assert seen == [1, 1]


def test_mutable_values_are_captured_at_the_call() -> None:
    option = [1]
    received.clear()
    call = jax.jit(lambda x: keep(x, option=option)[0]).lower(1.0).compile()
    option.append(2)
    jax.block_until_ready(call(1.0))
    assert received[-1] == {"option": [1]}


@pytest.mark.parametrize(
    ("left", "right"), [(1, 1.0), (1, True), (0.0, -0.0), ((1,), [1]), ("1", 1), (np.float32(1), 1.0)]
)
def test_values_of_different_type_are_different(left: Any, right: Any) -> None:
    assert Kwargs.make({"x": left}) != Kwargs.make({"x": right})


def test_order_of_keywords_does_not_matter() -> None:
    assert Kwargs.make({"a": 1, "b": 2}) == Kwargs.make({"b": 2, "a": 1})
    assert hash(Kwargs.make({"a": 1, "b": 2})) == hash(Kwargs.make({"b": 2, "a": 1}))


def test_objects_without_encoding_are_compared_by_themselves() -> None:
    token = Token()
    assert Kwargs.make({"x": token}) == Kwargs.make({"x": token})
    assert Kwargs.make({"x": token}) != Kwargs.make({"x": Token()})
    assert Kwargs.make({"x": fractions.Fraction(1, 3)}) == Kwargs.make({"x": fractions.Fraction(2, 6)})


EQUAL: list[tuple[Any, ...]] = [
    (Pair(1), Pair(1.0), Pair(True)),
    (Options(0.0), Options(-0.0)),
    (decimal.Decimal("1.0"), decimal.Decimal("1.00")),
]


@pytest.mark.parametrize("values", EQUAL, ids=lambda values: type(values[0]).__name__)
def test_objects_that_are_equal_but_not_alike_arrive_as_they_are(values: tuple[Any, ...]) -> None:
    received.clear()
    for value in values:
        jax.block_until_ready(keep(1.0, option=value))
    assert [repr(r["option"]) for r in received] == [repr(value) for value in values]


HIDING: dict[str, Callable[[Any], Any]] = {
    "plain": lambda x: x,
    "list": lambda x: [x],
    "dict": lambda x: {"a": (x,)},
    "named tuple": Pair,
    "ordered dict": lambda x: collections.OrderedDict(a=x),
    "dataclass": Options,
    "partial": lambda x: functools.partial(max, x),
    "list in a dataclass": lambda x: Options([Pair(1, x)]),
}


@pytest.mark.parametrize("wrap", HIDING.values(), ids=list(HIDING))
def test_tracers_and_arrays_are_refused(wrap: Any) -> None:
    message = r"_keep: keyword argument 'option' is or contains a JAX array.*Pass arrays positionally"
    with pytest.raises(TypeError, match=message):
        keep(1.0, option=wrap(jnp.ones(2)))
    with pytest.raises(TypeError, match=message):
        jax.jit(lambda x: keep(x, option=wrap(x)))(1.0)


LOOP: list[Any] = []
LOOP.append(LOOP)


@pytest.mark.parametrize("value", [10**5000, LOOP], ids=["long integer", "list that holds itself"])
def test_what_cannot_be_encoded_is_an_error_that_names_the_operator(value: Any) -> None:
    with pytest.raises(TypeError, match=r"_keep: a keyword argument cannot be encoded .*Pass something smaller"):
        keep(1.0, option=value)


def test_load_kwargs_says_what_it_wants() -> None:
    with pytest.raises(TypeError, match="load_kwargs: argument 0 has type dict; expected the third argument"):
        load_kwargs({})  # type: ignore[arg-type]


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.complex_numbers() | st.text() | st.binary()
NESTED = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=12,
)


@hypothesis.given(st.dictionaries(st.text(), NESTED))
def test_encoding_round_trips(values: dict[str, Any]) -> None:
    kwargs = Kwargs.make(values)
    loaded = kwargs.load()
    assert repr({key: loaded[key] for key in values}) == repr(values)
    assert Kwargs.from_token(kwargs.token).load().keys() == values.keys()
    assert Kwargs.from_token(kwargs.token) == kwargs == Kwargs.make(loaded)
