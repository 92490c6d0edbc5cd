// SPDX-License-Identifier: BSD-2-Clause
#include "call.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "arrays.h"
#include "attributes.h"
#include "batch.h"
#include "errors.h"
#include "pool.h"
#include "targets.h"

namespace jaxbind {
namespace {

// One XLA buffer, without its batch dimensions.
struct Core {
  ffi::DataType dtype;
  ffi::Span<const int64_t> dims;
  char* data;
  int64_t bytes;
};

Core core_of(const ffi::AnyBuffer& buffer, size_t batch_axes) {
  const auto dims = buffer.dimensions();
  ffi::Span<const int64_t> core(dims.begin() + batch_axes, dims.size() - batch_axes);
  int64_t bytes = static_cast<int64_t>(ffi::ByteWidth(buffer.element_type()));
  for (int64_t size : core) bytes *= size;
  return {buffer.element_type(), core, static_cast<char*>(buffer.untyped_data()), bytes};
}

// Appends the byte strides of an array's batch dimensions: 0 for those that it lacks.
template <typename Has>
void append_strides(std::vector<int64_t>& strides, const Core& core, const std::vector<int64_t>& sizes, Has has) {
  const size_t start = strides.size();
  strides.resize(start + sizes.size(), 0);
  int64_t stride = core.bytes;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (!has(d)) continue;
    strides[start + d] = stride;
    stride *= sizes[d];
  }
}

// A tuple of views at the current batch element. Throws nb::python_error.
nb::object views(const std::vector<Core>& cores, size_t first, const BatchIndex& index, Access access) {
  nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(cores.size())));
  if (!tuple) throw nb::python_error();
  for (size_t k = 0; k < cores.size(); ++k) {
    PyObject* view = new_view(cores[k].dtype, cores[k].dims, cores[k].data + index.offset(first + k), access);
    if (!view) throw nb::python_error();
    PyTuple_SetItem(tuple.ptr(), static_cast<Py_ssize_t>(k), view);  // Takes the reference.
  }
  return tuple;
}

// Position of a view that somebody else still refers to, or -1; the tuple itself counts as its first view.
Py_ssize_t escaped_view(const nb::object& tuple) {
  if (Py_REFCNT(tuple.ptr()) > 1) return 0;
  for (Py_ssize_t k = 0; k < PyTuple_Size(tuple.ptr()); ++k) {
    if (Py_REFCNT(PyTuple_GetItem(tuple.ptr(), k)) > 1) return k;
  }
  return -1;
}

// A view that outlives the call would point to memory that XLA reuses, so a reference left behind is an error. Some are
// on their way out (reference cycles, a worker thread's last frame, arrays that JAX gives back late): those get time.
// Collections run JAX's own hook too, which gives back the arrays that it held for a zero-copy conversion.
Py_ssize_t escaped_for_good(const nb::object& tuple) {
  Py_ssize_t escaped = escaped_view(tuple);
  for (int attempt = 0; escaped >= 0 && attempt < 5; ++attempt) {
    nb::object collect = nb::module_::import_("gc").attr("collect");
    if (attempt == 0) {
      collect(0);
    } else {
      collect();
      nb::gil_scoped_release release;
      std::this_thread::sleep_for(std::chrono::milliseconds(1 << (2 * attempt)));
    }
    escaped = escaped_view(tuple);
  }
  return escaped;
}

// Runs the host function once. Empty if all is well, else the error's text without the operator's name.
std::string call_once(const Target& target, const nb::object& out, const nb::object& args) {
  PyObject* arguments[] = {out.ptr(), args.ptr(), target.kwargs.ptr()};
  nb::object result = nb::steal(PyObject_Vectorcall(target.function.ptr(), arguments, 3, nullptr));
  if (!result) throw nb::python_error();
  if (!result.is_none()) {
    return "the host function returned a value of type " + std::string(nb::type_name(result.type()).c_str()) +
           "; it must fill `out` and return None. Write out[0][...] = result.";
  }
  for (const auto& [name, tuple] : {std::pair{"args", &args}, std::pair{"out", &out}}) {
    const Py_ssize_t escaped = escaped_for_good(*tuple);
    if (escaped < 0) continue;
    return "the host function kept a reference to " + std::string(name) + "[" + std::to_string(escaped) +
           "], whose memory belongs to the call; expected none. Keep a copy, for example " + name + "[" +
           std::to_string(escaped) + "].copy().";
  }
  return {};
}

