# SPDX-License-Identifier: BSD-2-Clause
"""The operator under test: how to call it, random points for it, and how large a difference is."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbind._checks.report import Check

Function = Callable[..., Any]
Arrays = tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Subject:
    """An operator with example inputs."""

    record: Any
    call: Function  # arrays -> tuple of arrays, keyword arguments applied
    args: Arrays
    kwargs: dict[str, Any]
    seed: int
    rtol: float
    atol: float

    @classmethod
    def make(
        cls, op: Any, args: Sequence[Any], kwargs: dict[str, Any], *, seed: int, rtol: float | None, atol: float | None
    ) -> Subject:
        """Take an operator, or a partial of it, apart; tolerances follow from the least precise dtype."""
        if not isinstance(op, functools.partial) or "_func" not in op.keywords:
            raise TypeError(
                f"check_operator: argument 0 has type {type(op).__name__}; expected an operator. Pass what "
                "get_linear_call or get_nonlinear_call returned, or a functools.partial of it."
            )
        arrays = tuple(map(jnp.asarray, (*op.args, *args)))
        static = {key: value for key, value in op.keywords.items() if key != "_func"} | kwargs
        record = op.keywords["_func"]

        def call(*values: Any) -> Arrays:
            return tuple(op.func(*values, _func=record, **static))

        dtypes = [x.dtype for x in (*arrays, *jax.eval_shape(call, *arrays)) if jnp.issubdtype(x.dtype, jnp.inexact)]
        tolerance = 300 * max((rounding(dtype) for dtype in dtypes), default=0.0)
        return cls(
            record=record,
            call=call,
            args=arrays,
            kwargs=static,
            seed=seed,
            rtol=tolerance if rtol is None else rtol,
            atol=tolerance if atol is None else atol,
        )

    @property
    def name(self) -> str:
        """The operator's name."""
        return str(self.record.name)

    @property
    def fixed(self) -> int:
        """Number of leading arguments without derivative."""
        return int(self.record.first_n_args_fixed)

    @property
    def moving(self) -> Arrays:
        """The arguments that have derivatives."""
        return self.args[self.fixed :]

    @property
    def tolerance(self) -> float:
        """Largest error, relative to the scale of the values, that rounding explains."""
        return max(self.rtol, self.atol)

    def freeze(self, *moving: Any) -> Arrays:
        """Call the operator with the example's fixed arguments."""
        return tuple(self.call(*self.args[: self.fixed], *moving))

    def draw(self, like: Sequence[Any], salt: int) -> Arrays:
        """Random arrays of given shapes and dtypes; complex ones have imaginary parts, integers are not all zero."""
        rng = np.random.default_rng((self.seed, salt))
        return tuple(jnp.asarray(_draw(rng, x.shape, x.dtype)) for x in like)

    def compare(self, name: str, found: Any, expected: Any, cause: str, *, slack: float = 1.0) -> Check:
        """Compare trees of arrays; the error is relative to the largest value, so cancellation does not count."""
        worst, where = 0.0, ""
        for k, (a, b) in enumerate(zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True)):
            if jnp.shape(a) != jnp.shape(b):
                return Check(name, passed=False, detail=f"shapes {jnp.shape(a)} and {jnp.shape(b)} differ. {cause}")
            error = _error(a, b)
            if not error <= worst:
                worst, where = error, f"largest in array {k}"
        return Check(name, worst <= self.tolerance * slack, f"{where}. {cause}", worst, self.tolerance * slack)


def rounding(dtype: Any) -> float:
    """The relative rounding error of a dtype."""
    return float(jnp.finfo(dtype).eps)  # type: ignore[no-untyped-call]


def _draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Any:
    if jnp.issubdtype(dtype, jnp.complexfloating):
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    if jnp.issubdtype(dtype, jnp.floating):
        return rng.normal(size=shape).astype(dtype)
    if dtype == jnp.bool_:
        return rng.random(shape) < 0.5
    return rng.integers(1, 5, shape).astype(dtype)


def _error(a: Any, b: Any) -> float:
    wide = [np.asarray(x).astype(np.complex128) for x in (a, b)]
    if wide[0].size == 0:
        return 0.0
    scale = max(float(np.max(np.abs(wide[1]))), float(np.max(np.abs(wide[0]))), 1e-30)
    difference = float(np.max(np.abs(wide[0] - wide[1])) / scale)
    return float("inf") if np.isnan(difference) else difference
