# SPDX-License-Identifier: BSD-2-Clause
"""Bind a nonlinear function with a derivative rule written in JAX: every order follows from one line."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jaxbind import get_nonlinear_call, load_kwargs

Arrays = tuple[np.ndarray, ...]


def bessel(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Compute the Bessel function J_n, which JAX does not have for every n."""
    out[0][...] = scipy.special.jv(load_kwargs(kwargs_dump)["n"], args[0])


def same(x: Any, **kwargs: Any) -> Any:
    """One output, like the input."""
    return ((x.shape, x.dtype),)


def rule(primals: Any, tangents: Any, *, n: int) -> Any:
    """dJ_n/dx = (J_{n-1} - J_{n+1}) / 2, written with the operator itself."""
    (x,), (dx,) = primals, tangents
    return ((J(x, n=n - 1)[0] - J(x, n=n + 1)[0]) / 2 * dx,)


J = get_nonlinear_call(bessel, rule, same)

jax.config.update("jax_enable_x64", True)


def bessel_0(x: jax.Array) -> jax.Array:
    """Compute J_0."""
    return J(x, n=0)[0]


def find_zero(x: jax.Array) -> jax.Array:
    """Run Newton's method, whose derivative is the operator's."""
    return jax.lax.fori_loop(0, 6, lambda _, x: x - bessel_0(x) / jax.grad(bessel_0)(x), x)


x = jnp.asarray(1.5)
derivative = bessel_0
for order in range(5):
    exact = scipy.special.jvp(0, 1.5, order)
    print(f"derivative {order}: {derivative(x):+.12f}, SciPy {exact:+.12f}")
    np.testing.assert_allclose(derivative(x), exact, rtol=1e-12)
    derivative = jax.grad(derivative)

print("zeros", jax.jit(jax.vmap(find_zero))(jnp.array([2.0, 5.0, 9.0])))