// The function's own name, of `module:qualname#suffix`: what the messages of jaxbind._errors call the operator.
std::string_view label_of(std::string_view name) {
  const std::string_view found = name.substr(0, name.find('#'));
  return found.substr(found.find_last_of(".:") + 1);  // The whole name if there is neither.
}

ffi::Error failure(std::string_view name, const std::string& text) {
  return ffi::Error(ffi::ErrorCode::kInternal, std::string(label_of(name)) + ": " + text);
}

// The same for a name that no target has confirmed: a damaged program may carry any bytes, and Python takes UTF-8 only.
ffi::Error unconfirmed(std::string_view name, const std::string& text) {
  std::string ascii(name);
  std::replace_if(ascii.begin(), ascii.end(), [](char c) { return (c & 0x80) != 0 || c == 0; }, '?');
  return failure(ascii, text);
}

// The buffers of one call, ready to be walked.
struct Buffers {
  std::vector<Core> inputs, outputs;
  BatchIndex index;
};

Buffers prepare(ffi::RemainingArgs& args, ffi::RemainingRets& rets, const Attributes& attributes) {
  const int64_t ndim = attributes.batch_ndim;
  std::vector<int64_t> sizes, strides;  // Strides of the inputs, then of the outputs.
  std::vector<Core> inputs, outputs;
  inputs.reserve(args.size());
  outputs.reserve(rets.size());
  auto first = rets.get<ffi::AnyBuffer>(0);
  for (int64_t d = 0; d < ndim; ++d) sizes.push_back((*first)->dimensions()[d]);
  for (size_t i = 0; i < args.size(); ++i) {
    size_t mapped = 0;
    for (int64_t d = 0; d < ndim; ++d) mapped += attributes.has(i, d);
    inputs.push_back(core_of(*args.get<ffi::AnyBuffer>(i), mapped));
    append_strides(strides, inputs.back(), sizes, [&](size_t d) { return attributes.has(i, d); });
  }
  for (size_t k = 0; k < rets.size(); ++k) {
    outputs.push_back(core_of(**rets.get<ffi::AnyBuffer>(k), ndim));
    append_strides(strides, outputs.back(), sizes, [](size_t) { return true; });
  }
  const size_t arrays = inputs.size() + outputs.size();
  return {std::move(inputs), std::move(outputs), BatchIndex(std::move(sizes), std::move(strides), arrays)};
}

bool all_viewable(const std::vector<Core>& cores) {
  return std::all_of(cores.begin(), cores.end(), [](const Core& core) { return is_viewable(core.dtype); });
}

// Calls the host function for one batch element. With the GIL held.
ffi::Error call_element(const Target& target, const Buffers& buffers, const BatchIndex& index, std::string_view name) {
  const auto where = [&] { return std::string(label_of(name)) + index.describe(); };
  std::string wrong;
  try {
    nb::object out = views(buffers.outputs, buffers.inputs.size(), index, Access::kWrite);
    nb::object args = views(buffers.inputs, 0, index, Access::kRead);
    wrong = call_once(target, out, args);
    if (wrong.empty()) return ffi::Error::Success();
    wrong = where() + ": " + wrong;
  } catch (nb::python_error& error) {
    wrong = describe_exception(where(), error);
  } catch (const std::exception& error) {
    wrong = where() + ": " + error.what();
  }
  return ffi::Error(ffi::ErrorCode::kInternal, std::move(wrong));
}

// Calls the host function for every batch element, in order. With the GIL held.
ffi::Error walk(const Target& target, Buffers& buffers, std::string_view name) {
  do {
    if (ffi::Error error = call_element(target, buffers, buffers.index, name); error.failure()) return error;
  } while (buffers.index.next());
  return ffi::Error::Success();
}

// A batch loop that several threads walk together: each takes the first element that nobody has taken.
class SharedLoop {
 public:
  SharedLoop(const Target& target, const Buffers& buffers, std::string_view name)
      : target_(target), buffers_(buffers), name_(name), count_(buffers.index.count()), failed_(count_) {}

