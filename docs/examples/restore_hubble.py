# SPDX-License-Identifier: BSD-2-Clause
"""Restore the Hubble Deep Field from a blurred, noisy exposure, through a SciPy function bound to JAX.

JAX knows nothing of SciPy's cosine transforms. Bound once, they blur the sky inside a jitted, vmapped and
differentiated objective, and an accelerated gradient descent removes the blur that the air would add.

    python docs/examples/restore_hubble.py [--quick] [--output restore_hubble.png]

The photograph (NASA, ESA, the Hubble eXtreme Deep Field; public domain) ships with scikit-image: nothing is downloaded.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jaxbind
import numpy as np
import scipy.fft
import skimage.data
from matplotlib.figure import Figure
from tqdm import tqdm

ARCSEC_PER_PIXEL = 0.138  # the photograph is 2.3 arcmin = 1000 pixels wide
SEEING = 0.7  # full width at half maximum of a star, arcsec, green light: a good night at a good site
MOFFAT_BETA = 3.0  # how fast the wings of a star's image fall off
NOISE = 0.005  # standard deviation, in units of white; the bright night sky makes it the same in every pixel
SMOOTHNESS = 6.0  # weight of the total variation; makes chi^2 per pixel slightly less than one
EDGE = 0.01  # brightness differences above this count as edges, which are kept sharp


# Host functions get NumPy views of JAX's memory: read from `args`, write into `out`, return nothing. The orthonormal
# cosine transform is a rotation, so its transpose, which the gradient needs, is its inverse.
def cosine(out: tuple[np.ndarray, ...], args: tuple[np.ndarray, ...], kwargs_dump: Any) -> None:
    """Compute the cosine transform of an image with SciPy, on all cores."""
    out[0][...] = scipy.fft.dctn(args[0], norm="ortho", workers=-1)


def inverse_cosine(out: tuple[np.ndarray, ...], args: tuple[np.ndarray, ...], kwargs_dump: Any) -> None:
    """Compute the inverse cosine transform of an image with SciPy, on all cores."""
    out[0][...] = scipy.fft.idctn(args[0], norm="ortho", workers=-1)


def like_input(image: Any) -> tuple[tuple[tuple[int, ...], Any], ...]:
    """Say, for tracing, that the one output has the shape and dtype of the input."""
    return ((image.shape, image.dtype),)


dctn = jaxbind.get_linear_call(cosine, inverse_cosine, like_input, like_input)
idctn = jaxbind.get_linear_call(inverse_cosine, cosine, like_input, like_input)


def transfer_function(shape: tuple[int, ...], seeing: float) -> np.ndarray:
    """Compute the factors by which the blur damps each cosine.

    A star's image is a Moffat profile, (1 + r^2/a^2)^-beta. It is symmetric about both axes, so a sky that continues
    as its mirror image beyond the edge (better than wrapping around) is blurred by a product in the cosine transform.
    """
    width = seeing / ARCSEC_PER_PIXEL / (2 * np.sqrt(2 ** (1 / MOFFAT_BETA) - 1))
    y, x = np.ogrid[: shape[0] + 1, : shape[1] + 1]
    star = (1 + (x**2 + y**2) / width**2) ** -MOFFAT_BETA
    transfer = scipy.fft.dctn(star, type=1)[:-1, :-1]  # the sum over all four quadrants, each axis counted once
    return np.asarray(transfer / transfer[0, 0], dtype=np.float32)


@jax.vmap  # over the colours: SciPy is called once for each, from one compiled loop
def blur(sky: jax.Array, transfer: jax.Array) -> jax.Array:
    """Convolve the sky with a star's image."""
    return idctn(transfer * dctn(sky)[0])[0]


def objective(sky: jax.Array, exposure: jax.Array, transfer: jax.Array) -> jax.Array:
    """Sum the misfit to the exposure, chi^2 / 2, and the total variation of the sky over all pixels and colours.

    The differences are summed in quadrature over the colours too: an edge costs less where all colours share it.
    """
    misfit = (blur(sky, transfer) - exposure) / NOISE
    down = jnp.diff(sky, axis=1, append=sky[:, -1:])
    right = jnp.diff(sky, axis=2, append=sky[:, :, -1:])
    variation = jnp.sqrt(jnp.sum(down**2 + right**2, axis=0) + EDGE**2)
    return jnp.sum(misfit**2) / 2 + SMOOTHNESS * jnp.sum(variation)


