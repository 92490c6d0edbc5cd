# SPDX-License-Identifier: BSD-2-Clause
"""Which transformations of JAX work on which way of calling foreign code: `python transformations.py [--json FILE]`.

Each way of `transformation_ways.py` is tried in a process with its library, on every cell of `transformation_cells.py`.
A cell that ends the process, or does not end, is a result too: the next process goes on with the cell after it.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import peers
from transformation_cells import CELLS
from transformation_ways import WAYS

FOLDER = Path(__file__).resolve().parent
PATIENCE = 600  # seconds for all cells of a way; most take less than one each
# What is installed for a way, beside our JAX and NumPy; the others are tried in this environment. From JAX 0.10 on,
# jax-finufft cannot be mapped; it gets the newest JAX that serves it in full.
PACKAGES = {
    "jaxbind 1.3.1": ("jaxbind==1.3.1", "flatbuffers"),
    "jax-finufft 1.3.1": ("jax-finufft==1.3.1", "flatbuffers", "jax==0.9.2", "jaxlib==0.9.2"),
}
Result = tuple[str, str]


def results(way: str, python: str, cells: list[str]) -> dict[str, Result]:
    """Result and its detail for each cell, in as many processes as it takes."""
    found: dict[str, Result] = {}
    while rest := [cell for cell in cells if cell not in found]:
        found |= dict(_until_it_ends(way, python, rest))
    return found


def _until_it_ends(way: str, python: str, cells: list[str]) -> Iterator[tuple[str, Result]]:
    command = [python, str(FOLDER / "transformation_cells.py"), way, *cells]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        printed, ending = done.stdout, "crash"
        detail = f"signal {-done.returncode}" if done.returncode < 0 else done.stderr.strip()[-200:]
    except subprocess.TimeoutExpired as expired:
        printed, ending, detail = (expired.stdout or b"").decode(), "hangs", ""
    lines = [json.loads(line) for line in printed.splitlines() if line.startswith('{"cell"')]
    if not lines:
        raise RuntimeError(f"{way}: no cell was tried. {detail}")
    for line in lines:
        if "result" in line:
            yield line["cell"], (line["result"], line["detail"])
    if "start" in lines[-1]:
        yield lines[-1]["cell"], (ending, detail)


def main() -> None:
    """Try everything, print one line a cell, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=FOLDER / "results" / "transformations.json")
    parser.add_argument("-k", default="", help="only cells with this word in their name; writes no file")
    options = parser.parse_args()
    cells = [cell for cell in CELLS if options.k in cell]
    table: dict[str, dict[str, Any]] = {cell: {} for cell in cells}
    for way in WAYS:
        python = peers.interpreter(*PACKAGES[way]) if way in PACKAGES else sys.executable
        for cell, result in results(way, python, cells).items():
            table[cell][way] = result
            print(f"{way:18} {cell:60} {' '.join(result)[:100]}", flush=True)
    if not options.k:
        versions = {name: importlib.metadata.version(name) for name in ("jax", "jaxlib", "numpy", "jaxbind-core")}
        content = {"versions": versions, "installed": PACKAGES, "cells": table}
        options.json.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
