//===- SharedMemory.h - banks of shared memory ------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef POLYATTN_BENCHMARKS_GPU_MODEL_SHAREDMEMORY_H
#define POLYATTN_BENCHMARKS_GPU_MODEL_SHAREDMEMORY_H

#include "Lanes.h"

namespace polyattn::gpumodel {

/// Addresses of shared memory start here: the first bytes belong to the system.
constexpr uint32_t kSharedBegin = 0x400;

/// How often the 32 banks of four bytes are read or written for one access. Lanes that share a word
/// share a wavefront; 8 bytes go by half a warp, and 16 bytes by a quarter.
int wavefronts(const WideLanes &addresses, Mask mask, int bytes);

} // namespace polyattn::gpumodel

#endif // POLYATTN_BENCHMARKS_GPU_MODEL_SHAREDMEMORY_H
