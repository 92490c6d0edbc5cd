# SPDX-License-Identifier: BSD-2-Clause
"""The reference misses nothing: every message, dtype, public name and environment variable of the source is in it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

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
