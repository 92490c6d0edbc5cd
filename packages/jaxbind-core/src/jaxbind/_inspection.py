# SPDX-License-Identifier: BSD-2-Clause
"""What a reader of compiled programs and profiles sees of a call: its operator and keyword arguments, by name.

Without this a program of ten operators shows ten operations called ``jaxbind_call``. JAX takes the name of an operation
from the MLIR location that is current while it is lowered, XLA keeps it as ``op_name`` in the metadata, and recent
versions name the instruction after it, which is what a profiler shows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from jax.interpreters import mlir

from jaxbind._jax_compat import hide_frames
from jaxbind._kwargs import Kwargs
from jaxbind._operator import Record
from jaxbind._primitive import Axes

Lowering = Callable[..., Sequence[Any]]
LONGEST = 120  # Characters; a keyword argument may be an array.

hide_frames(os.path.dirname(__file__) + os.sep)  # So that an operation's source line is the user's.


def named(lower: Lowering) -> Lowering:
    """A lowering rule whose operations have the name of the operator that is called.

    Parameters
    ----------
    lower
        The rule.

    Returns
    -------
    callable
        The rule to register.
    """

    def rule(ctx: Any, *operands: Any, operator: Record, kwargs: Kwargs, axes: Axes) -> Sequence[Any]:
        # JAX 0.6 wants the whole path here; later versions put what the name stack lacks in front.
        path = "/".join(filter(None, (str(ctx.name_stack), label(operator, kwargs))))
        with mlir.ir.Location.name(path):
            return lower(ctx, *operands, operator=operator, kwargs=kwargs, axes=axes)

    return rule


def label(operator: Record, kwargs: Kwargs) -> str:
    """The call in one line: ``name(keyword=value)``, cut short, and without the slash that separates scopes."""
    try:
        values = " ".join(kwargs.describe().split()).replace("/", "|")
    except Exception:  # A value that is kept by reference may have any __repr__.
        values = "..."
    return f"{operator.name}({values if len(values) <= LONGEST else values[: LONGEST - 3] + '...'})"
