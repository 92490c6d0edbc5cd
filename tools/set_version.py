# SPDX-License-Identifier: BSD-2-Clause
"""Give all three distributions one version: `python tools/set_version.py 2.1.0`.

An sdist must be able to build alone, so each distribution states its version itself. This is the one place that writes
it, and what follows from it: which core a plugin requires, which plugins the core's extras name, what is cited.
`tests/core/test_architecture.py` holds them against each other.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLUGINS = ("jaxbind-ducc", "jaxbind-finufft")


def substitute(path: Path, *replacements: tuple[str, str]) -> None:
    """Replace patterns in a file; each must be there exactly once."""
    text = path.read_text()
    for pattern, replacement in replacements:
        text, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
        if count != 1:
            sys.exit(f"{path.relative_to(ROOT)}: {pattern!r} is there {count} times; expected 1.")
    path.write_text(text)


def main() -> None:
    """Write the version that the first argument names."""
    if len(sys.argv) != 2 or not (match := re.fullmatch(r"(\d+)\.(\d+)\.\d+", sys.argv[1])):
        sys.exit("Expected one version, such as 2.1.0.")
    version, major, minor = match[0], int(match[1]), int(match[2])
    stated = (r'^version = ".*"$', f'version = "{version}"')
    extras = [(rf'"{name}==.*?"', f'"{name}=={major}.{minor}.*"') for name in PLUGINS]
    substitute(ROOT / "packages/jaxbind-core/pyproject.toml", stated, *extras)
    core = (r'"jaxbind-core>=.*?"', f'"jaxbind-core>={major}.{minor},<{major + 1}"')
    for name in PLUGINS:
        substitute(ROOT / "packages" / name / "pyproject.toml", stated, core)
    substitute(ROOT / "CITATION.cff", (r"^version: .*$", f"version: {version}"))


if __name__ == "__main__":
    main()
