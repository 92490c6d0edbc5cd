# SPDX-License-Identifier: BSD-2-Clause
"""The immutable records of bound operators.

A record says which host functions belong together; it knows nothing of JAX's rules. Two records made from the same
functions and options are equal, which is what keeps JAX from tracing or compiling the same operator twice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

from jaxbind import _errors
from jaxbind._targets import HostFunction

Abstract = Callable[..., Any]
RecordT = TypeVar("RecordT", bound="Record")


@dataclasses.dataclass(frozen=True)
class Record:
    """What all records share: the function that this record calls, and how it may be called."""

    first_n_args_fixed: int = dataclasses.field(kw_only=True, default=0)
    can_batch: bool = dataclasses.field(kw_only=True, default=False)
    # Threads that share a batch loop; 0 for one per core.
    batch_threads: int = dataclasses.field(kw_only=True, default=1)
    # What the message for a derivative with respect to a fixed argument advises.
    remedy: str = dataclasses.field(kw_only=True, default=_errors.CLOSE_OVER_IT, compare=False)

    @property
    def host(self) -> HostFunction:
        """The host function that a call runs."""
        raise NotImplementedError

    @property
    def describe(self) -> Abstract:
        """The user's function from argument descriptions to output descriptions of `host`."""
        raise NotImplementedError

    @property
    def describe_name(self) -> str:
        """Name of the parameter that `describe` was given as, for messages."""
        return "abstract"

    @property
    def name(self) -> str:
        """Name of the operator in messages."""
        return self.host.display_name

    def _replace(self: RecordT, **changes: Any) -> RecordT:
        """A record with some fields changed; the named-tuple spelling that existing programs use."""
        return dataclasses.replace(self, **changes)


@dataclasses.dataclass(frozen=True, repr=False)
class LinearOperator(Record):
    """A linear or multilinear operator, or one of its transposes (`jaxbind._linear` has the mathematics).

    `T` and `abstract_T` have one entry per slot. `missing` is the slot that the call computes: 0 for `f`, i for
    `T[i-1]`.
    """

    f: HostFunction
    T: tuple[HostFunction, ...]
    abstract: Abstract
    abstract_T: tuple[Abstract, ...]
    missing: int = dataclasses.field(kw_only=True, default=0)
    # Name of the parameter that `abstract_T` was given as, for messages.
    transpose_describer: str = dataclasses.field(kw_only=True, default="abstract_T", compare=False)
    # The change of the result with the fixed arguments, as a JAX-traceable rule (`jaxbind._traced_rule`).
    fixed_derivative: Callable[..., Any] | None = dataclasses.field(kw_only=True, default=None)

    @property
    def host(self) -> HostFunction:
        """`f`, or the transpose that belongs to the missing slot."""
        return self.T[self.missing - 1] if self.missing else self.f

    @property
    def describe(self) -> Abstract:
        """`abstract`, or the one of `abstract_T` that belongs to the missing slot."""
        return self.abstract_T[self.missing - 1] if self.missing else self.abstract

    @property
    def describe_name(self) -> str:
        """Name of the parameter that `describe` was given as, for messages."""
        return self.transpose_describer if self.missing else "abstract"

    def __repr__(self) -> str:
        kind = "linear" if len(self.T) == 1 else f"{len(self.T)}-linear"
        return f"<{kind} operator {self.name}>"


@dataclasses.dataclass(frozen=True, repr=False)
class NonlinearOperator(Record):
    """A nonlinear operator, with host functions `jvp` and `vjp`, or a `rule` written in JAX, or no derivative."""

    f: HostFunction
    jvp: HostFunction | None
    vjp: HostFunction | None
    abstract: Abstract
    abstract_reverse: Abstract | None
    rule: Callable[..., Any] | None = None

    @property
    def host(self) -> HostFunction:
        """The function itself."""
        return self.f

    @property
    def describe(self) -> Abstract:
        """The user's `abstract`."""
        return self.abstract

    def __repr__(self) -> str:
        return f"<nonlinear operator {self.name}>"
