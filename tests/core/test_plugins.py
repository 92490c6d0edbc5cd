# SPDX-License-Identifier: BSD-2-Clause
"""Plugins are found by their metadata, and `python -m jaxbind` reports what a bug report needs."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import jax
import jaxbind
import jaxbind.__main__
import pytest


def install(folder: Path, name: str, source: str) -> None:
    """Lay out a distribution `jaxbind-<name>` as an installer would: a module and its metadata."""
    (folder / f"jaxbind_{name}.py").write_text(source)
    metadata = folder / f"jaxbind_{name}-1.2.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: jaxbind-{name}\nVersion: 1.2\n")
    (metadata / "entry_points.txt").write_text(f"[jaxbind.plugins]\n{name} = jaxbind_{name}\n")


def report(folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "jaxbind"]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)


def test_a_plugin_is_listed_and_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "mylib", "raise RuntimeError('imported')")
    before = jaxbind.plugins()
    monkeypatch.syspath_prepend(tmp_path)
    mine = jaxbind.Plugin("mylib", "jaxbind_mylib", "jaxbind-mylib", "1.2")
    assert jaxbind.plugins() == tuple(sorted([*before, mine]))


def test_the_report_names_versions_dtypes_plugins_and_a_passed_self_check(tmp_path: Path) -> None:
    install(tmp_path, "mylib", "")
    done = report(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert f"jax {jax.__version__}" in lines
    assert f"jaxbind-core {importlib.metadata.version('jaxbind-core')}" in lines
    assert "  mylib: import jaxbind_mylib (jaxbind-mylib 1.2)" in lines
    assert "bfloat16" in done.stdout
    assert lines[-1] == "self-check passed"


def test_a_plugin_that_cannot_be_imported_is_told_with_its_error(tmp_path: Path) -> None:
    install(tmp_path, "broken", "raise OSError('libmylib.so: not found')")
    done = report(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "(jaxbind-broken 1.2) FAILED: OSError: libmylib.so: not found" in done.stdout
    assert done.stdout.endswith("self-check passed\n")


def test_a_self_check_that_fails_says_why(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(jaxbind.__main__, "_differences_t", jaxbind.__main__._differences)
    assert jaxbind.__main__.main() == 1
    told = capsys.readouterr().out
    assert "self-check FAILED" in told
    assert "transpose" in told
