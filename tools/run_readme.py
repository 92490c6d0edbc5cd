# SPDX-License-Identifier: BSD-2-Clause
"""Run the Python blocks of Markdown files as a reader would: in order, one program per file."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def program(markdown: str) -> str:
    """The blocks of a page as one program with the page's line numbers, so that a traceback points into the page."""
    lines = [""] * markdown.count("\n")
    for match in BLOCK.finditer(markdown):
        first = markdown.count("\n", 0, match.start(1))
        block = match.group(1).splitlines()
        lines[first : first + len(block)] = block
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run each page named on the command line; the exit status is the number of pages that failed."""
    failed = 0
    for page in map(Path, sys.argv[1:]):
        markdown = page.read_text(encoding="utf-8")
        blocks = len(BLOCK.findall(markdown))
        with tempfile.TemporaryDirectory() as folder:
            # Of its own name, because a host function's stable name is that of its module and itself.
            script = Path(folder) / "readme_program.py"
            script.write_text(program(markdown), encoding="utf-8")
            status = subprocess.run([sys.executable, script], cwd=folder, check=False).returncode if blocks else 0
        print(f"{page}: {blocks} blocks, {'failed' if status else 'passed'}", flush=True)
        failed += status != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
