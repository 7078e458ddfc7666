//===- Arrays.cpp - Python's arrays as tensors ----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arrays.h"
#include "Imported.h"
#include <algorithm>
#include <unordered_map>

namespace nb = nanobind;
using namespace polyattn::python;

/// 0 where no tensor has such elements.
static int32_t dtypeOf(nb::dlpack::dtype type) {
  enum Code { Int = 0, Float = 2, BFloat = 4 };
  if (type.lanes != 1)
    return 0;
  auto is = [&](int code, int bits) { return type.code == code && type.bits == bits; };
  if (is(Float, 32))
    return POLYATTN_F32;
  if (is(Float, 16))
    return POLYATTN_F16;
  if (is(BFloat, 16))
    return POLYATTN_BF16;
  if (is(Float, 64))
    return POLYATTN_F64;
  if (is(Int, 32))
    return POLYATTN_I32;
  return is(Int, 64) ? POLYATTN_I64 : 0;
}

std::string polyattn::python::nameOf(const polyattn_tensor_info &info, const std::string &entry) {
  return entry + (info.is_result ? ": result '" : ": argument '") + info.name + "'";
}

static Imported numpyArray("numpy", "ndarray"), numpyEmpty("numpy", "empty");
static Imported numpyF16("numpy", "float16"), numpyF32("numpy", "float32"),
    numpyF64("numpy", "float64");
static Imported alignedEmpty("polyattn._arrays", "aligned_empty");
static Imported exporterOfType("polyattn._arrays", "exporter_of");
static Imported reinterpret("polyattn._arrays", "reinterpret"),
    refuse("polyattn._arrays", "refuse"), isImmutable("polyattn._arrays", "is_immutable");

bool polyattn::python::isNumpyArray(nb::handle object) {
  nb::handle type = numpyArray.get();
  return object.type().is(type) || PyObject_IsInstance(object.ptr(), type.ptr()) == 1;
}

nb::object polyattn::python::emptyNumpyArray(int32_t dtype, const std::vector<int64_t> &shape) {
  nb::object sizes = nb::steal(PyTuple_New(Py_ssize_t(shape.size())));
  for (size_t i = 0; i < shape.size(); ++i)
    PyTuple_SetItem(sizes.ptr(), Py_ssize_t(i), PyLong_FromLongLong(shape[i]));
  Imported &element = dtype == POLYATTN_F16   ? numpyF16
                      : dtype == POLYATTN_F64 ? numpyF64
                                              : numpyF32;
  // What begins on a cache line takes 3 us to make, which small arrays do not earn.
  constexpr int64_t large = 1 << 18;
  int64_t count = 1;
  for (int64_t size : shape)
    if (__builtin_mul_overflow(count, size, &count))
      count = large;
  return (count < large ? numpyEmpty : alignedEmpty)(sizes, element.get());
}

/// False where the memory is another device's, or no tensor has such elements.
static bool describe(const ExchangedTensor &array, int gpu, polyattn_tensor &tensor) {
  bool isThere = gpu < 0
                     ? array.device.type == nb::device::cpu::value
                     : array.device.type == nb::device::cuda::value && array.device.number == gpu;
  int32_t dtype = dtypeOf(array.dtype);
  if (!isThere || !dtype || array.rank > POLYATTN_MAX_RANK)
    return false;
  tensor.data = static_cast<char *>(array.data) + array.byteOffset;
  tensor.dtype = dtype;
  tensor.rank = array.rank;
  std::copy_n(array.sizes, array.rank, tensor.sizes);
  std::copy_n(array.strides, array.rank, tensor.strides);
  return true;
}

template <typename Array> bool ArrayView::tryImport(nb::handle object, Array &array, int gpu) {
  if (!nb::try_cast<Array>(object, array))
    return false;
  return describe({const_cast<void *>(static_cast<const void *>(array.data())),
                   {array.device_type(), array.device_id()},
                   int32_t(array.ndim()),
                   array.dtype(),
                   const_cast<int64_t *>(array.shape_ptr()),
                   const_cast<int64_t *>(array.stride_ptr()),
                   /*byteOffset=*/0},
                  gpu, tensor);
}

