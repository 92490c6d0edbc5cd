# SPDX-License-Identifier: BSD-2-Clause
"""Keyword arguments: canonical form, equality by value, encoding, and what a host function gets.

Owns the encoding: JSON in which everything that JSON lacks is a list ``[tag, ...]``. It is readable in a printed
program, the same in every process, and decoding it can build plain values only. Objects that have no encoding are kept
by reference beside the text. Knows nothing of operators.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import itertools
import json
import os
from collections.abc import Callable, Hashable, Mapping
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbind import _errors

_PROCESS = os.urandom(8).hex()
_serial = itertools.count()
_ATOMS = (type(None), bool, int, float, str)
_PYTHON_TYPES: dict[str, type] = {t.__name__: t for t in (bool, int, float, complex, str, bytes, list, tuple, dict)}


class _ByIdentity:
    """Makes an unhashable object a key: equal to itself only."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and self.value is other.value


class Kwargs:
    """The keyword arguments of a call: immutable, hashed and compared by value.

    It is also the ``kwargs_dump`` that host functions receive; `load_kwargs` unpacks it.
    """

    __slots__ = ("_decoded", "_is_flat", "_key", "_references", "_text", "token")

    def __init__(self, text: str, references: tuple[object, ...]) -> None:
        self._text = text
        self._references = references
        self._key: Hashable = (text, *map(_reference_key, references))
        # References are named by a token that no other process understands.
        self.token = f"{_PROCESS}-{next(_serial)}{text}" if references else text
        self._decoded: dict[str, Any] = _decode_mapping(json.loads(text), references)
        self._is_flat = all(_is_immutable(value) for value in self._decoded.values())

    @classmethod
    def make(cls, kwargs: Mapping[str, Any], name: str = "keyword arguments") -> Kwargs:
        """Encode keyword arguments.

        Parameters
        ----------
        kwargs
            The values by name.
        name
            The operator's name, for messages.

        Returns
        -------
        Kwargs
            A snapshot: later changes of a list or array that was passed have no effect.

        Raises
        ------
        TypeError
            For a JAX array or tracer, which must be passed positionally.
        """
        if not kwargs:
            return EMPTY
        encoder = _Encoder(name)
        try:
            text = _dumps([[key, encoder.encode(kwargs[key], key)] for key in sorted(kwargs)])
        except (ValueError, RecursionError) as error:  # An integer of thousands of digits; a list that holds itself.
            raise _errors.bad_keyword_value(name, error) from error
        return cls(text, tuple(encoder.references))

    @classmethod
    def from_token(cls, token: str) -> Kwargs:
        """Decode what a compiled program carries.

        Raises
        ------
        RuntimeError
            If it refers to objects of another process, or is malformed.
        """
        if not token.startswith("["):
            raise _errors.foreign_reference("an object without encoding")
        try:
            return cls(token, ())
        except Exception as error:  # Whatever a text that nobody encoded leads to.
            raise _errors.malformed_keywords(error) from error

    def with_batch_axes(self, batch_axes: tuple[tuple[int, ...], ...] | None) -> Kwargs:
        """The same keyword arguments and ``batch_axes``, which a natively batching host function gets."""
        pairs = [*json.loads(self._text), ["batch_axes", _Encoder("").encode(batch_axes, "batch_axes")]]
        return Kwargs(_dumps(pairs), self._references)

    @property
    def is_portable(self) -> bool:
        """Whether every value is encoded, so that another process can decode them."""
        return not self._references

    def load(self) -> dict[str, Any]:
        """A fresh dict of the values; lists, dicts and sets in it are fresh too, arrays are read-only."""
        if self._is_flat:
            return self._decoded.copy()
        return {key: _fresh(value) for key, value in self._decoded.items()}

    def __contains__(self, key: str) -> bool:
        return key in self._decoded

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kwargs) and self._key == other._key

    def describe(self) -> str:
        """The values as they were written in the call: ``a=1, b='x'``."""
        return ", ".join(f"{key}={value!r}" for key, value in self._decoded.items())

    def __repr__(self) -> str:
        return f"Kwargs({self.describe()})"


