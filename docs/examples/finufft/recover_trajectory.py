# SPDX-License-Identifier: BSD-2-Clause
"""Restore the Hubble Deep Field although nobody knows exactly where its Fourier transform was measured.

In a scanner, currents in the metal shift each spiral arm a little: by less than the distance of two samples, but enough
to ruin the picture. The transforms are differentiable in their points, so that the shifts can be found together with
the picture: conjugate gradients for the picture, then a Gauss-Newton step for the shifts, whose Jacobian is two
forward-mode derivatives of `nufft2` in its points.

    python docs/examples/finufft/recover_trajectory.py [--quick] [--output recover_trajectory.png]

The photograph (NASA, ESA, the Hubble eXtreme Deep Field; public domain) ships with scikit-image: nothing is downloaded.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import skimage.data
from jaxbind_finufft import nufft2
from matplotlib.figure import Figure

TURNS = 6  # of each spiral arm
FRACTION = 1.2  # samples per pixel; what is unknown about the points has to be paid for
SHIFT = 0.4  # standard deviation of an arm's shift, in units of the distance of two frequencies of the image
NOISE = 0.01  # standard deviation of a sample, where an image of white noise of that size would have the same
PRIOR = 3e-3  # inverse variance of the pixels relative to that of the noise: how much the picture is smoothed
EPS = 1e-6

Points = tuple[jax.Array, jax.Array]


def spirals(side: int) -> Points:
    """Frequencies in radians per pixel, one row for each of the interleaved spiral arms."""
    arms = round(FRACTION * side / TURNS)
    radius = (np.arange(round(FRACTION * side**2 / arms)) / (FRACTION * side**2 / arms))[None, :]
    angle = 2 * np.pi * (TURNS * radius + np.arange(arms)[:, None] / arms)
    return jnp.asarray(np.pi * radius * np.sin(angle)), jnp.asarray(np.pi * radius * np.cos(angle))


def measure(sky: jax.Array, points: Points, shifts: jax.Array) -> jax.Array:
    """Fourier samples of a grey image at points that are shifted, each arm by its own two numbers."""
    rows, columns = (p + s[:, None] for p, s in zip(points, shifts, strict=True))
    values = nufft2(sky, rows.ravel(), columns.ravel(), eps=EPS) / sky.shape[-1]
    return values.reshape(rows.shape)


def restore(samples: jax.Array, points: Points, shifts: jax.Array, start: jax.Array) -> jax.Array:
    """The most probable picture for given shifts, by conjugate gradients."""

    def predict(sky: jax.Array) -> jax.Array:
        return measure(sky, points, shifts)

    def adjoint(values: jax.Array) -> jax.Array:
        """The transpose with respect to a real picture, of the conjugate values."""
        [sky] = jax.linear_transpose(predict, start)(values.conj())
        return sky

    solution: jax.Array = jax.scipy.sparse.linalg.cg(
        lambda sky: adjoint(predict(sky)) + PRIOR * sky, adjoint(samples), x0=start, maxiter=15
    )[0]
    return solution


def corrected(samples: jax.Array, points: Points, shifts: jax.Array, sky: jax.Array) -> jax.Array:
    """Shifts after one Gauss-Newton step: the picture is kept, and each arm is a problem of two unknowns."""

    def along(axis: int) -> jax.Array:
        direction = jnp.zeros_like(shifts).at[axis].set(1.0)
        return jax.jvp(lambda s: measure(sky, points, s), (shifts,), (direction,))[1]

    jacobian = jnp.stack([along(0), along(1)], axis=-1)
    misfit = samples - measure(sky, points, shifts)
    normal = jnp.einsum("asi,asj->aij", jacobian.conj(), jacobian).real
    force = jnp.einsum("asi,as->ai", jacobian.conj(), misfit).real
    step = jnp.linalg.solve(normal, force[..., None])[..., 0].T
    return shifts + step


@jax.jit
def recover(samples: jax.Array, points: Points, sky: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The picture, the shifts, and the misfit after each of the rounds."""

    def improve(state: Any, _: None) -> Any:
        sky, shifts = state
        sky = restore(samples, points, shifts, sky)
        shifts = corrected(samples, points, shifts, sky)
        misfit = jnp.mean(jnp.abs(measure(sky, points, shifts) - samples) ** 2) / NOISE**2
        return (sky, shifts), misfit

    nothing = jnp.zeros((2, points[0].shape[0]))
    (sky, shifts), misfits = jax.lax.scan(improve, (sky, nothing), length=60)
    return restore(samples, points, shifts, sky), shifts, misfits


