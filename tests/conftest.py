# SPDX-License-Identifier: BSD-2-Clause
"""What all tests share: eight devices, double precision, strict promotion, the versions in the header."""

from __future__ import annotations

import importlib.metadata
import os

os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"

import hypothesis
import jax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")

# Deterministic: a failure on one machine is a failure on all. Compiling makes the first example slow.
hypothesis.settings.register_profile("house", deadline=None, derandomize=True, max_examples=60)
hypothesis.settings.register_profile("fuzz", deadline=None, max_examples=3000, print_blob=True)  # `nox -s fuzz`
hypothesis.settings.load_profile("house")


def pytest_report_header() -> str:
    """Name what the results depend on."""
    names = ["jaxbind-core", "jax", "jaxlib", "numpy", "ml_dtypes", "ducc0", "finufft"]
    found = {d.name.lower(): d.version for d in importlib.metadata.distributions()}
    return ", ".join(f"{name} {found[name]}" for name in names if name in found)
