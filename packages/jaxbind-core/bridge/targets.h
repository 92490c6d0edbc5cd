// SPDX-License-Identifier: BSD-2-Clause
// Call targets: which host function and keyword arguments belong to an id. Everything here runs with the GIL held.
#pragma once

#include <cstdint>
#include <string_view>

#include "python.h"

namespace jaxbind {

// What a call needs. Both are owned references, so that a target removed during the call stays usable.
struct Target {
  nb::object function;
  nb::object kwargs;
};

// Enters a target; a second one under the same id replaces it. Python owns the lifetime and calls remove_target, which
// leaves a successor with another serial number alone.
void add_target(int64_t id, int64_t serial, std::string_view name, std::string_view encoded, nb::object function,
                nb::object kwargs);
void remove_target(int64_t id, int64_t serial);

// Finds the target, or asks the resolver for it. Throws nb::python_error if the name is not registered.
Target find_target(int64_t id, std::string_view name, std::string_view encoded);

// The Python function `resolve(name, encoded) -> (function, kwargs)` for targets that are not in the table.
void set_resolver(nb::object resolve);

}  // namespace jaxbind
