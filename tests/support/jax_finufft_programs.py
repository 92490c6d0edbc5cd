# SPDX-License-Identifier: BSD-2-Clause
"""Programs written for `jax_finufft`, and what version 1.3.1 of it computes for them.

Each is a function of the package. `python tests/support/jax_finufft_programs.py` runs them where `jax-finufft` is
installed and writes `jax_finufft_1_3_1.json` beside this file.
"""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

RECORD = Path(__file__).with_name("jax_finufft_1_3_1.json")
M, N = 7, 4

Program = Callable[[Any], Any]
PROGRAMS: dict[str, Program] = {}

# Shapes of strengths and points, without the last axis: stacking and broadcasting.
STACKS: list[tuple[tuple[int, ...], ...]] = [
    ((), ()),
    ((3,), ()),
    ((3,), (3,)),
    ((3, 2), (3, 1)),
    ((3, 2), (3,)),
    ((1,), (3,)),
    ((3, 1), (1, 2)),
    ((3,), (1,)),
    ((4, 3, 2), (4, 3, 1)),
    ((4, 3, 2), (4, 1, 1)),
    ((4, 3, 2), (4, 1, 2)),
    ((4, 3, 2), (1, 1, 2)),
]
DIFFERENT_POINTS = [((3,), (), (3,)), ((3, 2), (3, 1), ()), ((3, 2), (3, 1), (1, 2)), ((3, 2), (3, 1), (2,))]
DIFFERENT_TARGETS = [((3,), (), (3,)), ((3,), (3,), ()), ((3,), (3,), (3,)), ((3, 2), (3, 1), (1, 2))]


def real(seed: int, *shape: int) -> jax.Array:
    """Points in [-3, 3]."""
    return jnp.array(np.random.default_rng(seed).uniform(-3, 3, shape))


def strengths(*shape: int) -> jax.Array:
    """Complex numbers."""
    rng = np.random.default_rng(sum(shape))
    return jnp.array(rng.normal(size=shape) + 1j * rng.normal(size=shape))


def program(function: Program) -> Program:
    """Put a program into the list under its name."""
    PROGRAMS[function.__name__] = function
    return function


def _stack1(axes: Any, package: Any) -> Any:
    return package.nufft1(5, strengths(*axes[0], M), real(1, *axes[1], M))


def _stack2(axes: Any, package: Any) -> Any:
    return package.nufft2(strengths(*axes[0], 5), real(1, *axes[1], M))


def _points2d(axes: Any, package: Any) -> Any:
    return package.nufft1((5, 6), strengths(*axes[0], M), real(1, *axes[1], M), real(2, *axes[2], M))


def _targets(axes: Any, package: Any) -> Any:
    return package.nufft3(strengths(*axes[0], M), real(1, *axes[1], M), real(2, *axes[2], N))


PROGRAMS |= {f"nufft1 {axes}": functools.partial(_stack1, axes) for axes in STACKS}
PROGRAMS |= {f"nufft2 {axes}": functools.partial(_stack2, axes) for axes in STACKS}
PROGRAMS |= {f"nufft1 2d {axes}": functools.partial(_points2d, axes) for axes in DIFFERENT_POINTS}
PROGRAMS |= {f"nufft3 {axes}": functools.partial(_targets, axes) for axes in DIFFERENT_TARGETS}


@program
def scalar_output_shape(package: Any) -> Any:
    return package.nufft1(6, strengths(M), real(1, M))


@program
def three_dimensions(package: Any) -> Any:
    points = [real(k, M) for k in range(3)]
    return package.nufft2(package.nufft1((4, 5, 3), strengths(M), *points, iflag=-1), *points, iflag=1)


@program
def type_3_in_three_dimensions(package: Any) -> Any:
    return package.nufft3(strengths(M), *(real(k, M) for k in range(3)), *(real(k, N) for k in range(3, 6)), iflag=1)


@program
def single_precision(package: Any) -> Any:
    return package.nufft1(
        (6, 5), strengths(M).astype("complex64"), real(1, M).astype("float32"), real(2, M).astype("float32")
    )


@program
def no_points(package: Any) -> Any:
    return package.nufft1(5, strengths(0), real(1, 0)), package.nufft2(strengths(5), real(1, 0))


@program
def order_of_modes(package: Any) -> Any:
    opts = package.options.Opts(modeord=True)
    return package.nufft1((5, 4), strengths(M), real(1, M), real(2, M), opts=opts), package.nufft2(
        strengths(5, 4), real(1, M), real(2, M), opts=opts
    )


@program
def gradient_with_order_of_modes(package: Any) -> Any:
    opts = package.options.Opts(modeord=True)
    f = strengths(6)
    return jax.grad(lambda c, x: jnp.sum(f * package.nufft1(6, c, x, eps=1e-9, opts=opts)).real, (0, 1))(
        strengths(M), real(1, M)
    )


