// SPDX-License-Identifier: BSD-2-Clause
// Index arithmetic of the batch loop: where each array's data lies for the current batch element. No Python here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace jaxbind {

// Walks an N-dimensional batch in row-major order and keeps one byte offset per array.
class BatchIndex {
 public:
  // `strides[a * sizes.size() + d]`: bytes between neighbours along batch dimension d in array a; 0 where the array is
  // not mapped. One flat vector, because a call outside vmap must not pay for allocations.
  BatchIndex(std::vector<int64_t> sizes, std::vector<int64_t> strides, size_t arrays)
      : sizes_(std::move(sizes)), strides_(std::move(strides)), position_(sizes_.size(), 0), offsets_(arrays, 0) {}

  // Number of elements.
  int64_t count() const {
    int64_t product = 1;
    for (int64_t size : sizes_) product *= size;
    return product;
  }

  int64_t offset(size_t array) const { return offsets_[array]; }

  // ", batch element (2, 0)" with the newest vmap level first; empty outside of vmap.
  std::string describe() const {
    std::string text;
    for (int64_t at : position_) text += (text.empty() ? ", batch element (" : ", ") + std::to_string(at);
    return text.empty() ? text : text + ")";
  }

  // Moves on; false after the last element.
  bool next() {
    const size_t ndim = sizes_.size();
    for (size_t d = ndim; d-- > 0;) {
      const bool carry = ++position_[d] == sizes_[d];
      const int64_t steps = carry ? 1 - sizes_[d] : 1;
      for (size_t a = 0; a < offsets_.size(); ++a) offsets_[a] += steps * strides_[a * ndim + d];
      if (!carry) return true;
      position_[d] = 0;
    }
    return false;
  }

 private:
  std::vector<int64_t> sizes_;
  std::vector<int64_t> strides_;
  std::vector<int64_t> position_;
  std::vector<int64_t> offsets_;
};

}  // namespace jaxbind
