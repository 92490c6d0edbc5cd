# SPDX-License-Identifier: BSD-2-Clause
"""Links of the documentation and of the READMEs lead somewhere. Addresses outside are not visited: no network."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    page
    for page in (*DOCS.rglob("*.md"), *ROOT.glob("*.md"), *ROOT.glob("packages/*/README.md"))
    if not {"_build", "gallery", "plugin"} & set(page.parts)
)
CODE = re.compile(r"^(`{3,}).*?^\1`*$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
PAGE_ROLE = re.compile(r"\{doc\}`(?:[^`<]*<)?([^`>]+)>?`")


def link_targets(page: Path) -> set[str]:
    """Where the Markdown links of a page lead, without those to other sites."""
    found = LINK.findall(CODE.sub("", page.read_text()))
    return {link for link in found if not re.match(r"[a-z]+:", link)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files(page: Path) -> None:
    paths = {link.split("#")[0] for link in link_targets(page)} - {""}
    assert {path for path in paths if not (page.parent / path).exists()} == set()


@pytest.mark.parametrize(
    "page", [page for page in PAGES if DOCS in page.parents], ids=lambda page: page.relative_to(DOCS).as_posix()
)
def test_references_lead_to_pages(page: Path) -> None:
    targets = set(PAGE_ROLE.findall(page.read_text()))
    files = {target: (DOCS / target[1:] if target[0] == "/" else page.parent / target) for target in targets}
    generated = DOCS / "gallery"  # from docs/tutorials, when the site is built
    sources = {t: DOCS / "tutorials" / f.name if f.parent == generated else f for t, f in files.items()}
    missing = {t for t, f in sources.items() if not any(f.with_name(f.name + end).exists() for end in (".md", ".py"))}
    assert missing == set()


def test_every_page_can_be_reached_from_the_index() -> None:
    index = (DOCS / "index.md").read_text()
    named = {line for block in re.findall(r"```\{toctree\}\n(.*?)```", index, re.DOTALL) for line in block.splitlines()}
    pages = {page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES if DOCS in page.parents}
    assert pages - named == {"index"}
