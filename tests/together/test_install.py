# SPDX-License-Identifier: BSD-2-Clause
"""Each choice of the install menu works with exactly the distributions that its metadata asks for.

A folder gets links to those distributions and nothing else, and a fresh interpreter that sees only this folder
imports them. A requirement that the metadata forgets is therefore missing there.
"""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

VARIANTS = {
    "jaxbind-core": {"jaxbind"},
    "jaxbind-core[ducc]": {"jaxbind", "jaxbind_ducc"},
    "jaxbind-core[finufft]": {"jaxbind", "jaxbind_finufft"},
    "jaxbind-core[all]": {"jaxbind", "jaxbind_ducc", "jaxbind_finufft"},
    "jaxbind-ducc": {"jaxbind", "jaxbind_ducc"},
    "jaxbind-finufft": {"jaxbind", "jaxbind_finufft"},
}
MODULES = sorted(set.union(*VARIANTS.values()))
PROGRAM = """
import importlib, json, sys
versions = {}
for name in %r:
    try:
        versions[name] = importlib.import_module(name).__version__
    except ModuleNotFoundError as error:
        assert error.name == name, error
print(json.dumps(versions))
"""


def wanted(requirement: str) -> set[str]:
    """Names of the distributions that installing a requirement brings."""
    todo, seen = [requirement], set()
    while todo:
        current = Requirement(todo.pop())
        seen.add((canonicalize_name(current.name), frozenset(current.extras)))
        for text in importlib.metadata.requires(current.name) or []:
            needed = Requirement(text)
            extras = current.extras or {""}
            applies = needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras)
            if applies and (canonicalize_name(needed.name), frozenset(needed.extras)) not in seen:
                todo.append(text)
    return {name for name, _ in seen}


def link(distribution: str, folder: Path) -> None:
    """Link a distribution's top-level files and folders into a folder."""
    found = importlib.metadata.distribution(distribution)
    for top in {path.parts[0] for path in found.files or []} - {"..", "__pycache__"}:
        if not (folder / top).exists():
            (folder / top).symlink_to(Path(str(found.locate_file(top))))


@pytest.mark.parametrize("requirement", VARIANTS)
def test_variant_imports_with_only_what_its_metadata_asks_for(requirement: str, tmp_path: Path) -> None:
    for name in wanted(requirement):
        link(name, tmp_path)
    start = f"import site; site.addsitedir({str(tmp_path)!r})"  # so that an editable installation works too
    result = subprocess.run(
        [sys.executable, "-I", "-S", "-c", start + PROGRAM % MODULES], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == dict.fromkeys(VARIANTS[requirement], importlib.metadata.version("jaxbind-core"))
