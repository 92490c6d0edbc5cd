# SPDX-License-Identifier: BSD-2-Clause
"""The directive ``transformation-table``: the file that `benchmarks/transformations.py` wrote, as a table and a list.

A page cannot claim a cell that was not measured.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "transformations.json"
# Result of a cell -> what the table shows.
SHOWN = {
    "right": "✓",
    "by hand": "✓ ({detail})",
    "gathers": "gathers",
    "wrong value": "**wrong**",
    "crash": "**crash**",
    "hangs": "**hangs**",
    "error": "error",
    "no hit": "no hit",
    "not applicable": "-",
}


def table() -> list[str]:
    """The lines of the table in Markdown."""
    cells = json.loads(RESULTS.read_text())["cells"]
    ways = list(next(iter(cells.values())))
    rows = [["", *(f"`{way}`" for way in ways)]]
    rows += [
        [cell, *(SHOWN[result].format(detail=detail) for result, detail in found.values())]
        for cell, found in cells.items()
    ]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return [lines[0], "|" + "---|" * (len(ways) + 1), *lines[1:]]


def circumstances() -> list[str]:
    """What was installed, in one sentence a package."""
    content = json.loads(RESULTS.read_text())
    ours = ", ".join(f"{name} {version}" for name, version in content["versions"].items())
    others = [f"`{way}` beside {', '.join(names[1:])}" for way, names in content["installed"].items()]
    return [f"Measured with {ours}; {'; '.join(others)}; otherwise the same versions.", ""]


class TransformationTable(SphinxDirective):
    """``{transformation-table}``."""

    def run(self) -> list[nodes.Node]:
        """Parse the Markdown in place."""
        self.env.note_dependency(str(RESULTS))
        return self.parse_text_to_nodes("\n".join([*circumstances(), *table()]))


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_directive("transformation-table", TransformationTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
