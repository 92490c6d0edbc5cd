# SPDX-License-Identifier: BSD-2-Clause
"""Compile a C function, call it through ctypes, and differentiate through it."""

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxbind import get_linear_call, load_kwargs

SOURCE = """
// y[i] = decay * y[i-1] + x[i]: an exponential average, forward in time or backward.
void average(const double *x, double *y, long n, double decay, int backward) {
  double state = 0.0;
  for (long k = 0; k < n; ++k) {
    long i = backward ? n - 1 - k : k;
    state = decay * state + x[i];
    y[i] = state;
  }
}
"""

folder = Path(tempfile.mkdtemp())
(folder / "average.c").write_text(SOURCE)
compiler = shutil.which("cc") or "gcc"
subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", "average.so", "average.c"], cwd=folder, check=True)

library = ctypes.CDLL(str(folder / "average.so"))  # CDLL releases the GIL during the call
array = np.ctypeslib.ndpointer(dtype=np.float64, ndim=1, flags="C_CONTIGUOUS")
library.average.argtypes = [array, array, ctypes.c_long, ctypes.c_double, ctypes.c_int]
library.average.restype = None

Arrays = tuple[np.ndarray, ...]


def forward(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Hand JAX's memory to C: NumPy views are contiguous and have the dtype that `same` states."""
    library.average(args[0], out[0], args[0].size, load_kwargs(kwargs_dump)["decay"], 0)


def backward(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Run the transposed recursion, which goes backward in time."""
    library.average(args[0], out[0], args[0].size, load_kwargs(kwargs_dump)["decay"], 1)


def same(x: Any, **kwargs: Any) -> Any:
    """Refuse what C would misread, while JAX traces; else: one output, like the input."""
    if x.dtype != np.float64 or len(x.shape) != 1:
        raise TypeError(f"average: argument 0 is {x.dtype}{list(x.shape)}; expected float64 in one dimension.")
    return ((x.shape, x.dtype),)


jax.config.update("jax_enable_x64", True)  # C's double is float64
average = get_linear_call(forward, backward, same, same)

x = jnp.array([1.0, 0.0, 0.0, 2.0])
print("average ", jax.jit(lambda x: average(x, decay=0.5)[0])(x))
print("gradient", jax.grad(lambda x: average(x, decay=0.5)[0][-1])(x))
print("batch   ", jax.vmap(lambda x: average(x, decay=0.5)[0])(jnp.eye(4)).shape)
np.testing.assert_allclose(jax.jacfwd(lambda x: average(x, decay=0.5)[0])(x)[:, 0], [1, 0.5, 0.25, 0.125])
