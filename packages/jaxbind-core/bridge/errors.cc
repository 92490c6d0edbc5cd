// SPDX-License-Identifier: BSD-2-Clause
#include "errors.h"

#include <nanobind/stl/string.h>

namespace jaxbind {
namespace {

// Never destroyed, as in targets.cc.
nb::object& describer() {
  static nb::object* instance = new nb::object;
  return *instance;
}

}  // namespace

std::string describe_exception(std::string_view name, nb::python_error& error) {
  std::string text;
  try {
    text = nb::cast<std::string>(describer()(nb::str(name.data(), name.size()), error.value()));
  } catch (const std::exception& second) {
    text = std::string(name) + ": the host function raised, and describing the exception failed: " + second.what();
  }
  if (error.matches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();  // Last: it raises in the next Python code.
  return text;
}

void set_describer(nb::object describe) { describer() = std::move(describe); }

}  // namespace jaxbind
