# SPDX-License-Identifier: BSD-2-Clause
"""Bind functions written outside JAX to JAX as real primitives."""

from __future__ import annotations

import importlib.metadata
import warnings

from jaxbind import _errors
from jaxbind._plugins import Plugin, plugins
from jaxbind.jaxbind import export_checks, get_linear_call, get_nonlinear_call, load_kwargs

__all__ = [
    "Plugin",
    "__version__",
    "export_checks",
    "get_linear_call",
    "get_nonlinear_call",
    "load_kwargs",
    "plugins",
]

__version__ = importlib.metadata.version("jaxbind-core")

try:
    importlib.metadata.distribution("jaxbind")
except importlib.metadata.PackageNotFoundError:
    pass
else:
    warnings.warn(_errors.both_installed(), stacklevel=2)
