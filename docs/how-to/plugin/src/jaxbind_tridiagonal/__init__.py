# SPDX-License-Identifier: BSD-2-Clause
"""Tridiagonal systems of equations in JAX, solved in C; importing this module binds the operator."""

from __future__ import annotations

import importlib.metadata

from jaxbind_tridiagonal.solver import solve

__all__ = ["__version__", "solve"]

__version__ = importlib.metadata.version("jaxbind-tridiagonal")
