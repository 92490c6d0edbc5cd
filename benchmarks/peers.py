# SPDX-License-Identifier: BSD-2-Clause
"""Environments of the packages that we are compared with, made once and reused."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / ".nox" / "peers"


def interpreter(*requirements: str) -> str:
    """The interpreter of an environment with our Python and JAX, and these packages.

    Parameters
    ----------
    *requirements
        What to install, for example ``jaxbind==1.3.1``.

    Returns
    -------
    str
        Path of its Python.
    """
    name = "-".join([*requirements, f"jax{version('jax')}", f"py{sys.version_info[0]}{sys.version_info[1]}"])
    folder = FOLDER / name.replace("=", "")
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        print(f"Making an environment with {', '.join(requirements)} ...", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        pins = [f"jax=={version('jax')}", f"jaxlib=={version('jaxlib')}", f"numpy=={version('numpy')}"]
        subprocess.run([python, "-m", "pip", "install", "--quiet", *pins, *requirements], check=True)
        (folder / "complete").touch()
    return str(python)
