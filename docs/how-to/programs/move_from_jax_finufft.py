# SPDX-License-Identifier: BSD-2-Clause
"""A program that was written for `jax_finufft`, with its import changed, and what it can do now."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxbind_finufft import nufft1, nufft2, options, plan_cache_info  # was: from jax_finufft import nufft1, ...

jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(0)
x = jnp.asarray(rng.uniform(-np.pi, np.pi, 200))
data = jnp.asarray(rng.normal(size=200) + 1j * rng.normal(size=200))
opts = options.Opts(modeord=True)  # mode 0 first


# The old program: a least-squares fit of 16 Fourier modes by gradient descent.
def misfit(modes: jax.Array, x: jax.Array) -> jax.Array:
    """What the fit makes small."""
    return jnp.sum(jnp.abs(nufft2(modes, x, iflag=1, eps=1e-9, opts=opts) - data) ** 2)


@jax.jit
def fit(x: jax.Array) -> jax.Array:
    """Two hundred steps of gradient descent."""
    step = lambda f, _: (f - jax.grad(misfit)(f, x).conj() / 800, None)  # noqa: E731
    return jax.lax.scan(step, jnp.zeros(16, complex), length=200)[0]


modes = fit(x)
waves = np.exp(1j * np.outer(x, np.fft.fftfreq(16, 1 / 16)))
expected = np.linalg.lstsq(waves, np.asarray(data), rcond=None)[0]
print(f"distance to the least-squares solution {np.linalg.norm(modes - expected) / np.linalg.norm(expected):.1e}")

# New: second derivatives in the points, under vmap, on every JAX.
hessians = jax.vmap(jax.hessian(misfit, argnums=1), (0, None))(jnp.stack([modes, 2 * modes]), x)
print("Hessians in the points", hessians.shape)

# New: the points were sorted once; every step of the solver used the plan again.
info = plan_cache_info()
print("each plan was used 20 times and more:", info.hits > 20 * info.misses)

# New: real strengths, lists as shapes, mixed precisions.
print("from real strengths", nufft1([4, 4], jnp.ones(200), x, x.astype(jnp.float32)).dtype)

# New: mistakes are told by name.
try:
    nufft1(16, data, x[:-1])
except ValueError as error:
    print(error)
