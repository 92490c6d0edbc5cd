# SPDX-License-Identifier: BSD-2-Clause
"""Draws the overhead of a call from `results/bridge.json`, and nothing else, into docs/_static/bridge_overhead.png."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
PANELS = {
    "call in lax.scan": "call in lax.scan",
    "element of vmap": "element of vmap",
    "less an empty one": "jitted call, less an empty one",
}
COLOURS = {  # top to bottom
    "jaxbind-core": "#1b6ca8",
    "jaxbind 1.3.1": "#d1793b",
    "buffer_callback": "#8a8f98",
    "pure_callback": "#b9bec6",
}


def main() -> None:
    """Draw one panel per measurement, one bar per way to call the host function."""
    result = json.loads((HERE / "results" / "bridge.json").read_text())
    rows = {row["label"]: row["columns"] for row in result["rows"]}
    figure, axes = plt.subplots(1, len(PANELS), figsize=(9.5, 2.4), sharex=True, sharey=True, constrained_layout=True)
    ways = list(COLOURS)[::-1]
    for axis, (label, title) in zip(axes, PANELS.items(), strict=True):
        for position, way in enumerate(ways):
            if way not in rows[label]:
                axis.text(0.12, position, "not measured", va="center", fontsize=8, color="#8a8f98")
                continue
            value = rows[label][way]["median"]
            axis.barh(position, value, color=COLOURS[way], height=0.7)
            text = f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 10 else f"{value:.0f}"
            axis.text(value * 1.15, position, f"{text} µs", va="center", fontsize=9)
        axis.set_title(title, fontsize=10)
        axis.set_xscale("log")
        axis.set_xlim(0.1, 1500)
        axis.xaxis.set_major_formatter("{x:g}")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_yticks(range(len(ways)), ways)
    machine, versions = result["machine"], result["versions"]["ours"]
    setting = f"{machine['processor']}, Python {machine['python']}, JAX {versions['jax']}"
    figure.supxlabel(f"µs per call of a host function that copies 8 float64 (log scale); {setting}", fontsize=8)
    target = HERE.parent / "docs" / "_static" / "bridge_overhead.png"
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=150)


if __name__ == "__main__":
    main()
