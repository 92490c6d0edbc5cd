# SPDX-License-Identifier: BSD-2-Clause
"""The programs of docs/examples/ducc: each runs in a fresh process and shows what it claims; their models are right."""

from __future__ import annotations

import functools
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jaxbind_ducc import healpix

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples" / "ducc"
NUMBER = r"([-+\d.e]+)"

# Program -> what it prints -> bounds of the numbers in it: the restored is nearer to the truth than what was measured,
# and the noise is not fitted.
CLAIMS: dict[str, dict[str, list[tuple[float, float]]]] = {
    "restore_earth": {
        rf"seen: +rms error {NUMBER} observed, {NUMBER} restored": [(0.13, 0.16), (0, 0.11)],
        rf"hidden: rms error {NUMBER} of the mean, {NUMBER} restored": [(0.4, 0.6), (0, 0.26)],
        rf"chi\^2 per pixel {NUMBER};": [(0.8, 1)],
        r"restoring: 100%.* (\d+)/\d+": [(20, 20)],
    },
    "delens_sky": {
        rf"sky: +relative error {NUMBER} as seen, {NUMBER} recovered": [(0.1, 0.2), (0, 0.05)],
        rf"lens: correlation with the truth {NUMBER}": [(0.95, 1)],
        rf"chi\^2 per pixel {NUMBER};": [(0.3, 1)],
        r"delensing: 100%.* (\d+)/\d+": [(10, 10)],
    },
    "image_radio_sky": {
        rf"dirty: +correlation with the sky {NUMBER}": [(0.7, 0.9)],
        rf"imaged: correlation with the sky {NUMBER}, PSNR {NUMBER} dB": [(0.95, 1), (27, 40)],
        rf"chi\^2 per visibility {NUMBER}": [(0.7, 1.1)],
        r"imaging: 100%.* (\d+)/\d+": [(40, 40)],
    },
}
EVERY_CLAIM = [
    pytest.param(name, pattern, bounds, id=f"{name}-{re.sub('[^a-z]+', '_', pattern.split('{')[0])}")
    for name, claims in CLAIMS.items()
    for pattern, bounds in claims.items()
]


@functools.cache
def output(name: str, folder: Path) -> str:
    """Run an example on its reduced problem; once, however many claims are checked."""
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), "--quick"]
    finished = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout + finished.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the examples run and leave their pictures."""
    return tmp_path_factory.mktemp("examples")


def load(name: str) -> dict[str, Any]:
    """Names that an example defines, without running its `main`."""
    return runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name=name)


def test_every_example_has_claims() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(CLAIMS)


@pytest.mark.parametrize(("name", "pattern", "bounds"), EVERY_CLAIM)
def test_example_shows_what_it_claims(name: str, pattern: str, bounds: list[tuple[float, float]], folder: Path) -> None:
    found = re.search(pattern, output(name, folder))
    assert found is not None, output(name, folder)
    for value, (low, high) in zip(map(float, found.groups()), bounds, strict=True):
        assert low <= value <= high


@pytest.mark.parametrize("name", CLAIMS)
def test_example_saves_its_picture(name: str, folder: Path) -> None:
    output(name, folder)
    assert (folder / f"{name}.png").stat().st_size > 20_000


def test_hidden_band_is_where_its_pole_says() -> None:
    visible = load("restore_earth")["seen"](64)
    theta, phi = healpix.pixel_centres(64).T
    pixels = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])
    pole = np.array([np.sin(0.6981317) * np.cos(3.5779249), np.sin(0.6981317) * np.sin(3.5779249), np.cos(0.6981317)])
    assert not visible[np.abs(pole @ pixels) < np.sin(np.radians(5.9))].any()
    assert visible[np.abs(pole @ pixels) > np.sin(np.radians(6.1))].mean() > 0.99  # there is a disc, too


def test_spectrum_of_the_microwave_sky_peaks_where_it_is_known_to() -> None:
    spectrum = load("delens_sky")["sky_spectrum"](400)
    degrees = np.arange(401)
    scaled = degrees * (degrees + 1) * spectrum / (2 * np.pi)
    assert 200 < np.argmax(scaled) < 240
    assert 70 < np.sqrt(scaled.max()) < 80  # microkelvin


def test_visibilities_are_the_sum_over_the_sky() -> None:
    example = load("image_radio_sky")
    uvw = example["baselines"](2)[::97]
    sky = np.random.default_rng(0).random((32, 32)).astype(np.float32)
    l = m = (np.arange(32) - 16) * example["PIXEL"]  # noqa: E741  # the field's name
    l, m = np.meshgrid(l, m, indexing="ij")  # noqa: E741
    n = np.sqrt(1 - l**2 - m**2)
    path = uvw @ np.stack([l.ravel(), m.ravel(), 1 - n.ravel()])  # ducc0's sign of w
    phase = 2j * np.pi / 299792458.0 * example["FREQUENCIES"][:, None]
    expected = np.exp(-phase * path[:, None]) @ sky.ravel() / 32
    measured = example["observe"](jnp.asarray(sky), jnp.asarray(uvw))
    np.testing.assert_allclose(measured, expected, atol=1e-3)
