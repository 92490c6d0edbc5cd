# SPDX-License-Identifier: BSD-2-Clause
"""Fit an image through SciPy's blur with Optax, in one compiled loop."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import scipy.ndimage
from jaxbind import get_linear_call

Arrays = tuple[np.ndarray, ...]


def blur(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Blur an image. The filter is symmetric and ends at zeros, so the operator is its own transpose."""
    scipy.ndimage.gaussian_filter(args[0], 1.0, output=out[0], mode="constant")


def same(image: Any) -> Any:
    """One output, like the input."""
    return ((image.shape, image.dtype),)


operator = get_linear_call(blur, blur, same, same)

random = np.random.default_rng(0)
truth = np.zeros((16, 16), dtype=np.float32)
truth[4:8, 5:11] = 1
data = jnp.asarray(scipy.ndimage.gaussian_filter(truth, 1.0, mode="constant") + 0.01 * random.normal(size=truth.shape))


def loss(parameters: dict[str, jax.Array]) -> jax.Array:
    """Misfit and a penalty; a common brightness is fitted too."""
    image = parameters["image"] + parameters["brightness"]
    return jnp.sum((operator(image)[0] - data) ** 2) + 0.1 * jnp.sum(parameters["image"] ** 2)


optimiser = optax.adam(optax.cosine_decay_schedule(0.1, 600))


@jax.jit
def fit(parameters: dict[str, jax.Array]) -> tuple[dict[str, jax.Array], jax.Array]:
    """Run all steps as one program."""

    def step(carry: Any, _: None) -> Any:
        parameters, state = carry
        value, gradient = jax.value_and_grad(loss)(parameters)
        updates, state = optimiser.update(gradient, state)
        return (optax.apply_updates(parameters, updates), state), value

    (parameters, _), values = jax.lax.scan(step, (parameters, optimiser.init(parameters)), length=600)
    return parameters, values


start = {"image": jnp.zeros(truth.shape), "brightness": jnp.zeros(())}
fitted, values = fit(start)
print(f"loss {values[0]:.3f} -> {values[-1]:.4f}, brightness {fitted['brightness']:.4f}")

# The loss is a parabola, so its minimum is known: least squares with the matrix of the blur.
columns = [scipy.ndimage.gaussian_filter(e.reshape(16, 16), 1.0, mode="constant").ravel() for e in np.eye(256)]
matrix = np.stack(columns, axis=1)
matrix = np.hstack([matrix, matrix.sum(axis=1, keepdims=True)])
penalty = np.sqrt(0.1) * np.eye(256, 257)
exact = np.linalg.lstsq(np.vstack([matrix, penalty]), np.append(np.ravel(data), np.zeros(256)), rcond=None)[0]
print(f"largest difference from the exact minimum {np.max(np.abs(fitted['image'].ravel() - exact[:-1])):.0e}")
np.testing.assert_allclose(fitted["image"].ravel(), exact[:-1], atol=2e-3)
