# SPDX-License-Identifier: BSD-2-Clause
"""The benchmark of the bridge: ours, PyPI `jaxbind` 1.3.1 and JAX's own callbacks, in turns; prints and writes a table.

`python benchmarks/run.py` (or `python noxfile.py -s bench`) takes about three minutes, `--quick` less than one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import _timing
import peers
import report

HERE = Path(__file__).resolve().parent
PEER = "jaxbind==1.3.1"
REPETITIONS = {"small": 100, "large": 3, "import": 3}
QUICK = {"small": 30, "large": 2, "import": 1}


def worker(python: str, *arguments: str) -> dict[str, Any]:
    """One run of `worker.py` in a fresh process."""
    output = subprocess.check_output([python, str(HERE / "worker.py"), *arguments], text=True)
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


def same_versions(interpreters: dict[str, str]) -> dict[str, dict[str, str]]:
    """Versions in both environments, which must differ in `jaxbind` alone for the comparison to be fair."""
    found = {name: worker(python, "versions") for name, python in interpreters.items()}
    different = [name for name in ("jax", "jaxlib", "numpy") if len({each[name] for each in found.values()}) > 1]
    if different:
        raise SystemExit(f"The two environments differ in {', '.join(different)}: {found}. Delete .nox/peers.")
    if "jaxbind-core" not in found["ours"]:
        raise SystemExit("jaxbind-core is not installed here: pip install packages/jaxbind-core")
    return found


def measure(interpreters: dict[str, str], rounds: int, repetitions: dict[str, int]) -> list[report.Round]:
    """All measurements in both environments in turns, so that a drift of the machine meets both."""
    found: list[report.Round] = []
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
        this: report.Round = {name: {} for name in interpreters}
        for what, count in repetitions.items():
            for name, python in interpreters.items():
                this[name] |= worker(python, what, "--repetitions", str(count))
        found.append(this)
    return found


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two short rounds instead of five; writes no result")
    parser.add_argument("--output", type=Path, default=HERE / "results" / "bridge.json")
    options = parser.parse_args()
    interpreters = {"ours": sys.executable, "peer": peers.interpreter(PEER)}
    versions = same_versions(interpreters)
    load = os.getloadavg()[0]
    rounds = measure(interpreters, *((2, QUICK) if options.quick else (5, REPETITIONS)))
    rows = [report.summary(row, rounds) for row in report.ROWS]
    print(report.table(rows))
    if any(row.get("noisy") for row in rows):
        print(f"Noisy rows spread by more than {_timing.NOISY:.0%} between rounds: run again on a quiet machine.")
    if not options.quick:
        result = {
            "date": _timing.today(),
            "machine": _timing.machine() | {"load before": load},
            "versions": versions,
            "rows": rows,
            "rounds": rounds,
        }
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
