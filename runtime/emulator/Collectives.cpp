//===- Collectives.cpp - what a warp does together ------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "TensorCore.h"

using namespace polyattn::emulator;

void Block::execute(int warp) {
  switch (meetingOf(warp, 0).op) {
  case Meeting::Barrier: // completeBarrier
  case Meeting::ClusterBarrier:
    break;
  case Meeting::Sync:
    ++warps[warp].epoch;
    break;
  case Meeting::Ldmatrix:
    executeLdmatrix(warp);
    break;
  case Meeting::MmaSync:
    executeMmaSync(warp);
    break;
  case Meeting::Shuffle:
    executeShuffle(warp);
    break;
  case Meeting::Any:
    executeAny(warp);
    break;
  }
}

void Block::executeLdmatrix(int warp) {
  constexpr int kRows = 8;
  constexpr uint32_t kRowBytes = 16;
  const Meeting first = meetingOf(warp, 0);
  for (uint32_t i = 0; i < first.variant; ++i) {
    uint16_t matrix[kRows][8];
    uint64_t addresses[kWarpSize] = {};
    for (int row = 0; row < kRows; ++row) {
      int lane = int(i) * kRows + row, thread = warp * kWarpSize + lane;
      uint32_t address = meetingOf(warp, lane).value;
      addresses[row] = address;
      if (!checkShared(thread, first.site, address, kRowBytes)) {
        std::fill(matrix[row], matrix[row] + 8, 0xffff);
        continue;
      }
      report(shared.read(now(thread, first.site), address, kRowBytes, matrix[row]), thread,
             first.site, address, false);
    }
    int wavefronts = countWavefronts(addresses, 0xff, kRowBytes);
    interval.wavefronts += wavefronts;
    counters->addShared(first.site, wavefronts, 1);
    uint32_t registers[kWarpSize];
    distribute(matrix, first.detail, registers);
    for (int lane = 0; lane < kWarpSize; ++lane)
      meetingOf(warp, lane).registers[i] = registers[lane];
  }
}

void Block::executeMmaSync(int warp) {
  uint32_t kind = meetingOf(warp, 0).variant;
  const uint32_t *operands[kWarpSize];
  float *accumulators[kWarpSize];
  for (int lane = 0; lane < kWarpSize; ++lane) {
    operands[lane] = meetingOf(warp, lane).operands;
    accumulators[lane] = meetingOf(warp, lane).accumulators;
  }
  multiply(static_cast<OperandKind>(kind), operands, accumulators);
  ++counters->mma[kind];
  ++counters->at(meetingOf(warp, 0).site).mma;
  ++interval.mma[warp % Interval::kSubCores];
}

void Block::executeAny(int warp) {
  uint32_t any = 0;
  for (int lane = 0; lane < kWarpSize; ++lane)
    any |= meetingOf(warp, lane).value;
  for (int lane = 0; lane < kWarpSize; ++lane)
    meetingOf(warp, lane).value = any;
}

void Block::executeShuffle(int warp) {
  enum Mode { Xor, Index, Up };
  const Meeting first = meetingOf(warp, 0);
  uint32_t results[kWarpSize];
  for (int lane = 0; lane < kWarpSize; ++lane) {
    int distance = meetingOf(warp, lane).detail % kWarpSize;
    int from = first.variant == Xor     ? lane ^ distance
               : first.variant == Index ? distance
                                        : lane - distance;
    results[lane] = meetingOf(warp, from < 0 ? lane : from).value;
  }
  for (int lane = 0; lane < kWarpSize; ++lane)
    meetingOf(warp, lane).value = results[lane];
  // The values cross by the wires of shared memory.
  ++interval.wavefronts;
  counters->addShared(first.site, 1, 1);
}
