# SPDX-License-Identifier: BSD-2-Clause
"""Compile a Fortran subroutine with f2py, and differentiate through it."""

import importlib
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxbind import get_linear_call, load_kwargs

SOURCE = """
! Carry each column of u with the flow, which goes up (first index grows); with direction = -1, the transpose.
subroutine advect(u, v, n, m, courant, direction)
  implicit none
  integer, intent(in) :: n, m, direction
  real(8), intent(in) :: u(n, m), courant
  real(8), intent(inout) :: v(n, m)
  integer :: i, j
  !f2py threadsafe
  do j = 1, m
    do i = 1, n
      v(i, j) = (1 - courant) * u(i, j) + courant * u(modulo(i - 1 - direction, n) + 1, j)
    end do
  end do
end subroutine advect
"""


def build(source: str, name: str) -> Any:
    """Compile a module with f2py, which calls meson, ninja and a Fortran compiler, and import it."""
    folder = Path(tempfile.mkdtemp())
    (folder / f"{name}.f90").write_text(source)
    command = [sys.executable, "-m", "numpy.f2py", "-c", f"{name}.f90", "-m", name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)
    sys.path.insert(0, str(folder))
    return importlib.import_module(name)


flow = build(SOURCE, "flow")
Arrays = tuple[np.ndarray, ...]


def forward(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Hand the memory to Fortran. A C-ordered (m, n) array, transposed, is a Fortran-ordered (n, m) array."""
    flow.advect(args[0].T, out[0].T, load_kwargs(kwargs_dump)["courant"], 1)


def backward(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Carry against the flow."""
    flow.advect(args[0].T, out[0].T, load_kwargs(kwargs_dump)["courant"], -1)


def same(u: Any, **kwargs: Any) -> Any:
    """Refuse what f2py would copy to another dtype; else: one output, like the input."""
    if u.dtype != np.float64 or len(u.shape) != 2:
        raise TypeError(f"advect: argument 0 is {u.dtype}{list(u.shape)}; expected float64 in two dimensions.")
    return ((u.shape, u.dtype),)


jax.config.update("jax_enable_x64", True)  # real(8) is float64
advect = get_linear_call(forward, backward, same, same)


def after_ten_steps(u: jax.Array) -> jax.Array:
    """Apply the Fortran subroutine in a loop of JAX."""
    return jax.lax.fori_loop(0, 10, lambda _, u: advect(u, courant=0.5)[0], u)


def in_jax(u: jax.Array) -> jax.Array:
    """The same without Fortran."""
    return jax.lax.fori_loop(0, 10, lambda _, u: 0.5 * u + 0.5 * jnp.roll(u, 1, axis=1), u)


u = jnp.zeros((2, 12)).at[:, 3].set(jnp.array([1.0, -2.0]))
print("peak at ", int(jnp.argmax(u[0])), "->", int(jnp.argmax(after_ten_steps(u)[0])))
gradient = jax.grad(lambda u: jnp.sum(after_ten_steps(u)[:, 8] ** 2))(u)
print("gradient", gradient[0].round(3))
np.testing.assert_allclose(after_ten_steps(u), in_jax(u), atol=1e-14)
np.testing.assert_allclose(gradient, jax.grad(lambda u: jnp.sum(in_jax(u)[:, 8] ** 2))(u), atol=1e-14)