def restore(exposure: jax.Array, transfer: jax.Array, iterations: int) -> jax.Array:
    """Minimise the objective over skies that are nowhere negative, in one jitted loop.

    Each step of Beck and Teboulle's accelerated gradient descent (FISTA, 2009) goes down the gradient from a point
    extrapolated from the last two skies. The step is one over a bound on the curvature: 1 / noise^2 for the misfit,
    because the blur amplifies nothing, and 8 / EDGE for the total variation.
    """
    step = 1 / (1 / NOISE**2 + 8 * SMOOTHNESS / EDGE)
    pixels = exposure.size

    def iterate(state: tuple[jax.Array, jax.Array, jax.Array], _: None) -> tuple[Any, None]:
        sky, ahead, momentum = state
        value, gradient = jax.value_and_grad(objective)(ahead, exposure, transfer)
        jax.debug.callback(show, value / pixels)
        improved = jnp.maximum(ahead - step * gradient, 0)
        grown = (1 + jnp.sqrt(1 + 4 * momentum**2)) / 2
        return (improved, improved + (momentum - 1) / grown * (improved - sky), grown), None

    with tqdm(total=iterations, desc="restoring", unit="step", mininterval=0.5) as progress:

        def show(value: np.ndarray) -> None:
            progress.set_postfix_str(f"objective per pixel {value:.4f}", refresh=False)
            progress.update()

        first = jnp.maximum(exposure, 0)
        loop = jax.jit(lambda state: jax.lax.scan(iterate, state, length=iterations)[0])
        sky: jax.Array = jax.block_until_ready(loop((first, first, jnp.ones((), dtype=first.dtype))))[0]
        jax.effects_barrier()  # wait for the last progress messages before the bar closes
    return sky


def errors(sky: jax.Array, truth: jax.Array) -> tuple[float, float]:
    """Measure the relative error and the peak signal-to-noise ratio in dB (white is 1)."""
    difference = jnp.clip(sky, 0, 1) - truth
    relative = jnp.linalg.norm(difference) / jnp.linalg.norm(truth)
    return float(relative), float(-10 * jnp.log10(jnp.mean(difference**2)))


def save_picture(path: Path, skies: dict[str, jax.Array], corner: tuple[int, int], side: int) -> None:
    """Draw the skies side by side, each with the square at `corner` (row, column) enlarged."""
    figure = Figure(figsize=(11.8, 4.35), facecolor="black", layout="constrained")
    top, left = corner
    for panel, (title, sky) in zip(figure.subplots(1, len(skies)), skies.items(), strict=True):
        close_up = panel.inset_axes((0, 0, 0.55, 0.55))
        picture = np.clip(np.moveaxis(np.asarray(sky), 0, -1), 0, 1)
        for axes in (panel, close_up):
            axes.imshow(np.round(63 * picture) / 63, interpolation="nearest")  # 64 levels: the eye sees no more
        panel.axis("off")
        panel.set_title(title, color="white", fontsize=14, pad=8)
        close_up.set(xlim=(left, left + side), ylim=(top + side, top), xticks=[], yticks=[])
        close_up.spines[:].set_color("white")
        panel.indicate_inset((left, top, side, side), edgecolor="white", alpha=0.9)
    figure.savefig(path, dpi=150, pil_kwargs={"optimize": True})


def main() -> None:
    """Blur the photograph, restore it, report the errors and save the picture."""
    parser = argparse.ArgumentParser(description="Restore a blurred photograph of the Hubble Deep Field.")
    parser.add_argument("--quick", action="store_true", help="a small part of the field and few steps")
    parser.add_argument("--output", type=Path, default=Path("restore_hubble.png"), help="where to save the picture")
    options = parser.parse_args()

    photograph = skimage.data.hubble_deep_field()
    if options.quick:
        photograph = photograph[540:700, 700:860]
    truth = jnp.asarray(np.moveaxis(photograph, -1, 0) / 255, dtype=jnp.float32)
    # The air blurs red light less than blue: the seeing goes with wavelength to the power -1/5.
    seeing = [SEEING * (wavelength / 550) ** -0.2 for wavelength in (650, 550, 450)]
    transfer = jnp.stack([transfer_function(truth.shape[1:], width) for width in seeing])
    noise = NOISE * np.random.default_rng(seed=1).standard_normal(truth.shape, dtype=np.float32)
    exposure = jax.jit(blur)(truth, transfer) + noise

    print(f"{truth.shape[2]} x {truth.shape[1]} pixels, 3 colours: seeing {SEEING} arcsec, noise {NOISE:.1%} of white")
    start = time.perf_counter()
    restored = restore(exposure, transfer, iterations=40 if options.quick else 80)
    elapsed = time.perf_counter() - start
    chi2 = jnp.mean(((blur(restored, transfer) - exposure) / NOISE) ** 2)

    before, after = errors(exposure, truth), errors(restored, truth)
    print(f"before: relative error {before[0]:.3f}, PSNR {before[1]:.2f} dB")
    print(f"after:  relative error {after[0]:.3f}, PSNR {after[1]:.2f} dB, chi^2 per pixel {chi2:.3f}, {elapsed:.1f} s")

    skies = {
        "the sky, seen by Hubble": truth,
        f"blurred by the air, noisy: PSNR {before[1]:.1f} dB": exposure,
        f"restored through SciPy: PSNR {after[1]:.1f} dB": restored,
    }
    if options.quick:
        save_picture(options.output, skies, corner=(5, 50), side=70)
    else:
        shown = np.s_[:, 440:730, 570:860]  # drawn with about one pixel per pixel
        save_picture(options.output, {title: sky[shown] for title, sky in skies.items()}, corner=(104, 162), side=92)
    print(f"picture: {options.output}")


if __name__ == "__main__":
    main()
