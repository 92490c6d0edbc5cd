# SPDX-License-Identifier: BSD-2-Clause
"""Recover the sky behind a gravitational lens, and the lens, by differentiating the positions that the sky is seen at.

A microwave sky is drawn from the power spectrum that theory predicts. Matter in front of it bends the light: at each
pixel the observer sees the sky at another position, displaced by the gradient of a potential, and measures it with
noise. Neither the sky nor the potential is known. `pointing.synthesis_general` evaluates the sky at any positions and
can be differentiated in them, so Gauss and Newton's method finds the most probable pair of both, with products of the
Jacobian from `jax.linearize` and of its transpose from `jax.linear_transpose`.

    python docs/examples/ducc/delens_sky.py [--quick] [--output delens_sky.png]

The spectrum, computed with CMBFAST, ships with healpy (`totcls.dat`): nothing is downloaded. The bending is ten times
what the real Universe does, so that the eye can see it.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from pathlib import Path

import ducc0
import jax
import jax.numpy as jnp
import numpy as np
from jaxbind_ducc import alm, healpix, pointing
from matplotlib.figure import Figure
from tqdm import tqdm

NOISE = 2.0  # standard deviation in a pixel, microkelvin; the sky's own is about 100
BENDING = np.radians(0.5)  # root mean square of the displacements
EPSILON = 1e-5  # accuracy of the values at displaced positions
LENS_LMAX = 40  # the potential is smooth


def sky_spectrum(lmax: int) -> np.ndarray:
    """The power spectrum C_l of the temperature of the microwave sky, in square microkelvin."""
    healpy = importlib.util.find_spec("healpy")
    folder = Path(healpy.submodule_search_locations[0]) / "data"
    degrees, scaled = np.loadtxt(folder / "totcls.dat", usecols=(0, 1), max_rows=lmax + 1).T
    return 2 * np.pi * scaled / np.maximum(degrees * (degrees + 1), 1)


def lens_spectrum() -> np.ndarray:
    """A power spectrum of the potential whose gradient has the root mean square `BENDING`, steep as the real one."""
    degrees = np.arange(LENS_LMAX + 1)
    spectrum = np.where(degrees > 1, 1.0 / (np.maximum(degrees, 1) ** 2 * (degrees + 5.0) ** 2), 0)
    variance = np.sum((2 * degrees + 1) * degrees * (degrees + 1) * spectrum) / (4 * np.pi)
    return spectrum * BENDING**2 / variance


def coefficients(x: jax.Array, spectrum: np.ndarray) -> jax.Array:
    """Coefficients with a power spectrum from independent standard normal numbers, in real packing."""
    lmax = len(spectrum) - 1
    return alm.almxfl(alm.realalm2alm(x, lmax), jnp.sqrt(jnp.asarray(spectrum)), lmax)


class Telescope:
    """What is seen: maps of `nside` of a sky up to `lmax`, displaced by a lens."""

    def __init__(self, nside: int, lmax: int) -> None:
        self.nside, self.spectra = nside, (sky_spectrum(lmax), lens_spectrum())
        self.rings = ducc0.healpix.Healpix_Base(nside, "RING").sht_info()
        self.sizes = [len(spectrum) ** 2 for spectrum in self.spectra]

    def fields(self, x: jax.Array) -> list[jax.Array]:
        """The coefficients of the sky and of the potential, from their standard normal numbers one after the other."""
        parts = (x[: self.sizes[0]], x[self.sizes[0] :])
        return [coefficients(part, spectrum) for part, spectrum in zip(parts, self.spectra, strict=True)]

    def displaced(self, potential: jax.Array) -> jax.Array:
        """Where each pixel sees: shape (npix, 2)."""
        gradient = healpix.synthesis(potential[None], nside=self.nside, lmax=LENS_LMAX, spin=1, mode="DERIV1")
        return pointing.get_deflected_angles(gradient.T, **self.rings)

    def observe(self, x: jax.Array) -> jax.Array:
        """The map that is measured, without noise."""
        sky, potential = self.fields(x)
        loc, lmax = self.displaced(potential), len(self.spectra[0]) - 1
        return pointing.synthesis_general(sky[None], loc, spin=0, lmax=lmax, epsilon=EPSILON)[0]


def most_probable(telescope: Telescope, observed: jax.Array, steps: int, inner: int) -> jax.Array:
    """Minimise ``|observe(x) - observed|^2 / NOISE^2 + |x|^2`` by Gauss and Newton's method.

    Each step replaces the telescope by its tangent J and solves ``(1 + J^T J / NOISE^2) dx = -gradient`` by conjugate
    gradients. It is halved until the objective falls.
    """

    def objective(x: jax.Array) -> jax.Array:
        return jnp.sum((telescope.observe(x) - observed) ** 2) / NOISE**2 + jnp.vdot(x, x)

    @jax.jit
    def direction(x: jax.Array) -> jax.Array:
        predicted, tangent = jax.linearize(telescope.observe, x)
        transpose = jax.linear_transpose(tangent, x)
        gradient = transpose(predicted - observed)[0] / NOISE**2 + x
        matrix = lambda dx: dx + transpose(tangent(dx))[0] / NOISE**2  # noqa: E731
        return jax.scipy.sparse.linalg.cg(matrix, -gradient, maxiter=inner, tol=1e-3)[0]

    value = jax.jit(objective)
    x = jnp.zeros(sum(telescope.sizes))
    reached = value(x)
    with tqdm(range(steps), desc="delensing", unit="step") as progress:
        for _ in progress:
            dx, length = direction(x), 1.0
            while (tried := value(x + length * dx)) > reached and length > 1e-3:
                length /= 2
            x, reached = (x + length * dx, tried) if tried < reached else (x, reached)
            progress.set_postfix_str(f"objective per pixel {reached / observed.size:.4f}, step {length:.3g}")
    return x


def globe(field: jax.Array, height: int) -> np.ndarray:
    """A scalar field, from its coefficients, as a globe seen from far above its equator; NaN beside it."""
    lmax = round((2 * field.size) ** 0.5 - 1.5)
    y, x = np.mgrid[1 : -1 : height * 1j, -1 : 1 : height * 1j]
    inside = x**2 + y**2 < 1
    theta, phi = np.arccos(y[inside]), np.arctan2(x[inside], np.sqrt(1 - x[inside] ** 2 - y[inside] ** 2))
    loc = jnp.asarray(np.stack([theta, phi % (2 * np.pi)], -1))
    picture = np.full(x.shape, np.nan)
    picture[inside] = pointing.synthesis_general(field[None], loc, spin=0, lmax=lmax, epsilon=EPSILON)[0]
    return picture


def save_picture(path: Path, rows: list[dict[str, jax.Array]]) -> None:
    """Draw each row of fields as globes in the same colours."""
    figure = Figure(figsize=(11, 7.6), layout="constrained", facecolor="white")
    for row, colours, panels in zip(rows, ("RdYlBu_r", "PuOr"), figure.subplots(2, 3), strict=True):
        pictures = [globe(field, 300) for field in row.values()]
        limit = 3 * np.nanstd(pictures[0])
        for title, picture, panel in zip(row, pictures, panels, strict=True):
            panel.imshow(np.round(20 * picture / limit) / 20, cmap=colours, vmin=-1, vmax=1, interpolation="nearest")
            panel.set_title(title, fontsize=12)
            panel.axis("off")
    figure.savefig(path, dpi=90, pil_kwargs={"optimize": True})


def correlation(a: jax.Array, b: jax.Array) -> float:
    """How alike two fields are: 1 for equal ones, up to a factor."""
    lmax = round((2 * a.size) ** 0.5 - 1.5)
    pack = lambda field: alm.alm2realalm(field, lmax)  # noqa: E731
    return float(jnp.vdot(pack(a), pack(b)) / jnp.linalg.norm(pack(a)) / jnp.linalg.norm(pack(b)))


def main() -> None:
    """Draw a sky and a lens, observe, recover both, report how well and save the picture."""
    parser = argparse.ArgumentParser(description="Recover a lensed microwave sky and its lens.")
    parser.add_argument("--quick", action="store_true", help="a coarse map and few steps")
    parser.add_argument("--output", type=Path, default=Path("delens_sky.png"), help="where to save the picture")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)

    nside, steps = (24, 10) if options.quick else (64, 16)
    telescope = Telescope(nside, lmax=2 * nside)
    random = np.random.default_rng(seed=1)
    truth = jnp.asarray(random.standard_normal(sum(telescope.sizes)))
    seen = jax.jit(telescope.observe)(truth)
    observed = seen + NOISE * random.standard_normal(seen.shape)
    sky, lens = telescope.fields(truth)
    bent = healpix.synthesis(lens[None], nside=nside, lmax=LENS_LMAX, spin=1, mode="DERIV1")
    displacement = np.degrees(jnp.sqrt(jnp.mean(jnp.sum(bent**2, 0))))
    print(
        f"{observed.size} pixels, sky of {jnp.std(seen):.0f} microkelvin, noise {NOISE:.0f}, "
        f"{truth.size} unknowns, displaced by {displacement:.2f} degrees"
    )

    start = time.perf_counter()
    x = most_probable(telescope, observed, steps, inner=30)
    elapsed = time.perf_counter() - start
    found_sky, found_lens = telescope.fields(x)
    naive = healpix.analysis(observed[None], lmax=2 * nside)[0]
    chi2 = jnp.mean((telescope.observe(x) - observed) ** 2) / NOISE**2
    residuals = [float(jnp.linalg.norm(field - sky) / jnp.linalg.norm(sky)) for field in (naive, found_sky)]
    print(f"sky:  relative error {residuals[0]:.3f} as seen, {residuals[1]:.3f} recovered")
    print(f"lens: correlation with the truth {correlation(found_lens, lens):.3f}")
    print(f"chi^2 per pixel {chi2:.3f}; {steps} steps in {elapsed:.1f} s")
    rows = [
        {
            "the sky behind the lens": sky,
            "what the lens changes": naive - sky,
            f"what is left after {elapsed:.0f} s": found_sky - sky,
        },
        {
            "the potential of the lens": lens,
            f"recovered: correlation {correlation(found_lens, lens):.3f}": found_lens,
            "difference": found_lens - lens,
        },
    ]
    save_picture(options.output, rows)
    print(f"picture: {options.output}")


if __name__ == "__main__":
    main()
