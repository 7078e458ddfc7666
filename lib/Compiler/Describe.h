//===- Describe.h - the description of an entry before it is lowered -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_COMPILER_DESCRIBE_H
#define POLYATTN_LIB_COMPILER_DESCRIBE_H

#include "polyattn/Compiler/ChosenEntry.h"
#include "polyattn/Kernel/KernelDescription.h"

namespace polyattn {

/// Tensors and facts of an entry. Its stage still lacks what only the lowered function knows.
KernelDescription describeEntry(const Entry &entry);

} // namespace polyattn

#endif // POLYATTN_LIB_COMPILER_DESCRIBE_H
