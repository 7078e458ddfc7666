//===- Calls.h - what compiled kernels call ---------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function for each op of the warp dialect; --warp-to-emulator emits the calls. `site` is the
// op's number. Values and results of memory lie where a pointer points, whatever their type.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_RUNTIME_EMULATOR_CALLS_H
#define POLYATTN_RUNTIME_EMULATOR_CALLS_H

#include <cstdint>
#include <utility>
#include <vector>

extern "C" {
uint32_t polyattn_emu_thread_id();
uint32_t polyattn_emu_lane_id();
uint32_t polyattn_emu_warp_id();
uint32_t polyattn_emu_program_id();
uint32_t polyattn_emu_cluster_rank();
void polyattn_emu_barrier(uint32_t site);
void polyattn_emu_cluster_barrier(uint32_t site);
void polyattn_emu_sync(uint32_t site);
void polyattn_emu_load_shared(uint32_t site, uint32_t address, uint32_t bytes, void *result);
void polyattn_emu_load_cluster(uint32_t site, uint32_t address, uint32_t rank, uint32_t bytes,
                               void *result);
void polyattn_emu_store_shared(uint32_t site, uint32_t address, uint32_t bytes, const void *value);
void polyattn_emu_load_global(uint32_t site, uint64_t address, uint32_t bytes, uint32_t readOnly,
                              void *result);
void polyattn_emu_store_global(uint32_t site, uint64_t address, uint32_t bytes, const void *value);
void polyattn_emu_copy_async(uint32_t site, uint64_t source, uint32_t address, uint32_t bytes,
                             uint32_t size);
void polyattn_emu_commit_copies();
void polyattn_emu_wait_copies(uint32_t pending);
void polyattn_emu_ldmatrix(uint32_t site, uint32_t address, uint32_t count, uint32_t transposed,
                           uint32_t *registers);
/// Six operands, and four accumulators that are replaced.
void polyattn_emu_mma_sync(uint32_t site, uint32_t kind, const uint32_t *operands,
                           float *accumulators);
uint32_t polyattn_emu_shuffle(uint32_t site, uint32_t mode, uint32_t lane, uint32_t value);
/// 1 where any lane's condition is 1, else 0.
uint32_t polyattn_emu_any(uint32_t site, uint32_t condition);
/// The index, if it is below `count`, else a finding and 0.
uint32_t polyattn_emu_check_index(uint32_t site, uint32_t index, uint32_t count);
uint32_t polyattn_emu_pack(uint32_t kind, float low, float high);
uint32_t polyattn_emu_multiply_pairs(uint32_t a, uint32_t b);
float polyattn_emu_round_tf32(float value);
}

namespace polyattn::emulator {

/// The functions above by their names, and those that the host's code generator calls for 16-bit
/// numbers.
const std::vector<std::pair<const char *, void *>> &getCalls();

} // namespace polyattn::emulator

#endif // POLYATTN_RUNTIME_EMULATOR_CALLS_H
