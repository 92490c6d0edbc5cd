# SPDX-License-Identifier: BSD-2-Clause
"""Ways to call foreign code from JAX, each with a twin in JAX: the columns of the comparison of transformations.

Every way maps a vector of real numbers to another, linearly. Where a library says nothing of derivatives, its user
writes them; those variants follow, in the order in which one would try them. Host functions stand at the top level of
this module, so that other processes find them.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

Function = Callable[[Any], Any]
SIZE = 6
POINTS = np.linspace(-2.5, 2.8, SIZE) ** 3 / 7

FFI_SOURCE = """
#include <cstring>
#include "xla/ffi/api/ffi.h"
namespace ffi = xla::ffi;

static ffi::Error Roll(ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y, int64_t shift) {
  if (x.size_bytes() == 0) return ffi::Error::Success();
  const size_t row = x.dimensions().back() * ffi::ByteWidth(x.element_type());
  const size_t cut = (shift > 0 ? shift : x.dimensions().back() + shift) * ffi::ByteWidth(x.element_type());
  const char* from = static_cast<const char*>(x.untyped_data());
  char* to = static_cast<char*>(y->untyped_data());
  for (size_t start = 0; start < x.size_bytes(); start += row) {
    std::memcpy(to + start + cut, from + start, row - cut);
    std::memcpy(to + start, from + start + row - cut, cut);
  }
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(roll, Roll,
    ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>().Attr<int64_t>("shift"));
"""


class Way(NamedTuple):
    """The variants of one way (what had to be written by hand -> function), and the twin of them all."""

    variants: dict[str, Function]
    twin: Function
    real_only: bool = False  # The library has no other dtypes, so it is not asked for them.


def roll(out: Any, args: Any, kwargs_dump: Any) -> None:
    """The host function: move every element to the next place, the last to the first."""
    out[0][...] = np.roll(args[0], 1)


def roll_back(out: Any, args: Any, kwargs_dump: Any) -> None:
    """Apply its transpose."""
    out[0][...] = np.roll(args[0], -1)


def same(x: Any) -> Any:
    """Shape and dtype of the output of both."""
    return ((x.shape, x.dtype),)


def rolled(x: Any) -> Any:
    """The twin of `roll`."""
    return jnp.roll(x, 1, axis=-1)


def bound() -> Way:
    """The installed `jaxbind`, ours or PyPI's."""
    import jaxbind  # noqa: PLC0415  # Two packages with this name are compared; each has an environment of its own.

    operator = jaxbind.get_linear_call(roll, roll_back, same, same)
    return Way({"": lambda x: operator(x)[0]}, rolled)


def callback() -> Way:
    """`jax.pure_callback`."""

    def call(x: Any, shift: int) -> Any:
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(lambda x: np.roll(x, shift), shape, x, vmap_method="sequential")

    return Way(with_derivatives(lambda x: call(x, 1), lambda x: call(x, -1)), rolled)


def foreign() -> Way:
    """`jax.ffi.ffi_call` of a handler that takes any dtype and any number of leading axes."""
    folder = Path(tempfile.mkdtemp())
    (folder / "roll.cc").write_text(FFI_SOURCE)
    build = ["g++", "-std=c++17", "-O2", "-shared", "-fPIC", f"-I{jax.ffi.include_dir()}", "-o", "roll.so", "roll.cc"]
    subprocess.run(build, cwd=folder, check=True)
    handler = ctypes.CDLL(str(folder / "roll.so")).roll
    jax.ffi.register_ffi_target("roll", jax.ffi.pycapsule(handler), platform="cpu")

    def call(x: Any, shift: int) -> Any:
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.ffi.ffi_call("roll", shape, vmap_method="broadcast_all")(x, shift=np.int64(shift))

    return Way(with_derivatives(lambda x: call(x, 1), lambda x: call(x, -1)), rolled)


def finufft() -> Way:
    """The `nufft1` of `jax-finufft`, as a real map: x -> Re sum_j x_j exp(i k points_j)."""
    import jax_finufft  # noqa: PLC0415  # In an environment of its own.

    turns = (np.arange(SIZE) - SIZE // 2)[:, None] * POINTS

    def call(x: Any) -> Any:
        return jax_finufft.nufft1(SIZE, x.astype(complex), POINTS, iflag=1, eps=1e-12).real

    return Way({"": call}, lambda x: jnp.cos(turns) @ x, real_only=True)


def with_derivatives(call: Function, call_t: Function) -> dict[str, Function]:
    """What a user can write around a call so that JAX knows its derivatives: two public ways, one hardly known."""
    forward = jax.custom_jvp(call)
    forward.defjvp(lambda primals, tangents: (forward(*primals), forward(*tangents)))
    reverse, reverse_t = jax.custom_vjp(call), jax.custom_vjp(call_t)
    reverse.defvjp(lambda x: (reverse(x), None), lambda _, c: (reverse_t(c),))
    reverse_t.defvjp(lambda c: (reverse_t(c), None), lambda _, x: (reverse(x),))

    def linear(x: Any) -> Any:
        return jax.custom_derivatives.linear_call(lambda _, x: call(x), lambda _, c: call_t(c), (), x)

    return {"": call, "custom_jvp": forward, "custom_vjp": reverse, "linear_call": linear}


WAYS: dict[str, Callable[[], Way]] = {
    "jaxbind-core": bound,
    "jax.pure_callback": callback,
    "jax.ffi.ffi_call": foreign,
    "jaxbind 1.3.1": bound,
    "jax-finufft 1.3.1": finufft,
}
