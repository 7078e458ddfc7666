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

inline int32_t dtypeOf(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return POLYATTN_F32;
  case ElementType::F16:
    return POLYATTN_F16;
  case ElementType::BF16:
    return POLYATTN_BF16;
  case ElementType::I32:
    return POLYATTN_I32;
  case ElementType::I64:
    return POLYATTN_I64;
  }
  return 0;
}

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
