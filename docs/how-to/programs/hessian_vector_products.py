# SPDX-License-Identifier: BSD-2-Clause
"""Find the start of a weather model from sparse observations: Newton's method through equations written in C."""

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxbind import get_linear_call, get_nonlinear_call

SOURCE = """
// Lorenz (1996): du[i]/dt = (u[i+1] - u[i-2]) u[i-1] - u[i] + 8 on a ring.
#define AT(x, i) x[((i) + n) % n]
void slope(const double *u, double *out, long n) {
  for (long i = 0; i < n; ++i) out[i] = (AT(u, i + 1) - AT(u, i - 2)) * AT(u, i - 1) - u[i] + 8;
}
// Its product term with two different factors, linear in each, and the transpose of that in the first and the second.
void product(const double *u, const double *w, double *out, long n) {
  for (long i = 0; i < n; ++i) out[i] = (AT(u, i + 1) - AT(u, i - 2)) * AT(w, i - 1);
}
void product_T0(const double *w, const double *c, double *out, long n) {
  for (long i = 0; i < n; ++i) out[i] = AT(c, i - 1) * AT(w, i - 2) - AT(c, i + 2) * AT(w, i + 1);
}
void product_T1(const double *u, const double *c, double *out, long n) {
  for (long i = 0; i < n; ++i) out[i] = (AT(u, i + 2) - AT(u, i - 1)) * AT(c, i + 1);
}
"""

folder = Path(tempfile.mkdtemp())
(folder / "lorenz.c").write_text(SOURCE)
compiler = shutil.which("cc") or "gcc"
subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", "lorenz.so", "lorenz.c"], cwd=folder, check=True)
library = ctypes.CDLL(str(folder / "lorenz.so"))
array = np.ctypeslib.ndpointer(dtype=np.float64, ndim=1, flags="C_CONTIGUOUS")
for name, arrays in {"slope": 2, "product": 3, "product_T0": 3, "product_T1": 3}.items():
    getattr(library, name).argtypes = [array] * arrays + [ctypes.c_long]
    getattr(library, name).restype = None

Arrays = tuple[np.ndarray, ...]


def slope(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Compute the right-hand side."""
    library.slope(*args, *out, out[0].size)


def product(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Compute the product term."""
    library.product(*args, *out, out[0].size)


def product_transposed_0(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Apply the transpose in the first factor: args are the second factor and the cotangent."""
    library.product_T0(*args, *out, out[0].size)


def product_transposed_1(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Apply the transpose in the second factor: args are the first factor and the cotangent."""
    library.product_T1(*args, *out, out[0].size)


def like_first(x: Any, *_: Any) -> Any:
    """One output, like the first argument; C reads float64 only."""
    if x.dtype != np.float64:
        raise TypeError(f"lorenz: argument 0 is {x.dtype}; expected float64.")
    return ((x.shape, x.dtype),)


two_factors = get_linear_call(
    product, (product_transposed_0, product_transposed_1), like_first, (like_first, like_first)
)


def slope_rule(primals: Any, tangents: Any) -> Any:
    """Differentiate the right-hand side: the product rule, written with the bilinear operator."""
    (u,), (du,) = primals, tangents
    return (two_factors(du, u)[0] + two_factors(u, du)[0] - du,)


in_c = get_nonlinear_call(slope, slope_rule, like_first)


def in_jax(u: jax.Array) -> list[jax.Array]:
    """The same right-hand side with JAX's own functions."""
    return [(jnp.roll(u, -1) - jnp.roll(u, 2)) * jnp.roll(u, 1) - u + 8]


def run(right_hand_side: Callable[[jax.Array], list[jax.Array]], start: jax.Array, steps: int = 8) -> jax.Array:
    """Integrate with Runge and Kutta's steps; return the states every six hours, over two days."""

    def step(u: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        k1 = right_hand_side(u)[0]
        k2 = right_hand_side(u + 0.025 * k1)[0]
        k3 = right_hand_side(u + 0.025 * k2)[0]
        k4 = right_hand_side(u + 0.05 * k3)[0]
        u = u + 0.05 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return u, u

    return jax.lax.scan(step, start, length=steps)[1]


jax.config.update("jax_enable_x64", True)
random = np.random.default_rng(0)
truth = run(in_jax, jnp.asarray(random.normal(size=40)), steps=100)[-1]  # any state, and time to become a typical one
forecast = truth + 0.1 * random.normal(size=40)
observed = run(in_jax, truth)[:, ::2] + 0.1 * random.normal(size=(8, 20))  # every second station


def misfit(start: jax.Array, right_hand_side: Any = in_c) -> jax.Array:
    """Weigh observations and forecast by their errors: the cost function of 4D-Var."""
    missed = (run(right_hand_side, start)[:, ::2] - observed) / 0.1
    return (jnp.sum(missed**2) + jnp.sum(((start - forecast) / 0.1) ** 2)) / 2


def hessian_vector_product(start: jax.Array, v: jax.Array, right_hand_side: Any = in_c) -> jax.Array:
    """Multiply the Hessian with a vector: forward over reverse. No matrix is made."""
    return jax.jvp(lambda u: jax.grad(misfit)(u, right_hand_side), (start,), (v,))[1]


@jax.jit
def newton_step(start: jax.Array) -> jax.Array:
    """Solve Hessian step = -gradient by conjugate gradients."""
    return (
        start
        - jax.scipy.sparse.linalg.cg(lambda v: hessian_vector_product(start, v), jax.grad(misfit)(start), maxiter=60)[0]
    )


def error(start: jax.Array) -> jax.Array:
    """Root mean square distance from the truth."""
    return jnp.sqrt(jnp.mean((start - truth) ** 2))


v = jnp.asarray(random.normal(size=40))
ours, twin = (jax.jit(hessian_vector_product, static_argnums=2)(forecast, v, f) for f in (in_c, in_jax))
print(f"Hessian times vector: largest difference from pure JAX {jnp.max(jnp.abs(ours / twin - 1)):.0e}")
np.testing.assert_allclose(ours, twin, rtol=1e-9)

start = forecast
for step in range(6):
    slope_norm = jnp.linalg.norm(jax.grad(misfit)(start))
    print(f"step {step}: misfit {misfit(start):9.3f}, gradient {slope_norm:.0e}, error of the start {error(start):.3f}")
    start = newton_step(start)
np.testing.assert_allclose(jax.grad(misfit)(start, in_jax), 0, atol=1e-6)
