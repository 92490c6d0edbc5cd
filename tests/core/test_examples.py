# SPDX-License-Identifier: BSD-2-Clause
"""The programs of docs/examples: each runs in a fresh process and shows what it claims; their operators are right."""

from __future__ import annotations

import functools
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.signal
import matplotlib.image
import numpy as np
import pytest
import scipy.ndimage
from jax.experimental.ode import odeint

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
NUMBER = r"([-+\d.e]+)"

# Program -> what it prints -> bounds of the numbers in it. The bounds are claims of the program's own text: how far the
# derivatives agree, that the restored is nearer to the truth than what was measured, that the noise is not fitted.
CLAIMS = {
    "restore_hubble": {
        rf"before: relative error {NUMBER}, PSNR {NUMBER} dB": [(0.3, 0.5), (20, 26)],
        rf"after:  relative error {NUMBER}, PSNR {NUMBER} dB": [(0, 0.25), (28, 40)],
        rf"chi\^2 per pixel {NUMBER}": [(0.8, 1)],
        r"restoring: 100%.* (\d+)/\d+": [(40, 40)],
    },
    "multilinear": {
        rf"reverse over reverse against forward over reverse: {NUMBER}": [(0, 1e-12)],
        rf"before: sky error {NUMBER}": [(0.8, 1)],
        rf"after:  sky error {NUMBER}, speckle pattern error {NUMBER}": [(0, 0.15), (0, 0.1)],
    },
    "nonlinear": {
        rf"gradient against central differences: relative error {NUMBER}": [(0, 1e-6)],
        rf"hare births +0.500 +{NUMBER} \+- {NUMBER}": [(0.45, 0.55), (0.01, 0.03)],
        rf"largest deviation from the truth: {NUMBER} standard errors": [(0, 3)],
    },
    "first_operator": {
        r"gradient \[0\. +1\. +2\. +3\. +4\. +5\. +6\. +(7)\.\]": [(7, 7)],
        r"spectra of a batch \((\d), (\d)\)": [(2, 2), (8, 8)],
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


def test_the_picture_shows_three_different_skies(folder: Path) -> None:
    output("restore_hubble", folder)
    picture = matplotlib.image.imread(folder / "restore_hubble.png")[..., :3]
    true, blurred, restored = np.array_split(picture[:, : picture.shape[1] // 3 * 3], 3, axis=1)
    for other in (blurred, restored):
        assert 0.01 < np.abs(true - other).mean() < 0.2
    assert np.abs(true - restored).mean() < np.abs(true - blurred).mean()


@pytest.mark.parametrize("seeing", [0.3, 0.7])
def test_blur_is_a_convolution_with_the_sky_mirrored_at_its_edges(seeing: float) -> None:
    example = load("restore_hubble")
    sky = np.random.default_rng(0).random((24, 31), dtype=np.float32)
    reach = np.hypot(*np.ogrid[-24:25, -31:32])
    width = seeing / 0.138 / (2 * np.sqrt(2 ** (1 / 3) - 1))
    star = (1 + (reach / width) ** 2) ** -3.0
    # The type-1 transform counts its last row and column once for the offsets +n and -n together: half for each.
    star[[0, -1]] /= 2
    star[:, [0, -1]] /= 2
    expected = scipy.ndimage.convolve(sky, star / star.sum(), mode="reflect")
    transfer = example["transfer_function"](sky.shape, seeing)
    blurred = example["blur"](sky[None], transfer[None])[0]
    np.testing.assert_allclose(blurred, expected, rtol=1e-4)


@pytest.mark.parametrize("order", [jax.value_and_grad, jax.hessian, lambda f, i: jax.jacrev(jax.jacrev(f, i), i)])
def test_convolution_has_the_derivatives_of_a_convolution(order: Any) -> None:
    bound = load("multilinear")["convolution"]
    random = np.random.default_rng(0)
    arrays = [jnp.asarray(random.standard_normal(shape), dtype=jnp.float32) for shape in ((5, 6), (3, 2))]
    measured = order(lambda a, b: jnp.sum(jnp.sin(bound(a, b)[0])), (0, 1))(*arrays)
    expected = order(lambda a, b: jnp.sum(jnp.sin(jax.scipy.signal.convolve(a, b, method="direct"))), (0, 1))(*arrays)
    jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-4), measured, expected)


def test_populations_and_their_gradient_are_those_of_the_jax_solver() -> None:
    example = load("nonlinear")
    times = jnp.linspace(0.0, 9.0, 7)
    parameters = jnp.asarray(example["TRUTH"])

    def slope(state: jax.Array, _: jax.Array, p: jax.Array) -> jax.Array:
        hares, lynxes = state
        return jnp.stack([p[0] * hares - p[1] * hares * lynxes, p[3] * hares * lynxes - p[2] * lynxes])

    def expected(p: jax.Array) -> jax.Array:
        return odeint(slope, p[4:], times, p, rtol=1e-6, atol=1e-6)

    def measured(p: jax.Array) -> jax.Array:
        return example["lotka_volterra"](times, p)[0]

    weights = jnp.asarray(np.random.default_rng(0).standard_normal((7, 2)), dtype=parameters.dtype)
    np.testing.assert_allclose(measured(parameters), expected(parameters), rtol=1e-3)
    for derivative in (jax.grad, jax.jacfwd):
        np.testing.assert_allclose(
            derivative(lambda p: jnp.vdot(weights, measured(p)))(parameters),
            jax.grad(lambda p: jnp.vdot(weights, expected(p)))(parameters),
            rtol=1e-3,
        )
