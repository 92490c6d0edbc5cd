# SPDX-License-Identifier: BSD-2-Clause
"""The directive ``benchmark``: a file that a benchmark wrote, as a sentence, pictures and a table.

A page cannot claim a time that was not measured. Where there is no such file, the section is not there either.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from figures import THEMES
from matplotlib.figure import Figure
from sphinx.util.docutils import SphinxDirective

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
import plot  # noqa: E402  # beside the benchmarks
import report  # noqa: E402

Row = dict[str, Any]
Result = dict[str, Any]


def three_digits(value: float | None) -> str:
    """A figure with three digits that count, or more before the point."""
    if value is None:
        return ""
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}" if value else "0"


def markdown(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table; the first row is its head."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return [lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]


def bridge_table(result: Result) -> list[str]:
    """Medians of all ways to call, with ratios to ours in brackets."""
    rows = [["", *report.COLUMNS, "spread", "promise"]]
    for row in result["rows"]:
        columns, ours = row["columns"], row["columns"][report.OURS]
        cells = [report.cell(columns.get(name), ratio=name in report.BRIDGES[1:]) for name in report.COLUMNS]
        kept = f"{row['promise']}: {report.VERDICTS[row['met']]}{' (noisy)' * row['noisy']}" if "promise" in row else ""
        label = f"{row['label']}, {row['unit'].replace('us', 'µs')}"
        rows.append([label, *cells, f"{ours['spread']:.0%}", kept])
    return markdown(rows)


def bridge_sentence(result: Result) -> str:
    """How long a call takes, and how much longer the others take."""
    columns = next(row["columns"] for row in result["rows"] if row["label"] == "call in lax.scan")
    others = [f"{columns[way]['ratio']:.1f} times as long with {way}" for way in report.BRIDGES[1:] if way in columns]
    return f"A call in a compiled loop takes {columns[report.OURS]['median']:.2f} µs; {', '.join(others)}."


def direct_table(what: dict[str, Callable[[Row], Any]], ways: Sequence[str]) -> Callable[[Result], list[str]]:
    """The table of a benchmark that compares ours with direct calls of ducc0."""

    def table(result: Result) -> list[str]:
        used = [way for way in ways if any(way in row["ms"] for row in result["rows"])]
        names = [plot.DUCC.get(way, way) for way in used]
        rows = [[*what, *(f"{name}, ms" for name in names), "ours / ducc0", "spread", f"promise <= {report.DIRECT}"]]
        for row in result["rows"]:
            times = [three_digits(row["ms"].get(way)) for way in used]
            described = [str(show(row)) for show in what.values()]
            rows.append([*described, *times, f"{row['ratio']:.3f}", f"{row['spread']:.3f}", report.beside_direct(row)])
        return markdown(rows)

    return table


def direct_sentence(result: Result) -> str:
    """What JAX adds to a direct call of ducc0, where that takes long enough for the promise."""
    ratios = [row["ratio"] for row in result["rows"] if row["ms"]["ducc0"] >= report.DIRECT_MS]
    if not ratios:
        return ""
    kept = sum(ratio <= report.DIRECT for ratio in ratios)
    return (
        f"In {kept} of the {len(ratios)} problems that take ducc0 {report.DIRECT_MS:g} ms or more, a call through JAX "
        f"takes at most {report.DIRECT} times as long; the median is {statistics.median(ratios):.3f}."
    )


def nufft_table(result: Result) -> list[str]:
    """Ours, the peer and FINUFFT's plan."""
    names = [f"{name}, ms" for name in plot.FINUFFT.values()]
    rows = [["what", "points", "dimensions", "dtype", *names, "peer / ours", "spread", "promise"]]
    for row in result["rows"]:
        times = [three_digits(row["ms"].get(way)) for way in plot.FINUFFT]
        ratio = row["peer / ours"]
        kept = f">= {row['promised']:.2f}: {report.beside_peer(row)}"
        described = [row["what"], str(row["points"]), str(row["ndim"]), row["dtype"]]
        rows.append([*described, *times, f"{ratio['median']:.2f}", f"{ratio['spread']:.0%}", kept])
    return markdown(rows)


