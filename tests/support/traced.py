# SPDX-License-Identifier: BSD-2-Clause
"""Operators whose derivatives are rules written in JAX, with their twins.

The linear one is a non-uniform Fourier sum, y_j = sum_k x_k exp(i p_j k), fixed in the points p; the bilinear one has a
weight slot too. The nonlinear ones are sin and a power of two arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxbind import get_linear_call, get_nonlinear_call

Function = Callable[..., Any]
RNG = np.random.default_rng(0)


def _complex(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


POINTS, COEFFICIENTS, WEIGHTS = RNG.normal(size=4), _complex(3), _complex(4)


def _phases(points: Any, count: int) -> Any:
    return np.exp(1j * np.outer(points, np.arange(count)))


def _sum(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] = _phases(args[0], len(args[1])) @ args[1]


def _sum_t(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] = args[1] @ _phases(args[0], len(out[0]))


def _sum_rule(primals: Any, tangents: Any, count: int) -> Any:
    (p, x), (dp,) = primals, tangents
    return (1j * dp.astype(complex) * fourier(p, jnp.arange(count, dtype=complex) * x, count=count)[0],)


fourier = get_linear_call(
    _sum,
    _sum_t,
    lambda p, x, count: ((p.shape, np.complex128),),
    lambda p, c, count: (((count,), np.complex128),),
    first_n_args_fixed=1,
    fixed_derivative=_sum_rule,
)


def _weighted(out: Any, args: Any, kwargs_dump: Any) -> None:
    p, w, x = args
    out[0][...] = w * (_phases(p, len(x)) @ x)


def _weighted_t1(out: Any, args: Any, kwargs_dump: Any) -> None:
    p, x, c = args
    out[0][...] = c * (_phases(p, len(x)) @ x)


def _weighted_t2(out: Any, args: Any, kwargs_dump: Any) -> None:
    p, w, c = args
    out[0][...] = (w * c) @ _phases(p, len(out[0]))


def _weighted_rule(primals: Any, tangents: Any, count: int) -> Any:
    (p, w, x), (dp,) = primals, tangents
    return (1j * dp.astype(complex) * weighted(p, w, jnp.arange(count, dtype=complex) * x, count=count)[0],)


weighted = get_linear_call(
    _weighted,
    (None, _weighted_t1, _weighted_t2),
    lambda p, w, x, count: ((p.shape, np.complex128),),
    (None, lambda p, x, c, count: ((p.shape, np.complex128),), lambda p, w, c, count: (((count,), np.complex128),)),
    first_n_args_fixed=1,
    fixed_derivative=_weighted_rule,
)


def _twin(p: jax.Array, x: jax.Array) -> jax.Array:
    return jnp.exp(1j * jnp.outer(p.astype(complex), jnp.arange(x.shape[0], dtype=complex))) @ x


def host_sin(out: Any, args: Any, kwargs_dump: Any) -> None:
    np.sin(args[0], out=out[0])


def _cos(out: Any, args: Any, kwargs_dump: Any) -> None:
    np.cos(args[0], out=out[0])


sin = get_nonlinear_call(host_sin, lambda p, t: (cos(p[0])[0] * t[0],), lambda x: ((x.shape, x.dtype),))
cos = get_nonlinear_call(_cos, lambda p, t: (-sin(p[0])[0] * t[0],), lambda x: ((x.shape, x.dtype),))


def _power(out: Any, args: Any, kwargs_dump: Any) -> None:
    np.power(args[0], args[1], out=out[0])


def _power_rule(primals: Any, tangents: Any) -> Any:
    (x, y), (dx, dy) = primals, tangents
    terms = [
        None if dx is None else y * power(x, y - 1)[0] * dx,
        None if dy is None else jnp.log(x) * power(x, y)[0] * dy,
    ]
    found = [term for term in terms if term is not None]
    return (sum(found[1:], found[0]),)


power = get_nonlinear_call(_power, _power_rule, lambda x, y: ((x.shape, x.dtype),))


# By name: the operator, its twin, the arguments.
LINEAR: dict[str, tuple[Function, Function, tuple[Any, ...]]] = {
    "linear": (lambda p, x: fourier(p, x, count=3)[0], _twin, (POINTS, COEFFICIENTS)),
    "bilinear": (
        lambda p, w, x: weighted(p, w, x, count=3)[0],
        lambda p, w, x: w * _twin(p, x),
        (POINTS, WEIGHTS, COEFFICIENTS),
    ),
}
