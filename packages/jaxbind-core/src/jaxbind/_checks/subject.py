# SPDX-License-Identifier: BSD-2-Clause
"""The operator under test: its record, its inputs, and ways to evaluate it and its derivatives.

Owns what the checks need to know of the three kinds of operator. Derivatives are taken with `jax.jvp` and `jax.vjp`, so
that what is checked is what a user's gradient computes.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbind._checks.distance import Array, Precision, is_complex, is_inexact, largest, precision_of, wide

Spec = jax.ShapeDtypeStruct


@dataclasses.dataclass(frozen=True)
class HostCall:
    """One host function of the operator, and how it is called directly.

    Attributes
    ----------
    role
        The parameter that it was given as: ``f``, ``f_T``, ``f_T[1]``, ``jvp`` or ``vjp``.
    function
        The function ``(out, args, kwargs_dump) -> None``.
    inputs
        What `args` holds.
    outputs
        Shapes and dtypes of what `out` holds.
    describe, describe_role
        The abstract function that belongs to it, and the parameter that it was given as.
    """

    role: str
    function: Callable[..., Any]
    inputs: tuple[Array, ...]
    outputs: tuple[Spec, ...]
    describe: Callable[..., Any]
    describe_role: str


@dataclasses.dataclass(frozen=True)
class Subject:
    """An operator with example inputs."""

    call: Callable[..., list[jax.Array]]
    record: Any
    args: tuple[Array, ...]
    kwargs: Mapping[str, Any]
    rtol: float | None = None
    atol: float | None = None
    seed: int = 0

    @functools.cached_property
    def outputs(self) -> tuple[Spec, ...]:
        """Shapes and dtypes of the outputs, as `abstract` gives them."""
        return tuple(jax.eval_shape(self.evaluate, *self.args))

    @functools.cached_property
    def precision(self) -> Precision:
        """How exact results can be, given the dtypes of arguments and outputs."""
        dtypes = [arg.dtype for arg in self.args] + [spec.dtype for spec in self.outputs]
        return precision_of(dtypes, self.rtol, self.atol)

    @property
    def is_linear(self) -> bool:
        """Whether it was bound by `get_linear_call`."""
        return hasattr(self.record, "T")

    @property
    def fixed(self) -> int:
        """Number of fixed arguments."""
        return int(self.record.first_n_args_fixed)

    @property
    def moving(self) -> tuple[int, ...]:
        """Positions of the arguments that are not fixed."""
        return tuple(range(self.fixed, len(self.args)))

    @property
    def slots(self) -> tuple[tuple[int, ...], ...]:
        """Positions of the arguments in which the operator is linear together; none if it is nonlinear."""
        if not self.is_linear:
            return ()
        return (self.moving,) if len(self.record.T) == 1 else tuple((i,) for i in self.moving)

    @property
    def differentiable(self) -> tuple[int, ...]:
        """Positions of the arguments that have derivatives."""
        if self.is_linear:
            first = self.fixed if self.record.fixed_derivative is None else 0
        elif self.record.rule or (self.record.jvp and self.record.vjp):
            first = self.fixed
        else:
            return ()
        return tuple(i for i in range(first, len(self.args)) if is_inexact(self.args[i].dtype))

    @property
    def paired(self) -> tuple[int, ...]:
        """Positions of the outputs that have cotangents."""
        return tuple(k for k, spec in enumerate(self.outputs) if is_inexact(spec.dtype))

    @property
    def transpose_role(self) -> str:
        """The parameter that reverse mode comes from, for messages."""
        if self.is_linear:
            return "f_T"
        return "the derivative rule" if self.record.rule else "vjp"

    def describe(self) -> str:
        """Kind, name and arguments, for the head of a report."""
        kind = ("linear" if len(self.slots) == 1 else "multilinear") if self.is_linear else "nonlinear"
        args = ", ".join(f"{arg.dtype}[{','.join(map(str, arg.shape))}]" for arg in self.args)
        return f"{kind} operator {self.record.name}({', '.join([args, *self.kwargs])})"

    def evaluate(self, *args: Any) -> tuple[Any, ...]:
        """The operator with its keyword arguments."""
        return tuple(self.call(*args, **self.kwargs))

    def push(self, args: Sequence[Any], tangents: Mapping[int, Any]) -> tuple[Any, ...]:
        """Forward mode: tangents of the paired outputs, for tangents of some arguments by position."""
        positions = tuple(tangents)

        def moving(*values: Any) -> tuple[Any, ...]:
            return self.evaluate(*replaced(args, dict(zip(positions, values, strict=True))))

        primals = tuple(jnp.asarray(args[i]) for i in positions)
        directions = tuple(jnp.asarray(tangents[i]) for i in positions)
        pushed = jax.jvp(moving, primals, directions)[1]
        return tuple(pushed[k] for k in self.paired)

    def pull(self, args: Sequence[Any], cotangents: Sequence[Any]) -> tuple[Any, ...]:
        """Reverse mode: cotangents of the differentiable arguments, for one cotangent per paired output."""

        def moving(*values: Any) -> tuple[Any, ...]:
            return self.evaluate(*replaced(args, dict(zip(self.differentiable, values, strict=True))))

        _, back = jax.vjp(moving, *(jnp.asarray(args[i]) for i in self.differentiable))
        given = dict(zip(self.paired, map(jnp.asarray, cotangents), strict=True))
        zeros = (np.zeros(spec.shape, jax.dtypes.float0) for spec in self.outputs)
        pulled: tuple[Any, ...] = back(tuple(given.get(k, zero) for k, zero in enumerate(zeros)))
        return pulled

    def draw(self, like: Any, *key: int) -> Array:
        """Random values of a shape and dtype, equal for equal keys; zeros for integers, which have no direction."""
        rng = np.random.default_rng((self.seed, *key))
        dtype = np.dtype(like.dtype)
        if not is_inexact(dtype):
            return np.zeros(like.shape, dtype)
        values = rng.normal(size=like.shape)
        return np.asarray(values + 1j * rng.normal(size=like.shape) if is_complex(dtype) else values).astype(dtype)

    def direction(self, position: int, *key: int) -> Array:
        """A random tangent of an argument, in proportion to its elements, so that a small step stays in the domain."""
        arg = self.args[position]
        scale = np.maximum(np.abs(wide(arg)), 0.01 * largest(arg) or 1.0)
        return np.asarray(wide(self.draw(arg, position, *key)) * scale).astype(arg.dtype)

    def cotangents(self, *key: int) -> tuple[Array, ...]:
        """A random cotangent per paired output."""
        return tuple(self.draw(self.outputs[k], len(self.args) + k, *key) for k in self.paired)

    def point(self, *key: int) -> tuple[Array, ...]:
        """Arguments with random values in the slots of a linear operator; the examples everywhere else."""
        free = {i for slot in self.slots for i in slot if is_inexact(self.args[i].dtype)}
        scales = [largest(arg) or 1.0 for arg in self.args]
        return tuple(
            np.asarray(wide(self.draw(arg, i, *key)) * scales[i]).astype(arg.dtype) if i in free else arg
            for i, arg in enumerate(self.args)
        )

    @functools.cached_property
    def hosts(self) -> list[HostCall]:
        """All host functions with inputs to call them directly."""
        record, args, outs = self.record, self.args, self.outputs
        ins = tuple(Spec(arg.shape, arg.dtype) for arg in args)
        cots = tuple(self.draw(spec, len(args) + k) for k, spec in enumerate(outs))
        calls = [HostCall("f", record.f.call, args, outs, record.abstract, "abstract")]
        if not self.is_linear:
            if record.jvp:
                tangents = tuple(self.direction(i, 1) for i in self.moving)
                calls.append(HostCall("jvp", record.jvp.call, args + tangents, outs, record.abstract, "abstract"))
            if record.vjp:
                vjp = (record.vjp.call, args + cots, ins[self.fixed :], record.abstract_reverse, "abstract_reverse")
                calls.append(HostCall("vjp", *vjp))
            return calls
        for n, (transpose, describe, slot) in enumerate(zip(record.T, record.abstract_T, self.slots, strict=True)):
            index = f"[{self.fixed + n}]" if len(self.slots) > 1 else ""
            inputs = tuple(arg for i, arg in enumerate(args) if i not in slot) + cots
            held = tuple(ins[i] for i in slot)
            calls.append(HostCall(f"f_T{index}", transpose.call, inputs, held, describe, f"abstract_T{index}"))
        return calls


def subject_of(
    op: Any, args: Sequence[Any], kwargs: Mapping[str, Any], rtol: float | None, atol: float | None, seed: int
) -> Subject:
    """Take an operator apart.

    Raises
    ------
    TypeError
        If it is not an operator, or a partial object of one.
    """
    keywords = getattr(op, "keywords", {})
    if not isinstance(op, functools.partial) or not hasattr(keywords.get("_func"), "first_n_args_fixed"):
        raise TypeError(
            f"check_operator: argument 0 has type {type(op).__name__}; expected an operator. Pass what "
            "get_linear_call or get_nonlinear_call returned, or a functools.partial of it."
        )
    record = keywords["_func"]
    arrays = tuple(np.asarray(jnp.asarray(arg)) for arg in (*op.args, *args))
    named = {key: value for key, value in keywords.items() if key != "_func"} | dict(kwargs)
    return Subject(functools.partial(op.func, _func=record), record, arrays, named, rtol, atol, seed)


def replaced(args: Sequence[Any], values: Mapping[int, Any]) -> tuple[Any, ...]:
    """Arguments with some of them exchanged, by position."""
    return tuple(values.get(i, arg) for i, arg in enumerate(args))