def nufft_sentence(result: Result) -> str:
    """How much longer the peer takes."""
    ratios = [row["peer / ours"]["median"] for row in result["rows"]]
    kept = sum(row["peer / ours"]["median"] >= row["promised"] for row in result["rows"])
    return (
        f"jax-finufft takes {min(ratios):.2f} to {max(ratios):.0f} times as long, in the median "
        f"{statistics.median(ratios):.2f} times; {kept} of {len(ratios)} promises are met."
    )


FFT = {
    "transform": lambda row: row["transform"],
    "shape": lambda row: " x ".join(map(str, row["shape"])),
    "dtype": lambda row: row["dtype"],
    "threads": lambda row: row["nthreads"],
}
SHT = {
    "transform": lambda row: row["transform"],
    "L": lambda row: row["L"],
    "maps": lambda row: row["batch"],
    "dtype": lambda row: row["dtype"],
    "threads": lambda row: row["nthreads"],
}
# Name of a result -> its sentence, its table.
SHOWN: dict[str, tuple[Callable[[Result], str], Callable[[Result], list[str]]]] = {
    "bridge": (bridge_sentence, bridge_table),
    "fft": (direct_sentence, direct_table(FFT, ("ours", "ducc0", "jnp.fft"))),
    "sht": (direct_sentence, direct_table(SHT, ("ours", "ducc0", "s2fft", "xla"))),
    "nufft": (nufft_sentence, nufft_table),
}


def circumstances(result: Result) -> str:
    """When it was measured, on what, with what."""
    machine, versions = result["machine"], result["versions"]
    flat = {} if "ours" not in versions else versions["peer"] | versions["ours"]
    named = ", ".join(f"{name} {version}" for name, version in (flat or versions).items())
    day = f" on {result['date']}" if "date" in result else ""
    hardware = f"{machine['cores']} cores of {machine['processor']}, {machine['system']}"
    return f"Measured{day} with {hardware}, Python {machine['python']}, {named}."


def pictures(name: str, result: Result) -> list[str]:
    """The panels side by side where the window is wide enough, each for the light and for the dark theme."""
    lines = ["`````{grid} 1 1 2 2", ":gutter: 2", ""]
    for panel in plot.PANELS[name](result):
        lines += ["````{grid-item}"]
        for theme in THEMES:
            alt = f"{panel.title}: {', '.join(panel.ways)}"
            path = f"/_static/figures/{name}-{panel.name}-{theme}.svg"
            lines += [f"```{{image}} {path}", f":alt: {alt}", f":class: only-{theme}", ":width: 100%", "```"]
        lines += ["````"]
    return [*lines, "`````", ""]


class Benchmark(SphinxDirective):
    """``{benchmark} name`` with the title of its section; its content says what was measured, and how."""

    has_content = True
    required_arguments = 1
    option_spec: ClassVar[Any] = {"title": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Parse what is shown as Markdown, in place."""
        name = self.arguments[0]
        path = Path(self.config.benchmark_results) / f"{name}.json"
        if not path.exists():
            return []
        self.env.note_dependency(str(path))
        result = json.loads(path.read_text())
        sentence, table = SHOWN[name]
        text = [
            f"## {self.options['title']}",
            "",
            sentence(result),
            "",
            *pictures(name, result),
            *self.content,
            "",
            circumstances(result),
            "",
            f"````{{dropdown}} All {len(result['rows'])} measurements",
            ":class-body: jaxbind-measured",
            "",
            *table(result),
            "````",
        ]
        return self.parse_text_to_nodes("\n".join(text), allow_section_headings=True)


def draw_panels(app: Any) -> None:
    """Write ``_static/figures/<result>-<panel>-<theme>.svg`` for every panel of every result that is there."""
    target = Path(app.srcdir) / "_static" / "figures"
    target.mkdir(parents=True, exist_ok=True)
    for name, panels in plot.PANELS.items():
        path = Path(app.config.benchmark_results) / f"{name}.json"
        for panel in panels(json.loads(path.read_text())) if path.exists() else ():
            for theme, colours in THEMES.items():
                figure = Figure(figsize=(4.0, 1.9) if panel.bars else (4.0, 3.0), layout="constrained")
                panel.draw(figure.subplots(), colours)
                figure.savefig(target / f"{name}-{panel.name}-{theme}.svg", transparent=True)


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_config_value("benchmark_results", str(BENCHMARKS / "results"), "env")
    app.add_directive("benchmark", Benchmark)
    app.connect("builder-inited", draw_panels)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
