# SPDX-License-Identifier: BSD-2-Clause
"""Packages of ready-made operators: found by the entry points that they declare, never imported by looking."""

from __future__ import annotations

import importlib.metadata
from typing import NamedTuple

GROUP = "jaxbind.plugins"


class Plugin(NamedTuple):
    """An installed package of operators.

    Attributes
    ----------
    name
        What the package calls itself, for example ``"ducc"``.
    module
        The module to import, for example ``"jaxbind_ducc"``.
    distribution
        What was installed, for example ``"jaxbind-ducc"``.
    version
        Its version.
    """

    name: str
    module: str
    distribution: str
    version: str


def plugins() -> tuple[Plugin, ...]:
    """List the installed packages of operators, without importing any.

    A package is a plugin if its metadata has an entry point in the group ``jaxbind.plugins`` whose value is the module
    with its operators. In ``pyproject.toml``::

        [project.entry-points."jaxbind.plugins"]
        mylib = "jaxbind_mylib"

    Returns
    -------
    tuple of Plugin
        By name, each with its module, distribution and version.
    """
    found = set()
    for entry in importlib.metadata.entry_points(group=GROUP):
        distribution = entry.dist
        name, version = (distribution.name, distribution.version) if distribution else ("unknown", "unknown")
        found.add(Plugin(entry.name, entry.value, name, version))
    return tuple(sorted(found))
