# SPDX-License-Identifier: BSD-2-Clause
"""The package that the page on publishing operators tells to copy: it builds, installs, is found, and is right.

Nothing here needs a network: what builds it is in the dependency group of the documentation.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "docs/how-to/plugin"
PAGE = ROOT / "docs/how-to/publish-a-plugin.md"
PROJECT = tomllib.loads((TEMPLATE / "pyproject.toml").read_text())["project"]
LEFT_BY_TOOLS = shutil.ignore_patterns(".*", "__pycache__", "build", "dist")

PROGRAM = """
import json, sys
import jax, jax.numpy as jnp
import jaxbind
listed = [list(plugin) for plugin in jaxbind.plugins()]
imported = "jaxbind_tridiagonal" in sys.modules
from jaxbind_tridiagonal import solve
jax.config.update("jax_enable_x64", True)
lower, diagonal, upper, b = map(jnp.asarray, json.load(sys.stdin))
found = {
    "listed": listed,
    "imported": imported,
    "value": jax.jit(solve)(lower, diagonal, upper, b[0]),
    "batch": jax.vmap(solve, (None, None, None, 0))(lower, diagonal, upper, b),
    "gradient in b": jax.grad(lambda b: solve(lower, diagonal, upper, b)[2])(b[0]),
    "gradient in the diagonal": jax.grad(lambda d: solve(lower, d, upper, b[0])[2])(diagonal),
}
print(json.dumps(jax.tree.map(lambda x: x.tolist() if isinstance(x, jax.Array) else x, found)))
"""


def run(*command: Any, folder: Path | None = None, cwd: Path = ROOT, text: str = "") -> str:
    """What this Python prints when it is run with a folder of installed packages before its own."""
    # Commands that were installed beside this Python (ninja) are found as in an activated environment.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    environment = {key: value for key, value in os.environ.items() if key != "XLA_FLAGS"} | {"PATH": path}
    if folder:
        environment["PYTHONPATH"] = str(folder)
    call = [sys.executable, *map(str, command)]
    done = subprocess.run(
        call, capture_output=True, text=True, input=text, env=environment, cwd=cwd, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the template, so that nothing is written into the repository."""
    folder = tmp_path_factory.mktemp("template") / "plugin"
    return Path(shutil.copytree(TEMPLATE, folder, ignore=LEFT_BY_TOOLS))


@pytest.fixture(scope="module")
def files(source: Path) -> set[str]:
    """The files of the template, before anything is built."""
    return {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def built(source: Path, files: set[str]) -> dict[str, Path]:
    """The sdist, and the wheel that was built from it."""
    assert "pyproject.toml" in files
    run("-m", "build", "--no-isolation", "--outdir", source.parent / "dist", source)
    found = (source.parent / "dist").iterdir()
    return {"wheel" if path.suffix == ".whl" else "sdist": path for path in found}


@pytest.fixture(scope="module")
def installed(built: dict[str, Path]) -> Path:
    """A folder into which pip has installed the wheel."""
    folder = built["wheel"].parents[1] / "installed"
    run("-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", folder, built["wheel"])
    return folder


@pytest.fixture(scope="module")
def systems() -> tuple[np.ndarray, ...]:
    """Diagonals of a matrix that is not symmetric, and three right-hand sides."""
    rng = np.random.default_rng(7)
    return rng.normal(size=6), 4 + rng.random(6), rng.normal(size=6), rng.normal(size=(3, 6))


@pytest.fixture(scope="module")
def found(installed: Path, systems: tuple[np.ndarray, ...]) -> dict[str, Any]:
    """What a fresh process sees and computes."""
    printed = run("-c", PROGRAM, folder=installed, text=json.dumps([array.tolist() for array in systems]))
    answers: dict[str, Any] = json.loads(printed)
    return answers


def test_one_wheel_serves_every_python_and_has_the_library(built: dict[str, Path], files: set[str]) -> None:
    assert re.fullmatch(r"jaxbind_tridiagonal-[\d.]+-py3-none-(?!any)\w+\.whl", built["wheel"].name)
    module = {name.rpartition("/")[2] for name in files if name.startswith("src/")}
    with zipfile.ZipFile(built["wheel"]) as wheel:
        names = {name.partition("/")[2] for name in wheel.namelist() if name.startswith("jaxbind_tridiagonal/")}
    assert names == module | {"libtridiagonal.so"}


def test_the_sdist_has_every_file(built: dict[str, Path], files: set[str]) -> None:
    with tarfile.open(built["sdist"]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert names - {"PKG-INFO"} == files


def test_a_fresh_process_lists_the_plugin_without_importing_it(found: dict[str, Any]) -> None:
    mine = [plugin for plugin in found["listed"] if plugin[0] == "tridiagonal"]
    assert mine == [["tridiagonal", "jaxbind_tridiagonal", "jaxbind-tridiagonal", PROJECT["version"]]]
    assert not found["imported"]


def test_the_report_lists_the_plugin_with_its_version(installed: Path) -> None:
    lines = run("-m", "jaxbind", folder=installed).splitlines()
    assert f"  tridiagonal: import jaxbind_tridiagonal (jaxbind-tridiagonal {PROJECT['version']})" in lines
    assert lines[-1] == "self-check passed"


def test_values_and_derivatives_are_those_of_the_dense_inverse(
    found: dict[str, Any], systems: tuple[np.ndarray, ...]
) -> None:
    lower, diagonal, upper, b = systems
    inverse = np.linalg.inv(np.diag(lower[1:], -1) + np.diag(diagonal) + np.diag(upper[:-1], 1))
    expected = {
        "value": inverse @ b[0],
        "batch": b @ inverse.T,
        "gradient in b": inverse[2],
        "gradient in the diagonal": -inverse[2] * (inverse @ b[0]),
    }
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-12, atol=1e-14, err_msg=name)


def test_the_template_passes_its_own_tests(installed: Path, source: Path) -> None:
    printed = run("-m", "pytest", "-q", "-p", "no:cacheprovider", folder=installed, cwd=source)
    tests = re.findall(r"^def test_\w+", (TEMPLATE / "tests/test_solver.py").read_text(), re.MULTILINE)
    [(passed, others)] = re.findall(r"^(\d+) passed(.*) in ", printed, re.MULTILINE)
    assert int(passed) > len(tests) > 0
    assert others == ""


def test_the_readme_of_the_template_runs(installed: Path) -> None:
    assert "1 blocks, passed" in run(ROOT / "tools/run_readme.py", TEMPLATE / "README.md", folder=installed)


def test_the_docstrings_of_the_template_are_right(installed: Path) -> None:
    program = "import doctest, jaxbind_tridiagonal.solver as m; print(*doctest.testmod(m))"
    assert re.fullmatch(r"0 [1-9]\d*\n", run("-c", program, folder=installed))


def test_the_template_and_its_page_accept_this_core() -> None:
    [text] = [text for text in PROJECT["dependencies"] if Requirement(text).name == "jaxbind-core"]
    assert Requirement(text).specifier.contains(importlib.metadata.version("jaxbind-core"), prereleases=True)
    assert f"`{text}`" in PAGE.read_text()


def test_the_page_shows_every_file_of_code(files: set[str]) -> None:
    shown = set(re.findall(r"^```\{literalinclude\} plugin/(\S+)$", PAGE.read_text(), re.MULTILINE))
    unseen = {"README.md", "src/jaxbind_tridiagonal/__init__.py", "src/jaxbind_tridiagonal/py.typed"}
    assert shown == files - unseen
