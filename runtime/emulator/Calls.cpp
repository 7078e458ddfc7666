//===- Calls.cpp - what compiled kernels call -----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Calls.h"
#include "Block.h"
#include "Formats.h"
#include "TensorCore.h"

using namespace polyattn::emulator;

uint32_t polyattn_emu_thread_id() { return Block::current().getThread(); }
uint32_t polyattn_emu_lane_id() { return Block::current().getThread() % kWarpSize; }
uint32_t polyattn_emu_warp_id() { return Block::current().getThread() / kWarpSize; }
uint32_t polyattn_emu_program_id() { return uint32_t(Block::current().getProgram()); }
uint32_t polyattn_emu_cluster_rank() { return uint32_t(Block::current().getRank()); }

void polyattn_emu_barrier(uint32_t site) {
  Meeting meeting = {Meeting::Barrier, site};
  Block::current().meet(meeting);
}
void polyattn_emu_cluster_barrier(uint32_t site) {
  Meeting meeting = {Meeting::ClusterBarrier, site};
  Block::current().meet(meeting);
}
void polyattn_emu_sync(uint32_t site) {
  Meeting meeting = {Meeting::Sync, site};
  Block::current().meet(meeting);
}

void polyattn_emu_load_shared(uint32_t site, uint32_t address, uint32_t bytes, void *result) {
  Block::current().loadShared(site, address, bytes, result);
}
void polyattn_emu_load_cluster(uint32_t site, uint32_t address, uint32_t rank, uint32_t bytes,
                               void *result) {
  Block::current().loadCluster(site, address, rank, bytes, result);
}
void polyattn_emu_store_shared(uint32_t site, uint32_t address, uint32_t bytes, const void *value) {
  Block::current().storeShared(site, address, bytes, value);
}
void polyattn_emu_load_global(uint32_t site, uint64_t address, uint32_t bytes, uint32_t readOnly,
                              void *result) {
  Block::current().loadGlobal(site, address, bytes, readOnly != 0, result);
}
void polyattn_emu_store_global(uint32_t site, uint64_t address, uint32_t bytes, const void *value) {
  Block::current().storeGlobal(site, address, bytes, value);
}
void polyattn_emu_copy_async(uint32_t site, uint64_t source, uint32_t address, uint32_t bytes,
                             uint32_t size) {
  Block::current().copyAsync(site, source, address, bytes, size);
}
void polyattn_emu_commit_copies() { Block::current().commitCopies(); }
void polyattn_emu_wait_copies(uint32_t pending) { Block::current().waitCopies(pending); }

void polyattn_emu_ldmatrix(uint32_t site, uint32_t address, uint32_t count, uint32_t transposed,
                           uint32_t *registers) {
  Meeting meeting = {Meeting::Ldmatrix, site};
  meeting.variant = count;
  meeting.detail = transposed;
  meeting.value = address;
  meeting.registers = registers;
  Block::current().meet(meeting);
}

void polyattn_emu_mma_sync(uint32_t site, uint32_t kind, const uint32_t *operands,
                           float *accumulators) {
  Meeting meeting = {Meeting::MmaSync, site};
  meeting.variant = kind;
  meeting.operands = operands;
  meeting.accumulators = accumulators;
  Block::current().meet(meeting);
}

uint32_t polyattn_emu_shuffle(uint32_t site, uint32_t mode, uint32_t lane, uint32_t value) {
  Meeting meeting = {Meeting::Shuffle, site};
  meeting.variant = mode;
  meeting.detail = lane;
  meeting.value = value;
  Block::current().meet(meeting);
  return meeting.value;
}

uint32_t polyattn_emu_any(uint32_t site, uint32_t condition) {
  Meeting meeting = {Meeting::Any, site};
  meeting.value = condition;
  Block::current().meet(meeting);
  return meeting.value;
}

uint32_t polyattn_emu_check_index(uint32_t site, uint32_t index, uint32_t count) {
  return Block::current().checkIndex(site, index, count);
}

