# SPDX-License-Identifier: BSD-2-Clause
"""The reference misses nothing: every message, dtype, public name and environment variable of the source is in it."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from jaxbind import _bridge

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
CORE = ROOT / "packages/jaxbind-core"


def message_parts() -> dict[str, str]:
    """Function of `jaxbind._errors` -> the longest piece of its text that does not depend on the case."""
    tree = ast.parse((ROOT / "packages/jaxbind-core/src/jaxbind/_errors.py").read_text())
    parts = {}
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        code = function.body[1:] if ast.get_docstring(function) else function.body
        pieces = [
            c.value for s in code for c in ast.walk(s) if isinstance(c, ast.Constant) and isinstance(c.value, str)
        ]
        if "raise" in function.name or function.name.startswith(("spell", "describe")):
            continue
        parts[function.name] = max(pieces, key=len, default="")
    return parts


@pytest.mark.parametrize(("function", "part"), message_parts().items())
def test_every_message_is_in_the_catalogue(function: str, part: str) -> None:
    catalogue = " ".join((DOCS / "reference/errors.md").read_text().split())
    assert " ".join(part.split()) in catalogue, function


def test_dtypes_are_those_of_the_bridge() -> None:
    page = (DOCS / "reference/conventions.md").read_text()
    listed = page.split("## Dtypes")[1].split("\n64-bit")[0]
    known = {name for name in re.findall(r"`(\w+)`", listed) if hasattr(ml_dtypes, name) or name in np.sctypeDict}
    assert known == set(_bridge.viewable_dtypes())


PUBLIC = [
    "jaxbind",
    "jaxbind.testing",
    "jaxbind.contrib.jaxducc0",
    *(f"jaxbind_ducc{module}" for module in ("", ".fft", ".nufft", ".sht", ".healpix", ".alm", ".pointing")),
    *(f"jaxbind_ducc.{module}" for module in ("noise", "totalconvolve", "wgridder")),
    *(f"jaxbind_finufft{module}" for module in ("", ".options", ".transforms")),
]


def documented() -> set[Any]:
    """What the directives of the reference show: full names, and the identities of the objects that have them."""
    text = "\n".join(page.read_text() for page in (DOCS / "reference").glob("*.md"))
    names = set(re.findall(r"^\.\. (?:auto\w+|py:\w+):: (\w+\.[\w.]+)$", text, re.MULTILINE))
    for module, options in re.findall(r"^\.\. automodule:: (\S+)\n((?:   :.*\n)*)", text, re.MULTILINE):
        listed = dict(re.findall(r":([\w-]+):(.*)", options))
        members = listed.get("members", "-").replace(",", " ").split() or importlib.import_module(module).__all__
        names |= {f"{module}.{name}" for name in members if name not in listed.get("exclude-members", "").split()}
    split = (name.rpartition(".") for name in names)
    return names | {id(getattr(importlib.import_module(module), name, None)) for module, _, name in split}


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_in_the_reference(module: str) -> None:
    public = importlib.import_module(module)
    shown = documented()
    assert [n for n in public.__all__ if not {f"{module}.{n}", id(getattr(public, n))} & shown] == []


def test_every_public_module_is_looked_at() -> None:
    roots = sorted(ROOT.glob("packages/*/src/jaxbind*"))
    files = [file.relative_to(root.parent) for root in roots for file in root.rglob("*.py")]
    public = {f for f in files if not any(part.startswith("_") and part != "__init__.py" for part in f.parts)}
    named = {".".join(f.with_suffix("").parts).removesuffix(".__init__") for f in public}
    assert named - set(PUBLIC) == {"jaxbind.jaxbind", "jaxbind.contrib"}  # re-exported; a folder of old names


def test_every_environment_variable_is_in_the_reference() -> None:
    sources = [*ROOT.glob("packages/*/src/**/*.py"), *ROOT.glob("packages/*/bridge/*")]
    read = {
        name
        for source in sources
        for name in re.findall(r"(?:environ(?:\.get\(|\[)|getenv\()\s*\"(\w+)\"", source.read_text())
    }
    page = (DOCS / "reference/environment.md").read_text()
    assert {"OMP_NUM_THREADS"} <= read
    assert {name for name in read if f"`{name}`" not in page} == set()
