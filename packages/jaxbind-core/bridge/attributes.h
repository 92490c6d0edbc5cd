// SPDX-License-Identifier: BSD-2-Clause
// The attributes of the custom call as one struct, and the checks that make a stale or hostile artifact harmless.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "xla/ffi/api/ffi.h"

namespace jaxbind {

namespace ffi = xla::ffi;

struct Attributes {
  int64_t id;               // Hash of name and kwargs: the key of the table of call targets.
  std::string_view name;    // Name of the host function.
  std::string_view kwargs;  // Encoded keyword arguments.
  int64_t batch_ndim;       // Number of leading batch dimensions of every output.
  // Bit d of entry i: argument i has batch dimension d (0 is the outermost) among its leading dimensions.
  ffi::Span<const int64_t> masks;
  int64_t batch_threads;  // Threads that share the batch loop; 0 for one per core.

  static constexpr int64_t kMostThreads = 1024;

  bool has(size_t argument, int64_t dimension) const { return (masks[argument] >> dimension) & 1; }

  // Empty if the attributes fit the buffers, else what is wrong. Batch sizes are those of the first output.
  std::string mismatch(const ffi::RemainingArgs& args, const ffi::RemainingRets& rets) const {
    if (batch_ndim < 0 || batch_ndim > 62) return "batch_ndim is out of range";
    if (batch_threads < 0 || batch_threads > kMostThreads) return "batch_threads is out of range";
    if (masks.size() != args.size()) return "there is not one batch mask per argument";
    if (args.size() == 0) return "there is no argument";
    if (rets.size() == 0) return "there is no output";
    auto first = rets.get<ffi::AnyBuffer>(0);
    for (size_t k = 0; k < rets.size(); ++k) {
      auto out = rets.get<ffi::AnyBuffer>(k);
      if (!out) return "an output is not a buffer";
      const auto dims = (*out)->dimensions();
      if (static_cast<int64_t>(dims.size()) < batch_ndim) return "an output lacks batch dimensions";
      for (int64_t d = 0; d < batch_ndim; ++d) {
        if (dims[d] != (*first)->dimensions()[d]) return "the outputs have different batch sizes";
      }
    }
    for (size_t i = 0; i < args.size(); ++i) {
      auto arg = args.get<ffi::AnyBuffer>(i);
      if (!arg) return "an argument is not a buffer";
      if (masks[i] < 0 || (masks[i] >> batch_ndim) != 0) return "a batch mask is out of range";
      const auto dims = arg->dimensions();
      size_t axis = 0;
      for (int64_t d = 0; d < batch_ndim; ++d) {
        if (!has(i, d)) continue;
        if (axis >= dims.size() || dims[axis] != (*first)->dimensions()[d]) {
          return "the batch dimensions of an argument do not match those of the outputs";
        }
        ++axis;
      }
    }
    return {};
  }
};

}  // namespace jaxbind
