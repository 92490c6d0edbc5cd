# SPDX-License-Identifier: BSD-2-Clause
"""Compare the files inside the built distributions with those of the source tree: none missing, none extra."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GENERATED = {"build", "__pycache__"}


def sources(folder: Path) -> set[str]:
    """Files below a package's folder that belong to it, as relative paths."""
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and not GENERATED & set(path.relative_to(folder).parts) and path.suffix not in {".so", ".pyc"}
    }


def differences(found: set[str], expected: set[str], archive: Path) -> list[str]:
    """One line per file that is missing from an archive or should not be in it."""
    missing = [f"{archive.name}: {name} is missing" for name in sorted(expected - found)]
    return missing + [f"{archive.name}: {name} should not be there" for name in sorted(found - expected)]


def check_wheel(archive: Path, package: Path) -> list[str]:
    """A wheel holds the files of src/, the licence and metadata, and for the core one compiled module."""
    with zipfile.ZipFile(archive) as opened:
        names = {name for name in opened.namelist() if not name.endswith("/")}
    metadata = {name for name in names if name.split("/")[0].endswith(".dist-info")}
    compiled = {name for name in names if name.startswith("jaxbind/_bridge.") and name.endswith(".so")}
    problems = differences(names - metadata - compiled, sources(package / "src"), archive)
    wanted = {"METADATA", "RECORD", "WHEEL"} | {f"licenses/{path.name}" for path in package.glob("LICENSE*")}
    if "[project.entry-points" in (package / "pyproject.toml").read_text():
        wanted.add("entry_points.txt")
    problems += differences({name.split("/", 1)[1] for name in metadata}, wanted, archive)
    if len(compiled) != (package / "CMakeLists.txt").exists():
        problems.append(f"{archive.name}: compiled modules {sorted(compiled)}")
    return problems


def check_sdist(archive: Path, package: Path) -> list[str]:
    """An sdist holds everything in the package's folder, and its metadata."""
    with tarfile.open(archive) as opened:
        names = {member.name.split("/", 1)[1] for member in opened.getmembers() if member.isfile()}
    return differences(names - {"PKG-INFO", ".gitignore"}, sources(package), archive)


def main() -> int:
    """Check a folder that must hold one wheel and one sdist of every package, and nothing else."""
    release = Path(sys.argv[1])
    problems = []
    unclaimed = {path for path in release.iterdir() if path.name != ".gitignore"}
    for package in sorted((ROOT / "packages").iterdir()):
        stem = package.name.replace("-", "_")
        for suffix, check in ((".whl", check_wheel), (".tar.gz", check_sdist)):
            archives = list(release.glob(f"{stem}-*{suffix}"))
            unclaimed -= set(archives)
            if len(archives) != 1:
                problems.append(f"{package.name}: {len(archives)} files *{suffix}; expected 1")
            problems += [problem for archive in archives for problem in check(archive, package)]
    problems += [f"{path.name}: should not be there" for path in sorted(unclaimed)]
    print("\n".join(problems) or f"{release}: every distribution holds exactly its files")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
