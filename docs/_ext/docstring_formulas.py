# SPDX-License-Identifier: BSD-2-Clause
"""Sets the formulas of docstrings as formulas on the pages of the reference.

In a docstring they are code, ``y_k = sum_j x_j exp(2 pi i j k / n)``, which `help` shows as it is. Here code that has a
sum with an index becomes TeX, and a block of such lines, with a name before and a remark behind the formula, lines of
text.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes

FORMULA = re.compile(r"\bsum_\w")
TOKEN = re.compile(r"\^\([^)]*\)|\w+\[[^\]]*\]|[A-Za-z_]\w*|\d+|\+-|-\+|\s+|.")
GREEK = {"pi", "phi", "psi", "theta"}
FUNCTIONS = {"cos", "exp", "sin"}


def word(name: str) -> str:
    """Set a name, whose last part after an underscore is its index: Greek, a letter with a number, or upright."""
    head, underscore, index = name.rpartition("_")
    if underscore:
        base = f"\\mathrm{{{head}}}".replace("_", r"\_") if "_" in head else word(head)
        return f"{base}_{{{index if len(index) == 2 and index.isalpha() else word(index)}}}"
    numbered = re.fullmatch(r"([A-Za-z])(\d)", name)
    if numbered:
        return "{}_{}".format(*numbered.groups())
    if name in GREEK | FUNCTIONS:
        return f"\\{name} "
    return name if len(name) < 2 or name.isdigit() else f"\\mathrm{{{name}}}"


def as_tex(formula: str) -> str:
    """Translate a formula that is written as code."""
    written = ""
    tokens = TOKEN.findall(formula)
    for token, following in zip(tokens, [*tokens[1:], ""], strict=True):
        if token.startswith("sum_"):
            written += f"\\sum_{{{word('_' + token[4:])[2:-1]}}} "
        elif token.startswith("^("):
            written += f"^{{{as_tex(token[2:-1])}}}"
        elif token.endswith("]") and "[" in token:
            head, _, indices = token[:-1].partition("[")
            written += f"{word(head)}_{{{','.join(word(index.strip()) for index in indices.split(','))}}}"
        elif token.isspace():
            between = re.search(r"[\w)}]\s*$", written) and re.match(r"[\w(]", following)
            written += r"\," if between else ""
        else:
            special = {"+-": r"\pm ", "-+": r"\mp ", ".": r"\cdot ", ",": r",\ ", "'": r"^\dagger "}
            written += word(token) if re.match(r"[A-Za-z_]", token) else special.get(token, token)
    return written


def line_of(text: str) -> nodes.line:
    """Set one line of a block: columns are two spaces apart."""
    line = nodes.line()
    for i, column in enumerate(re.split(r"\s{2,}", text.strip())):
        if i:
            line += nodes.Text(" \N{EM SPACE}")
        if "=" in column:
            tex = as_tex(column.rstrip(","))
            line += nodes.math(tex, tex)
        else:
            line += nodes.Text(column) if i else nodes.literal(column, column)
    return line


def set_formulas(app: Any, doctree: nodes.document) -> None:
    """Replace code that is a formula, on the pages of the reference."""
    if not app.env.docname.startswith("reference/"):
        return
    for code in list(doctree.findall(nodes.literal)):
        if FORMULA.search(code.astext()):
            tex = as_tex(code.astext())
            code.replace_self(nodes.math(tex, tex))
    for block in list(doctree.findall(nodes.literal_block)):
        text = block.astext()
        if FORMULA.search(text) and ">>>" not in text and "jaxbind-program" not in block["classes"]:
            block.replace_self(nodes.line_block("", *map(line_of, text.splitlines())))


def setup(app: Any) -> dict[str, Any]:
    """Look at every page after it is read."""
    app.connect("doctree-read", set_formulas)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