uint32_t polyattn_emu_pack(uint32_t kind, float low, float high) {
  if (static_cast<OperandKind>(kind) == OperandKind::BF16)
    return bf16OfFloat(low) | uint32_t(bf16OfFloat(high)) << 16;
  return f16OfFloat(low) | uint32_t(f16OfFloat(high)) << 16;
}

uint32_t polyattn_emu_multiply_pairs(uint32_t a, uint32_t b) {
  auto product = [](uint32_t x, uint32_t y) -> uint32_t {
    return bf16OfFloat(floatOfBF16(uint16_t(x)) * floatOfBF16(uint16_t(y)));
  };
  return product(a, b) | product(a >> 16, b >> 16) << 16;
}

float polyattn_emu_round_tf32(float value) { return roundToTF32(value); }

// Compiled code passes a 16-bit number in the low half of a vector register, as it does a float.
static float truncateToBF16(float value) { return floatOfBits(bf16OfFloat(value)); }
static float truncateToF16(float value) { return floatOfBits(f16OfFloat(value)); }
static float extendF16(float value) { return floatOfF16(uint16_t(bitsOfFloat(value))); }

template <typename Function> static void *addressOf(Function *function) {
  return reinterpret_cast<void *>(function);
}

const std::vector<std::pair<const char *, void *>> &polyattn::emulator::getCalls() {
  static const std::vector<std::pair<const char *, void *>> calls = {
      {"polyattn_emu_thread_id", addressOf(polyattn_emu_thread_id)},
      {"polyattn_emu_lane_id", addressOf(polyattn_emu_lane_id)},
      {"polyattn_emu_warp_id", addressOf(polyattn_emu_warp_id)},
      {"polyattn_emu_program_id", addressOf(polyattn_emu_program_id)},
      {"polyattn_emu_cluster_rank", addressOf(polyattn_emu_cluster_rank)},
      {"polyattn_emu_cluster_barrier", addressOf(polyattn_emu_cluster_barrier)},
      {"polyattn_emu_load_cluster", addressOf(polyattn_emu_load_cluster)},
      {"polyattn_emu_barrier", addressOf(polyattn_emu_barrier)},
      {"polyattn_emu_sync", addressOf(polyattn_emu_sync)},
      {"polyattn_emu_load_shared", addressOf(polyattn_emu_load_shared)},
      {"polyattn_emu_store_shared", addressOf(polyattn_emu_store_shared)},
      {"polyattn_emu_load_global", addressOf(polyattn_emu_load_global)},
      {"polyattn_emu_store_global", addressOf(polyattn_emu_store_global)},
      {"polyattn_emu_copy_async", addressOf(polyattn_emu_copy_async)},
      {"polyattn_emu_commit_copies", addressOf(polyattn_emu_commit_copies)},
      {"polyattn_emu_wait_copies", addressOf(polyattn_emu_wait_copies)},
      {"polyattn_emu_ldmatrix", addressOf(polyattn_emu_ldmatrix)},
      {"polyattn_emu_mma_sync", addressOf(polyattn_emu_mma_sync)},
      {"polyattn_emu_shuffle", addressOf(polyattn_emu_shuffle)},
      {"polyattn_emu_any", addressOf(polyattn_emu_any)},
      {"polyattn_emu_check_index", addressOf(polyattn_emu_check_index)},
      {"polyattn_emu_pack", addressOf(polyattn_emu_pack)},
      {"polyattn_emu_multiply_pairs", addressOf(polyattn_emu_multiply_pairs)},
      {"polyattn_emu_round_tf32", addressOf(polyattn_emu_round_tf32)},
      {"__truncsfbf2", addressOf(truncateToBF16)},
      {"__truncsfhf2", addressOf(truncateToF16)},
      {"__extendhfsf2", addressOf(extendF16)},
  };
  return calls;
}
