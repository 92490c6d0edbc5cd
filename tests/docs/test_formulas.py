# SPDX-License-Identifier: BSD-2-Clause
"""Formulas of docstrings, written as code, are set on the pages of the reference as what they mean."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from docutils.utils.math import latex2mathml

EXTENSION = Path(__file__).resolve().parents[2] / "docs/_ext/docstring_formulas.py"


@pytest.fixture(scope="module")
def formulas() -> ModuleType:
    """Load the extension of the documentation, which no package holds."""
    spec = importlib.util.spec_from_file_location("docstring_formulas", EXTENSION)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("code", "tex"),
    [
        ("y_k = sum_j x_j", r"y_{k}=\sum_{j}x_{j}"),
        ("exp(-+2 pi i j k / n)", r"\exp(\mp2\pi ijk/n)"),
        ("N^(-inorm/2)", r"N^{-\mathrm{inorm}/2}"),
        ("sum_lm a_lm Y_lm(theta_j, phi_j)", r"\sum_{lm}a_{lm}Y_{lm}(\theta_{j},\phi_{j})"),
        ("f[k1, k2] = sum_p source[p]", r"f_{k_1,k_2}=\sum_{p}\mathrm{source}_{p}"),
        ("(R b)_lm coord_in_p . w", r"(Rb)_{lm}\mathrm{coord\_in}_{p}\cdotw"),
    ],
)
def test_code_becomes_the_formula_that_it_means(formulas: ModuleType, code: str, tex: str) -> None:
    found = formulas.as_tex(code)
    assert found.replace(r"\,", "").replace(r"\ ", "").replace(" ", "") == tex.replace(" ", "")
    assert latex2mathml.tex2mathml(found).startswith("<math")


def test_columns_of_a_block_are_a_name_a_formula_and_a_remark(formulas: ModuleType) -> None:
    line = formulas.line_of("u2nu     c_p = sum_k g_k     modes to points")
    assert [child.tagname for child in line.children] == ["literal", "#text", "math", "#text", "#text"]
    assert line[0].astext() == "u2nu"
    assert line[-1].astext() == "modes to points"
