// SPDX-License-Identifier: BSD-2-Clause
#include "targets.h"

#include <mutex>
#include <string>
#include <unordered_map>

namespace jaxbind {
namespace {

struct Entry {
  int64_t serial;
  std::string name;
  std::string encoded;
  Target target;
};

struct Table {
  std::mutex mutex;  // Guards `entries`: the GIL alone does not, on a free-threaded Python.
  std::unordered_map<int64_t, Entry> entries;
  nb::object resolve;
};

// Never destroyed: executables may outlive the interpreter, and their references must not be given back then.
Table& table() {
  static Table* instance = new Table;
  return *instance;
}

// Text of a compiled program as a str. What is no UTF-8 is spelled out, so that the resolver can name what it refuses.
nb::object decoded(std::string_view text) {
  PyObject* found = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
  if (!found) throw nb::python_error();
  return nb::steal(found);
}

}  // namespace

void add_target(int64_t id, int64_t serial, std::string_view name, std::string_view encoded, nb::object function,
                nb::object kwargs) {
  Entry entry{serial, std::string(name), std::string(encoded), {std::move(function), std::move(kwargs)}};
  std::lock_guard lock(table().mutex);
  // After the swap `entry` holds what was replaced; its references go when the lock is free again.
  std::swap(table().entries[id], entry);
}

void remove_target(int64_t id, int64_t serial) {
  std::unordered_map<int64_t, Entry>::node_type removed;  // Outlives the lock: giving back references runs Python code.
  std::lock_guard lock(table().mutex);
  auto found = table().entries.find(id);
  if (found != table().entries.end() && found->second.serial == serial) removed = table().entries.extract(found);
}

Target find_target(int64_t id, std::string_view name, std::string_view encoded) {
  {
    std::lock_guard lock(table().mutex);
    auto found = table().entries.find(id);
    // Name and keyword arguments are compared too: a hash alone may not decide which function runs.
    if (found != table().entries.end() && found->second.name == name && found->second.encoded == encoded) {
      return found->second.target;
    }
  }
  nb::object pair = table().resolve(decoded(name), decoded(encoded));
  return {pair[0], pair[1]};
}

void set_resolver(nb::object resolve) { table().resolve = std::move(resolve); }

}  // namespace jaxbind
