# SPDX-License-Identifier: BSD-2-Clause
"""The page on benchmarks shows the figures that the benchmarks wrote, and only sections that were measured.

The page is built by Sphinx from planted results and from the committed ones, and its HTML is read back here.
"""

from __future__ import annotations

import html.parser
import itertools
import json
import random
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BENCHMARKS = ROOT / "benchmarks"
COMMITTED = BENCHMARKS / "results"
TITLES = {
    "bridge": "One call of a Python function",
    "fft": "Fourier transforms",
    "sht": "Spherical harmonic transforms",
    "nufft": "Non-uniform Fourier transforms",
}
CONFIGURATION = f"""
import sys
sys.path.insert(0, {str(DOCS / "_ext")!r})
extensions = ["myst_parser", "sphinx_design", "benchmark_results"]
myst_enable_extensions = ["colon_fence"]
html_theme = "basic"
html_static_path = ["_static"]
"""


class Page(html.parser.HTMLParser):
    """The sections of a page: heading -> rows of its table, its text, its pictures."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: dict[str, list[list[str]]] = {}
        self.text: dict[str, str] = {}
        self.pictures: dict[str, list[str]] = {}
        self.section = ""
        self.place = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "h2":
            self.place, self.section = "heading", ""
        elif tag == "tr" and self.section:
            self.rows[self.section].append([])
        elif tag in {"td", "th"} and self.section:
            self.place = "cell"
            self.rows[self.section][-1].append("")
        elif tag == "img" and self.section:
            self.pictures[self.section].append(str(dict(attrs)["src"]))

    def handle_endtag(self, tag: str) -> None:
        if tag == "h2":
            self.section = self.section.removesuffix("¶")
            self.rows[self.section], self.pictures[self.section] = [], []
            self.text[self.section] = ""
        if tag in {"h2", "td", "th"}:
            self.place = ""

    def handle_data(self, data: str) -> None:
        if self.place == "heading":
            self.section += data
        elif self.place == "cell":
            self.rows[self.section][-1][-1] += data.strip("\n")
        elif self.section:
            self.text[self.section] += data


def times(rng: random.Random, *ways: str) -> dict[str, float]:
    """Milliseconds between a microsecond and a minute."""
    return {way: 10 ** rng.uniform(-3, 4.8) for way in ways}


def ratio(rng: random.Random) -> dict[str, float]:
    return {"median": rng.uniform(0.5, 30), "spread": rng.uniform(0, 0.2)}


def planted() -> Iterator[tuple[str, dict[str, Any]]]:
    """Results as the benchmarks write them, with figures that no other source has."""
    rng = random.Random(0)
    bridge = json.loads((COMMITTED / "bridge.json").read_text())
    for columns in (row["columns"] for row in bridge["rows"]):
        columns.update({way: {key: rng.uniform(0.02, 90) for key in of} for way, of in columns.items()})
    yield "bridge", bridge | {"date": "2031-05-06"}
    machine = {"processor": "Abacus 3000", "cores": 7, "system": "Linux", "python": "3.19.5"}
    head = {"date": "2031-05-07", "machine": machine, "versions": {"jax": "9.8.7", "ducc0": "0.99.1"}}
    compared = lambda: {"ratio": rng.uniform(0.9, 1.2), "spread": rng.uniform(0, 0.2)}  # noqa: E731
    cases = itertools.product(("c2c", "c2c mapped"), ([8, 8], [16, 16], [4, 4, 4]), ("float64", "float32"), (1, 2))
    rows = [dict(zip(("transform", "shape", "dtype", "nthreads"), case, strict=True)) for case in cases]
    yield "fft", head | {"rows": [row | {"ms": times(rng, "ours", "ducc0", "jnp.fft")} | compared() for row in rows]}
    harmonic = itertools.product(("healpix", "transpose_2d"), ((128, 1), (256, 1), (128, 8)), (1, 2))
    yield (
        "sht",
        head
        | {
            "rows": [
                {"transform": name, "L": L, "batch": batch, "dtype": "float64", "nthreads": threads}
                | {"ms": times(rng, "ours", "ducc0", *["s2fft"] * (L == 256), *["xla"] * (batch == 1))}
                | compared()
                for name, (L, batch), threads in harmonic
            ]
        },
    )
    what = {"type 1": ("plan", "ours", "peer"), "100 CG steps, own threads": ("ours", "peer")}
    problems = itertools.product(what, (100, 1_000_000), (1, 3), ("complex64", "complex128"))
    yield (
        "nufft",
        head
        | {
            "rows": [
                {"what": name, "points": points, "ndim": ndim, "dtype": dtype, "promised": 3.0, "nthreads": 1}
                | {"ms": times(rng, *what[name]), "peer / ours": ratio(rng)}
                for name, points, ndim, dtype in problems
            ]
        },
    )


PLANTED = dict(planted())
NAMES = [*TITLES]


def build(folder: Path, results: Path) -> Page:
    """The page as Sphinx makes it, with warnings as errors."""
    source = folder / "source"
    (source / "_static").mkdir(parents=True)
    (source / "conf.py").write_text(CONFIGURATION)
    (source / "transformations.md").write_text("# Transformations\n")
    (source / "index.md").write_text("# Index\n\n```{toctree}\nbenchmarks\ntransformations\n```\n")
    shutil.copy(DOCS / "reference/benchmarks.md", source)
    command = ["-m", "sphinx", "-q", "-W", "-b", "html", "-D", f"benchmark_results={results}", source, folder / "html"]
    done = subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return Page((folder / "html/benchmarks.html").read_text())


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Page, Path]]:
    """By "planted" or "committed": the page, and the folder that it stands in."""
    built: dict[str, tuple[Page, Path]] = {}

    def page(source: str) -> tuple[Page, Path]:
        if source not in built:
            folder = tmp_path_factory.mktemp(source)
            results = COMMITTED
            if source == "planted":
                results = folder / "results"
                results.mkdir()
                for name, content in PLANTED.items():
                    (results / f"{name}.json").write_text(json.dumps(content))
            built[source] = build(folder, results), folder / "html"
        return built[source]

    return page


def agrees(text: str, value: float) -> bool:
    """Whether a text is a figure rounded to the digits that it has, at least two of them."""
    found = re.match(r"-?(\d+)(?:\.(\d+))?", text)
    if not found or len((found[1] + (found[2] or "")).lstrip("0")) < 2 <= value:
        return False
    return abs(float(found[0]) - value) <= 0.5000001 * 10.0 ** -len(found[2] or "")


WRITTEN = [
    *(("planted", name) for name in NAMES),
    *(("committed", name) for name in NAMES if (COMMITTED / f"{name}.json").exists()),
]


def result(source: str, name: str) -> dict[str, Any]:
    """What a benchmark wrote."""
    content: dict[str, Any] = (
        PLANTED[name] if source == "planted" else json.loads((COMMITTED / f"{name}.json").read_text())
    )
    return content


# Heading of a column -> what it shows of a row.
COLUMNS: dict[str, dict[str, Callable[[dict[str, Any]], Any]]] = {
    "fft": {
        "transform": lambda row: row["transform"],
        "shape": lambda row: " x ".join(str(n) for n in row["shape"]),
        "dtype": lambda row: row["dtype"],
        "threads": lambda row: str(row["nthreads"]),
        "jaxbind-ducc, ms": lambda row: row["ms"]["ours"],
        "ducc0, ms": lambda row: row["ms"]["ducc0"],
        "jax.numpy.fft, ms": lambda row: row["ms"]["jnp.fft"],
        "ours / ducc0": lambda row: row["ratio"],
    },
    "sht": {
        "transform": lambda row: row["transform"],
        "L": lambda row: str(row["L"]),
        "maps": lambda row: str(row["batch"]),
        "dtype": lambda row: row["dtype"],
        "threads": lambda row: str(row["nthreads"]),
        "jaxbind-ducc, ms": lambda row: row["ms"]["ours"],
        "ducc0, ms": lambda row: row["ms"]["ducc0"],
        "s2fft, ms": lambda row: row["ms"].get("s2fft", ""),
        "xla, ms": lambda row: row["ms"].get("xla", ""),
        "ours / ducc0": lambda row: row["ratio"],
    },
    "nufft": {
        "what": lambda row: row["what"],
        "points": lambda row: str(row["points"]),
        "dimensions": lambda row: str(row["ndim"]),
        "dtype": lambda row: row["dtype"],
        "jaxbind-finufft, ms": lambda row: row["ms"]["ours"],
        "jax-finufft, ms": lambda row: row["ms"]["peer"],
        "FINUFFT's plan, ms": lambda row: row["ms"].get("plan", ""),
        "peer / ours": lambda row: row["peer / ours"]["median"],
    },
    "bridge": {
        "": lambda row: f"{row['label']}, {row['unit']}".replace(", us", ", µs"),
        **{
            way: lambda row, way=way: row["columns"].get(way, {"median": "-"})["median"]  # type: ignore[misc]
            for way in ("jaxbind-core", "jaxbind 1.3.1", "buffer_callback", "pure_callback", "Python", "XLA")
        },
    },
}


@pytest.mark.parametrize(("source", "name"), WRITTEN)
def test_the_table_has_every_figure_of_the_result(source: str, name: str, pages: Any) -> None:
    page, _ = pages(source)
    head, *rows = page.rows[TITLES[name]]
    head = [cell.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'") for cell in head]
    measured = result(source, name)["rows"]
    assert len(rows) == len(measured) > 0
    for cells, row in zip(rows, measured, strict=True):
        shown = dict(zip(head, cells, strict=True))
        for column, value_of in COLUMNS[name].items():
            if column not in shown:  # a way that no row has
                assert value_of(row) == ""
                continue
            expected, found = value_of(row), shown[column]
            assert found == expected if isinstance(expected, str) else agrees(found, expected), (column, found, row)


def verdict(name: str, row: dict[str, Any]) -> str:
    """What the promises say, worked out here."""
    if name == "nufft":
        kept, spread = row["peer / ours"]["median"] >= row["promised"], row["peer / ours"]["spread"]
    elif row["ms"]["ducc0"] < 1:
        return ""
    else:
        kept, spread = row["ratio"] <= 1.03, row["spread"]
    return ("met" if kept else "not met") + (" (noisy)" if spread > 0.1 else "")


@pytest.mark.parametrize("name", ["fft", "sht", "nufft"])
def test_verdicts_follow_from_the_figures(name: str, pages: Any) -> None:
    page, _ = pages("planted")
    found = [row[-1].rpartition(": ")[2] for row in page.rows[TITLES[name]][1:]]
    expected = [verdict(name, row) for row in PLANTED[name]["rows"]]
    assert found == expected
    assert len(set(found)) > 2


@pytest.mark.parametrize(("source", "name"), WRITTEN)
def test_the_section_states_day_machine_and_versions(source: str, name: str, pages: Any) -> None:
    text = pages(source)[0].text[TITLES[name]]
    content = result(source, name)
    machine, versions = content["machine"], content["versions"]
    stated = [f"{machine['cores']} cores of {machine['processor']}", f"Python {machine['python']}"]
    groups = versions.values() if "ours" in versions else [versions]
    stated += [f"{package} {version}" for group in groups for package, version in group.items()]
    stated += [f"Measured on {content['date']}"] if "date" in content else []
    assert [part for part in stated if part not in text] == []
    assert "python noxfile.py -s bench" in text


@pytest.mark.parametrize(("source", "name"), WRITTEN)
def test_every_picture_is_there_for_both_themes(source: str, name: str, pages: Any) -> None:
    page, folder = pages(source)
    pictures = page.pictures[TITLES[name]]
    assert len(pictures) == len(set(pictures)) > 0
    assert all((folder / picture).stat().st_size > 1000 for picture in pictures)
    light = {picture.replace("-light.svg", "") for picture in pictures if picture.endswith("-light.svg")}
    assert light == {picture.replace("-dark.svg", "") for picture in pictures if picture.endswith("-dark.svg")}


@pytest.mark.parametrize(
    ("name", "panel", "way", "key", "chosen"),
    [
        ("fft", "c2c-2", "jaxbind-ducc", "ours", lambda r: r["transform"] == "c2c" and r["nthreads"] == 2),
        ("sht", "healpix-1", "s2fft", "s2fft", lambda r: r["transform"] == "healpix" and r["nthreads"] == 1),
        ("nufft", "type-1-3d", "jax-finufft", "peer", lambda r: r["what"] == "type 1" and r["ndim"] == 3),
    ],
)
def test_curves_are_the_measured_times(
    name: str, panel: str, way: str, key: str, chosen: Callable[[dict[str, Any]], bool]
) -> None:
    plot = runpy.run_path(str(BENCHMARKS / "plot.py"))
    curves = {found.name: found.curves for found in plot["PANELS"][name](PLANTED[name])}[panel]
    rows = [row for row in PLANTED[name]["rows"] if chosen(row) and row["dtype"] in {"float64", "complex128"}]
    sizes = [row.get("points") or row.get("L") or row["shape"][0] for row in rows]
    flat = [row.get("batch", 1) == 1 and len(row.get("shape", [1, 1])) == 2 for row in rows]
    expected = sorted(
        (n, r["ms"][key]) for n, r, is_flat in zip(sizes, rows, flat, strict=True) if is_flat and key in r["ms"]
    )
    assert list(zip(*curves[way], strict=True)) == expected
    assert len(expected) > 0


@pytest.mark.parametrize("present", [[], ["bridge"], ["fft", "nufft"]])
def test_only_what_was_measured_has_a_section(present: list[str], tmp_path: Path) -> None:
    results = tmp_path / "results"
    results.mkdir()
    for name in present:
        (results / f"{name}.json").write_text(json.dumps(PLANTED[name]))
    page = build(tmp_path, results)
    assert [*page.rows] == [TITLES[name] for name in present]


def test_what_is_measured_from_now_on_has_a_day() -> None:
    timing = runpy.run_path(str(BENCHMARKS / "_timing.py"))
    found = timing["circumstances"]()
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", found["date"])
    assert {"processor", "cores", "system", "python"} <= set(found["machine"])
    assert {"jax", "numpy", "jaxbind-core"} <= set(found["versions"])
