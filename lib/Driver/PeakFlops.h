//===- PeakFlops.h - what the machine can do ------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_DRIVER_PEAKFLOPS_H
#define POLYATTN_LIB_DRIVER_PEAKFLOPS_H

#include <cstdint>

namespace polyattn::driver {

/// Floating-point operations per second of a loop of independent multiply-adds in registers, on so
/// many threads at once, for about so long. They are of f32, with the widest vectors that the
/// machine has, of at most `lanes` lanes, or `inPairs` of bf16 where it multiplies such.
double measurePeakFlops(int threads, double seconds, int64_t lanes, bool inPairs);

/// `avx512bf16`, `avx512`, `avx2` or `generic`: the instructions that measurePeakFlops uses.
const char *peakInstructionSet(int64_t lanes, bool inPairs);

} // namespace polyattn::driver

#endif // POLYATTN_LIB_DRIVER_PEAKFLOPS_H
