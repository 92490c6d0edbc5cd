# SPDX-License-Identifier: BSD-2-Clause
"""The one JAX primitive, and how it is bound.

Every call of every operator is one equation ``jaxbind_call[operator kwargs axes] *args``. The rules are registered in
`jaxbind._register`; this module knows none of them.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from jaxbind._jax_compat import Primitive, apply_primitive, match_varying, require_devices
from jaxbind._kwargs import Kwargs
from jaxbind._operator import Record

# Per argument and vmap level, oldest level first: the axis that the level inserted into the argument, in the shape that
# the argument has after it, or None where the argument is not mapped.
Axes = tuple[tuple[int | None, ...], ...]

call_p = Primitive("jaxbind_call")
call_p.multiple_results = True
call_p.def_impl(functools.partial(apply_primitive, call_p))
require_devices(call_p)  # To split batched calls over them.


def bind(operator: Record, kwargs: Kwargs, axes: Axes, args: Sequence[Any]) -> list[Any]:
    """Make one call of an operator.

    Parameters
    ----------
    operator
        What to call.
    kwargs
        Its keyword arguments.
    axes
        How each argument is batched; ``((),) * len(args)`` for a call outside vmap.
    args
        The arrays.

    Returns
    -------
    list
        One array per output.
    """
    outs: list[Any] = call_p.bind(*match_varying(args), operator=operator, kwargs=kwargs, axes=axes)
    return outs
