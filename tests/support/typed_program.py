# SPDX-License-Identifier: BSD-2-Clause
"""A user's program whose types are checked against the installed wheels: `nox -s wheels` runs `mypy --strict` on it.

It fails there when a wheel has no `py.typed`, or when a public function returns something else than it says here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, assert_type

import jax
import jax.numpy as jnp
import jaxbind
import numpy as np
from jaxbind.testing import check_operator
from jaxbind_ducc import fft
from jaxbind_finufft import nufft1


def cumulate(out: Sequence[np.ndarray], args: Sequence[np.ndarray], kwargs_dump: bytes) -> None:
    """Sum from the start."""
    np.cumsum(args[0], out=out[0])


def cumulate_transposed(out: Sequence[np.ndarray], args: Sequence[np.ndarray], kwargs_dump: bytes) -> None:
    """Sum from the end."""
    np.cumsum(args[0][::-1], out=out[0][::-1])


def abstract(x: Any) -> tuple[tuple[tuple[int, ...], Any], ...]:
    """One output like the input."""
    return ((x.shape, x.dtype),)


operator = jaxbind.get_linear_call(cumulate, cumulate_transposed, abstract, abstract)
assert_type(operator, partial[list[jax.Array]])
x = jnp.arange(4.0)
assert_type(operator(x), list[jax.Array])
assert_type(fft.c2c(x), jax.Array)
assert_type(nufft1(4, x + 0j, x), jax.Array)
assert_type(jaxbind.plugins(), tuple[jaxbind.Plugin, ...])
check_operator(operator, x)
