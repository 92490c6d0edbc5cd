# SPDX-License-Identifier: BSD-2-Clause
"""The non-uniform fast Fourier transforms of FINUFFT as JAX operators."""

from __future__ import annotations

import importlib.metadata

from jaxbind_finufft import options
from jaxbind_finufft._plan_cache import PlanCacheInfo, clear_plan_cache, plan_cache_info, set_plan_cache_limit
from jaxbind_finufft.transforms import nufft1, nufft2, nufft3

__all__ = [
    "PlanCacheInfo",
    "__version__",
    "clear_plan_cache",
    "nufft1",
    "nufft2",
    "nufft3",
    "options",
    "plan_cache_info",
    "set_plan_cache_limit",
]

__version__ = importlib.metadata.version("jaxbind-finufft")
