//===- LargeStack.h - room for programs that are deep ------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_SPEC_LARGESTACK_H
#define POLYATTN_SPEC_LARGESTACK_H

#include "llvm/ADT/STLFunctionalExtras.h"

namespace polyattn {

/// Runs `work` to its end on a thread whose stack holds any recursion over a spec of SpecLimits: a
/// program may be a chain of as many ops, and a caller's own stack as small as it likes. What
/// `work` throws is thrown here. Pages of the stack that are not touched take no memory.
void onLargeStack(llvm::function_ref<void()> work);

} // namespace polyattn

#endif // POLYATTN_SPEC_LARGESTACK_H