namespace {
/// What makes arrays of a type faster to read than their __dlpack__ does.
struct ArrayType {
  nb::handle exporter;              // makes a capsule; None for most
  DescribeArray describe = nullptr; // needs no capsule; of types that have an exporter
};
} // namespace

static ArrayType arrayTypeOf(nb::handle object) {
  static auto &known = *new std::unordered_map<PyObject *, ArrayType>();
  nb::handle type = object.type();
  if (auto place = known.find(type.ptr()); place != known.end())
    return place->second;
  ArrayType found;
  found.exporter = exporterOfType(type).release();
  if (!found.exporter.is_none())
    found.describe = describeFunctionOf(type);
  type.inc_ref(); // another type at its address would be taken for it
  return known[type.ptr()] = found;
}

/// Whether a tensor of PyTorch stands for its negated memory.
static bool isNegated(nb::handle tensor) {
  static PyObject *const name = PyUnicode_InternFromString("is_neg");
  nb::object answer = nb::steal(PyObject_CallMethodObjArgs(tensor.ptr(), name, nullptr));
  if (!answer.is_valid())
    nb::raise_python_error();
  return answer.ptr() != Py_False;
}

/// A tensor of PyTorch whose function is known.
static bool tryDescribe(nb::handle object, DescribeArray function, int gpu,
                        polyattn_tensor &tensor) {
  ExchangedTensor array;
  if (isNegated(object))
    return false;
  if (function(object.ptr(), &array) == 0)
    return describe(array, gpu, tensor);
  PyErr_Clear();
  return false;
}

bool polyattn::python::describePlainTensor(nb::handle object, polyattn_tensor &tensor) {
  DescribeArray function = isNumpyArray(object) ? nullptr : arrayTypeOf(object).describe;
  if (!function || !tryDescribe(object, function, /*gpu=*/-1, tensor))
    return false;
  return tensor.rank == 0 || tensor.strides[tensor.rank - 1] == 1;
}

/// Whether it is a tensor whose gradients somebody wants, who would lose them without a word.
static bool requiresGradient(nb::handle object) {
  static PyObject *const name = PyUnicode_InternFromString("requires_grad");
  nb::object answer = nb::steal(PyObject_GetAttr(object.ptr(), name));
  PyErr_Clear();
  return answer.is_valid() && PyObject_IsTrue(answer.ptr()) == 1;
}

void ArrayView::import(nb::handle object, const polyattn_tensor_info &info,
                       const std::string &entry, int gpu) {
  auto attempt = [&](nb::handle array) {
    return info.is_result ? tryImport(array, writable, gpu) : tryImport(array, readable, gpu);
  };
  bool isNumpy = isNumpyArray(object);
  ArrayType type = isNumpy ? ArrayType() : arrayTypeOf(object);
  nb::handle exporter = type.exporter;
  bool isKnown = isNumpy || !exporter.is_none();
  if (info.is_result && !isKnown && nb::cast<bool>(isImmutable(object)))
    refuse(object, nameOf(info, entry), true, gpu);
  bool isDifferentiated = !isNumpy && requiresGradient(object);
  if (type.describe && !isDifferentiated && tryDescribe(object, type.describe, gpu, tensor))
    return;
  // An exporter that gives None knows a reason why nothing may read the array's memory.
  bool hasExporter = exporter && !exporter.is_none();
  nb::object capsule = hasExporter && !isDifferentiated ? exporter(object) : nb::none();
  bool isReadable = !isDifferentiated && !(hasExporter && capsule.is_none());
  if (isReadable && attempt(hasExporter ? capsule : nb::handle(object)))
    return;
  PyErr_Clear();
  // Either another array over the same memory, whose elements really are bf16, or an exception that
  // says why there is none.
  std::string who = nameOf(info, entry);
  nb::object found = reinterpret(object, who, info.is_result != 0, isDifferentiated, gpu);
  if (!attempt(found)) {
    PyErr_Clear();
    refuse(object, who, info.is_result != 0, gpu);
  }
  tensor.dtype = POLYATTN_BF16;
}
