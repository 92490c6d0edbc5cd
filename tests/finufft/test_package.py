# SPDX-License-Identifier: BSD-2-Clause
"""The installed distribution: its version, its types, what it stands on."""

from __future__ import annotations

import importlib.metadata
import importlib.resources

import jaxbind_finufft
import pytest
from packaging.requirements import Requirement


def test_version_is_that_of_the_distribution() -> None:
    assert jaxbind_finufft.__version__ == importlib.metadata.version("jaxbind-finufft")


def test_types_are_announced() -> None:
    assert importlib.resources.files(jaxbind_finufft).joinpath("py.typed").is_file()


@pytest.mark.parametrize("name", ["jaxbind-core", "finufft"])
def test_requirement_is_met_by_what_is_installed(name: str) -> None:
    requirements = map(Requirement, importlib.metadata.requires("jaxbind-finufft") or [])
    specifiers = {requirement.name: requirement.specifier for requirement in requirements}
    assert importlib.metadata.version(name) in specifiers[name]
