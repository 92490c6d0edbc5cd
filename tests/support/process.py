# SPDX-License-Identifier: BSD-2-Clause
"""Programs in a fresh interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PREAMBLE = """
import gc, signal, sys, threading, time, weakref
signal.signal(signal.SIGINT, signal.default_int_handler)  # A shell's background job has it ignored.
import jax, jax.numpy as jnp, numpy as np
jax.config.update("jax_enable_x64", True)
import jaxbind

def same(x, *rest, **kwargs):
    return ((x.shape, x.dtype),)
"""


def run(program: str, *, preamble: str = PREAMBLE, timeout: float = 120, code: int = 0, **environment: str) -> str:
    """Run a program, demand its exit code, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", preamble + program],
        capture_output=True,
        text=True,
        cwd=Path(__file__).resolve().parents[1],
        env={key: value for key, value in os.environ.items() if key != "XLA_FLAGS"} | environment,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout
