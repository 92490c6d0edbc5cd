// SPDX-License-Identifier: BSD-2-Clause
// How the bridge enters Python: the NumPy C API, the right to run (interpreter alive), the thread state and the GIL.
#pragma once

#include <nanobind/nanobind.h>

// One translation unit (module.cc) imports NumPy's function table; the others refer to it.
#define PY_ARRAY_UNIQUE_SYMBOL jaxbind_bridge_numpy
#ifndef JAXBIND_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace jaxbind {

namespace nb = nanobind;

// Counts the calls that are inside Python, so that the interpreter can wait for them before it shuts down. A thread
// that asks a finalising interpreter for the GIL is ended or hung by CPython; so calls that come later are refused.
class Gate {
 public:
  // True if Python may be entered; then leave() must follow.
  static bool enter() noexcept {
    in_flight_.fetch_add(1);  // Before the check, so that close() sees either the call or a refused one.
    if (!closed_.load()) return true;
    leave();
    return false;
  }

  static void leave() noexcept { in_flight_.fetch_sub(1); }

  // Runs as an atexit function, with the GIL held. Ctrl-C ends the wait.
  static void close() {
    closed_.store(true);
    while (in_flight_.load() > 0) {
      {
        nb::gil_scoped_release release;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
  }

 private:
  static inline std::atomic<int> in_flight_{0};
  static inline std::atomic<bool> closed_{false};
};

// Keeps the thread state that CPython made for a foreign thread until the thread ends: making one anew costs more than
// a small call. Only a thread that Python did not know gets one.
class KeptThreadState {
 public:
  // With the GIL held, first call on this thread.
  void keep() noexcept {
    kept_ = true;
    PyGILState_Ensure();  // The extra count that keeps the state alive between calls.
  }

  bool kept() const noexcept { return kept_; }

  ~KeptThreadState() {
    if (!kept_ || !Gate::enter()) return;  // After the gate is closed the state is left to the process's end.
    PyGILState_STATE state = PyGILState_Ensure();
    PyGILState_Release(state);
    PyGILState_Release(PyGILState_UNLOCKED);  // Gives back the extra count, and with it the state.
    Gate::leave();
  }

 private:
  bool kept_ = false;
};

// Holds the GIL for a scope; `entered()` is false if the interpreter is shutting down, and then nothing is held.
class PythonScope {
 public:
  PythonScope() noexcept : entered_(Gate::enter()) {
    if (!entered_) return;
    const bool foreign = PyGILState_GetThisThreadState() == nullptr;
    state_ = PyGILState_Ensure();
    static thread_local KeptThreadState kept;
    if (foreign && !kept.kept()) kept.keep();
  }

  ~PythonScope() {
    if (!entered_) return;
    PyGILState_Release(state_);
    Gate::leave();
  }

  PythonScope(const PythonScope&) = delete;
  PythonScope& operator=(const PythonScope&) = delete;

  bool entered() const noexcept { return entered_; }

 private:
  bool entered_;
  PyGILState_STATE state_ = PyGILState_UNLOCKED;
};

}  // namespace jaxbind
