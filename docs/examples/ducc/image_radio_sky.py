# SPDX-License-Identifier: BSD-2-Clause
"""Image a radio sky from the visibilities that an array of 27 antennas measures in eight hours, with noise.

The Hubble Deep Field, in grey, plays the radio sky. `wgridder.dirty2vis` predicts the visibilities of an image,
exactly also for a wide field; its transpose, which the gradient needs, is what radio astronomers call the dirty image.
JAX finds it by itself. An accelerated gradient descent looks for the sky that explains the visibilities, is nowhere
negative, and has no more edges than it needs.

    python docs/examples/ducc/image_radio_sky.py [--quick] [--output image_radio_sky.png]

The array is synthetic, after the Very Large Array: three arms 120 degrees apart, nine antennas on each, the k-th at a
distance proportional to k^1.716. The photograph (NASA, ESA, the Hubble eXtreme Deep Field; public domain) ships with
scikit-image: nothing is downloaded.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import skimage.data
from jaxbind_ducc import wgridder
from matplotlib.figure import Figure
from tqdm import tqdm

LIGHT = 299792458.0
REACH = 600.0  # metres from the centre to the outermost antenna
FREQUENCIES = np.linspace(1.0e9, 2.0e9, 8)  # Hz
LATITUDE, DECLINATION = np.radians(34.08), np.radians(50.0)  # of the array, and of the sky
HOURS = 8.0  # of observation, around the highest position of the sky
PIXEL = np.radians(14 / 3600)  # its width is just below what the longest baseline resolves
NOISE = 0.3  # standard deviation of a visibility relative to the root mean square of all
SMOOTHNESS = 20.0  # weight of the total variation relative to half the squared misfit in units of the noise
EDGE = 0.02  # brightness differences above this count as edges, which are kept sharp
EPSILON = 1e-5  # accuracy of the transforms, far below the noise


def baselines(times: int) -> np.ndarray:
    """The vectors (u, v, w) between all pairs of antennas, in metres, as the Earth turns: shape (pairs * times, 3)."""
    distance = REACH * (np.arange(1, 10) / 9) ** 1.716
    azimuth = np.radians([5.0, 125.0, 245.0])[:, None]
    east, north = (np.ravel(distance * turn) for turn in (np.sin(azimuth), np.cos(azimuth)))
    first, second = np.triu_indices(len(east), 1)
    east, north = east[first] - east[second], north[first] - north[second]
    # Equatorial coordinates: towards the meridian, the east, the pole.
    x, y, z = -np.sin(LATITUDE) * north, east, np.cos(LATITUDE) * north
    hour = np.radians(15.0) * HOURS * np.linspace(-0.5, 0.5, times)[:, None]
    towards, across = np.cos(hour) * x - np.sin(hour) * y, np.sin(hour) * x + np.cos(hour) * y
    v = -np.sin(DECLINATION) * towards + np.cos(DECLINATION) * z
    w = np.cos(DECLINATION) * towards + np.sin(DECLINATION) * z
    return np.stack([across, v, w], -1).reshape(-1, 3)


def observe(sky: jax.Array, uvw: jax.Array) -> jax.Array:
    """The visibilities of a sky at all baselines and frequencies, per pixel."""
    method: dict[str, Any] = {"epsilon": EPSILON, "do_wgridding": True, "divide_by_n": False}
    frequencies = jnp.asarray(FREQUENCIES)
    return wgridder.dirty2vis(uvw, frequencies, sky, pixsize_x=PIXEL, pixsize_y=PIXEL, **method) / sky.shape[0]


def objective(sky: jax.Array, visibilities: jax.Array, uvw: jax.Array, sigma: float) -> jax.Array:
    """Half the squared misfit, in units of the noise, and the total variation of the sky, per visibility."""
    misfit = (observe(sky, uvw) - visibilities) / sigma
    down, right = jnp.diff(sky, axis=0, append=sky[-1:]), jnp.diff(sky, axis=1, append=sky[:, -1:])
    variation = jnp.sqrt(down**2 + right**2 + EDGE**2) - EDGE
    return (jnp.sum(jnp.abs(misfit) ** 2) / 2 + SMOOTHNESS * jnp.sum(variation)) / misfit.size


def image(visibilities: jax.Array, uvw: jax.Array, sigma: float, side: int, steps: int) -> tuple[jax.Array, jax.Array]:
    """Minimise the objective over skies that are nowhere negative; also how it fell.

    The algorithm is FISTA (Beck and Teboulle, 2009), in one jitted loop. Its step is one over a bound on the curvature:
    the largest eigenvalue of the misfit's, by power iteration, and 8 / EDGE for the total variation.
    """
    unit = 1 / (sigma**2 * visibilities.size)

    def stretched(sky: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        predicted, transpose = jax.vjp(lambda x: observe(x, uvw), sky)
        [back] = transpose(unit * predicted.conj())
        return back / jnp.linalg.norm(back), jnp.linalg.norm(back)

    def iterate(state: tuple[jax.Array, jax.Array, jax.Array], _: None) -> tuple[Any, jax.Array]:
        sky, ahead, momentum = state
        value, gradient = jax.value_and_grad(objective)(ahead, visibilities, uvw, sigma)
        jax.debug.callback(show, value)
        improved = jnp.maximum(ahead - step * gradient, 0)
        grown = (1 + jnp.sqrt(1 + 4 * momentum**2)) / 2
        return (improved, improved + (momentum - 1) / grown * (improved - sky), grown), value

    start = jnp.full((side, side), 1 / side, jnp.float32)
    largest = jax.jit(lambda sky: jax.lax.scan(stretched, sky, length=8)[1][-1])(start)
    step = 1 / (1.1 * largest + 8 * SMOOTHNESS / EDGE / visibilities.size)
    with tqdm(total=steps, desc="imaging", unit="step", mininterval=0.5) as progress:

        def show(value: np.ndarray) -> None:
            progress.set_postfix_str(f"objective {value:.4f}", refresh=False)
            progress.update()

        loop = jax.jit(lambda state: jax.lax.scan(iterate, state, length=steps))
        (sky, _, _), values = jax.block_until_ready(loop((start, start, jnp.ones((), jnp.float32))))
        jax.effects_barrier()  # wait for the last progress messages before the bar closes
    return sky, values


def quality(sky: jax.Array, truth: jax.Array) -> float:
    """Peak signal-to-noise ratio in dB; white is 1."""
    return float(-10 * jnp.log10(jnp.mean((jnp.clip(sky, 0, 1) - truth) ** 2)))


def dirty_image(visibilities: jax.Array, uvw: jax.Array, side: int) -> jax.Array:
    """The transpose of the observation on the visibilities, scaled so that a lone star has its height."""

    def transpose(vis: jax.Array) -> jax.Array:
        [back] = jax.linear_transpose(lambda x: observe(x, uvw), jax.ShapeDtypeStruct((side, side), jnp.float32))(vis)
        return back

    beam = jax.jit(
        lambda: transpose(observe(jnp.zeros((side, side), jnp.float32).at[side // 2, side // 2].set(1), uvw).conj())
    )()
    return jax.jit(transpose)(visibilities.conj()) / jnp.max(beam)


def save_picture(path: Path, skies: dict[str, jax.Array], uvw: jax.Array) -> None:
    """Draw the coverage of the (u, v) plane and the skies side by side."""
    figure = Figure(figsize=(13.2, 3.75), facecolor="black", layout="constrained")
    coverage, *panels = figure.subplots(1, 1 + len(skies))
    wavelengths = np.asarray(uvw)[:, None, :2] * FREQUENCIES[:, None] / LIGHT
    for sign in (-1, 1):  # a sky is real: each baseline counts in both directions
        coverage.scatter(*(sign * wavelengths.reshape(-1, 2)[::5].T), s=0.3, color="white", linewidths=0)
    coverage.set_aspect("equal")
    coverage.set_title("where (u, v) is measured", color="white", fontsize=11, pad=8)
    for panel, (title, sky) in zip(panels, skies.items(), strict=True):
        picture = np.clip(np.asarray(sky) / max(1, 0.7 * float(jnp.max(sky))), 0, 1) ** 0.7
        panel.imshow(np.round(63 * picture) / 63, cmap="inferno", vmin=0, vmax=1, interpolation="nearest")
        panel.set_title(title, color="white", fontsize=11, pad=8)
    for panel in (coverage, *panels):
        panel.set_facecolor("black")
        panel.axis("off")
    figure.savefig(path, dpi=84, pil_kwargs={"optimize": True})


def main() -> None:
    """Observe the sky, image it, report the errors and save the picture."""
    parser = argparse.ArgumentParser(description="Image a radio sky from visibilities.")
    parser.add_argument("--quick", action="store_true", help="a small field and few steps")
    parser.add_argument("--output", type=Path, default=Path("image_radio_sky.png"), help="where to save the picture")
    options = parser.parse_args()

    side, times, steps = (128, 20, 40) if options.quick else (256, 48, 150)
    photograph = skimage.data.hubble_deep_field()[420 : 420 + side, 600 : 600 + side]
    truth = jnp.asarray(photograph.mean(-1) / 255, jnp.float32)
    uvw = jnp.asarray(baselines(times))
    clean = jax.jit(observe)(truth, uvw)
    sigma = NOISE * float(jnp.sqrt(jnp.mean(jnp.abs(clean) ** 2)))
    noise = np.random.default_rng(1).normal(scale=sigma / np.sqrt(2), size=(2, *clean.shape)).astype(np.float32)
    visibilities = clean + jax.lax.complex(noise[0], noise[1])

    print(f"{side} x {side} pixels, {clean.size} visibilities, |w| up to {jnp.max(jnp.abs(uvw[:, 2])):.0f} m")
    dirty = dirty_image(visibilities, uvw, side)
    start = time.perf_counter()
    restored, values = image(visibilities, uvw, sigma, side, steps)
    elapsed = time.perf_counter() - start
    reduced = jnp.mean(jnp.abs(observe(restored, uvw) - visibilities) ** 2) / sigma**2
    print(f"dirty:  correlation with the sky {jnp.corrcoef(dirty.ravel(), truth.ravel())[0, 1]:.3f}")
    print(
        f"imaged: correlation with the sky {jnp.corrcoef(restored.ravel(), truth.ravel())[0, 1]:.3f}, "
        f"PSNR {quality(restored, truth):.2f} dB, chi^2 per visibility {reduced:.3f}, {elapsed:.1f} s"
    )
    print(f"objective fell from {values[0]:.3f} to {values[-1]:.3f}")
    skies = {
        "the sky": truth,
        "dirty image": dirty,
        f"imaged: PSNR {quality(restored, truth):.1f} dB": restored,
    }
    save_picture(options.output, skies, uvw)
    print(f"picture: {options.output}")


if __name__ == "__main__":
    main()
