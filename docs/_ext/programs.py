# SPDX-License-Identifier: BSD-2-Clause
"""The directive ``run-program``: shows a program, runs it in a fresh process, and shows what it printed.

A page cannot show an output that its program does not have: the program runs when the page is built, and a program that
fails is an error of the build. A program may need a command that pip does not install, such as a Fortran compiler.
Where it is missing, the page shows the output that is recorded beside the program; elsewhere the tests compare the two.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective


class Program(SphinxDirective):
    """``{run-program} path`` relative to the page.

    Options: ``:needs:`` a command without which the recorded output is shown, ``:arguments:`` for the program,
    ``:hide-code:`` for output only.
    """

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[Any] = {
        "needs": directives.unchanged,
        "arguments": directives.unchanged,
        "hide-code": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        """Make the nodes of the code and of the output."""
        path = Path(self.env.doc2path(self.env.docname)).parent.joinpath(self.arguments[0]).resolve()
        self.env.note_dependency(str(path))
        if shutil.which(self.options.get("needs", sys.executable)):
            printed = run_program(path, *self.options.get("arguments", "").split())
        else:
            printed = path.with_suffix(".txt").read_text(encoding="utf-8").rstrip()
        shown: list[nodes.Node] = []
        if "hide-code" not in self.options:
            shown.append(_block(_as_shown(path.read_text(encoding="utf-8")), "python", "program"))
        if printed:
            shown.append(_block(printed, "text", "output"))
        return shown


def run_program(path: Path, *arguments: str) -> str:
    """What a program prints, run as a reader would run it: alone, in an empty folder."""
    environment = {key: value for key, value in os.environ.items() if key not in {"XLA_FLAGS", "JAX_ENABLE_X64"}}
    # Commands that were installed beside this Python (meson) are found as in an activated environment.
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, str(path), *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    if done.returncode != 0:
        raise RuntimeError(f"{path.name} ended with exit code {done.returncode}:\n{done.stderr}")
    return done.stdout.rstrip().replace(f"{path.parent}/", "")


def _as_shown(text: str) -> str:
    """The program without the lines at its top that are for tools only."""
    lines = text.splitlines()
    while lines and lines[0].startswith("# "):
        del lines[0]
    return "\n".join(lines)


def _block(text: str, language: str, kind: str) -> nodes.Node:
    block = nodes.literal_block(text, text, language=language)
    block["classes"].append(f"jaxbind-{kind}")
    return block


def setup(app: Any) -> dict[str, Any]:
    """Register the directive with Sphinx."""
    app.add_directive("run-program", Program)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