def load_kwargs(kwargs_dump: Kwargs) -> dict[str, Any]:
    """Unpack the keyword arguments of a call inside a host function.

    Parameters
    ----------
    kwargs_dump
        The third argument that the host function received.

    Returns
    -------
    dict
        The keyword arguments with the types they were passed with. The dict is fresh each time and may be changed;
        NumPy arrays in it are read-only.

    Raises
    ------
    TypeError
        If something else than the third argument of a host function is passed.

    Examples
    --------
    >>> def scale(out, args, kwargs_dump):
    ...     factor = load_kwargs(kwargs_dump).pop("factor", 1.0)
    ...     out[0][...] = factor * args[0]
    """
    if not isinstance(kwargs_dump, Kwargs):
        raise TypeError(
            f"load_kwargs: argument 0 has type {type(kwargs_dump).__name__}; expected the third argument of a host "
            "function. Pass kwargs_dump."
        )
    return kwargs_dump.load()


class _Encoder:
    """Turns values into what JSON can hold, and collects the objects that stay references."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.references: list[object] = []

    def encode(self, value: Any, key: str) -> Any:
        """JSON-compatible form of a value; `key` is the keyword argument it belongs to."""
        if type(value) in _ATOMS:
            return value
        if isinstance(value, jax.Array):
            raise _errors.array_as_keyword(self.name, key, value)
        simple = _encode_leaf(value)
        if simple is not None:
            return simple
        if type(value) in (list, tuple):
            return [type(value).__name__, *(self.encode(item, key) for item in value)]
        if type(value) is dict:
            return ["dict", *([self.encode(k, key), self.encode(v, key)] for k, v in value.items())]
        if type(value) in (set, frozenset):
            return [type(value).__name__, *sorted((self.encode(item, key) for item in value), key=_dumps)]
        if isinstance(value, slice):
            return ["slice", *(self.encode(part, key) for part in (value.start, value.stop, value.step))]
        for leaf in jax.tree.leaves(_held(value)):
            if isinstance(leaf, jax.Array):
                raise _errors.array_as_keyword(self.name, key, leaf)
        self.references.append(value)
        return ["reference", len(self.references) - 1]


def _encode_leaf(value: Any) -> list[Any] | None:
    """The encoding of a value without parts, None if there is none."""
    if type(value) is complex:
        return ["complex", value.real, value.imag]
    if type(value) is bytes:
        return ["bytes", base64.b64encode(value).decode()]
    if type(value) is range:
        return ["range", value.start, value.stop, value.step]
    if value is Ellipsis:
        return ["ellipsis"]
    if isinstance(value, np.dtype):
        spelled = _spell_dtype(value)
        return None if spelled is None else ["dtype", spelled]
    if type(value) is np.ndarray or isinstance(value, np.generic):
        return _encode_array(value, "array" if type(value) is np.ndarray else "scalar")
    if isinstance(value, type):
        return _encode_type(value)
    return ["jax type", value.__name__] if _is_jax_scalar_type(value) else None


def _encode_array(value: Any, tag: str) -> list[Any] | None:
    spelled = _spell_dtype(value.dtype)
    if spelled is None:
        return None
    return [tag, spelled, list(value.shape), base64.b64encode(value.tobytes()).decode()]


def _encode_type(value: type) -> list[Any] | None:
    if _PYTHON_TYPES.get(value.__name__) is value:
        return ["type", value.__name__]
    if issubclass(value, np.generic) and getattr(np, value.__name__, None) is value:
        return ["numpy type", value.__name__]
    return ["jax type", value.__name__] if _is_jax_scalar_type(value) else None


def _is_jax_scalar_type(value: Any) -> bool:
    """True for jnp.float32 and the like, which are neither NumPy types nor dtypes."""
    name = getattr(value, "__name__", None)
    return isinstance(name, str) and hasattr(value, "dtype") and getattr(jnp, name, None) is value


def _spell_dtype(dtype: np.dtype[Any]) -> str | None:
    """A string from which the dtype can be made again; None for structured and object dtypes."""
    if dtype.hasobject or dtype.fields is not None or dtype.subdtype is not None:
        return None
    for spelled in (dtype.str, dtype.name):
        try:
            if np.dtype(spelled) == dtype:
                return spelled
        except TypeError:
            continue
    return None


def _decode_mapping(pairs: list[Any], references: tuple[object, ...]) -> dict[str, Any]:
    return {key: _decode(value, references) for key, value in pairs}


def _decode(form: Any, references: tuple[object, ...]) -> Any:
    if not isinstance(form, list):
        return form
    tag, *parts = form
    if tag == "reference":
        return references[parts[0]]
    if tag in _LEAVES:
        return _LEAVES[tag](*parts)
    if tag == "dict":
        return {_decode(k, references): _decode(v, references) for k, v in parts}
    return _CONTAINERS[tag]([_decode(part, references) for part in parts])


def _decode_array(spelled: str, shape: list[int], data: str) -> np.ndarray[Any, Any]:
    # The buffer is a bytes object, so the array is read-only: a host function cannot change another call's arguments.
    return np.ndarray(shape, _decode_dtype(spelled), buffer=base64.b64decode(data))


def _decode_dtype(spelled: object) -> np.dtype[Any]:
    """A dtype that `_spell_dtype` spells; with any other, the bytes of an artifact could be taken for pointers."""
    dtype = np.dtype(spelled) if isinstance(spelled, str) else np.dtype(object)
    if _spell_dtype(dtype) is None:
        raise TypeError(f"{spelled!r} is not the name of a dtype of plain values")
    return dtype


def _decode_type(module: ModuleType) -> Callable[[str], Any]:
    """A decoder of scalar type names; an artifact may name nothing else of the module."""

    def decode(name: str) -> Any:
        found = getattr(module, name, None)
        if not (_is_jax_scalar_type(found) or (isinstance(found, type) and issubclass(found, np.generic))):
            raise TypeError(f"{name!r} is not the name of a scalar type of {module.__name__}")
        return found

    return decode


_LEAVES: dict[str, Callable[..., Any]] = {
    "complex": complex,
    "bytes": base64.b64decode,
    "range": range,
    "ellipsis": lambda: Ellipsis,
    "dtype": _decode_dtype,
    "array": _decode_array,
    "scalar": lambda spelled, shape, data: _decode_array(spelled, shape, data)[()],
    "type": _PYTHON_TYPES.__getitem__,
    "numpy type": _decode_type(np),
    "jax type": _decode_type(jnp),
}
_CONTAINERS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "slice": lambda parts: slice(*parts),
}


def _dumps(form: Any) -> str:
    return json.dumps(form, separators=(",", ":"))


def _reference_key(value: object) -> Hashable:
    """Objects kept by reference are the same if equal and of the same repr: 1 == 1.0, but a host function may care."""
    try:
        hash(value)
    except TypeError:
        return _ByIdentity(value)
    return (type(value), value, repr(value))


def _held(value: Any) -> Any:
    """What an object without encoding holds, where a JAX array could hide."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in dataclasses.fields(value)]
    if isinstance(value, functools.partial):
        return [value.args, value.keywords]
    return value


def _is_immutable(value: Any) -> bool:
    if isinstance(value, (list, dict, set)):
        return False
    return all(map(_is_immutable, value)) if type(value) is tuple else True


def _fresh(value: Any) -> Any:
    """A copy in which every list, dict and set is new."""
    if type(value) is dict:
        return {key: _fresh(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_fresh, value))
    return set(value) if type(value) is set else value


EMPTY = Kwargs("[]", ())
