# SPDX-License-Identifier: BSD-2-Clause
"""Everything that depends on the JAX version or on names that JAX does not publish.

Each entry tells why the obvious public way fails and which versions it serves.
"""

from __future__ import annotations

import sys
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad

# JAX 0.6 to 0.12: compiles and caches a single primitive for a call outside jit. There is no public name for it, and a
# jitted function kept per operator would need a cache of our own that jax.clear_caches() does not know.
from jax._src.dispatch import apply_primitive as apply_primitive

__all__ = ["apply_primitive", "instantiate", "is_symbolic", "zero_tangent"]


def zero_tangent(value: Any) -> ad.Zero:
    """The symbolic zero tangent that belongs to a primal value (float0 where it is an integer)."""
    return ad.Zero(jax.typeof(value).to_tangent_aval())


def instantiate(value: Any, like: Any) -> Any:
    """An array in place of a symbolic zero; `like` is the primal or aval whose shape and dtype it gets.

    ad.instantiate_zeros makes a float0 array where the primal is an integer; a host function is given plain zeros.
    """
    if type(value) is not ad.Zero:
        return value
    return jnp.zeros(like.shape, like.dtype)


def is_symbolic(size: Any) -> bool:
    """Whether a size in a shape is a symbolic dimension of `jax.export`.

    Importing jax.export costs time, and in JAX 0.6 needs absl, which JAX does not require. While nobody has imported it
    there are no symbolic dimensions.
    """
    export = sys.modules.get("jax.export")
    return export is not None and bool(export.is_symbolic_dim(size))
