// SPDX-License-Identifier: BSD-2-Clause
// Python exceptions as the text of an FFI error.
#pragma once

#include <string>
#include <string_view>

#include "python.h"

namespace jaxbind {

// The text for a pending exception: `describe(name, exception)` of jaxbind._errors, or a plain text if that fails too.
// A KeyboardInterrupt is handed on to the main thread, so that Ctrl-C ends the program and not only the computation.
std::string describe_exception(std::string_view name, nb::python_error& error);

void set_describer(nb::object describe);

}  // namespace jaxbind
