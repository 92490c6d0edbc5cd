# SPDX-License-Identifier: BSD-2-Clause
"""Compile a C++ class with nanobind, bind its methods, and pass the object as a keyword argument."""

import importlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import nanobind
import numpy as np
from jaxbind import get_linear_call, load_kwargs

SOURCE = """
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <vector>
namespace nb = nanobind;
using Input = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A sparse matrix, which is expensive to set up and is used many times.
class Sparse {
 public:
  Sparse(long rows, long columns) : rows(rows), columns(columns) {}

  void add(long row, long column, double value) { entries.push_back({row, column, value}); }

  void apply(Input x, Output y) const {
    for (long i = 0; i < rows; ++i) y.data()[i] = 0;
    for (const Entry &e : entries) y.data()[e.row] += e.value * x.data()[e.column];
  }

  void apply_transposed(Input y, Output x) const {
    for (long i = 0; i < columns; ++i) x.data()[i] = 0;
    for (const Entry &e : entries) x.data()[e.column] += e.value * y.data()[e.row];
  }

  const long rows, columns;

 private:
  struct Entry { long row, column; double value; };
  std::vector<Entry> entries;
};

NB_MODULE(sparse, m) {
  nb::class_<Sparse>(m, "Sparse")
      .def(nb::init<long, long>())
      .def("add", &Sparse::add)
      // noconvert: an array of another dtype is refused; else nanobind would fill a copy of the output, which is lost.
      .def("apply", &Sparse::apply, nb::arg("x").noconvert(), nb::arg("y").noconvert(),
           nb::call_guard<nb::gil_scoped_release>())
      .def("apply_transposed", &Sparse::apply_transposed, nb::arg("y").noconvert(), nb::arg("x").noconvert(),
           nb::call_guard<nb::gil_scoped_release>())
      .def_ro("rows", &Sparse::rows)
      .def_ro("columns", &Sparse::columns);
  nb::set_leak_warnings(false);  // compiled programs keep the object until the interpreter ends
}
"""


def build(source: str, name: str) -> Any:
    """Compile an extension module and import it. A package of yours would use scikit-build-core instead."""
    folder = Path(tempfile.mkdtemp())
    (folder / f"{name}.cpp").write_text(source)
    nanobind_source = Path(nanobind.source_dir())
    includes = [
        nanobind.include_dir(),
        str(nanobind_source.parent / "ext/robin_map/include"),
        sysconfig.get_path("include"),
    ]
    library = folder / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    options = ["-std=c++17", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing"]
    compiler = shutil.which("c++") or "g++"
    sources = [str(folder / f"{name}.cpp"), str(nanobind_source / "nb_combined.cpp")]
    subprocess.run([compiler, *options, *(f"-I{path}" for path in includes), *sources, "-o", library], check=True)
    sys.path.insert(0, str(folder))
    return importlib.import_module(name)


Arrays = tuple[np.ndarray, ...]


def apply(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Compute A x; the method writes into JAX's memory."""
    load_kwargs(kwargs_dump)["matrix"].apply(args[0], out[0])


def apply_transposed(out: Arrays, args: Arrays, kwargs_dump: Any) -> None:
    """Compute A^T y."""
    load_kwargs(kwargs_dump)["matrix"].apply_transposed(args[0], out[0])


def rows(x: Any, *, matrix: Any) -> Any:
    """One output, with one element per row; the object is at hand while JAX traces."""
    return (((matrix.rows,), x.dtype),)


def columns(y: Any, *, matrix: Any) -> Any:
    """One output, with one element per column."""
    return (((matrix.columns,), y.dtype),)


jax.config.update("jax_enable_x64", True)  # the class computes with double
multiply = get_linear_call(apply, apply_transposed, rows, columns)

matrix = build(SOURCE, "sparse").Sparse(4, 3)
dense = np.zeros((4, 3))
for row, column, value in [(0, 0, 2.0), (1, 2, -1.0), (3, 1, 0.5), (3, 2, 4.0)]:
    matrix.add(row, column, value)
    dense[row, column] = value

x = jnp.array([1.0, 2.0, 3.0])


def energy(x: jax.Array) -> jax.Array:
    """Half the square of A x."""
    return jnp.sum(multiply(x, matrix=matrix)[0] ** 2) / 2


print("A x     ", jax.jit(lambda x: multiply(x, matrix=matrix)[0])(x))
print("gradient", jax.grad(energy)(x))
print("Hessian ", jax.hessian(energy)(x).tolist())
np.testing.assert_allclose(jax.grad(energy)(x), dense.T @ dense @ x)
np.testing.assert_allclose(jax.hessian(energy)(x), dense.T @ dense)

try:
    multiply(x.astype(jnp.float32), matrix=matrix)[0].block_until_ready()
except jax.errors.JaxRuntimeError as error:
    print("float32: ", str(error).splitlines()[0].removeprefix("INTERNAL: "))
