# SPDX-License-Identifier: BSD-2-Clause
"""From results to pictures, for the README and the documentation alike. Measures nothing.

A picture is one panel or a row of panels; a panel is bars (one figure per way to call) or curves (time against size).
`python benchmarks/plot.py` draws the README's, docs/_static/bridge_overhead.png; the documentation draws each panel of
every result, in the colours of its light and its dark theme.
"""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
Theme = dict[str, Any]

BRIDGE = {  # label of a row -> title of its panel
    "call in lax.scan": "call in lax.scan",
    "element of vmap": "element of vmap",
    "less an empty one": "jitted call, less an empty one",
}
BRIDGES = ("jaxbind-core", "jaxbind 1.3.1", "buffer_callback", "pure_callback")  # top to bottom
# Ways in the results -> what the pictures call them; ours first.
DUCC = {"ours": "jaxbind-ducc", "ducc0": "ducc0", "jnp.fft": "jax.numpy.fft", "s2fft": "s2fft"}
FINUFFT = {"ours": "jaxbind-finufft", "peer": "jax-finufft", "plan": "FINUFFT's plan"}
MARKERS = "os^D"


@dataclass(frozen=True)
class Panel:
    """What one panel shows.

    Parameters
    ----------
    name
        Part of a file's name.
    title, x_label
        Above it, and below the curves.
    bars
        Way -> microseconds, or None where it was not measured; the first is ours.
    curves
        Way -> sizes and milliseconds; the first is ours.
    """

    name: str
    title: str
    x_label: str = ""
    bars: dict[str, float | None] = field(default_factory=dict)
    curves: dict[str, tuple[Sequence[float], Sequence[float]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name.replace(" ", "-"))  # a file's: a link would lose its spaces

    @property
    def ways(self) -> list[str]:
        """Everything that is compared."""
        return [*self.bars, *self.curves]

    def draw(self, axes: Axes, theme: Theme) -> None:
        """Draw it in the colours of a theme."""
        (_bars if self.bars else _curves)(self, axes, theme)
        axes.set_title(self.title, fontsize=10, color=theme["ink"])
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(theme["soft"])
        axes.tick_params(which="both", colors=theme["soft"], labelcolor=theme["ink"], labelsize=9)


def colours(ways: Sequence[str], theme: Theme) -> dict[str, str]:
    """Ours has the accent of the theme."""
    return dict(zip(ways, [theme["accent"], *theme["others"]], strict=False))


def _bars(panel: Panel, axes: Axes, theme: Theme) -> None:
    colour = colours(panel.ways, theme)
    for position, (way, value) in enumerate(panel.bars.items()):
        if value is None:
            axes.text(0.12, position, "not measured", va="center", fontsize=8, color=theme["soft"])
            continue
        axes.barh(position, value, color=colour[way], height=0.7)
        text = f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 10 else f"{value:.0f}"
        axes.text(value * 1.15, position, f"{text} µs", va="center", fontsize=9, color=theme["ink"])
    axes.set_yticks(range(len(panel.bars)), panel.ways)
    axes.set_ylim(len(panel.bars) - 0.5, -0.5)  # the first on top
    axes.set_xscale("log")
    axes.set_xlim(0.1, 1500)
    axes.xaxis.set_major_formatter("{x:g}")


def _curves(panel: Panel, axes: Axes, theme: Theme) -> None:
    colour = colours(panel.ways, theme)
    for number, (way, (sizes, times)) in reversed(list(enumerate(panel.curves.items()))):
        # The last is drawn first: where curves coincide, ours is seen, and the rim of the others' larger markers.
        style = {"color": colour[way], "marker": MARKERS[number], "markersize": 4 + 1.5 * number, "linewidth": 1.4}
        axes.plot(sizes, times, label=way, **style)
    axes.set(xscale="log", yscale="log")
    axes.set_xlabel(panel.x_label, fontsize=9, color=theme["ink"])
    axes.set_ylabel("milliseconds", fontsize=9, color=theme["ink"])
    axes.yaxis.set_major_formatter("{x:g}")
    sizes = sorted({size for sizes, _ in panel.curves.values() for size in sizes})
    if sizes[-1] < 100 * sizes[0]:  # else the powers of ten, which Matplotlib chooses
        axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
        axes.set_xticks([], minor=True)
    axes.grid(color=theme["soft"], alpha=0.25, linewidth=0.6)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], fontsize=8.5, frameon=False, labelcolor=theme["ink"])


