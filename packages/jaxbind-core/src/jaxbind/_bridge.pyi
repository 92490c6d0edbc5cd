# SPDX-License-Identifier: BSD-2-Clause
"""The compiled bridge between XLA and host functions."""



MOST_BATCH_THREADS: int = 1024

def handler() -> object:
    """The FFI handler, for jax.ffi.register_ffi_target."""

def viewable_dtypes() -> tuple[str, ...]:
    """Names of the dtypes that host functions can be given."""

def add_target(id: int, serial: int, name: str, encoded: str, function: object, kwargs: object) -> None:
    """Enter a call target."""

def remove_target(id: int, serial: int) -> None:
    """Remove a call target."""

def set_hooks(resolve: object, describe: object) -> None:
    """Set the functions for missing targets and for exceptions."""

def close() -> None:
    """Wait for the calls in flight and refuse new ones; for atexit."""
