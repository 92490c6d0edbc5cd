# SPDX-License-Identifier: BSD-2-Clause
"""The benchmark of the bridge: ours, PyPI `jaxbind` 1.3.1 and JAX's own callbacks, in turns; prints and writes a table.

`python benchmarks/run.py` (or `python noxfile.py -s bench`) takes about three minutes, `--quick` a third of it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import peers

HERE = Path(__file__).resolve().parent
WORKER = HERE / "worker.py"
PEER = "jaxbind 1.3.1"


def measure(python: str, *arguments: str) -> dict[str, Any]:
    """One run of the worker in a fresh process."""
    found: dict[str, Any] = json.loads(subprocess.check_output([python, WORKER, *arguments]).splitlines()[-1])
    return found


def middle(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians over runs, entry by entry."""
    return {
        key: middle([run[key] for run in runs]) if isinstance(value, dict) else statistics.median(r[key] for r in runs)
        for key, value in runs[0].items()
    }


def alternate(rounds: int, python: str) -> dict[str, dict[str, Any]]:
    """All measurements, ours and the peer's in turns, so that a drift of the machine meets both."""
    ours: list[dict[str, Any]] = []
    theirs: list[dict[str, Any]] = []
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", flush=True)
        for runs, interpreter, extra in ((ours, sys.executable, ("--callbacks",)), (theirs, python, ())):
            runs.append(
                measure(interpreter, "overhead", *extra)
                | {"memory": measure(interpreter, "memory"), "import": measure(interpreter, "import")}
            )
    return {"ours": middle(ours), "peer": middle(theirs), "spread": spread(ours)}


def spread(runs: list[dict[str, Any]]) -> dict[str, float]:
    """Largest over smallest of our small measurements: near 1 on a quiet machine."""
    values = {name: [run["bound"][name] for run in runs] for name in ("scan", "vmap", "jit")}
    return {name: max(found) / min(found) for name, found in values.items()}


def table(found: dict[str, dict[str, Any]]) -> list[tuple[str, ...]]:
    """Rows of what was measured: name, ours, the others, ratio to the peer, promise, whether it was kept."""
    ours, peer = found["ours"], found["peer"]
    others = {name: ours.get(name, {}) for name in ("pure_callback", "buffer_callback")}
    rows = [("", "ours", PEER, *others, "peer / ours", "promise", "")]
    for name, label, least, limit in (
        ("scan", "call in lax.scan, us", 4.0, 1.0),
        ("vmap", "vmap element, us", 7.0, 0.6),
    ):
        mine, theirs = ours["bound"][name], peer["bound"][name]
        kept = mine <= limit and theirs >= least * mine
        callbacks = (f"{other[name]:.2f}" if name in other else "-" for other in others.values())
        promise = f"<= {limit}, >= {least:.0f}x"
        rows.append((label, f"{mine:.2f}", f"{theirs:.2f}", *callbacks, f"{theirs / mine:.1f}", promise, _word(kept)))
    extra = [run["jit"] - ours["nothing"]["jit"] for run in (ours["bound"], *others.values()) if "jit" in run]
    theirs = peer["bound"]["jit"] - peer["nothing"]["jit"]
    texts = [f"{value:.2f}" for value in extra] + ["-"] * (3 - len(extra))
    label = "jitted call over an empty one, us"
    rows.append(
        (label, texts[0], f"{theirs:.2f}", *texts[1:], f"{theirs / extra[0]:.1f}", "<= 2.5", _word(extra[0] <= 2.5))
    )
    for label, key, unit, limit in (
        ("peak memory, arrays", "memory", "arrays", 2.05),
        ("import after jax, ms", "import", "ms", 30.0),
    ):
        mine, theirs = ours[key][unit], peer[key][unit]
        rows.append(
            (
                label,
                f"{mine:.2f}",
                f"{theirs:.2f}",
                "-",
                "-",
                f"{theirs / mine:.1f}",
                f"<= {limit}",
                _word(mine <= limit),
            )
        )
    large = ours["memory"]
    label = f"256 MiB copied, ms (NumPy alone: {large['numpy ms']:.0f})"
    rows.append(
        (
            label,
            f"{large['ms']:.0f}",
            f"{peer['memory']['ms']:.0f}",
            "-",
            "-",
            f"{peer['memory']['ms'] / large['ms']:.1f}",
            "",
            "",
        )
    )
    return rows


def _word(kept: bool) -> str:
    return "met" if kept else "not met"


def processor() -> str:
    """Model of the processor, without anything that names the machine."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round instead of five")
    parser.add_argument("--output", type=Path, default=HERE / "results" / "bridge.json")
    options = parser.parse_args()
    found = alternate(1 if options.quick else 5, peers.interpreter("jaxbind==1.3.1"))
    rows = table(found)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print("our largest over smallest:", {name: round(value, 2) for name, value in found["spread"].items()})
    names = ("jaxbind-core", "jax", "jaxlib", "numpy")
    machine = {"processor": processor(), "cores": os.cpu_count(), "python": platform.python_version()}
    options.output.parent.mkdir(parents=True, exist_ok=True)
    result = {"machine": machine, "versions": {name: version(name) for name in names}, "us": found, "table": rows}
    options.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
