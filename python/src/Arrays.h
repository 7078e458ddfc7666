//===- Arrays.h - Python's arrays as tensors --------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_PYTHON_SRC_ARRAYS_H
#define POLYATTN_PYTHON_SRC_ARRAYS_H

#include "Exchange.h"
#include "polyattn-c/polyattn.h"
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <string>
#include <vector>

namespace polyattn::python {

/// An array of the caller's, held for as long as a call runs.
class ArrayView {
public:
  /// Raises CallError where the object is no array that a call can read, or for a result write.
  /// `gpu` is the number of the GPU in whose memory it is expected, negative for the processor's.
  void import(nanobind::handle object, const polyattn_tensor_info &info, const std::string &entry,
              int gpu);
  const polyattn_tensor &get() const { return tensor; }

private:
  // What cannot be written is as good an argument as others: JAX's arrays, many views of NumPy's.
  using Readable = nanobind::ndarray<nanobind::ro>;
  using Writable = nanobind::ndarray<>;

  template <typename Array> bool tryImport(nanobind::handle object, Array &array, int gpu);
  polyattn_tensor tensor = {};
  // One of these: what an object exports may live as long as the export only.
  Readable readable;
  Writable writable;
};

/// "linear: argument 'q'"
std::string nameOf(const polyattn_tensor_info &info, const std::string &entry);

/// The tensor over the memory of a tensor of PyTorch, where that is all there is to it: of no
/// subclass, its numbers in the processor's memory as a kernel reads them. Nobody is asked whether
/// gradients are wanted, or which transforms are on. False, and no exception, where it is anything
/// else.
bool describePlainTensor(nanobind::handle object, polyattn_tensor &tensor);

/// Whether the object is an array of NumPy's.
bool isNumpyArray(nanobind::handle object);

/// A new array of NumPy's. `dtype` is f32, f16 or f64.
nanobind::object emptyNumpyArray(int32_t dtype, const std::vector<int64_t> &shape);

} // namespace polyattn::python

#endif // POLYATTN_PYTHON_SRC_ARRAYS_H
