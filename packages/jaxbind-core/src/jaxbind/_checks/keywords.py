# SPDX-License-Identifier: BSD-2-Clause
"""Whether keyword arguments reach all host functions, whatever JAX does with the call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

import jaxbind
from jaxbind._checks.buffers import soundness
from jaxbind._checks.report import Collector, Outcome
from jaxbind._checks.subject import Subject
from jaxbind._kwargs import Kwargs

Seen = dict[str, list[dict[str, Any]]]


def check_keywords(subject: Subject, collector: Collector) -> None:
    """Check keyword arguments, if there are any."""
    if subject.kwargs:
        collector.run("keyword arguments", lambda: _arrive(subject), soundness(subject))


def _arrive(subject: Subject) -> Outcome:
    seen: Seen = {host.role: [] for host in subject.hosts}
    _use(_recording(subject, seen))
    expected = Kwargs.make(subject.kwargs)
    differentiated = bool(subject.differentiable and subject.paired)
    for role, calls in seen.items():
        if not calls and (role == "f" or differentiated):
            return Outcome(False, f"{role} was not called, so that no keyword argument could reach it.")
        for found in calls:
            found.pop("batch_axes", None)
            if Kwargs.make(found) != expected:
                return Outcome(False, f"{role} received {found!r}; the call had {dict(subject.kwargs)!r}.")
    return Outcome(True, f"{', '.join(subject.kwargs)} reach {', '.join(seen)}")


def _use(subject: Subject) -> None:
    """Let every host function be called, in a batch and in a compiled program."""
    stacked = [jnp.stack([jnp.asarray(arg)] * 2) for arg in subject.args]
    jax.block_until_ready(jax.jit(jax.vmap(subject.evaluate))(*stacked))
    if subject.differentiable and subject.paired:
        tangents = {i: subject.direction(i) for i in subject.differentiable}
        jax.block_until_ready(jax.jit(subject.pull)(subject.args, subject.cotangents()))
        jax.block_until_ready(subject.push(subject.args, tangents))


def _recording(subject: Subject, seen: Seen) -> Subject:
    """The same operator, with host functions that note the keyword arguments they get."""
    record = subject.record
    hosts = {host.role: _noting(host.function, seen[host.role]) for host in subject.hosts}
    options: dict[str, Any] = {"first_n_args_fixed": subject.fixed, "func_can_batch": record.can_batch}
    if subject.is_linear:
        transposes: Any = [hosts[role] for role in hosts if role != "f"]
        describers: Any = list(record.abstract_T)
        fixed: Sequence[None] = (None,) * subject.fixed
        if len(transposes) > 1:
            transposes, describers = (*fixed, *transposes), (*fixed, *describers)
        else:
            transposes, describers = transposes[0], describers[0]
        options["fixed_derivative"] = record.fixed_derivative
        op = jaxbind.get_linear_call(hosts["f"], transposes, record.abstract, describers, **options)
    else:
        derivative: Any = record.rule or (hosts.get("jvp"), hosts.get("vjp"))
        op = jaxbind.get_nonlinear_call(hosts["f"], derivative, record.abstract, record.abstract_reverse, **options)
    return Subject(op, op.keywords["_func"], subject.args, subject.kwargs, seed=subject.seed)


def _noting(function: Callable[..., Any], calls: list[dict[str, Any]]) -> Callable[..., Any]:
    @functools.wraps(function, updated=())
    def noting(out: Any, args: Any, kwargs_dump: Any) -> Any:
        calls.append(jaxbind.load_kwargs(kwargs_dump))
        return function(out, args, kwargs_dump)

    return noting
