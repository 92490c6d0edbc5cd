# SPDX-License-Identifier: BSD-2-Clause
"""What the host functions do with their buffers, seen by calling them directly."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbind._checks.report import Check
from jaxbind._checks.subject import Arrays, Subject
from jaxbind._kwargs import Kwargs

POISONS = (0xAB, 0x54)  # Bytes that fill outputs before a call: what differs between the two was not written.


class HostCall(NamedTuple):
    """A host function with inputs and the outputs that the abstract function describes."""

    name: str
    function: Callable[..., Any]
    args: Arrays
    outputs: Sequence[Any]
    dump: Kwargs


def buffer_checks(subject: Subject) -> Iterator[Check]:
    """For every host function: writes everything, changes nothing, keeps nothing."""
    for host_call in _host_calls(subject):
        try:
            poisoned = [_run(host_call, poison) for poison in POISONS]
        except Exception as error:
            detail = f"{type(error).__name__}: {error}. It was called with poisoned outputs of the described shapes."
            yield Check(f"{host_call.name} runs", passed=False, detail=detail)
            continue
        yield _all_written(host_call, *poisoned)
        yield from _nothing_changed_or_kept(host_call)


def _host_calls(subject: Subject) -> Iterator[HostCall]:
    record = subject.record
    dump = Kwargs.make(subject.kwargs | ({"batch_axes": None} if record.can_batch else {}))
    fixed, cotangents = subject.args[: subject.fixed], subject.draw(subject.freeze(*subject.moving), 21)
    yield _described("f", record.f, record.abstract, subject.args, dump)
    if hasattr(record, "T"):
        for k, (function, abstract) in enumerate(zip(record.T, record.abstract_T, strict=True)):
            others = subject.moving[:k] + subject.moving[k + 1 :] if len(record.T) > 1 else ()
            name = f"f_T[{k + subject.fixed}]" if len(record.T) > 1 else "f_T"
            yield _described(name, function, abstract, (*fixed, *others, *cotangents), dump)
    elif record.jvp is not None:
        yield _described("jvp", record.jvp, record.abstract, (*subject.args, *subject.moving), dump)
        yield _described("vjp", record.vjp, record.abstract_reverse, (*subject.args, *cotangents), dump)


def _described(name: str, host: Any, abstract: Any, args: Arrays, dump: Kwargs) -> HostCall:
    shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in args]
    outputs = [jax.ShapeDtypeStruct(entry[0], entry[1]) for entry in abstract(*shapes, **dump.load())]
    return HostCall(name, host.call, tuple(map(np.asarray, args)), outputs, dump)


def _fresh(host_call: HostCall, poison: int) -> tuple[Arrays, Arrays]:
    """Outputs whose bytes all hold a poison, and copies of the inputs."""
    outs = tuple(np.empty(o.shape, o.dtype) for o in host_call.outputs)
    for out in outs:
        out.reshape(-1).view(np.uint8)[...] = poison
    return outs, tuple(np.array(a) for a in host_call.args)


def _run(host_call: HostCall, poison: int) -> Arrays:
    outs, args = _fresh(host_call, poison)
    host_call.function(outs, args, host_call.dump)
    return outs


def _all_written(host_call: HostCall, first: Arrays, second: Arrays) -> Check:
    name = f"{host_call.name} writes every element"
    for k, (a, b) in enumerate(zip(first, second, strict=True)):
        bytes_a, bytes_b = (x.reshape(-1).view(np.uint8).reshape(-1, x.itemsize) for x in (a, b))
        differs = (bytes_a != bytes_b).any(axis=1)
        missing = np.flatnonzero(differs & (bytes_a == POISONS[0]).all(axis=1))
        found = missing if missing.size else np.flatnonzero(differs)
        # Sums of several threads may differ from run to run; that is no fault.
        if missing.size or (found.size and _repeats(host_call, k)):
            where = tuple(int(i) for i in np.unravel_index(found[0], a.shape))
            what = "unwritten elements" if missing.size else "elements that depend on what was in the output before"
            detail = f"out[{k}] has {found.size} {what}, the first at {where}. Outputs are not zeroed: fill them."
            return Check(name, passed=False, detail=detail)
    return Check(name, passed=True)


def _repeats(host_call: HostCall, output: int) -> bool:
    """Whether two runs on the same poison agree bit by bit."""
    first, second = (_run(host_call, POISONS[0])[output].tobytes() for _ in range(2))
    return bool(first == second)


def _nothing_changed_or_kept(host_call: HostCall) -> Iterator[Check]:
    outs, args = _fresh(host_call, 0)
    before = [arg.tobytes() for arg in args]
    host_call.function(outs, args, host_call.dump)
    changed = [i for i, old in enumerate(before) if args[i].tobytes() != old]
    detail = f"args {changed} were modified. They are shared with JAX: work on a copy."
    yield Check(f"{host_call.name} leaves its inputs alone", not changed, detail)
    gc.collect()
    kept = [f"{name}[{i}]" for name, arrays in (("args", args), ("out", outs)) for i in _kept(arrays)]
    detail = f"a reference to {', '.join(kept)} outlives the call. The memory is reused: keep a copy."
    yield Check(f"{host_call.name} keeps no reference to its buffers", not kept, detail)


def _kept(arrays: Arrays) -> list[int]:
    """Positions of the arrays that somebody else refers to."""
    nobodys = (np.zeros(1),)
    ours = sys.getrefcount(nobodys[0])
    return [i for i in range(len(arrays)) if sys.getrefcount(arrays[i]) > ours]
