# SPDX-License-Identifier: BSD-2-Clause
"""Compiled programs that nobody compiled: whatever a damaged or hostile file makes of a call is an error that says so.

`nox -s fuzz` runs the same tests with thousands of random programs each.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import hypothesis
import jax
import jax.numpy as jnp
import jaxbind
import numpy as np
import pytest
from hypothesis import strategies as st
from jax import export
from jaxbind._kwargs import Kwargs
from jaxbind._lowering import FFI_TARGET
from jaxbind._targets import target_id
from support import hosts, ramp


def _total(out: Any, args: Any, kwargs_dump: Any) -> None:
    for k, array in enumerate(out):
        array[...] = k + sum(a.size + a.sum() for a in args)


total = jaxbind.get_linear_call(_total, _total, hosts.same, hosts.same)
NAME = total.keywords["_func"].f.name
F64 = np.float64
Result = jax.ShapeDtypeStruct


def _call(results: Any, *args: Any, **changed: Any) -> list[Any]:
    """Call the bridge as a compiled program does, with attributes of our choice; None leaves one out."""
    attributes = {
        "id": np.int64(target_id(NAME, "[]")),
        "name": NAME,
        "kwargs": "[]",
        "batch_ndim": np.int64(0),
        "batch_masks": np.zeros(len(args), np.int64),
        "batch_threads": np.int64(1),
    } | changed
    attributes = {key: value for key, value in attributes.items() if value is not None}
    bound = jax.ffi.ffi_call(FFI_TARGET, results)
    found = jax.block_until_ready(jax.jit(lambda *x: bound(*x, **attributes))(*args))
    return found if isinstance(found, (list, tuple)) else [found]


X = jnp.arange(12.0).reshape(3, 4)
LIKE = Result((3, 4), F64)


def _integers(*values: int) -> Any:
    return np.array(values, np.int64)


MALFORMED: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any], str]] = {
    "negative batch": (LIKE, (X,), {"batch_ndim": np.int64(-1)}, "_total: .* batch_ndim is out of range"),
    "63 batch dimensions": (LIKE, (X,), {"batch_ndim": np.int64(63)}, "batch_ndim is out of range"),
    "more batch dimensions than axes": (LIKE, (X,), {"batch_ndim": np.int64(3)}, "an output lacks batch dimensions"),
    "no mask": (LIKE, (X,), {"batch_masks": _integers()}, "not one batch mask per argument"),
    "a mask too many": (LIKE, (X,), {"batch_masks": _integers(0, 0)}, "not one batch mask per argument"),
    "negative mask": (LIKE, (X,), {"batch_masks": _integers(-1)}, "a batch mask is out of range"),
    "mask of a missing dimension": (LIKE, (X,), {"batch_masks": _integers(1)}, "a batch mask is out of range"),
    "unequal batches": (
        Result((2, 4), F64),
        (X,),
        {"batch_ndim": np.int64(1), "batch_masks": _integers(1)},
        "batch dimensions of an argument do not match",
    ),
    "outputs with unequal batches": (
        [LIKE, Result((2,), F64)],
        (X,),
        {"batch_ndim": np.int64(1)},
        "the outputs have different batch sizes",
    ),
    "a batch dimension of a number": (
        LIKE,
        (jnp.float64(1),),
        {"batch_ndim": np.int64(1), "batch_masks": _integers(1)},
        "batch dimensions of an argument do not match",
    ),
    "negative threads": (LIKE, (X,), {"batch_threads": np.int64(-1)}, "batch_threads is out of range"),
    "too many threads": (LIKE, (X,), {"batch_threads": np.int64(1025)}, "batch_threads is out of range"),
    "no argument": (LIKE, (), {}, "there is no argument"),
    "packed output": (Result((3, 4), jnp.int4), (X,), {}, "a dtype that NumPy cannot view"),
    "packed argument": (LIKE, (X.astype(jnp.int4),), {}, "a dtype that NumPy cannot view"),
    "more dimensions than NumPy has": (Result((1,) * 70, F64), (X,), {}, "number of dimensions must be within"),
    "attribute left out": (LIKE, (X,), {"id": None}, "Wrong number of attributes"),
    "attribute that nobody knows": (LIKE, (X,), {"state": np.int64(0)}, "Wrong number of attributes"),
    "narrow integer": (LIKE, (X,), {"id": np.int32(0)}, "Wrong scalar data type"),
    "number for a name": (LIKE, (X,), {"name": np.int64(0)}, "Wrong attribute type"),
    "narrow masks": (LIKE, (X,), {"batch_masks": np.zeros(1, np.int32)}, "Wrong array data type"),
    "function that nobody bound": (LIKE, (X,), {"name": "os:system"}, "no operator with the host function os:system"),
    "empty name": (LIKE, (X,), {"name": ""}, "no operator with the host function"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_call_is_an_error_that_says_what_is_wrong(case: str) -> None:
    results, args, attributes, message = MALFORMED[case]
    with pytest.raises(RuntimeError, match=message):
        _call(results, *args, **attributes)
    assert _call(LIKE, X)[0][0, 0] == 12 + 66  # The next call works.


def _expected(results: list[Any], args: list[Any], ndim: int, masks: list[int]) -> list[Any] | None:
    """What the attributes mean, in NumPy; None if they mean nothing."""
    sizes = results[0].shape[:ndim]
    has = [[d for d in range(ndim) if mask >> d & 1] for mask in masks]
    fits = (
        0 <= ndim <= len(results[0].shape)
        and all(len(r.shape) >= ndim and r.shape[:ndim] == sizes for r in results)
        and len(masks) == len(args)
        and all(0 <= mask < 1 << ndim for mask in masks)
        and all(a.shape[: len(axes)] == tuple(sizes[d] for d in axes) for a, axes in zip(args, has, strict=False))
    )
    if not fits:
        return None
    out = [np.zeros(r.shape) for r in results]
    for index in np.ndindex(*sizes):
        element = [a[tuple(index[d] for d in axes)] for a, axes in zip(args, has, strict=True)]
        for k, array in enumerate(out):
            array[index] = k + sum(a.size + a.sum() for a in element)
    return out


SHAPES = st.lists(st.sampled_from([1, 2, 2, 3]), max_size=3).map(tuple)
ODD = st.sampled_from([-(2**63), -1, 4, 62, 63, 64, 2**63 - 1])


@hypothesis.given(
    shapes=st.lists(SHAPES, min_size=1, max_size=2),
    operands=st.lists(SHAPES, min_size=1, max_size=2),
    ndim=st.integers(0, 2) | ODD,
    masks=st.lists(st.integers(0, 3) | ODD, min_size=1, max_size=2),
    threads=st.sampled_from([0, 1, 2, 1024]),
)
def test_any_attributes_give_what_they_mean_or_an_error(
    shapes: list[tuple[int, ...]], operands: list[tuple[int, ...]], ndim: int, masks: list[int], threads: int
) -> None:
    results = [Result(shape, F64) for shape in shapes]
    args = [np.random.default_rng(i).normal(size=shape) for i, shape in enumerate(operands)]
    attributes = {
        "batch_ndim": np.int64(ndim),
        "batch_masks": _integers(*masks),
        "batch_threads": np.int64(threads),
    }
    expected = _expected(results, args, ndim, masks)
    if expected is None:
        with pytest.raises(RuntimeError, match="the compiled call is malformed"):
            _call(results, *args, **attributes)
    else:
        for found, wanted in zip(_call(results, *args, **attributes), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


POINTERS = base64.b64encode(b"A" * 16).decode()
POISON = {
    "pointer": ["scalar", "O", [], POINTERS],
    "array of pointers": ["array", "O", [2], POINTERS],
    "pointer in a record": ["scalar", "O,f8", [], POINTERS],
    "pointer under a field's name": ["array", {"names": ["a"], "formats": ["O"]}, [2], POINTERS],
    "pointer in a nested dtype": ["array", "(2,)O", [1], POINTERS],
    "string that NumPy allocates": ["scalar", "T", [], POINTERS],
    "array longer than its data": ["array", "<f8", [3], POINTERS],
    "array of overflowing size": ["array", "<f8", [2**62, 2**62], POINTERS],
    "negative size": ["array", "<f8", [-1, -2], POINTERS],
    "function of NumPy": ["numpy type", "load"],
    "function of JAX": ["jax type", "load"],
    "builtin": ["type", "eval"],
    "reference": ["reference", 0],
    "tag that nobody knows": ["import", "os"],
    "no tag": [],
    "a list as tag": [["list"]],
    "key that has no hash": ["dict", [["list", 1], 2]],
    "integer of too many digits": "LITERAL" + "9" * 10_000,
    "nesting without end": "LITERAL" + "[" * 100_000,
    "deep nesting": "LITERAL" + '["list",' * 50_000 + "1" + "]" * 50_000,
    "lone surrogate": ["complex", "\ud800"],
}


@pytest.mark.parametrize("poison", POISON)
def test_malformed_keyword_arguments_are_an_error(poison: str) -> None:
    value = POISON[poison]
    text = value.removeprefix("LITERAL") if isinstance(value, str) else json.dumps(value)
    with pytest.raises(RuntimeError, match="_total: the keyword arguments of the compiled call are malformed"):
        _call(LIKE, X, kwargs=f'[["a",{text}]]')


LEAVES = st.none() | st.booleans() | st.integers() | st.floats(width=32) | st.text(max_size=8)
TAGS = st.from_regex(
    "list|tuple|set|frozenset|dict|slice|complex|bytes|range|ellipsis|dtype|array|scalar|type|reference"
    "|numpy type|jax type|unheard of",
    fullmatch=True,
)
DTYPES = st.sampled_from(["O", "<f8", "|V0", "<U2", "T", "bfloat16", "M8[s]", "f8,O", "(2,)O", "?", "|S3"])
DATA = st.binary(max_size=16).map(lambda data: base64.b64encode(data).decode())
FORMS = st.recursive(
    LEAVES | st.tuples(st.sampled_from(["array", "scalar"]), DTYPES, st.lists(st.integers(-1, 3), max_size=2), DATA),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.builds(lambda tag, parts: [tag, *parts], TAGS, st.lists(inner, max_size=3))
        | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=10,
)


@hypothesis.given(st.lists(st.tuples(st.text(max_size=3), FORMS), max_size=3) | FORMS)
def test_any_text_is_decoded_to_plain_values_or_refused(form: Any) -> None:
    try:
        values = Kwargs.from_token(json.dumps(form)).load()
    except RuntimeError:
        return
    assert isinstance(repr(values), str)  # Every value can be looked at.


def _artifact() -> bytes:
    function = jax.jit(jax.vmap(ramp.looped, (None, 0)))
    exported = export.export(function, disabled_checks=jaxbind.export_checks())
    return bytes(exported(jnp.ones(5), jnp.ones((3, 5))).serialize())


ARTIFACT = _artifact()
FORWARD = b"support.ramp:forward"


@hypothesis.given(damage=st.binary(min_size=1, max_size=4), place=st.integers(0, len(FORWARD) - 4))
@hypothesis.example(damage=b"\xff\xfe", place=0)
@hypothesis.example(damage=b"\0", place=0)
def test_a_damaged_name_in_a_file_is_an_error(damage: bytes, place: int) -> None:
    at = ARTIFACT.index(FORWARD) + place
    damaged = ARTIFACT[:at] + damage + ARTIFACT[at + len(damage) :]
    hypothesis.assume(damaged != ARTIFACT)
    program = export.deserialize(bytearray(damaged))
    with pytest.raises(RuntimeError, match="no operator with the host function"):
        jax.block_until_ready(program.call(jnp.ones(5), jnp.ones((3, 5))))
