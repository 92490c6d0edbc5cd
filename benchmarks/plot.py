# SPDX-License-Identifier: BSD-2-Clause
"""Draws the figure of the bridge's overhead from `results/bridge.json`."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
WAYS = {
    "bound": "jaxbind-core",
    "peer": "jaxbind 1.3.1 (PyPI)",
    "buffer_callback": "buffer_callback",
    "pure_callback": "pure_callback",
}
COLOURS = ["#1b6ca8", "#d1793b", "#8a8f98", "#b9bec6"]


def main() -> None:
    """Write docs/_static/bridge_overhead.png."""
    result = json.loads((HERE / "results" / "bridge.json").read_text())
    found = result["us"]["ours"] | {"peer": result["us"]["peer"]["bound"]}
    figure, panels = plt.subplots(1, 2, figsize=(8, 2.6), constrained_layout=True)
    for panel, (name, title) in zip(panels, {"scan": "call in lax.scan", "vmap": "vmap element"}.items(), strict=True):
        rows = [
            (label, found[way][name], colour)
            for (way, label), colour in zip(WAYS.items(), COLOURS, strict=True)
            if name in found[way]
        ]
        labels, values, colours = zip(*rows[::-1], strict=True)
        panel.barh(labels, values, color=colours)
        for position, value in enumerate(values):
            panel.text(value * 1.1, position, f"{value:.2g} µs", va="center", fontsize=9)
        panel.set_xscale("log")
        panel.set_xlim(0.1, max(values) * 6)
        panel.set_title(f"{title}, 8 float64", fontsize=10)
        panel.spines[["top", "right"]].set_visible(False)
    machine = result["machine"]
    figure.supxlabel(f"µs, log scale; {machine['processor']}, JAX {result['versions']['jax']}", fontsize=8)
    figure.savefig(HERE.parent / "docs" / "_static" / "bridge_overhead.png", dpi=150)


if __name__ == "__main__":
    main()
