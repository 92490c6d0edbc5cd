# SPDX-License-Identifier: BSD-2-Clause
"""The programs of docs/examples/finufft: each runs in a fresh process and shows what it claims."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples" / "finufft"
NUMBER = r"([-+\d.e]+)"

# Program -> what it prints -> bounds of the numbers in it.
CLAIMS: dict[str, dict[str, list[tuple[float, float]]]] = {
    "spiral_hubble": {
        rf"samples each: {NUMBER}%": [(24, 26)],
        rf"gridded: +PSNR {NUMBER} dB": [(20, 28)],
        rf"restored: PSNR {NUMBER} dB, chi\^2 per sample {NUMBER}": [(30, 40), (0.8, 1.2)],
        rf"objective fell from {NUMBER} to {NUMBER}": [(100, 400), (1, 20)],
        r"sorted the points (\d+) times for (\d+) transforms more": [(1, 5), (90, 200)],
    },
    "recover_trajectory": {
        rf"chi\^2 per sample: {NUMBER} after the first round, {NUMBER} after the last": [(10, 1e4), (0.4, 1)],
        rf"shifts: 0.4 frequencies before, error {NUMBER} after": [(0, 0.005)],
        rf"ignored: PSNR {NUMBER} dB": [(20, 32)],
        rf"found: +PSNR {NUMBER} dB": [(35, 42)],
        rf"known: +PSNR {NUMBER} dB": [(38, 44)],
    },
}
EVERY_CLAIM = [
    pytest.param(name, pattern, bounds, id=f"{name}-{re.sub('[^a-z]+', '_', pattern)}")
    for name, claims in CLAIMS.items()
    for pattern, bounds in claims.items()
]


@functools.cache
def output(name: str, folder: Path) -> str:
    """Run an example on its reduced problem; once, however many claims are checked."""
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), "--quick"]
    finished = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the examples run and leave their pictures."""
    return tmp_path_factory.mktemp("examples")


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
