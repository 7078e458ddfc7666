//===- Errors.h - the runtime's errors as ours ------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CUDA_ERRORS_H
#define POLYATTN_LIB_CUDA_ERRORS_H

#include "llvm/Support/Error.h"

namespace polyattn {

/// Room for what a function of the runtime writes where it fails.
struct CUDAError {
  char text[3072] = "";
  llvm::Error take() const { return llvm::createStringError(llvm::Twine(text)); }
};

} // namespace polyattn

#endif // POLYATTN_LIB_CUDA_ERRORS_H
