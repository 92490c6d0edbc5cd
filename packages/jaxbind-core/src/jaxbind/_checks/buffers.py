# SPDX-License-Identifier: BSD-2-Clause
"""What a host function does with its buffers: direct calls, outside JAX, with arrays that betray misuse.

The outputs are filled with a poison before the call, and in a second call with another one. An element that still has
both was never written, whatever the right value is; one that comes out differently was computed from what the buffer
held before.
"""

from __future__ import annotations

import functools
import gc
import time
import warnings
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxbind._checks.distance import Array, difference, is_complex, is_inexact, largest
from jaxbind._checks.report import Collector, Outcome, spell_exception
from jaxbind._checks.subject import HostCall, Subject
from jaxbind._kwargs import Kwargs

# Bytes that are NaN in floating point, and for integers -1; and a number of ordinary size, to which adding shows.
NAN, NUMBER = 0xFF, 0.7312
POISONS = (NAN, NUMBER)


def check_buffers(subject: Subject, collector: Collector) -> None:
    """Check what every host function writes, leaves alone and keeps."""
    for host in subject.hosts:
        alone, fills = f"{host.role}: leaves its arguments alone", f"{host.role}: writes every output"
        collector.run(alone, functools.partial(_leaves_arguments, subject, host))
        collector.run(fills, functools.partial(_writes_outputs, subject, host), needs=[alone])
        for name, body in (("keeps no reference", _keeps_nothing), ("dtypes fit", _keeps_dtypes)):
            collector.run(f"{host.role}: {name}", functools.partial(body, subject, host), [alone, fills])


def soundness(subject: Subject) -> list[str]:
    """Names of the checks without which derivatives make no sense."""
    described = {host.describe_role for host in subject.hosts} - {"abstract"}
    written = [f"{host.role}: writes every output" for host in subject.hosts]
    return ["call", *written, *(f"{role}: describes the cotangents" for role in sorted(described))]


def _leaves_arguments(subject: Subject, host: HostCall) -> Outcome:
    # Writable, unlike the bridge's: so the report can say where a function wrote, not only that it was stopped.
    before = [np.array(array) for array in host.inputs]
    given = [array.copy() for array in before]
    detail = "unchanged, bit by bit"
    try:
        _call(subject, host, _poisoned(host, NAN), given)
    except Exception as error:  # The next check reports it.
        detail = f"unchanged until it raised {spell_exception(error)}"
    for position, (array, original) in enumerate(zip(given, before, strict=True)):
        changed = np.flatnonzero(np.any(_bytes(array) != _bytes(original), axis=-1))
        if changed.size:
            where = _spell_elements(changed, array.shape)
            return Outcome(False, f"writes into args[{position}] ({where}). JAX shares args: work on a copy.")
    return Outcome(True, detail)


def _writes_outputs(subject: Subject, host: HostCall) -> Outcome:
    results = []
    for poison in POISONS:
        out = _poisoned(host, poison)
        returned = _call(subject, host, out, [_read_only(array) for array in host.inputs])
        if returned is not None:
            found = type(returned).__name__
            return Outcome(False, f"returned a value of type {found}; it must fill `out` and return None.")
        results.append(out)
    for k, (first, second) in enumerate(zip(*results, strict=True)):
        untouched = [_bytes(_poisoned(host, poison)[k]) for poison in POISONS]
        unwritten = (_bytes(first) == untouched[0]) & (_bytes(second) == untouched[1])
        missing = np.flatnonzero(np.any(np.all(_parts(unwritten, first.dtype), axis=-1), axis=-1))
        if missing.size:
            found = f"out[{k}] has {missing.size} unwritten elements of {first.size}"
            return Outcome(False, f"{found} ({_spell_elements(missing, first.shape)}). `out` is uninitialised memory.")
        error, where = difference(first, second)
        tolerance = subject.precision.atol + subject.precision.rtol * largest(second)
        if error > tolerance:
            found = f"out[{k}] comes out differently in two calls with equal arguments, most at {where}"
            cause = "Usually `out` is added to without being set first, as in `out[0][...] += value`"
            detail = f"{found}. {cause}; or the function has a state or uses random numbers."
            return Outcome(False, detail, error, tolerance)
    return Outcome(True, "every element is written, whatever the buffer held before")


