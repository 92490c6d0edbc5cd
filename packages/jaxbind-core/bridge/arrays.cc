// SPDX-License-Identifier: BSD-2-Clause
#include "arrays.h"

#include <array>
#include <vector>

namespace jaxbind {
namespace {

struct Dtype {
  ffi::DataType xla;
  const char* name;  // As NumPy or ml_dtypes know it.
};

// Every dtype that JAX has on CPU and NumPy can view. Packed ones (int2, int4, float4) have no view and are left out.
constexpr std::array kDtypes{
    Dtype{ffi::DataType::PRED, "bool"},
    Dtype{ffi::DataType::S8, "int8"},
    Dtype{ffi::DataType::S16, "int16"},
    Dtype{ffi::DataType::S32, "int32"},
    Dtype{ffi::DataType::S64, "int64"},
    Dtype{ffi::DataType::U8, "uint8"},
    Dtype{ffi::DataType::U16, "uint16"},
    Dtype{ffi::DataType::U32, "uint32"},
    Dtype{ffi::DataType::U64, "uint64"},
    Dtype{ffi::DataType::F16, "float16"},
    Dtype{ffi::DataType::F32, "float32"},
    Dtype{ffi::DataType::F64, "float64"},
    Dtype{ffi::DataType::C64, "complex64"},
    Dtype{ffi::DataType::C128, "complex128"},
    Dtype{ffi::DataType::BF16, "bfloat16"},
    Dtype{ffi::DataType::F8E3M4, "float8_e3m4"},
    Dtype{ffi::DataType::F8E4M3, "float8_e4m3"},
    Dtype{ffi::DataType::F8E4M3B11FNUZ, "float8_e4m3b11fnuz"},
    Dtype{ffi::DataType::F8E4M3FN, "float8_e4m3fn"},
    Dtype{ffi::DataType::F8E4M3FNUZ, "float8_e4m3fnuz"},
    Dtype{ffi::DataType::F8E5M2, "float8_e5m2"},
    Dtype{ffi::DataType::F8E5M2FNUZ, "float8_e5m2fnuz"},
    Dtype{ffi::DataType::F8E8M0FNU, "float8_e8m0fnu"},
};

// Descriptors by XLA's dtype code; null where there is none. Written once while the module is imported, read-only
// afterwards. The references are never given back: the table lives as long as the process.
constexpr size_t kCodes = 64;
std::array<PyArray_Descr*, kCodes> descriptors{};

PyArray_Descr* descriptor(ffi::DataType dtype) {
  const auto code = static_cast<size_t>(dtype);
  return code < kCodes ? descriptors[code] : nullptr;
}

}  // namespace

void load_dtypes() {
  nb::object numpy_dtype = nb::module_::import_("numpy").attr("dtype");
  nb::module_ ml_dtypes = nb::module_::import_("ml_dtypes");
  for (const Dtype& dtype : kDtypes) {
    nb::object scalar = nb::getattr(ml_dtypes, dtype.name, nb::str(dtype.name));
    nb::object found;
    try {
      found = numpy_dtype(scalar);
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_TypeError)) throw;
      continue;  // An ml_dtypes older than this dtype.
    }
    descriptors[static_cast<size_t>(dtype.xla)] = reinterpret_cast<PyArray_Descr*>(found.release().ptr());
  }
}

nb::tuple viewable_dtypes() {
  nb::list names;
  for (const Dtype& dtype : kDtypes) {
    if (is_viewable(dtype.xla)) names.append(nb::str(dtype.name));
  }
  return nb::tuple(names);
}

bool is_viewable(ffi::DataType dtype) { return descriptor(dtype) != nullptr; }

PyObject* new_view(ffi::DataType dtype, ffi::Span<const int64_t> dims, void* data, Access access) {
  static char nothing;  // NumPy allocates where data is null; an empty buffer may well be.
  static_assert(sizeof(npy_intp) == sizeof(int64_t), "the bridge needs a 64-bit platform");
  PyArray_Descr* type = descriptor(dtype);
  Py_INCREF(reinterpret_cast<PyObject*>(type));  // PyArray_NewFromDescr takes this reference.
  return PyArray_NewFromDescr(&PyArray_Type, type, static_cast<int>(dims.size()),
                              reinterpret_cast<const npy_intp*>(dims.begin()), nullptr, data ? data : &nothing,
                              access == Access::kWrite ? NPY_ARRAY_CARRAY : NPY_ARRAY_CARRAY_RO, nullptr);
}

}  // namespace jaxbind
