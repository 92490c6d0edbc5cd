# SPDX-License-Identifier: BSD-2-Clause
"""The compiled library, through ctypes: NumPy arrays in, errors as exceptions. Knows nothing of JAX."""

from __future__ import annotations

import ctypes
from importlib import resources

import numpy as np

with resources.as_file(resources.files("jaxbind_tridiagonal") / "libtridiagonal.so") as path:
    _library = ctypes.CDLL(str(path))  # CDLL, not PyDLL: it releases the GIL during a call

# ctypes refuses arrays of another dtype or layout; C would misread them.
_given = np.ctypeslib.ndpointer(dtype=np.float64, ndim=1, flags="C_CONTIGUOUS")
_filled = np.ctypeslib.ndpointer(dtype=np.float64, ndim=1, flags=("C_CONTIGUOUS", "WRITEABLE"))
_library.tridiagonal_solve.argtypes = [_given, _given, _given, _given, _filled, ctypes.c_int64, ctypes.c_int]
_library.tridiagonal_solve.restype = ctypes.c_int64


def solve_into(x: np.ndarray, matrix: tuple[np.ndarray, ...], b: np.ndarray, *, transposed: bool) -> None:
    """Solve a system in C.

    Parameters
    ----------
    x
        Gets the solution; float64, n elements.
    matrix
        The subdiagonal, the diagonal and the superdiagonal, n elements each.
    b
        The right-hand side.
    transposed
        Whether to solve with the transposed matrix.

    Raises
    ------
    ZeroDivisionError
        If elimination meets a zero on the diagonal.
    MemoryError
        If there is no memory for n elements more.
    """
    status = _library.tridiagonal_solve(*matrix, b, x, b.size, transposed)
    if status < 0:
        raise MemoryError(f"tridiagonal_solve: no memory for {b.size} elements more.")
    if status > 0:
        raise ZeroDivisionError(f"tridiagonal_solve: the pivot of row {status - 1} is zero. Reorder the equations.")