def quality(sky: jax.Array, truth: jax.Array) -> float:
    """Peak signal-to-noise ratio in dB; white is 1."""
    return float(-10 * jnp.log10(jnp.mean((jnp.clip(sky, 0, 1) - truth) ** 2)))


def save_picture(
    path: Path, skies: dict[str, jax.Array], true: np.ndarray[Any, Any], found: np.ndarray[Any, Any]
) -> None:
    """Draw the skies side by side, and the shifts that were found over those that were made."""
    figure = Figure(figsize=(15.6, 4.3), layout="constrained")
    *panels, plot = figure.subplots(1, 1 + len(skies))
    for panel, (title, sky) in zip(panels, skies.items(), strict=True):
        panel.imshow(np.clip(np.asarray(sky), 0, 1) ** 0.7, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        panel.set_title(title, fontsize=13)
        panel.axis("off")
    for name, axis in (("rows", 0), ("columns", 1)):
        plot.plot(true[axis], found[axis], "o", markersize=4, label=name)
    plot.axline((0, 0), slope=1, color="black", linewidth=0.7)
    plot.set(xlabel="shift of an arm, in frequencies of the image", ylabel="shift that was found", aspect="equal")
    plot.legend(frameon=False)
    figure.savefig(path, dpi=110)


def main() -> None:
    """Measure the photograph at shifted points, recover both, report the errors and save the picture."""
    parser = argparse.ArgumentParser(description="Restore a photograph and the points where it was measured.")
    parser.add_argument("--quick", action="store_true", help="a small part of the field")
    parser.add_argument("--output", type=Path, default=Path("recover_trajectory.png"), help="where to save the picture")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)

    side = 64 if options.quick else 160
    photograph = skimage.data.hubble_deep_field()[510 : 510 + side, 640 : 640 + side]
    truth = jnp.asarray(photograph.mean(axis=-1) / 255)
    points, rng = spirals(side), np.random.default_rng(1)
    unit = 2 * np.pi / side
    true_shifts = rng.normal(scale=SHIFT * unit, size=(2, points[0].shape[0]))
    noise = rng.normal(scale=NOISE / np.sqrt(2), size=(2, *points[0].shape))
    samples = measure(truth, points, jnp.asarray(true_shifts)) + noise[0] + 1j * noise[1]

    print(f"{side} x {side} pixels, {points[0].shape[0]} arms, shifted by {SHIFT} frequencies")
    blank = jnp.zeros_like(truth)
    naive = restore(samples, points, jnp.zeros_like(jnp.asarray(true_shifts)), blank)
    best = restore(samples, points, jnp.asarray(true_shifts), blank)
    sky, shifts, misfits = recover(samples, points, blank)
    error = float(jnp.sqrt(jnp.mean((shifts - true_shifts) ** 2)) / unit)
    print(f"chi^2 per sample: {misfits[0]:.2f} after the first round, {misfits[-1]:.3f} after the last")
    print(f"shifts: {SHIFT} frequencies before, error {error:.4f} after")
    print(f"picture with shifts ignored: PSNR {quality(naive, truth):.2f} dB")
    print(f"picture with shifts found:   PSNR {quality(sky, truth):.2f} dB")
    print(f"picture with shifts known:   PSNR {quality(best, truth):.2f} dB")
    skies = {
        "the sky, seen by Hubble": truth,
        f"shifts ignored: PSNR {quality(naive, truth):.1f} dB": naive,
        f"shifts found: PSNR {quality(sky, truth):.1f} dB": sky,
    }
    save_picture(options.output, skies, true_shifts / unit, np.asarray(shifts) / unit)
    print(f"picture: {options.output}")


if __name__ == "__main__":
    main()
