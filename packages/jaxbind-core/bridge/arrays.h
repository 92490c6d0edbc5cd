// SPDX-License-Identifier: BSD-2-Clause
// NumPy views on XLA buffers: no copy, C order, `args` read-only and `out` writable.
#pragma once

#include "python.h"
#include "xla/ffi/api/ffi.h"

namespace jaxbind {

namespace ffi = xla::ffi;

enum class Access { kRead, kWrite };

// Fills the table of descriptors; called once, when the module is imported. Throws nb::python_error.
void load_dtypes();

// Names of the dtypes that can be viewed, as a tuple of str.
nb::tuple viewable_dtypes();

// True if buffers of this dtype can be viewed.
bool is_viewable(ffi::DataType dtype);

// A new view on `data`. Null with a Python error set if NumPy refuses.
PyObject* new_view(ffi::DataType dtype, ffi::Span<const int64_t> dims, void* data, Access access);

}  // namespace jaxbind
