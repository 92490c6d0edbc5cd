# SPDX-License-Identifier: BSD-2-Clause
"""The house rules that a program can check: who imports whom, sizes, repetition, versions, the public face."""

from __future__ import annotations

import ast
import graphlib
import re
import tomllib
from pathlib import Path
from typing import Any

import jaxbind
import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "packages/jaxbind-core/src/jaxbind"
DISTRIBUTIONS = ["jaxbind-core", "jaxbind-ducc", "jaxbind-finufft"]
PLUGINS = DISTRIBUTIONS[1:]

# Module of the core -> modules of the core that it may import. Data flows down only.
RULES = {"_abstract", "_batching", "_host_fallback", "_inspection", "_linear", "_lowering", "_nonlinear", "_sharding"}
RECORDS = {"_errors", "_jax_compat", "_kwargs", "_operator", "_primitive"}
MAY_IMPORT: dict[str, set[str]] = {
    "__main__": {"_bridge", "testing"},
    "__init__": {"_errors", "_plugins", "jaxbind"},
    "jaxbind": {"_errors", "_kwargs", "_lowering", "_operator", "_primitive", "_register", "_targets"},
    "_register": {"_operator", "_primitive"} | RULES,
    "_nonlinear": RECORDS | {"_linear", "_traced_rule"},
    "_linear": RECORDS | {"_abstract", "_batching", "_traced_rule"},
    "_traced_rule": RECORDS | {"_abstract"},
    "_batching": RECORDS | {"_abstract"},
    "_host_fallback": RECORDS | {"_lowering", "_targets"},
    "_inspection": {"_jax_compat", "_kwargs", "_operator", "_primitive"},
    "_lowering": RECORDS | {"_abstract", "_bridge", "_sharding", "_targets"},
    "_sharding": RECORDS | {"_abstract", "_inspection"},
    "_abstract": RECORDS | {"_bridge"},
    "_primitive": {"_errors", "_jax_compat", "_kwargs", "_operator"},
    "_operator": {"_errors", "_targets"},
    "_targets": {"_bridge", "_errors", "_kwargs"},
    "_kwargs": {"_errors"},
    "_errors": set(),
    "_jax_compat": set(),
    "_plugins": set(),
    "testing": {"_checks"},
    "_checks": {"_checks", "_kwargs"},
    "contrib": {"_errors", "jaxbind"},
}


def python_files(*folders: str) -> list[Path]:
    """Python files of the repository below some folders."""
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def relative(path: Path) -> str:
    """A path as it is shown as a test's name."""
    return path.relative_to(ROOT).as_posix()


SOURCES = python_files(*(f"packages/{name}/src" for name in DISTRIBUTIONS))
BRIDGE = sorted(path for path in (ROOT / "packages/jaxbind-core/bridge").iterdir() if path.suffix in {".cc", ".h"})
OTHERS = [ROOT / "noxfile.py", *python_files("tests", "tools", "benchmarks", "docs")]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
MODULES = {path.relative_to(CORE).parts[0].removesuffix(".py") for path in CORE.rglob("*.py")}


