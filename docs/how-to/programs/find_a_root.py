# SPDX-License-Identifier: BSD-2-Clause
"""Solve nonlinear equations with SciPy, differentiable to every order by the implicit function theorem."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
from jaxbind import get_nonlinear_call

Arrays = tuple[np.ndarray, ...]
SPRINGS = 2 * np.eye(5) - np.eye(5, k=1) - np.eye(5, k=-1)  # between five masses in a row and two walls


def imbalance(x: Any, stiffening: Any, load: Any) -> Any:
    """Forces that are left at displacements x under a load. A second spring at each mass grows stiffer with x.

    Plain arithmetic: SciPy calls it with NumPy arrays, the derivative below with JAX's.
    """
    return SPRINGS @ x + stiffening * x**3 - load


def rest(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Find the displacements at which no force is left."""
    guess, stiffening, load = args

    def jacobian(x: np.ndarray) -> np.ndarray:
        return SPRINGS + np.diag(3 * stiffening * x**2)

    found = scipy.optimize.root(lambda x: imbalance(x, stiffening, load), guess, jac=jacobian, tol=1e-13)
    if not found.success:
        raise RuntimeError(found.message)  # reaches the caller of the jitted function, with this text
    out[0][...] = found.x


def displacements(guess: Any, stiffening: Any, load: Any) -> Any:
    """One output, like the guess."""
    return ((guess.shape, guess.dtype),)


def rule(primals: Any, tangents: Any) -> Any:
    """Differentiate g(x(p), p) = 0: (dg/dx) dx + (dg/dp) dp = 0.

    `x` comes from the operator itself, so the result can be differentiated again. The guess is fixed: where SciPy
    starts does not change where it ends.
    """
    _, stiffening, load = primals
    changes = [jnp.zeros_like(p) if dp is None else dp for p, dp in zip(primals[1:], tangents[1:], strict=True)]
    x = equilibrium(*primals)[0]
    _, dg = jax.jvp(lambda *p: imbalance(x, *p), (stiffening, load), tuple(changes))
    return (-jnp.linalg.solve(jax.jacfwd(imbalance)(x, stiffening, load), dg),)


equilibrium = get_nonlinear_call(rest, rule, displacements, first_n_args_fixed=1)

jax.config.update("jax_enable_x64", True)


def by_scipy(stiffening: jax.Array, load: jax.Array) -> jax.Array:
    """Displacement of the middle mass."""
    return equilibrium(jnp.zeros(5), stiffening, load)[0][2]


def by_unrolling(stiffening: jax.Array, load: jax.Array) -> jax.Array:
    """The same by Newton steps in JAX, so that JAX differentiates the steps themselves."""

    def step(x: jax.Array, _: None) -> tuple[jax.Array, None]:
        jacobian = SPRINGS + jnp.diag(3 * stiffening * x**2)
        return x - jnp.linalg.solve(jacobian, imbalance(x, stiffening, load)), None

    return jax.lax.scan(step, jnp.zeros(5), length=12)[0][2]


stiffening, load = jnp.linspace(0.5, 1.5, 5), jnp.array([0.2, -0.1, 1.0, 0.3, 0.0])
print("displacements", equilibrium(jnp.zeros(5), stiffening, load)[0].round(4))
for name, derive in {
    "value": lambda f: f,
    "gradient in the load": lambda f: jax.grad(f, 1),
    "gradient in the stiffening": jax.grad,
    "Hessian in both, forward over reverse": lambda f: jax.jacfwd(jax.grad(f), 1),
    "third derivative in the load": lambda f: jax.jacrev(jax.hessian(f, 1), 1),
}.items():
    ours, unrolled = (jax.jit(derive(f))(stiffening, load) for f in (by_scipy, by_unrolling))
    print(f"{name:37s} {ours.shape!s:9s} largest difference {jnp.max(jnp.abs(ours - unrolled)):.0e}")
    np.testing.assert_allclose(ours, unrolled, atol=1e-10)

loads = load * jnp.linspace(0, 3, 7)[:, None]
print("under growing load", jax.vmap(by_scipy, (None, 0))(stiffening, loads).round(3))
