# SPDX-License-Identifier: BSD-2-Clause
"""Programs for `jax_finufft` give here what they gave there: values, shapes, dtypes, derivatives."""

from __future__ import annotations

import inspect

import jaxbind_finufft
import numpy as np
import pytest
from support import jax_finufft_programs as programs

# What the peer reaches with the accuracy that the program asks for, whose default is 1e-6.
TOLERANCE = 2e-5


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_program_computes_what_it_did(name: str) -> None:
    # Its authors did not think of strict promotion.
    with programs.jax.numpy_dtype_promotion("standard"):
        found = programs.run(name, jaxbind_finufft)
    expected = programs.recorded(name)
    assert [(a.shape, a.dtype) for a in found] == [(b.shape, b.dtype) for b in expected]
    for a, b in zip(found, expected, strict=True):
        assert np.linalg.norm(np.ravel(a - b)) <= TOLERANCE * np.linalg.norm(np.ravel(b))


@pytest.mark.parametrize(
    ("function", "signature"),
    [
        ("nufft1", "(output_shape, source, *points, iflag=1, eps=1e-06, opts=None)"),
        ("nufft2", "(source, *points, iflag=-1, eps=1e-06, opts=None)"),
        ("nufft3", "(source, *points, iflag=-1, eps=1e-06, opts=None)"),
    ],
)
def test_names_order_and_defaults_of_the_arguments(function: str, signature: str) -> None:
    parameters = inspect.signature(getattr(jaxbind_finufft, function)).parameters.values()
    stripped = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    assert str(inspect.Signature(stripped)).replace("points_then_targets", "points") == signature
