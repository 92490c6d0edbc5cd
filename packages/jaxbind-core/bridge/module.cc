// SPDX-License-Identifier: BSD-2-Clause
// What Python sees of the bridge: a list, nothing else.
#define JAXBIND_IMPORTS_NUMPY
#include <nanobind/stl/string_view.h>

#include "arrays.h"
#include "attributes.h"
#include "call.h"
#include "errors.h"
#include "python.h"
#include "targets.h"

namespace nb = nanobind;
using namespace nb::literals;

NB_MODULE(_bridge, m) {
  if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
  jaxbind::load_dtypes();
  m.doc() = "The compiled bridge between XLA and host functions.";
  m.attr("MOST_BATCH_THREADS") = jaxbind::Attributes::kMostThreads;
  m.def(
      "handler", [] { return nb::capsule(reinterpret_cast<void*>(&jaxbind::handle_call)); },
      nb::sig("def handler() -> object"), "The FFI handler, for jax.ffi.register_ffi_target.");
  m.def("viewable_dtypes", &jaxbind::viewable_dtypes, nb::sig("def viewable_dtypes() -> tuple[str, ...]"),
        "Names of the dtypes that host functions can be given.");
  m.def("add_target", &jaxbind::add_target, "id"_a, "serial"_a, "name"_a, "encoded"_a, "function"_a, "kwargs"_a,
        "Enter a call target.");
  m.def("remove_target", &jaxbind::remove_target, "id"_a, "serial"_a, "Remove a call target.");
  m.def(
      "set_hooks",
      [](nb::object resolve, nb::object describe) {
        jaxbind::set_resolver(std::move(resolve));
        jaxbind::set_describer(std::move(describe));
      },
      "resolve"_a, "describe"_a, "Set the functions for missing targets and for exceptions.");
  m.def("close", &jaxbind::Gate::close, "Wait for the calls in flight and refuse new ones; for atexit.");
}
