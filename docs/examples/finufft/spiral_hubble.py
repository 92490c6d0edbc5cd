# SPDX-License-Identifier: BSD-2-Clause
"""Restore the Hubble Deep Field from a quarter of the Fourier samples it takes, measured along spirals, with noise.

That is what a magnetic resonance scanner does, and a radio interferometer: both measure the Fourier transform of an
image along curves. `nufft2` predicts the samples from an image; its transpose, which the gradient needs, is a `nufft1`
that JAX finds by itself. The points never change, so that FINUFFT sorts them once for all steps of the solver.

    python docs/examples/finufft/spiral_hubble.py [--quick] [--output spiral_hubble.png]

The photograph (NASA, ESA, the Hubble eXtreme Deep Field; public domain) ships with scikit-image: nothing is downloaded.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import skimage.data
from jaxbind_finufft import nufft1, nufft2, plan_cache_info
from matplotlib.figure import Figure
from tqdm import tqdm

FRACTION = 0.25  # samples per pixel
TURNS = 6  # of each spiral arm, from the centre to the highest frequency
NOISE = 0.02  # standard deviation of a sample, where an image of white noise of that size would have the same
SMOOTHNESS = 0.01  # weight of the total variation relative to half the squared misfit
EDGE = 0.01  # brightness differences above this count as edges, which are kept sharp
EPS = 1e-4  # accuracy of the transforms, well below the noise


def spirals(side: int) -> tuple[jax.Array, jax.Array]:
    """Frequencies along interleaved spiral arms, in radians per pixel, inside the circle that fits into the square.

    The radius grows evenly in time: half of the samples lie within half of the radius, where most of the light is.
    """
    count = round(FRACTION * side**2)
    arms = round(FRACTION * side / TURNS)
    radius, arm = np.divmod(np.arange(count), arms)
    radius = (radius + arm / arms) / (count / arms)
    angle = 2 * np.pi * (TURNS * radius + arm / arms)
    rows, columns = np.pi * radius * np.sin(angle), np.pi * radius * np.cos(angle)
    return jnp.asarray(rows, jnp.float32), jnp.asarray(columns, jnp.float32)


def measure(sky: jax.Array, points: tuple[jax.Array, jax.Array]) -> jax.Array:
    """Fourier samples of an image, one row per colour: the three colours are one call of FINUFFT."""
    return nufft2(sky, *points, eps=EPS) / sky.shape[-1]


def gridded(samples: jax.Array, points: tuple[jax.Array, jax.Array], side: int) -> jax.Array:
    """The image that a scanner shows without a solver: the adjoint, each sample weighted by the area it stands for."""
    area = jnp.hypot(*points)
    area = area / jnp.sum(area) * np.pi / 4 * side**2
    image = nufft1((side, side), area * samples, *points, iflag=1, eps=EPS).real / side
    return jnp.clip(image, 0, 1)


def objective(sky: jax.Array, samples: jax.Array, points: tuple[jax.Array, jax.Array]) -> jax.Array:
    """Half the squared misfit, and the total variation; differences are summed in quadrature over the colours too."""
    misfit = measure(sky, points) - samples
    down = jnp.diff(sky, axis=1, append=sky[:, -1:])
    right = jnp.diff(sky, axis=2, append=sky[:, :, -1:])
    variation = jnp.sqrt(jnp.sum(down**2 + right**2, axis=0) + EDGE**2)
    return jnp.sum(jnp.abs(misfit) ** 2) / 2 + SMOOTHNESS * jnp.sum(variation)


def restore(
    samples: jax.Array, points: tuple[jax.Array, jax.Array], side: int, steps: int
) -> tuple[jax.Array, jax.Array]:
    """Minimise the objective over skies that are nowhere negative, in one jitted loop of accelerated gradients.

    The algorithm is FISTA (Beck and Teboulle, 2009). Its step is one over a bound on the curvature: the largest
    eigenvalue of the measurement, by power iteration, and 8 / EDGE for the total variation.
    """

    def stretched(sky: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        [image] = jax.vjp(lambda x: measure(x, points), sky)[1](measure(sky, points).conj())
        size = jnp.linalg.norm(image)
        return image / size, size

    def iterate(
        state: tuple[jax.Array, jax.Array, jax.Array], _: None
    ) -> tuple[tuple[jax.Array, jax.Array, jax.Array], jax.Array]:
        sky, ahead, momentum = state
        value, gradient = jax.value_and_grad(objective)(ahead, samples, points)
        jax.debug.callback(progress.update)
        improved = jnp.maximum(ahead - step * gradient, 0)
        grown = (1 + jnp.sqrt(1 + 4 * momentum**2)) / 2
        return (improved, improved + (momentum - 1) / grown * (improved - sky), grown), value

    start = gridded(samples, points, side)
    largest = jax.jit(lambda sky: jax.lax.scan(stretched, sky, length=10)[1][-1])(start / jnp.linalg.norm(start))
    step = 1 / (1.1 * largest + 8 * SMOOTHNESS / EDGE)
    with tqdm(total=steps, desc="restoring", unit="step", mininterval=0.5) as progress:
        loop = jax.jit(lambda state: jax.lax.scan(iterate, state, length=steps))
        (sky, _, _), values = jax.block_until_ready(loop((start, start, jnp.ones((), jnp.float32))))
        jax.effects_barrier()  # wait for the last progress messages before the bar closes
    return sky, values


def quality(sky: jax.Array, truth: jax.Array) -> float:
    """Peak signal-to-noise ratio in dB; white is 1."""
    return float(-10 * jnp.log10(jnp.mean((jnp.clip(sky, 0, 1) - truth) ** 2)))


def save_picture(path: Path, skies: dict[str, jax.Array], points: tuple[jax.Array, jax.Array]) -> None:
    """Draw where was measured, and the skies side by side."""
    figure = Figure(figsize=(13.2, 3.75), facecolor="black", layout="constrained")
    trajectory, *panels = figure.subplots(1, 1 + len(skies))
    trajectory.scatter(points[1], points[0], s=0.1, color="white", linewidths=0)
    trajectory.set_aspect("equal")
    trajectory.set_title("the frequencies that are measured", color="white", fontsize=11, pad=8)
    for panel, (title, sky) in zip(panels, skies.items(), strict=True):
        picture = np.clip(np.moveaxis(np.asarray(sky), 0, -1), 0, 1)
        panel.imshow(np.round(63 * picture) / 63, interpolation="nearest")  # 64 levels: the eye sees no more
        panel.set_title(title, color="white", fontsize=11, pad=8)
    for panel in (trajectory, *panels):
        panel.set_facecolor("black")
        panel.axis("off")
    figure.savefig(path, dpi=84, pil_kwargs={"optimize": True})


def main() -> None:
    """Sample the photograph, restore it, report the errors and save the picture."""
    parser = argparse.ArgumentParser(description="Restore a photograph from a quarter of its Fourier samples.")
    parser.add_argument("--quick", action="store_true", help="a small part of the field and few steps")
    parser.add_argument("--output", type=Path, default=Path("spiral_hubble.png"), help="where to save the picture")
    options = parser.parse_args()

    side, steps = (128, 40) if options.quick else (256, 150)
    photograph = skimage.data.hubble_deep_field()[420 : 420 + side, 600 : 600 + side]
    truth = jnp.asarray(np.moveaxis(photograph, -1, 0) / 255, dtype=jnp.float32)
    points = spirals(side)
    noise = np.random.default_rng(1).normal(scale=NOISE / np.sqrt(2), size=(2, 3, points[0].size)).astype(np.float32)
    samples = jax.jit(measure)(truth, points) + jax.lax.complex(noise[0], noise[1])

    print(f"{side} x {side} pixels, 3 colours, {points[0].size} samples each: {points[0].size / side**2:.0%}")
    before = gridded(samples, points, side)
    start = time.perf_counter()
    restored, values = restore(samples, points, side, steps)
    elapsed = time.perf_counter() - start
    reduced = jnp.mean(jnp.abs(measure(restored, points) - samples) ** 2) / NOISE**2
    first, last = quality(before, truth), quality(restored, truth)
    print(f"gridded:  PSNR {first:.2f} dB")
    print(f"restored: PSNR {last:.2f} dB, chi^2 per sample {reduced:.3f}, {elapsed:.1f} s")
    print(f"objective fell from {values[0]:.1f} to {values[-1]:.1f}")
    info = plan_cache_info()
    print(f"FINUFFT sorted the points {info.misses + info.recycled} times for {info.hits} transforms more")
    skies = {
        "the sky, seen by Hubble": truth,
        f"weighted adjoint: PSNR {first:.1f} dB": before,
        f"restored with gradients: PSNR {last:.1f} dB": restored,
    }
    save_picture(options.output, skies, points)
    print(f"picture: {options.output}")


if __name__ == "__main__":
    main()
