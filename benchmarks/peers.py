# SPDX-License-Identifier: BSD-2-Clause
"""Environments of the packages that we are compared with, made once and reused."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / ".nox" / "peers"


def interpreter(*requirements: str) -> str:
    """The interpreter of an environment with our Python, JAX and NumPy, unless they are given, and these packages.

    Parameters
    ----------
    *requirements
        What to install, for example ``jaxbind==1.3.1``.

    Returns
    -------
    str
        Path of its Python.
    """
    given = {requirement.partition("==")[0] for requirement in requirements}
    pins = [f"{name}=={version(name)}" for name in ("jax", "jaxlib", "numpy") if name not in given]
    python_version = "py" + ".".join(map(str, sys.version_info[:3]))
    folder = FOLDER / "-".join([*requirements, *pins, python_version]).replace("==", "")
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        print(f"Making an environment with {', '.join(requirements)} ...", file=sys.stderr, flush=True)
        if importlib.util.find_spec("uv"):
            uv = [sys.executable, "-m", "uv"]
            create = [*uv, "venv", "--quiet", "--clear", "-p", sys.executable]
            install = [*uv, "pip", "install", "--quiet", "--compile-bytecode", "-p", str(python)]
        else:
            create = [sys.executable, "-m", "venv", "--clear"]
            install = [str(python), "-m", "pip", "install", "--quiet"]
        subprocess.run([*create, str(folder)], check=True)
        subprocess.run([*install, *pins, *requirements], check=True)
        (folder / "complete").touch()
    return str(python)