def _keeps_nothing(subject: Subject, host: HostCall) -> Outcome:
    # The function gets views; what it keeps holds the view or the array that owns the memory.
    owners = {f"out[{k}]": array for k, array in enumerate(_poisoned(host, NAN))}
    owners |= {f"args[{i}]": np.array(array) for i, array in enumerate(host.inputs)}
    views = {name: array.view() for name, array in owners.items()}
    for name, view in views.items():
        view.flags.writeable = name.startswith("out")
    watched = {name: (weakref.ref(owners[name]), weakref.ref(views[name])) for name in owners}
    out, given = ([views[name] for name in views if name.startswith(kind)] for kind in ("out", "args"))
    _call(subject, host, out, given)
    del out, given, owners, views, view
    kept: list[str] = []
    for pause in (0.0, 0.05, 0.2, 0.0):  # A host function that calls JAX may leave work behind that ends soon.
        kept = [name for name, references in watched.items() if any(r() is not None for r in references)]
        if not kept:
            return Outcome(True, "nothing holds the arrays after the call")
        time.sleep(pause)
        gc.collect()
    cause = "for example in an attribute, a cache, a closure or a global list"
    return Outcome(False, f"keeps a reference to {', '.join(kept)} after it returned, {cause}. Keep a copy instead.")


class _Spy(np.ndarray[Any, Any]):
    """An output that notes what is assigned to it before NumPy casts it: dtypes, and the part that the cast loses."""

    assigned: list[tuple[np.dtype[Any], float]]

    def __array_finalize__(self, source: Any) -> None:
        self.assigned = source.assigned if isinstance(source, _Spy) else []

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, (np.ndarray, np.generic)):
            with np.errstate(invalid="ignore", over="ignore"):
                lost = difference(value, np.asarray(value).astype(self.dtype))[0]
            self.assigned.append((value.dtype, lost / (largest(value) or 1.0)))
        super().__setitem__(key, value)


def _keeps_dtypes(subject: Subject, host: HostCall) -> Outcome:
    out = [array.view(_Spy) for array in _poisoned(host, NAN)]
    try:
        _call(subject, host, out, [_read_only(array) for array in host.inputs])
    except Exception:  # A compiled function may insist on plain arrays; then there is nothing to see.
        return Outcome(True, "not seen: the function takes plain arrays only")
    coarsest = min((_bits(array.dtype) for array in host.inputs if is_inexact(array.dtype)), default=0)
    for k, array in enumerate(out):
        said = array.dtype
        for computed, lost in array.assigned:
            # Digits may go where a coarser argument was computed with in double precision, as NumPy does by itself.
            loses_digits = is_inexact(said) and _bits(said) < _bits(computed) <= coarsest
            if loses_digits or lost > max(subject.precision.rtol, 2.0 ** -(_bits(said) // 8)):
                found = f"writes {computed} into out[{k}], which {host.describe_role} declares as {said}"
                return Outcome(False, f"{found}: values are cut off silently. Correct {host.describe_role}, or cast.")
    return Outcome(True, "nothing is cut off when outputs are assigned")


def _bits(dtype: Any) -> int:
    """Bits of a real number, or of each part of a complex one; 0 if it is an integer."""
    if not is_inexact(dtype):
        return 0
    return 8 * int(dtype.itemsize) // (2 if is_complex(dtype) else 1)


def _call(subject: Subject, host: HostCall, out: Sequence[Array], args: Sequence[Array]) -> Any:
    dump = Kwargs.make(subject.kwargs, subject.record.name)
    if subject.record.can_batch:
        dump = dump.with_batch_axes(None)
    with warnings.catch_warnings():
        # A lost imaginary part has a check of its own, which says more.
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        return host.function(tuple(out), tuple(args), dump)


def _poisoned(host: HostCall, poison: float) -> list[Array]:
    """Outputs filled with a poison."""
    arrays = [np.empty(spec.shape, spec.dtype) for spec in host.outputs]
    for array in arrays:
        if array.dtype == np.bool_:  # Other bytes than 0 and 1 are no booleans.
            array[...] = poison == NAN
        elif poison == NAN:
            _bytes(array)[...] = NAN
        else:
            array[...] = np.asarray(NUMBER * (1 + 1j) if is_complex(array.dtype) else NUMBER).astype(array.dtype)
    return arrays


def _read_only(array: Array) -> Array:
    copy = np.array(array)
    copy.flags.writeable = False
    return copy


def _bytes(array: Array) -> Array:
    """The bytes of a contiguous array, one row per element, without a copy."""
    return array.reshape(-1).view(np.uint8).reshape(array.size, array.dtype.itemsize)


def _parts(of_bytes: Array, dtype: np.dtype[Any]) -> Array:
    """Bytes of elements split into the bytes of real and imaginary parts, if the dtype has them."""
    parts = 2 if is_complex(dtype) else 1
    return of_bytes.reshape(len(of_bytes), parts, of_bytes.shape[1] // parts)


def _spell_elements(flat: Array, shape: tuple[int, ...]) -> str:
    """Positions of elements: the first, and the last if there are several."""
    ends = [tuple(int(i) for i in np.unravel_index(int(end), shape)) for end in (flat[0], flat[-1])]
    return f"at {ends[0]}" if flat.size == 1 else f"first at {ends[0]}, last at {ends[1]}"
