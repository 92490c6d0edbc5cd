# SPDX-License-Identifier: BSD-2-Clause
"""Settings of the documentation, which `nox -s docs` builds with warnings as errors."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
# Tutorials run in this process; programs that shard a batch ask for the devices themselves.
os.environ.setdefault("JAX_PLATFORMS", "cpu")

project = "jaxbind"
author = "the jaxbind developers"
copyright = "the jaxbind developers, BSD-2-Clause"
release = importlib.metadata.version("jaxbind-core")
version = release

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "benchmark_results",
    "docstring_formulas",
    "figures",
    "formulas",
    "programs",
    "transformation_table",
]
exclude_patterns = ["_build", "_ext", "_figures", "how-to/plugin", "tutorials", "**/sg_execution_times.rst"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# Reference pages come from docstrings. Types stand in the signatures, which a strict checker reads, so the text has
# none. A single backtick in a docstring is a name; those that have a page become links.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {name: name for name in ("Abstract", "ArrayLike", "Axes", "Host", "Options", "Rule")}
python_maximum_signature_line_length = 80
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False

# Each plugin is a distribution of its own. Without one its pages are built, with a note in place of the reference.
PLUGINS = ("jaxbind_ducc", "jaxbind_finufft")
missing = [name for name in PLUGINS if importlib.util.find_spec(name) is None]
if missing:
    suppress_warnings = ["autodoc.import_object"]

sphinx_gallery_conf = {
    "examples_dirs": ["tutorials"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 1_000_000,
    "remove_config_comments": True,
    "plot_gallery": True,
}

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"jaxbind {release}"
html_static_path = ["_static"]
html_css_files = ["house.css"]
html_copy_source = False
html_show_sourcelink = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def spell_aliases(app: Any, what: str, name: str, obj: Any, options: Any, signature: str, result: str) -> Any:
    """Write the name of a type alias where autodoc writes how it refers to one."""
    del app, what, name, obj, options
    return tuple(text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text) for text in (signature, result))


def mark_formulas(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Let formulas that a docstring indents stand as they are written: below a colon, in a module below any line."""
    del app, name, obj, options
    depth = [len(line) - len(line.lstrip()) for line in lines]
    for i in reversed(range(len(lines) - 2)):
        indented = not lines[i + 1].strip() and lines[i + 2].strip() and depth[i + 2] >= depth[i] + 4
        if not indented or not lines[i].strip() or lines[i].lstrip().startswith((":", "..", "- ")):
            continue
        if re.search(r"[^:]:$", lines[i]):
            lines[i] += ":"
        elif what == "module" and depth[i] == 0:
            lines[i + 1 : i + 1] = ["", "::"]


def setup(app: Any) -> None:
    """Connect what is defined here."""
    app.connect("autodoc-process-docstring", mark_formulas)
    app.connect("autodoc-process-signature", spell_aliases)
