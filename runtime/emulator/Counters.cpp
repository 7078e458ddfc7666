//===- Counters.cpp - what a run costs ------------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Counters.h"
#include <algorithm>

using namespace polyattn::emulator;

// 2048 multiply-adds of a bf16 product: sm_80 does 256 of them a clock in each of four sub-cores.
// sm_86 and sm_89 do 64 where the sums are f32. sm_90 does 512 by wgmma, of which mma.sync
// reaches 62%.
static const Chip kChips[] = {{"sm_80", 8, 1024},
                              {"sm_86", 32, 256},
                              {"sm_89", 32, 256},
                              {"sm_90", 6.45, 2048},
                              {nullptr, 0, 0}};

const Chip *polyattn::emulator::getChips() { return kChips; }

void Counters::add(const Counters &other) {
  for (int kind = 0; kind < kKinds; ++kind)
    mma[kind] += other.mma[kind];
  sharedWavefronts += other.sharedWavefronts;
  idealSharedWavefronts += other.idealSharedWavefronts;
  clusterBytesRead += other.clusterBytesRead;
  globalBytesRead += other.globalBytesRead;
  globalBytesWritten += other.globalBytesWritten;
  globalSectorsRead += other.globalSectorsRead;
  globalSectorsWritten += other.globalSectorsWritten;
  barriers += other.barriers;
  tensorClocks += other.tensorClocks;
  sharedClocks += other.sharedClocks;
  predictedClocks += other.predictedClocks;
  for (uint32_t site = 0; site < other.sites.size(); ++site)
    at(site).add(other.sites[site]);
}

double Interval::end(const Chip &chip, Counters &counters) {
  double tensor = chip.mmaClocks * *std::max_element(mma, mma + kSubCores);
  double shared = wavefronts;
  counters.tensorClocks += tensor;
  counters.sharedClocks += shared;
  counters.predictedClocks += std::max(tensor, shared);
  *this = Interval();
  return std::max(tensor, shared);
}
