# SPDX-License-Identifier: BSD-2-Clause
"""See a star cluster through turbulent air: blind deconvolution with Newton's method and a bound SciPy convolution.

Short exposures freeze the turbulence: each shows the cluster convolved with a different, unknown pattern of speckles.
The convolution is linear in the sky and linear in the pattern, so it is bound as a *multilinear* operator: give JAX one
transpose for each, and it has derivatives of every order, here reverse over reverse for Hessian-vector products.

    python docs/examples/multilinear.py [--quick]
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import jaxbind
import numpy as np
import scipy.ndimage
import scipy.signal

Parameters = dict[str, jax.Array]
Shapes = tuple[tuple[tuple[int, ...], Any], ...]

SKY = 36  # pixels along a side of the sky
PATTERN = 15  # pixels along a side of a speckle pattern
STARS = 20
PHASE = 2.2  # what the air adds to the light's phase, radians (root mean square over the telescope's mirror)
NOISE = 0.005  # standard deviation in a pixel; the faintest star has 0.3 units of light in all
TURBULENCE_INDEX = -11 / 6  # Kolmogorov: amplitudes of the phase fall off with this power of the spatial frequency


def convolve(out: tuple[np.ndarray, ...], args: tuple[np.ndarray, ...], kwargs_dump: Any) -> None:
    """Convolve two images, by SciPy's overlap-add method."""
    out[0][...] = scipy.signal.oaconvolve(*args, mode="full")


def correlate(out: tuple[np.ndarray, ...], args: tuple[np.ndarray, ...], kwargs_dump: Any) -> None:
    """Compute either transpose: from the other image and a cotangent, which arrives last."""
    other, cotangent = args
    out[0][...] = scipy.signal.correlate(cotangent, other, mode="valid", method="fft")


def convolved(a: Any, b: Any) -> Shapes:
    """Say, for tracing, what comes out of `convolve`."""
    return ((tuple(m + n - 1 for m, n in zip(a.shape, b.shape, strict=True)), a.dtype),)


def correlated(other: Any, cotangent: Any) -> Shapes:
    """Say, for tracing, what comes out of `correlate`."""
    return ((tuple(m - n + 1 for m, n in zip(cotangent.shape, other.shape, strict=True)), cotangent.dtype),)


convolution = jaxbind.get_linear_call(convolve, (correlate, correlate), convolved, (correlated, correlated))


@partial(jax.vmap, in_axes=(None, 0))  # one sky, many patterns: nothing is copied, the sky's stride is 0
def expose(sky: jax.Array, pattern: jax.Array) -> jax.Array:
    """Compute what the telescope sees."""
    return convolution(sky, pattern)[0]


