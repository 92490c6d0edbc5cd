# SPDX-License-Identifier: BSD-2-Clause
"""Restore the Earth's continents from a blurred, noisy map of the sphere that lacks a band and a disc.

A space telescope's map of the sky looks like this: its beam blurs, its detectors are noisy, the Galaxy hides a band.
The continents stand in for a sky that everybody knows. The best linear reconstruction, the Wiener filter, is the
solution of a linear system in spherical harmonic space, solved here by conjugate gradients in one jitted loop. Its
matrix is built from `healpix.synthesis` and the transpose that JAX finds for it.

    python docs/examples/ducc/restore_earth.py [--quick] [--output restore_earth.png]

The land map ships with the package `global-land-mask` (from NOAA's GLOBE elevations): nothing is downloaded.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ducc0
import jax
import jax.numpy as jnp
import numpy as np
from jaxbind_ducc import alm, healpix
from matplotlib.figure import Figure
from tqdm import tqdm

BEAM = np.radians(3.0)  # full width at half maximum of the telescope's Gaussian beam
NOISE = 0.1  # standard deviation in a pixel of 1 square degree; land is 1, water 0
BAND = np.radians(6.0)  # half width of what is hidden along a tilted great circle
POLE = (np.radians(40.0), np.radians(205.0))  # of that circle: colatitude, longitude
DISC = (np.radians(52.0), np.radians(262.0), np.radians(9.0))  # also lost: centre and radius


def land(nside: int) -> np.ndarray:
    """The fraction of land in every pixel, from sixteen points in each.

    Averages of a finer map: pixels of a HEALPix map split into 4 x 4 that follow one another in NEST order.
    """
    from global_land_mask import globe  # noqa: PLC0415  # reads a gigabyte when it is imported

    fine = ducc0.healpix.Healpix_Base(4 * nside, "NEST")
    theta, phi = fine.pix2ang(np.arange(12 * (4 * nside) ** 2)).T
    longitude = np.degrees((phi + np.pi) % (2 * np.pi) - np.pi)
    fraction = globe.is_land(90 - np.degrees(theta), longitude).reshape(-1, 16).mean(1)
    coarse = ducc0.healpix.Healpix_Base(nside, "NEST")
    return fraction[coarse.ring2nest(np.arange(12 * nside**2))]


def seen(nside: int) -> np.ndarray:
    """1 in the pixels that are observed, 0 in those that are hidden."""
    theta, phi = healpix.pixel_centres(nside).T

    def cosine_to(centre: tuple[float, ...]) -> np.ndarray:
        return np.cos(theta) * np.cos(centre[0]) + np.sin(theta) * np.sin(centre[0]) * np.cos(phi - centre[1])

    return (np.abs(cosine_to(POLE)) > np.sin(BAND)) & (cosine_to(DISC) < np.cos(DISC[2]))


def beam(lmax: int) -> jax.Array:
    """The factors by which a Gaussian beam damps each degree."""
    degrees = jnp.arange(lmax + 1)
    return jnp.exp(-degrees * (degrees + 1) * BEAM**2 / (16 * jnp.log(2)))


def expected_spectrum(lmax: int) -> jax.Array:
    """What is assumed about the sky before it is seen: the power spectrum of shapes with sharp edges, C_l ~ l^-3."""
    return 4 / (jnp.arange(lmax + 1) + 1.0) ** 3


def sky(x: jax.Array, amplitude: jax.Array, nside: int, lmax: int) -> jax.Array:
    """A map from independent standard normal numbers, its coefficients in real packing over their amplitude."""
    return healpix.synthesis(alm.almxfl(alm.realalm2alm(x, lmax), amplitude, lmax)[None], nside=nside, lmax=lmax)[0]


def conjugate_gradients(
    matrix: Callable[[jax.Array], jax.Array],
    right: jax.Array,
    diagonal: jax.Array,
    steps: int,
    report: Callable[[Any], None],
) -> jax.Array:
    """Solve ``matrix(x) = right`` for a symmetric positive matrix that is close to a diagonal one, in a few steps."""

    def step(state: tuple[jax.Array, ...], _: None) -> tuple[Any, None]:
        x, residual, direction, product = state
        image = matrix(direction)
        length = product / jnp.vdot(direction, image)
        x, residual = x + length * direction, residual - length * image
        grown = jnp.vdot(residual, residual / diagonal)
        jax.debug.callback(report, jnp.linalg.norm(residual) / jnp.linalg.norm(right))
        return (x, residual, residual / diagonal + grown / product * direction, grown), None

    start = (jnp.zeros_like(right), right, right / diagonal, jnp.vdot(right, right / diagonal))
    return jax.lax.scan(step, start, length=steps)[0][0]


def restore(observed: jax.Array, weight: jax.Array, nside: int, lmax: int, steps: int) -> jax.Array:
    """The Wiener filter: the mean of all skies that the observation leaves possible, in real packing.

    With R the observation of the sky of standard normal numbers x, and weights w = 1 / noise^2 (0 where hidden), it
    solves ``(1 + R^T w R) x = R^T w d``. Were nothing hidden, the matrix would be diagonal.
    """
    amplitude = jnp.sqrt(expected_spectrum(lmax)) * beam(lmax)
    degrees, orders = alm.degrees_and_orders(lmax)
    degrees = np.repeat(degrees, np.where(orders > 0, 2, 1))  # of the numbers in real packing
    diagonal = 1 + jnp.sum(weight) / (4 * jnp.pi) * amplitude[degrees] ** 2

    def observe(x: jax.Array) -> jax.Array:
        return sky(x, amplitude, nside, lmax)

    transpose = jax.linear_transpose(observe, jax.ShapeDtypeStruct(diagonal.shape, observed.dtype))

    def matrix(x: jax.Array) -> jax.Array:
        return x + transpose(weight * observe(x))[0]

    with tqdm(total=steps, desc="restoring", unit="step", mininterval=0.5) as progress:

        def report(residual: Any) -> None:
            progress.set_postfix_str(f"relative residual {residual:.1e}", refresh=False)
            progress.update()

        solve = jax.jit(lambda d: conjugate_gradients(matrix, transpose(weight * d)[0], diagonal, steps, report))
        solution = jax.block_until_ready(solve(observed))
        jax.effects_barrier()  # wait for the last progress messages before the bar closes
    return solution


def mollweide(values: Any, nside: int, height: int) -> np.ndarray:
    """A HEALPix map in Mollweide's projection, Greenwich in the middle; NaN outside of the ellipse."""
    y, x = np.mgrid[1 : -1 : height * 1j, -2 : 2 : 2 * height * 1j]
    inside = x**2 / 4 + y**2 < 1
    angle = np.arcsin(y[inside])
    latitude = np.arcsin((2 * angle + np.sin(2 * angle)) / np.pi)
    longitude = np.pi / 2 * x[inside] / np.cos(angle)
    pixels = ducc0.healpix.Healpix_Base(nside, "RING").ang2pix(np.stack([np.pi / 2 - latitude, longitude], -1))
    picture = np.full(x.shape, np.nan)
    picture[inside] = np.asarray(values)[pixels]
    return picture


