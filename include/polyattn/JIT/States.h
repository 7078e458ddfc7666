//===- States.h - states of segments that follow each other -----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_JIT_STATES_H
#define POLYATTN_JIT_STATES_H

#include "runtime/states.h"
#include "llvm/Support/Error.h"

namespace polyattn {

/// result = after + decay * before, of f32: the states of two segments of a sequence from those of
/// each alone. A null `decay` is 1, a null `after` 0. Nothing has been written upon failure.
llvm::Error combineStates(const polyattn_tensor *before, const polyattn_tensor *decay,
                          const polyattn_tensor *after, const polyattn_tensor *result);

} // namespace polyattn

#endif // POLYATTN_JIT_STATES_H
