//===- States.cpp - states of segments that follow each other -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/JIT/States.h"

llvm::Error polyattn::combineStates(const polyattn_tensor *before, const polyattn_tensor *decay,
                                    const polyattn_tensor *after, const polyattn_tensor *result) {
  char message[256];
  if (polyattn_rt_combine_states(before, decay, after, result, message, sizeof message) != 0)
    return llvm::createStringError(message);
  return llvm::Error::success();
}