def save_picture(
    path: Path, maps: dict[str, Any], visible: Any, spectra: dict[str, tuple[Any, str]], nside: int
) -> None:
    """Draw the maps in Mollweide's projection, with outlines of what is hidden, and the power spectra."""
    figure = Figure(figsize=(11, 6.4), layout="constrained", facecolor="white")
    panels = figure.subplots(2, 2).ravel()
    frame: dict[str, Any] = {"extent": (-2, 2, -1, 1), "origin": "upper"}
    outline = mollweide(jnp.asarray(visible, float), nside, 300)
    for panel, (title, values) in zip(panels, maps.items(), strict=False):
        picture = np.round(24 * mollweide(values, nside, 300)) / 24  # few colours: the file is smaller
        panel.imshow(picture, cmap="gist_earth", vmin=-0.3, vmax=1.5, interpolation="nearest", **frame)
        panel.contour(outline, levels=[0.5], colors="white", linewidths=0.7, **frame)
        panel.set_title(title, fontsize=12)
        panel.axis("off")
    degrees = np.arange(len(next(iter(spectra.values()))[0]))
    for label, (cl, style) in spectra.items():
        panels[3].loglog(degrees[1:], cl[1:], style, label=label)
    panels[3].set(xlabel="degree $l$", ylabel="$C_l$", title="power spectra", xlim=(1, degrees[-1]), ylim=(1e-9, 0.5))
    panels[3].legend(frameon=False)
    figure.savefig(path, dpi=90, pil_kwargs={"optimize": True})


