# SPDX-License-Identifier: BSD-2-Clause
"""Promises and verdicts of all benchmarks; from the rounds of `run.py` to figures and a table. Measures nothing."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from _timing import NOISY, spread

PEER = "jaxbind 1.3.1"
# Columns: title -> (environment, way in worker.py).
COLUMNS = {
    "jaxbind-core": ("ours", "bound"),
    PEER: ("peer", "bound"),
    "buffer_callback": ("ours", "buffer_callback"),
    "pure_callback": ("ours", "pure_callback"),
    "Python": ("ours", "python"),
    "XLA": ("ours", "xla"),
}
BRIDGES = tuple(COLUMNS)[:4]
OURS = BRIDGES[0]
DIGITS = {100: ".0f", 10: ".1f", 0.1: ".2f"}  # from this figure on; smaller ones have two that count
VERDICTS = {None: "", True: "met", False: "not met"}
# Through JAX, at most this many times as long as the direct call, where that takes at least so many milliseconds.
DIRECT, DIRECT_MS = 1.03, 1.0
Round = dict[str, dict[str, dict[str, float]]]


@dataclass(frozen=True)
class Row:
    """One line of the table: what is measured, and what is promised for it.

    Parameters
    ----------
    label, unit
        How it is shown.
    measurement
        Its name in `worker.py`.
    limit
        Largest promised figure of ours.
    factor
        Smallest promised ratio of the peer's figure to ours.
    net
        Whether the same program without a call (the column XLA) is subtracted.
    """

    label: str
    unit: str
    measurement: str
    limit: float | None = None
    factor: float | None = None
    net: bool = False


ROWS = (
    Row("call in lax.scan", "us", "scan", limit=1.0, factor=4),
    Row("less an empty scan", "us", "scan", net=True),
    Row("element of vmap", "us", "vmap", limit=0.6, factor=7),
    Row("jitted call", "us", "jit"),
    Row("less an empty one", "us", "jit", limit=2.5, net=True),
    Row("peak memory", "arrays", "memory", limit=2.05),  # input and output, and what allocators round up
    Row("256 MiB copied", "ms", "copy"),
    Row("import after jax", "ms", "import", limit=30),
)


def figures(row: Row, column: str, rounds: Sequence[Round]) -> list[float]:
    """The figure of a column in every round; empty where it was not measured."""
    environment, way = COLUMNS[column]
    measured = [each[environment][row.measurement] for each in rounds]
    if any(way not in each for each in measured) or (row.net and column not in BRIDGES):
        return []
    return [each[way] - (each["xla"] if row.net else 0) for each in measured]


def summary(row: Row, rounds: Sequence[Round]) -> dict[str, Any]:
    """Median, spread and ratio to ours of every column, and whether the promise is kept.

    The ratio is taken within a round, where both met the same state of the machine, and then its median.
    """
    ours = figures(row, OURS, rounds)
    columns = {}
    for column in COLUMNS:
        if values := figures(row, column, rounds):
            ratios = [value / mine for value, mine in zip(values, ours, strict=True)]
            columns[column] = {
                "median": statistics.median(values),
                "spread": spread(values),
                "ratio": statistics.median(ratios),
                "ratio spread": spread(ratios),
            }
    result: dict[str, Any] = {"label": row.label, "unit": row.unit, "columns": columns}
    if row.limit is not None:
        mine, peer = columns[OURS], columns[PEER]
        result["promise"] = f"<= {row.limit:g}" + (f", >= {row.factor:g}x" if row.factor else "")
        result["met"] = mine["median"] <= row.limit and (row.factor is None or peer["ratio"] >= row.factor)
        result["noisy"] = max(mine["spread"], peer["ratio spread"] if row.factor else 0) > NOISY
    return result


def verdict(met: bool | None, spread: float = 0.0) -> str:
    """Whether a promise is kept, if there is one, and whether the machine was quiet enough to say so."""
    return VERDICTS[met] + (" (noisy)" if met is not None and spread > NOISY else "")


def beside_direct(row: dict[str, Any]) -> str:
    """The verdict on a row of `fft.py` or `sht.py`: ours beside direct calls of ducc0."""
    return verdict(None if row["ms"]["ducc0"] < DIRECT_MS else row["ratio"] <= DIRECT, row["spread"])


def beside_peer(row: dict[str, Any]) -> str:
    """The verdict on a row of `nufft.py`: the peer beside ours."""
    ratio = row["peer / ours"]
    return verdict(ratio["median"] >= row["promised"], ratio["spread"])


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The summaries as text: figures, with ratios to ours in brackets."""
    lines = [["", *COLUMNS, "spread", "promise", ""]]
    for row in rows:
        columns = row["columns"]
        cells = [cell(columns.get(column), ratio=column in BRIDGES[1:]) for column in COLUMNS]
        own = f"{columns[OURS]['spread']:.0%}"
        kept = VERDICTS[row.get("met")] + (" (noisy)" if row.get("noisy") else "")
        lines.append([f"{row['label']}, {row['unit']}", *cells, own, row.get("promise", ""), kept])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def cell(figure: dict[str, float] | None, *, ratio: bool) -> str:
    """One figure of the table."""
    if figure is None:
        return "-"
    value = figure["median"]
    digits = next((digits for limit, digits in DIGITS.items() if abs(value) >= limit), ".2g")
    text = f"{value:{digits}}"
    return f"{text} ({figure['ratio']:.1f}x)" if ratio else text