def bridge(result: dict[str, Any]) -> Iterator[Panel]:
    """One panel per measurement of the bridge."""
    rows = {row["label"]: row["columns"] for row in result["rows"]}
    for label, title in BRIDGE.items():
        bars = {way: rows[label][way]["median"] if way in rows[label] else None for way in BRIDGES}
        yield Panel(label.replace(".", "-"), title, bars=bars)


def curves(
    rows: Sequence[dict[str, Any]], size: Callable[[dict[str, Any]], float], names: dict[str, str]
) -> dict[str, tuple[Sequence[float], Sequence[float]]]:
    """The curves of a panel: by way, in the order of `names`, those that were measured."""
    found = {}
    for way, name in names.items():
        points = sorted((size(row), row["ms"][way]) for row in rows if way in row["ms"])
        if points:
            found[name] = tuple(zip(*points, strict=True))
    return found


def grouped(rows: Sequence[dict[str, Any]], *keys: str) -> Iterator[tuple[Any, ...]]:
    """The different values of some keys, those with equal first value together, and the rows that have them."""
    found = dict.fromkeys(tuple(row[key] for key in keys) for row in rows)
    first = list(dict.fromkeys(values[0] for values in found))
    for values in sorted(found, key=lambda values: first.index(values[0])):
        yield *values, [row for row in rows if tuple(row[key] for key in keys) == values]


def fft(result: dict[str, Any]) -> Iterator[Panel]:
    """Fourier transforms of squares in double precision: one panel per transform and number of threads."""
    rows = [row for row in result["rows"] if row["dtype"] == "float64" and len(row["shape"]) == 2]
    for name, threads, chosen in grouped(rows, "transform", "nthreads"):
        found = curves(chosen, lambda row: row["shape"][0], DUCC)
        yield Panel(f"{name}-{threads}", f"{name}, threads: {threads}", "n, of (n, n) numbers", curves=found)


def sht(result: dict[str, Any]) -> Iterator[Panel]:
    """Spherical harmonic transforms of one map in double precision: one panel per transform and number of threads."""
    rows = [row for row in result["rows"] if row["dtype"] == "float64" and row["batch"] == 1]
    for name, threads, chosen in grouped(rows, "transform", "nthreads"):
        found = curves(chosen, lambda row: row["L"], DUCC)
        yield Panel(f"{name}-{threads}", f"{name}, threads: {threads}", "band limit L", curves=found)


def nufft(result: dict[str, Any]) -> Iterator[Panel]:
    """Non-uniform transforms in double precision: one panel per what is done and number of dimensions."""
    rows = [row for row in result["rows"] if row["dtype"] == "complex128"]
    for what, ndim, chosen in grouped(rows, "what", "ndim"):
        name = f"{what}-{ndim}d".replace(",", "")
        found = curves(chosen, lambda row: row["points"], FINUFFT)
        yield Panel(name, f"{what}, {ndim}-D", "points", curves=found)


PANELS: dict[str, Callable[[dict[str, Any]], Iterator[Panel]]] = {
    "bridge": bridge,
    "fft": fft,
    "sht": sht,
    "nufft": nufft,
}


def main() -> None:
    """Draw the panels of the bridge side by side, on white."""
    result = json.loads((HERE / "results" / "bridge.json").read_text())
    theme = runpy.run_path(str(DOCS / "_ext" / "figures.py"))["THEMES"]["light"]
    panels = list(bridge(result))
    figure = Figure(figsize=(9.5, 2.4), layout="constrained")
    for axes, panel in zip(figure.subplots(1, len(panels), sharex=True, sharey=True), panels, strict=True):
        panel.draw(axes, theme)
    machine, versions = result["machine"], result["versions"]["ours"]
    setting = f"{machine['processor']}, Python {machine['python']}, JAX {versions['jax']}"
    text = f"µs per call of a host function that copies 8 float64 (log scale); {setting}"
    figure.supxlabel(text, fontsize=8, color=theme["ink"])
    figure.savefig(DOCS / "_static" / "bridge_overhead.png", dpi=150)


if __name__ == "__main__":
    main()
