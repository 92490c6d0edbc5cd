# SPDX-License-Identifier: BSD-2-Clause
"""Whether the abstract functions agree with each other and with the arguments."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from jaxbind._checks.report import Collector, Outcome
from jaxbind._checks.subject import HostCall, Spec, Subject


def check_outputs(subject: Subject, collector: Collector) -> bool:
    """Check `abstract` itself. Without it nothing else makes sense."""
    return collector.run("abstract: describes the outputs", lambda: _describes(subject))


def check_descriptions(subject: Subject, collector: Collector) -> None:
    """Check that the abstract functions of transposes describe what they must be cotangents of."""
    for host in subject.hosts[1:]:
        if host.describe_role != "abstract":
            collector.run(f"{host.describe_role}: describes the cotangents", functools.partial(_agrees, subject, host))


def _describes(subject: Subject) -> Outcome:
    return Outcome(True, ", ".join(_spell(spec.shape, spec.dtype) for spec in subject.outputs))


def _agrees(subject: Subject, host: HostCall) -> Outcome:
    keywords: dict[str, Any] = dict(subject.kwargs)
    if subject.record.can_batch:
        keywords["batch_axes"] = None
    described = host.describe(*(Spec(array.shape, array.dtype) for array in host.inputs), **keywords)
    found = [_read(entry) for entry in described]
    expected = [(spec.shape, np.dtype(spec.dtype)) for spec in host.outputs]
    if len(found) != len(expected):
        detail = f"describes {len(found)} cotangents; expected {len(expected)}, one per argument that it serves."
        return Outcome(False, detail)
    for k, (have, want) in enumerate(zip(found, expected, strict=True)):
        if have != want:
            detail = f"describes out[{k}] as {_spell(*have)}; the argument whose cotangent it is is {_spell(*want)}"
            return Outcome(False, f"{detail}. Either {host.describe_role} or abstract is wrong.")
    return Outcome(True, ", ".join(_spell(*have) for have in found))


def _read(entry: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    shape, dtype = (entry.shape, entry.dtype) if hasattr(entry, "shape") else entry[:2]
    return tuple(int(size) for size in shape), np.dtype(dtype)


def _spell(shape: Any, dtype: Any) -> str:
    return f"{np.dtype(dtype)}[{','.join(map(str, shape))}]"
