// SPDX-License-Identifier: BSD-2-Clause
// The FFI handler: one call of XLA into a host function.
#pragma once

#include "xla/ffi/api/ffi.h"

namespace jaxbind {

// Execute-stage only and without state: a handler with FFI state built against one jaxlib's headers crashes under
// another. Never throws; Python exceptions become the error of the call.
XLA_FFI_Error* handle_call(XLA_FFI_CallFrame* frame);

}  // namespace jaxbind
