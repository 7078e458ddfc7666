//===- Messages.h - findings in words ---------------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_EMULATOR_MESSAGES_H
#define POLYATTN_LIB_EMULATOR_MESSAGES_H

#include "polyattn/Emulator/EmulatedKernel.h"

namespace polyattn {

/// A range of global memory with a name.
struct NamedRange {
  std::string name;
  uint64_t address, bytes;
};

/// One line: where, what, who and with whom.
std::string describeFinding(const emulator::Finding &finding, llvm::ArrayRef<EmulatedSite> sites,
                            llvm::ArrayRef<NamedRange> ranges);

} // namespace polyattn

#endif // POLYATTN_LIB_EMULATOR_MESSAGES_H
