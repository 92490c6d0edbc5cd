# SPDX-License-Identifier: BSD-2-Clause
"""What a bug report needs: ``python -m jaxbind`` prints versions, platform, dtypes, plugins and a self-check."""

from __future__ import annotations

import importlib
import importlib.metadata
import platform
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

import jaxbind
from jaxbind import _bridge
from jaxbind.testing import check_operator


def _differences(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] = args[0] - np.roll(args[0], 1)


def _differences_t(out: Any, args: Any, kwargs_dump: Any) -> None:
    out[0][...] = args[0] - np.roll(args[0], -1)


def _same(x: Any) -> Any:
    return ((x.shape, x.dtype),)


def _versions() -> Iterator[str]:
    yield f"Python {platform.python_version()} ({platform.python_implementation()})"
    yield f"system {platform.platform()}"
    for name in ("jaxbind-core", "jax", "jaxlib", "numpy"):
        yield f"{name} {importlib.metadata.version(name)}"
    devices = jax.devices()
    yield f"JAX devices {len(devices)} x {devices[0].device_kind} ({jax.default_backend()})"
    yield f"jax_enable_x64 {jax.config.read('jax_enable_x64')}"


def _plugin(plugin: jaxbind.Plugin) -> tuple[str, bool]:
    """One line on a plugin, and whether it can be imported."""
    told = f"{plugin.name}: import {plugin.module} ({plugin.distribution} {plugin.version})"
    try:
        importlib.import_module(plugin.module)
    except Exception as error:  # Somebody else's code, and the report must go on.
        return f"{told} FAILED: {type(error).__name__}: {error}", False
    return told, True


def main() -> int:
    """Print the report.

    Returns
    -------
    int
        The exit status: 0 if every plugin can be imported and the self-check passes, else 1.
    """
    print("\n".join(_versions()))
    print(textwrap.fill("dtypes " + " ".join(_bridge.viewable_dtypes()), 100, subsequent_indent="  "))
    lines = [_plugin(plugin) for plugin in jaxbind.plugins()]
    print("plugins" + ("".join(f"\n  {line}" for line, _ in lines) or " none"))
    op = jaxbind.get_linear_call(_differences, _differences_t, _same, _same)
    report = check_operator(op, np.arange(5, dtype=np.float32), raise_on_failure=False)
    print(f"self-check {'passed' if report.passed else 'FAILED'}" + ("" if report.passed else f"\n{report}"))
    return 0 if report.passed and all(works for _, works in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