def main() -> None:
    """Observe the Earth, restore it, report the errors and save the picture."""
    parser = argparse.ArgumentParser(description="Restore the Earth's continents from a blurred, noisy, cut map.")
    parser.add_argument("--quick", action="store_true", help="a coarse map and few steps")
    parser.add_argument("--output", type=Path, default=Path("restore_earth.png"), help="where to save the picture")
    options = parser.parse_args()

    nside, steps = (64, 20) if options.quick else (128, 40)
    lmax = 2 * nside
    truth = jnp.asarray(land(nside), jnp.float32)
    coefficients = healpix.analysis(truth[None], lmax=lmax)[0]
    sigma = NOISE * np.radians(1) * np.sqrt(healpix.npix(nside) / (4 * np.pi))  # a smaller pixel is noisier
    noise = sigma * np.random.default_rng(seed=1).standard_normal(truth.shape, dtype=np.float32)
    visible = jnp.asarray(seen(nside))
    blurred = healpix.synthesis(alm.almxfl(coefficients, beam(lmax), lmax)[None], nside=nside, lmax=lmax)[0]
    observed = jnp.where(visible, blurred + noise, 0)

    print(f"{truth.size} pixels, lmax {lmax}; {visible.mean():.1%} seen, beam {np.degrees(BEAM):.0f} degrees")
    start = time.perf_counter()
    x = restore(observed, visible / sigma**2, nside, lmax, steps)
    elapsed = time.perf_counter() - start
    amplitude = jnp.sqrt(expected_spectrum(lmax))
    restored = sky(x, amplitude, nside, lmax)

    def error(values: jax.Array, where: jax.Array) -> float:
        return float(jnp.sqrt(jnp.mean((values - truth) ** 2, where=where)))

    chi2 = jnp.mean(((sky(x, amplitude * beam(lmax), nside, lmax) - observed) / sigma) ** 2, where=visible)
    flat = jnp.full_like(truth, jnp.mean(observed, where=visible))
    print(f"seen:   rms error {error(observed, visible):.3f} observed, {error(restored, visible):.3f} restored")
    print(f"hidden: rms error {error(flat, ~visible):.3f} of the mean, {error(restored, ~visible):.3f} restored")
    print(f"chi^2 per pixel {chi2:.3f}; {steps} steps in {elapsed:.1f} s")

    hidden = f"{1 - visible.mean():.0%} hidden"
    maps = {
        "the Earth": truth,
        f"observed: beam of {np.degrees(BEAM):.0f}°, noise, {hidden}": jnp.where(visible, observed, jnp.nan),
        f"restored in {elapsed:.1f} s": restored,
    }
    cleaned = alm.almxfl(alm.realalm2alm(x, lmax), amplitude, lmax)
    spectra = {
        "the Earth": (alm.alm2cl(coefficients, lmax=lmax), "k"),
        "observed": (alm.alm2cl(healpix.analysis(observed[None], lmax=lmax)[0], lmax=lmax), "tab:red"),
        "restored": (alm.alm2cl(cleaned, lmax=lmax), "tab:blue"),
        "expected": (expected_spectrum(lmax), "k:"),
    }
    save_picture(options.output, maps, visible, spectra, nside)
    print(f"picture: {options.output}")


if __name__ == "__main__":
    main()
