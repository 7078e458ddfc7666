//===- TensorView.h - host tensors as the runtime sees them -----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_DRIVER_TENSORVIEW_H
#define POLYATTN_LIB_DRIVER_TENSORVIEW_H

#include "polyattn-c/tensor.h"
#include "polyattn/Entry/HostTensor.h"

namespace polyattn::driver {

inline polyattn_tensor viewOf(const HostTensor &tensor) {
  polyattn_tensor view = {};
  view.data = tensor.data;
  view.rank = tensor.rank();
  view.dtype = dtypeOf(tensor.type);
  llvm::copy(tensor.sizes, view.sizes);
  llvm::copy(tensor.strides, view.strides);
  return view;
}

} // namespace polyattn::driver

#endif // POLYATTN_LIB_DRIVER_TENSORVIEW_H