  // Walks it on at least two threads. With the GIL held; gives it up meanwhile.
  ffi::Error walk(int64_t threads) {
    {
      nb::gil_scoped_release release;
      run_with_helpers(threads - 1, [this] { work(); });
    }
    if (failed_ < count_) return std::move(error_);
    if (next_ < count_) return failure(name_, "called while the interpreter is shutting down.");
    return ffi::Error::Success();
  }

 private:
  // One thread's part. Elements are taken in order, so those before a failing one have all been taken and will be
  // finished: the error that is kept is the one that a loop in order would have met.
  void work() noexcept try {
    PythonScope python;
    if (!python.entered()) return;  // walk() finds that elements are left.
    BatchIndex index = buffers_.index;
    for (int64_t here = 0, taken; (taken = next_++) < failed_;) {
      for (; here < taken; ++here) index.next();
      ffi::Error error = call_element(target_, buffers_, index, name_);
      if (error.failure()) keep(taken, std::move(error));
    }
  } catch (const std::exception&) {  // Out of memory: an error without a text needs none.
    keep(0, ffi::Error(ffi::ErrorCode::kResourceExhausted, {}));
  }

  void keep(int64_t element, ffi::Error error) {
    std::lock_guard lock(mutex_);
    if (element >= failed_) return;
    failed_ = element;
    error_ = std::move(error);
  }

  const Target& target_;
  const Buffers& buffers_;
  const std::string_view name_;
  const int64_t count_;
  std::atomic<int64_t> next_{0};
  std::atomic<int64_t> failed_;  // The first element that failed, or the number of elements.
  std::mutex mutex_;             // Guards `error_`, and writes of `failed_`.
  ffi::Error error_;
};

// Threads for a batch loop: as many as asked for, 0 being one per core.
int64_t thread_count(int64_t asked) { return asked > 0 ? asked : std::max(1u, std::thread::hardware_concurrency()); }

ffi::Error call(ffi::RemainingArgs args, ffi::RemainingRets rets, int64_t id, std::string_view name,
                std::string_view kwargs, int64_t batch_ndim, ffi::Span<const int64_t> masks, int64_t batch_threads) {
  try {
    const Attributes attributes{id, name, kwargs, batch_ndim, masks, batch_threads};
    if (std::string wrong = attributes.mismatch(args, rets); !wrong.empty()) {
      return unconfirmed(name, "the compiled call is malformed: " + wrong + ". Export or compile it anew.");
    }
    Buffers buffers = prepare(args, rets, attributes);
    if (!all_viewable(buffers.inputs) || !all_viewable(buffers.outputs)) {
      return unconfirmed(name, "the compiled call has a buffer of a dtype that NumPy cannot view. Compile it anew.");
    }
    if (buffers.index.count() == 0) return ffi::Error::Success();
    PythonScope python;
    if (!python.entered()) return unconfirmed(name, "called while the interpreter is shutting down.");
    Target target;
    try {
      target = find_target(id, name, kwargs);
    } catch (nb::python_error& error) {
      return unconfirmed(name, nb::str(error.value()).c_str());
    }
    const int64_t threads = std::min(thread_count(batch_threads), buffers.index.count());
    return threads == 1 ? walk(target, buffers, name) : SharedLoop(target, buffers, name).walk(threads);
  } catch (const std::exception& error) {  // Nothing may be thrown across the border.
    return unconfirmed(name, error.what());
  }
}

}  // namespace

XLA_FFI_Error* handle_call(XLA_FFI_CallFrame* frame) {
  // Never destroyed: a call may arrive while the process is exiting.
  static auto* handler = ffi::Ffi::Bind()
                             .RemainingArgs()
                             .RemainingRets()
                             .Attr<int64_t>("id")
                             .Attr<std::string_view>("name")
                             .Attr<std::string_view>("kwargs")
                             .Attr<int64_t>("batch_ndim")
                             .Attr<ffi::Span<const int64_t>>("batch_masks")
                             .Attr<int64_t>("batch_threads")
                             .To(call)
                             .release();
  return handler->Call(frame);
}

}  // namespace jaxbind