@program
def nested_options(package: Any) -> Any:
    options = package.options
    opts = options.NestedOpts(forward=options.Opts(upsampfac=2.0), backward=options.Opts(upsampfac=1.25, nthreads=1))
    return jax.value_and_grad(lambda c: jnp.sum(jnp.abs(package.nufft1(6, c, real(1, M), opts=opts)) ** 2))(
        strengths(M)
    )


@program
def options_by_type(package: Any) -> Any:
    options = package.options
    opts = options.NestedOpts(type1=options.Opts(modeord=True), type2=options.Opts(modeord=True, nthreads=1))
    return package.nufft2(package.nufft1(6, strengths(M), real(1, M), opts=opts), real(1, M), opts=opts)


@program
def every_option(package: Any) -> Any:
    o = package.options
    opts = o.Opts(True, o.DebugLevel.Silent, o.DebugLevel.Silent, False, 1, o.FftwFlags.Estimate, o.SpreadSort.Sort)
    more = o.Opts(spread_thread=o.SpreadThread.Parallel, maxbatchsize=2, spread_nthr_atomic=2, spread_max_sp_size=100)
    return [package.nufft1(6, strengths(3, M), real(1, M), opts=each) for each in (opts, more)]


@program
def compiled(package: Any) -> Any:
    return jax.jit(lambda c, x: package.nufft1((5, 6), c, x, 2 * x, eps=1e-9, iflag=-1))(strengths(M), real(1, M))


@program
def derivatives_of_all_types(package: Any) -> Any:
    def loss(c: Any, f: Any, x: Any, s: Any) -> Any:
        parts = [
            package.nufft1(5, c, x, eps=1e-10),
            package.nufft2(f, x, eps=1e-10),
            package.nufft3(c, x, s, eps=1e-10),
        ]
        return sum(jnp.sum(jnp.abs(p) ** 2 * jnp.arange(len(p))) for p in parts)

    return jax.grad(loss, (0, 1, 2, 3))(strengths(M), strengths(5), real(1, M), real(2, N))


@program
def forward_mode_in_all_arguments(package: Any) -> Any:
    args = (strengths(M), real(1, M), real(2, M), real(3, N), real(4, N))
    tangents = (strengths(M) * 1j, real(5, M), real(6, M), real(7, N), real(8, N))
    return jax.jvp(lambda *a: package.nufft3(*a, eps=1e-10), args, tangents)


@program
def hessian_in_the_points(package: Any) -> Any:
    return jax.hessian(lambda x: jnp.sum(jnp.abs(package.nufft1(5, strengths(M), x, eps=1e-10)) ** 2))(real(1, M))


@program
def vmap_over_strengths(package: Any) -> Any:
    return jax.vmap(lambda c: package.nufft1((5, 4), c, real(1, M), real(2, M)))(strengths(3, M))


@program
def vmap_over_points(package: Any) -> Any:
    return jax.vmap(lambda x: package.nufft2(strengths(5), x))(real(1, 3, M))


@program
def vmap_over_gradients(package: Any) -> Any:
    gradient = jax.grad(lambda c, x: jnp.sum(jnp.abs(package.nufft1(5, c, x, eps=1e-10)) ** 2), (0, 1))
    return jax.vmap(gradient, (0, None))(strengths(3, M), real(1, M))


@program
def nested_vmap(package: Any) -> Any:
    inner = jax.vmap(lambda c, x: package.nufft1(5, c, x), (1, None))
    return jax.vmap(inner, (None, 0))(strengths(M, 2), real(1, 3, M))


@program
def conjugate_gradients(package: Any) -> Any:
    x = real(1, 30)

    def normal(f: Any) -> Any:
        return package.nufft1(6, package.nufft2(f, x, eps=1e-12, iflag=-1), x, eps=1e-12, iflag=1) / 30 + f

    return jax.scipy.sparse.linalg.cg(normal, strengths(6), tol=1e-10)[0]


def run(name: str, package: Any) -> list[np.ndarray[Any, Any]]:
    """What a program computes, as a flat list of arrays."""
    return [np.asarray(leaf) for leaf in jax.tree.leaves(PROGRAMS[name](package))]


def recorded(name: str) -> list[np.ndarray[Any, Any]]:
    """What `jax_finufft` 1.3.1 computed."""
    found = []
    for entry in json.loads(RECORD.read_text())[name]:
        numbers = np.array(entry["real"]) + (
            1j * np.array(entry["imag"]) if entry["dtype"].startswith("complex") else 0
        )
        found.append(numbers.reshape(entry["shape"]).astype(entry["dtype"]))
    return found


def _entry(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    parts = {part: [float(f"{x:.13g}") for x in getattr(array, part).ravel()] for part in ("real", "imag")}
    return {"dtype": str(array.dtype), "shape": array.shape, **parts}


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    peer = importlib.import_module("jax_finufft")
    RECORD.write_text(json.dumps({name: list(map(_entry, run(name, peer))) for name in PROGRAMS}, indent=0) + "\n")