def imported_modules(path: Path) -> set[str]:
    """Dotted names of everything that a file imports; for `from a import b` both `a` and `a.b`."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {str(node.module)} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def imports_within_core(module: str) -> set[str]:
    """Modules of the core that one of its modules, or the files of one of its packages, import."""
    files = [CORE / f"{module}.py"] if (CORE / f"{module}.py").exists() else sorted((CORE / module).rglob("*.py"))
    inner = {name.split(".")[1] for file in files for name in imported_modules(file) if name.startswith("jaxbind.")}
    return inner & (MODULES | {"_bridge"})


def project(name: str) -> dict[str, Any]:
    """The `[project]` table of a distribution."""
    table: dict[str, Any] = tomllib.loads((ROOT / "packages" / name / "pyproject.toml").read_text())["project"]
    return table


@pytest.mark.parametrize("module", sorted(MODULES))
def test_module_imports_only_what_is_below_it(module: str) -> None:
    assert imports_within_core(module) <= MAY_IMPORT[module]


def test_no_two_modules_may_import_each_other() -> None:
    order = graphlib.TopologicalSorter({name: below - {name} for name, below in MAY_IMPORT.items()})
    assert set(order.static_order()) >= set(MAY_IMPORT)


@pytest.mark.parametrize("plugin", PLUGINS)
def test_plugin_uses_only_the_public_face(plugin: str) -> None:
    used = set().union(*map(imported_modules, python_files(f"packages/{plugin}/src")))
    public = {"jaxbind", "jaxbind.testing", *(f"jaxbind.{name}" for name in jaxbind.__all__)}
    assert {name for name in used if name.split(".")[0] == "jaxbind"} <= public


@pytest.mark.parametrize("path", [p for p in SOURCES if p.name != "_jax_compat.py"], ids=relative)
def test_private_jax_names_stay_in_one_module(path: Path) -> None:
    assert "jax._src" not in path.read_text()


@pytest.mark.parametrize(
    ("path", "limit"),
    [
        *((path, 400) for path in SOURCES),
        *((path, 450 if relative(path).startswith("tests/") else 400) for path in OTHERS),
        *((path, 300) for path in BRIDGE),
        *((path, 400) for path in PAGES),
        (ROOT / "README.md", 120),
        (ROOT / "CONTRIBUTING.md", 90),
    ],
    ids=lambda value: relative(value) if isinstance(value, Path) else "",
)
def test_file_is_short_enough_to_read(path: Path, limit: int) -> None:
    assert len(path.read_text().splitlines()) <= limit


@pytest.mark.parametrize("path", SOURCES + OTHERS, ids=relative)
def test_functions_are_short_enough_to_read(path: Path) -> None:
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    lengths = {node.name: code_length(node) for node in functions}
    assert {name: length for name, length in lengths.items() if length > 60} == {}


def code_length(function: ast.FunctionDef) -> int:
    """Lines of a function without its docstring, which is as long as its parameters need."""
    docstring = function.body[0] if ast.get_docstring(function) else None
    described = 0 if docstring is None else (docstring.end_lineno or 0) - docstring.lineno + 1
    return (function.end_lineno or 0) - function.lineno + 1 - described


@pytest.mark.parametrize("path", [p for p in SOURCES + OTHERS + BRIDGE if p.stat().st_size], ids=relative)
def test_file_names_its_licence(path: Path) -> None:
    assert path.read_text().splitlines()[0].endswith("SPDX-License-Identifier: BSD-2-Clause")


@pytest.mark.parametrize("path", BRIDGE, ids=relative)
def test_no_statement_is_commented_out(path: Path) -> None:
    assert re.findall(r"^\s*//.*[;{}]\s*$", path.read_text(), re.MULTILINE) == []


def code_lines(path: Path) -> list[tuple[int, str]]:
    """Numbered lines of a file without blanks, comments, imports, docstrings and signatures."""
    text = path.read_text()
    skipped: set[int] = set()
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if is_text or isinstance(node, (ast.Import, ast.ImportFrom)):
                skipped |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
            elif isinstance(node, ast.FunctionDef):  # a wrapped library repeats its parameters
                skipped |= set(range(node.lineno, node.body[0].lineno))
    numbered = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if number not in skipped)
    return [(number, line) for number, line in numbered if line and not line.startswith(("#", "//"))]


@pytest.mark.parametrize("files", [SOURCES, BRIDGE], ids=["python", "bridge"])
def test_no_run_of_six_lines_is_repeated(files: list[Path]) -> None:
    first_seen: dict[tuple[str, ...], str] = {}
    repeated = []
    for path in files:
        lines = code_lines(path)
        for start in range(len(lines) - 5):
            run = tuple(line for _, line in lines[start : start + 6])
            here = f"{relative(path)}:{lines[start][0]}"
            if (there := first_seen.setdefault(run, here)) != here:
                repeated.append(f"{there} and {here}")
    assert repeated == []


def test_public_face_is_listed() -> None:
    functions = {"export_checks", "get_linear_call", "get_nonlinear_call", "load_kwargs", "plugins"}
    assert set(jaxbind.__all__) == {"Plugin", "__version__"} | functions
    assert jaxbind.jaxbind.get_linear_call is jaxbind.get_linear_call
    assert jaxbind.jaxbind.get_nonlinear_call is jaxbind.get_nonlinear_call


def test_versions_are_equal() -> None:
    citation = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert citation is not None
    assert {project(name)["version"] for name in DISTRIBUTIONS} == {jaxbind.__version__} == {citation[1]}


@pytest.mark.parametrize("plugin", PLUGINS)
def test_plugin_and_core_pin_each_other_to_the_same_minor_release(plugin: str) -> None:
    major, minor, _ = jaxbind.__version__.split(".")
    assert f"jaxbind-core>={major}.{minor},<{int(major) + 1}" in project(plugin)["dependencies"]
    extra = plugin.removeprefix("jaxbind-")
    assert project("jaxbind-core")["optional-dependencies"][extra] == [f"{plugin}=={major}.{minor}.*"]


def test_supported_range_of_jax_is_stated_once() -> None:
    owners = [ROOT / "pyproject.toml", ROOT / "noxfile.py", *ROOT.glob("packages/*/pyproject.toml")]
    owners += [*ROOT.glob(".github/workflows/*.yml"), ROOT / "README.md", *PAGES]
    stating = [relative(path) for path in owners if re.search(r"\bjax\s*[>=]=\s*\d", path.read_text())]
    assert stating == ["packages/jaxbind-core/pyproject.toml"]
