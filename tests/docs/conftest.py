# SPDX-License-Identifier: BSD-2-Clause
"""Says in the header which programs run here, and which are compared with their recorded output only."""

from __future__ import annotations

import shutil


def pytest_report_header() -> str:
    """Name the Fortran compiler, which pip does not install."""
    compiler = shutil.which("gfortran")
    return (
        f"gfortran: {'found' if compiler else 'missing, so the recorded output of the Fortran program stands for it'}"
    )
