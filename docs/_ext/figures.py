# SPDX-License-Identifier: BSD-2-Clause
"""Draws the figures of the documentation at the start of a build: each module of docs/_figures, in light and dark."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

# `others`: what is compared with ours, which has the accent; told apart by lightness too.
THEMES: dict[str, dict[str, Any]] = {
    "light": {
        "ink": "#1b1f24",
        "soft": "#6a737d",
        "paper": "#ffffff",
        "fill": "#eef3fb",
        "accent": "#2a63c9",
        "others": ["#d1793b", "#5d8a3a", "#9aa1aa"],
    },
    "dark": {
        "ink": "#e6e6e6",
        "soft": "#9aa4af",
        "paper": "#131416",
        "fill": "#1d2736",
        "accent": "#7fb0ff",
        "others": ["#f0a060", "#9ccc70", "#8b949e"],
    },
}


def draw_all(app: Any) -> None:
    """Write ``_static/figures/<module>-<theme>.svg`` for every module, which has a function ``draw(theme)``."""
    source = Path(app.srcdir)
    target = source / "_static" / "figures"
    target.mkdir(parents=True, exist_ok=True)
    for module in sorted((source / "_figures").glob("*.py")):
        draw = runpy.run_path(str(module))["draw"]
        for name, theme in THEMES.items():
            draw(theme).savefig(target / f"{module.stem}-{name}.svg", transparent=True)


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", draw_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
