//===- Exchange.h - DLPack's exchange API -----------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Since version 1.3 of DLPack an array's type may have functions in C beside __dlpack__, in a
// capsule __dlpack_c_exchange_api__. One of them describes an array in the caller's memory; a
// capsule of its own for each array takes ten times as long.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_PYTHON_SRC_EXCHANGE_H
#define POLYATTN_PYTHON_SRC_EXCHANGE_H

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace polyattn::python {

/// DLTensor of dlpack.h.
struct ExchangedTensor {
  void *data;
  struct {
    int32_t type, number;
  } device;
  int32_t rank;
  nanobind::dlpack::dtype dtype;
  int64_t *sizes, *strides;
  uint64_t byteOffset;
};

/// Describes `array`, of the type that has the function. What is described, shape and strides too,
/// lives as long as the array. -1 with Python's exception where it cannot.
using DescribeArray = int (*)(void *array, ExchangedTensor *tensor);

/// The function of an array type, or null where it has none, or one of another version.
DescribeArray describeFunctionOf(nanobind::handle type);

} // namespace polyattn::python

#endif // POLYATTN_PYTHON_SRC_EXCHANGE_H
