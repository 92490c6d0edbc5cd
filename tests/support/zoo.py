# SPDX-License-Identifier: BSD-2-Clause
"""One table of operators with pure-JAX twins, for every test that says "for every operator"."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import jaxbind
import numpy as np
import pytest
from support import hosts
from support.arrays import draw
from support.native import batching, describing


@dataclasses.dataclass(frozen=True)
class Case:
    """An operator, its twin, and inputs for both."""

    name: str
    kind: str  # linear, multilinear or nonlinear
    operator: functools.partial[list[Any]]
    twin: Callable[..., tuple[Any, ...]]
    args: tuple[Any, ...]
    fixed: int = 0
    native: bool = False

    def call(self, *args: Any) -> tuple[Any, ...]:
        """The operator, with its outputs in a tuple as the twin has them."""
        return tuple(self.operator(*args))

    def changed(self, **changes: Any) -> Case:
        """The case with some fields of the operator's record changed."""
        record = self.operator.keywords["_func"]._replace(**changes)
        return dataclasses.replace(self, operator=functools.partial(self.operator, _func=record))

    @property
    def moving(self) -> tuple[int, ...]:
        """Positions of the arguments that have derivatives."""
        return tuple(range(self.fixed, len(self.args)))

    def freeze(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The operator or its twin as a function of the arguments that have derivatives."""
        return lambda *moving: function(*self.args[: self.fixed], *moving)


C = np.complex128


def like(*positions: int) -> Callable[..., Any]:
    """Outputs with the shape and dtype of these arguments."""
    return lambda *args, **kwargs: tuple((args[i].shape, args[i].dtype) for i in positions)


def vector(size: int, dtype: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: (((size,), dtype),)


def _two_vectors(*args: Any) -> Any:
    return ((4,), args[0].dtype), ((2,), args[0].dtype)


def _two_inputs(*args: Any) -> Any:
    return ((3,), args[0].dtype), ((2, 2), args[0].dtype)


def _triple(*args: Any) -> Any:
    return (args[0].shape, args[0].dtype), ((), args[0].dtype)


def _matrix(a: Any, b: Any, *rest: Any) -> Any:
    return (((*a.shape, *b.shape), a.dtype),)


def _twin_blocks(a: Any, b: Any) -> Any:
    m = {k: jnp.asarray(v) for k, v in hosts.BLOCKS.items()}
    return tuple(m[i, 0] @ a + m[i, 1] @ b.reshape(-1) for i in (0, 1))


def _twin_convolve(p: Any, a: Any, b: Any) -> Any:
    return (p.astype(C) * jnp.fft.ifft(jnp.fft.fft(a) * jnp.fft.fft(b)),)


def _twin_triple(a: Any, b: Any, c: Any) -> Any:
    return jnp.einsum("i,j,ij->i", a, b, c), jnp.einsum("i,i,i->", a, b[: a.shape[0]], c[:, 0])


# Per operator: f; f_T or f_derivative; abstract; abstract_T or abstract_reverse; how many are fixed; twin; arguments.
LINEAR: dict[str, tuple[Any, ...]] = {
    "cumsum": (hosts.cumsum, hosts.cumsum_t, like(0), like(0), 0, lambda x: (jnp.cumsum(x),), (draw(1, (5,)),)),
    "complex with fixed argument": (
        hosts.fourier,
        hosts.fourier_t,
        like(1),
        like(1),
        1,
        lambda w, x: (jnp.fft.fft(w.astype(C) * x),),
        (draw(1, (4,)), draw(2, (4,), C)),
    ),
    "two inputs, two outputs": (
        hosts.blocks,
        hosts.blocks_t,
        _two_vectors,
        _two_inputs,
        0,
        _twin_blocks,
        (draw(1, (3,)), draw(2, (2, 2))),
    ),
    "real to complex": (
        hosts.real_to_complex,
        hosts.real_to_complex_t,
        vector(3, C),
        vector(4, np.float64),
        0,
        lambda x: (jnp.asarray(hosts.MIXED) @ x.astype(C),),
        (draw(1, (4,)),),
    ),
    "complex to real": (
        hosts.complex_to_real,
        hosts.complex_to_real_t,
        vector(3, np.float64),
        vector(4, C),
        0,
        lambda x: ((jnp.asarray(hosts.MIXED) @ x).real,),
        (draw(1, (4,), C),),
    ),
}
MULTILINEAR: dict[str, tuple[Any, ...]] = {
    "bilinear, complex, fixed": (
        hosts.convolve,
        (None, hosts.convolve_t, hosts.convolve_t),
        like(1),
        (None, like(1), like(1)),
        1,
        _twin_convolve,
        (draw(1, (3,)), draw(2, (3,), C), draw(3, (3,), C)),
    ),
    "trilinear, two outputs": (
        hosts.triple,
        (hosts.triple_t0, hosts.triple_t1, hosts.triple_t2),
        _triple,
        (lambda b, c, u, v: ((u.shape, u.dtype),), lambda a, c, u, v: (((c.shape[1],), a.dtype),), _matrix),
        0,
        _twin_triple,
        (draw(1, (2,)), draw(2, (3,)), draw(3, (2, 3))),
    ),
}
NONLINEAR: dict[str, tuple[Any, ...]] = {
    "nonlinear, integer fixed argument": (
        hosts.wave,
        (hosts.wave_jvp, hosts.wave_vjp),
        like(1),
        like(1, 2),
        1,
        lambda n, x, z: (x ** n.astype(float) * jnp.sin(z),),
        (draw(1, (4,), np.int64), draw(2, (4,)), np.float64(0.7)),
    ),
    "nonlinear, two outputs": (
        hosts.polar,
        (hosts.polar_jvp, hosts.polar_vjp),
        like(0, 0),
        like(0, 1),
        0,
        lambda r, t: (r * jnp.cos(t), r * jnp.sin(t)),
        (draw(1, (3,)), draw(2, (3,))),
    ),
}


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    return tuple(v and change(v) for v in value) if isinstance(value, tuple) else change(value)


def _case(name: str, kind: str, row: tuple[Any, ...], *, native: bool) -> Case:
    f, f_t, abstract, abstract_t, fixed, twin, args = row
    if native:
        f, f_t = batching(f), _each(f_t, batching)
        abstract, abstract_t = describing(abstract), _each(abstract_t, describing)
    bind = jaxbind.get_nonlinear_call if kind == "nonlinear" else jaxbind.get_linear_call
    operator = bind(f, f_t, abstract, abstract_t, first_n_args_fixed=fixed, func_can_batch=native)
    return Case(
        name=f"{name}{', native' if native else ''}",
        kind=kind,
        operator=operator,
        twin=twin,
        args=args,
        fixed=fixed,
        native=native,
    )


KINDS = {"linear": LINEAR, "multilinear": MULTILINEAR, "nonlinear": NONLINEAR}
ALL = [
    _case(name, kind, row, native=native)
    for kind, table in KINDS.items()
    for name, row in table.items()
    for native in (False, True)
]


def every(*kinds: str) -> pytest.MarkDecorator:
    """Parametrise a test over the operators of some kinds (all kinds if none is named)."""
    chosen = [case for case in ALL if not kinds or case.kind in kinds]
    if not chosen:
        raise ValueError(f"no operator of kind {kinds}")
    return pytest.mark.parametrize("case", chosen, ids=lambda case: case.name.replace(" ", "-"))
