# SPDX-License-Identifier: BSD-2-Clause
"""The installed distribution: its version, its types, what it stands on."""

from __future__ import annotations

import importlib.metadata
import importlib.resources

import jaxbind_ducc
import pytest
from packaging.requirements import Requirement


def test_version_is_that_of_the_distribution() -> None:
    assert jaxbind_ducc.__version__ == importlib.metadata.version("jaxbind-ducc")


def test_types_are_announced() -> None:
    assert importlib.resources.files(jaxbind_ducc).joinpath("py.typed").is_file()


@pytest.mark.parametrize("name", ["jaxbind-core", "ducc0"])
def test_requirement_is_met_by_what_is_installed(name: str) -> None:
    requirements = map(Requirement, importlib.metadata.requires("jaxbind-ducc") or [])
    specifiers = {requirement.name: requirement.specifier for requirement in requirements}
    assert importlib.metadata.version(name) in specifiers[name]
