//===- OldGlibc.cpp - what LLVM's archives ask of newer C libraries -------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <cstdint>
#include <sys/random.h>

/// glibc has it since 2.36, and Debian's archives call it; libpolyattn runs on 2.34. The version
/// script hides this one.
extern "C" uint32_t arc4random(void) noexcept {
  uint32_t number = 0;
  while (getentropy(&number, sizeof number) != 0) {
  }
  return number;
}