def speckles(random: np.random.Generator) -> np.ndarray:
    """Draw the image of one star: the diffraction pattern of a round mirror behind turbulent air, centred."""
    n = 64
    y, x = np.mgrid[:n, :n] - n // 2
    mirror = x**2 + y**2 < (n / 8) ** 2
    frequency = np.hypot(*np.meshgrid(np.fft.fftfreq(n), np.fft.fftfreq(n)))
    frequency[0, 0] = np.inf  # no constant phase: it does not matter
    phase = np.fft.ifft2(np.fft.fft2(random.standard_normal((n, n))) * frequency**TURBULENCE_INDEX).real
    phase *= PHASE / phase[mirror].std()
    light = np.abs(np.fft.fftshift(np.fft.fft2(mirror * np.exp(1j * phase)))) ** 2
    centre = np.round(scipy.ndimage.center_of_mass(light)).astype(int)
    cut = slice(n // 2 - PATTERN // 2, n // 2 + PATTERN // 2 + 1)
    light = np.roll(light, n // 2 - centre, axis=(0, 1))[cut, cut]
    return light / light.sum()


def model(parameters: Parameters) -> tuple[jax.Array, jax.Array]:
    """Build a sky without negative light, and patterns that are positive and pass all light on."""
    logits = parameters["logits"]
    patterns = jax.nn.softmax(logits.reshape(len(logits), -1)).reshape(logits.shape)
    return parameters["root"] ** 2, patterns


def objective(parameters: Parameters, exposures: jax.Array) -> jax.Array:
    """Compute chi^2 / 2, plus a weak pull of the logits to zero, which settles pixels that nothing else does."""
    misfit = (expose(*model(parameters)) - exposures) / NOISE
    return jnp.sum(misfit**2) / 2 + 0.01 * jnp.sum(parameters["logits"] ** 2)


def hessian_vector(parameters: Parameters, vector: Parameters, exposures: jax.Array) -> Parameters:
    """Multiply the objective's Hessian with a vector, reverse over reverse: the gradient of <gradient, vector>."""

    def slope(at: Parameters) -> jax.Array:
        gradient = jax.grad(objective)(at, exposures)
        return jax.tree.reduce(jnp.add, jax.tree.map(jnp.vdot, gradient, vector))

    product: Parameters = jax.grad(slope)(parameters)
    return product


@jax.jit
def newton_step(
    parameters: Parameters, damping: jax.Array, exposures: jax.Array
) -> tuple[Parameters, jax.Array, jax.Array]:
    """Take one damped Newton step, (Hessian + damping) step = gradient; keep it only if the objective falls."""
    value, gradient = jax.value_and_grad(objective)(parameters, exposures)

    def damped(vector: Parameters) -> Any:
        return jax.tree.map(lambda h, v: h + damping * v, hessian_vector(parameters, vector, exposures), vector)

    step, _ = jax.scipy.sparse.linalg.cg(damped, gradient, tol=1e-3, maxiter=30)
    trial = jax.tree.map(jnp.subtract, parameters, step)
    trial_value = objective(trial, exposures)
    better = trial_value < value
    kept = jax.tree.map(lambda new, old: jnp.where(better, new, old), trial, parameters)
    return kept, jnp.where(better, damping / 3, damping * 4), jnp.where(better, trial_value, value)


def sky_error(sky: Any, truth: np.ndarray) -> float:
    """Measure the relative error of a sky at a resolution of about two pixels."""
    seen, true = (scipy.ndimage.gaussian_filter(np.asarray(image), sigma=1.0) for image in (sky, truth))
    return float(np.linalg.norm(seen - true) / np.linalg.norm(true))


def main() -> None:
    """Simulate the exposures, recover sky and patterns, and compare them with the truth."""
    parser = argparse.ArgumentParser(description="Blind deconvolution of short exposures of a star cluster.")
    parser.add_argument("--quick", action="store_true", help="fewer steps")
    steps = 20 if parser.parse_args().quick else 40
    jax.config.update("jax_enable_x64", True)

    random = np.random.default_rng(seed=1)
    truth = np.zeros((SKY, SKY))
    truth[tuple(random.integers(2, SKY - 2, (2, STARS)))] = 0.3 + random.pareto(1.5, STARS)
    patterns = np.stack([speckles(random) for _ in range(6)])
    exposures = expose(jnp.asarray(truth), jnp.asarray(patterns))
    exposures += NOISE * random.standard_normal(exposures.shape)

    # Begin with the mean exposure, and with every pattern a broad disc.
    edge = PATTERN // 2
    mean = exposures.mean(axis=0)[edge:-edge, edge:-edge]
    y, x = np.mgrid[:PATTERN, :PATTERN] - edge
    disc = np.broadcast_to(-(x**2 + y**2) / (2 * (PATTERN / 2.5) ** 2), patterns.shape)
    parameters = {"root": jnp.sqrt(jnp.clip(mean, 1e-4)), "logits": jnp.asarray(disc)}

    vector = jax.tree.map(lambda p: jnp.asarray(random.standard_normal(p.shape)), parameters)
    backward = jax.jit(hessian_vector)(parameters, vector, exposures)["root"]
    _, forward = jax.jvp(partial(jax.grad(objective), exposures=exposures), (parameters,), (vector,))
    difference = jnp.linalg.norm(backward - forward["root"]) / jnp.linalg.norm(backward)
    print(f"Hessian times vector, reverse over reverse against forward over reverse: {difference:.1e}")

    print(f"{STARS} stars, {len(exposures)} exposures, noise {NOISE}")
    print(f"before: sky error {sky_error(mean, truth):.3f}")
    damping = jnp.asarray(1e3)
    for step in range(1, steps + 1):
        parameters, damping, value = newton_step(parameters, damping, exposures)
        if step % 10 == 0:
            print(f"step {step:3d}: objective per pixel {value / exposures.size:.3f}", flush=True)
    sky, recovered = model(parameters)
    pattern_error = jnp.linalg.norm(recovered - patterns) / jnp.linalg.norm(patterns)
    print(f"after:  sky error {sky_error(sky, truth):.3f}, speckle pattern error {pattern_error:.3f}")


if __name__ == "__main__":
    main()
