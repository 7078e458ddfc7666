//===- LoadStore.cpp - times of memory instructions -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoadStore.h"
#include "SharedMemory.h"
#include <algorithm>

using namespace polyattn::gpumodel;

bool LoadStore::takes(Operation operation) {
  switch (operation) {
  case Operation::Shuffle:
  case Operation::LoadShared:
  case Operation::LoadMatrix:
  case Operation::StoreShared:
  case Operation::LoadGlobal:
  case Operation::StoreGlobal:
  case Operation::CopyGlobal:
  case Operation::LoadLocal:
  case Operation::StoreLocal:
  case Operation::LoadRemote:
    return true;
  default:
    return false;
  }
}

Clock LoadStore::enter(Warp &warp, double waves, Clock at, Multiprocessor &multiprocessor) {
  Clock start = std::max(at + machine.lsuIssueLatency, multiprocessor.loadStoreFree);
  multiprocessor.loadStoreFree = start + waves;
  SubCore &subCore = multiprocessor.subCoreOf(warp);
  subCore.loadStoreQueue.push_back(start);
  while (subCore.loadStoreQueue.size() > static_cast<size_t>(machine.lsuQueue))
    subCore.loadStoreQueue.pop_front();
  return start;
}

double LoadStore::sharedLatency(const Instruction &instruction) const {
  if (instruction.operation == Operation::LoadMatrix)
    return machine.ldsmLatency;
  return instruction.bytes == 16  ? machine.lds128Latency
         : instruction.bytes == 8 ? machine.lds64Latency
                                  : machine.ldsLatency;
}

Completion LoadStore::shared(Warp &warp, const Instruction &instruction, Mask mask, Clock at,
                             Multiprocessor &multiprocessor) {
  bool isStore = instruction.operation == Operation::StoreShared;
  bool isMatrix = instruction.operation == Operation::LoadMatrix;
  WideLanes addresses = warp.registers.addresses(instruction.operands.at(!isStore));
  // Eight lanes have the rows of a matrix, 16 bytes each.
  int rows = instruction.bytes / 4 * 8;
  Mask lanes = !isMatrix ? mask : rows == kLanes ? kAllLanes : (Mask(1) << rows) - 1;
  int bytes = isMatrix ? 16 : instruction.bytes;
  double waves = whatIf.noConflicts ? std::max(1, bytes * kLanes / kLineBytes)
                                    : wavefronts(addresses, lanes, bytes);
  ++statistics.sharedAccesses;
  statistics.sharedWavefronts += static_cast<uint64_t>(waves);
  Clock start = enter(warp, waves, at, multiprocessor);
  if (isStore) {
    storeShared(warp, instruction, addresses, mask);
    Clock read = start + waves + machine.stsReadLatency;
    return {{read, Cause::OperandsRead}, read};
  }
  if (!isMatrix)
    loadShared(warp, instruction, addresses, mask);
  else if (mask)
    loadMatrix(warp, instruction, addresses);
  return {{start + waves - 1 + sharedLatency(instruction), Cause::SharedMemory},
          start + machine.lsuReadLatency};
}

Completion LoadStore::remote(Warp &warp, const Instruction &instruction, Mask mask, Clock at,
                             Multiprocessor &multiprocessor) {
  Clock start =
      std::max(enter(warp, machine.remoteWaves, at, multiprocessor), multiprocessor.remoteFree);
  multiprocessor.remoteFree = start + instruction.bytes * kLanes / machine.remoteBytesPerClock;
  Lanes value;
  value.fill(launch.load(0, 4));
  for (int word = 0; word < std::max(1, instruction.bytes / 4); ++word)
    warp.registers.write(instruction.operands.at(0), value, mask, word);
  return {{multiprocessor.remoteFree + machine.remoteLatency, Cause::RemoteShared},
          start + machine.lsuReadLatency};
}

/// Each lane of a CTA has its own local memory, of which a warp's words lie side by side.
WideLanes LoadStore::localAddresses(const Warp &warp, WideLanes addresses) const {
  uint64_t base = 0x700000000000u +
                  (static_cast<uint64_t>(warp.cta.id * launch.warps + warp.identity.warp) << 24);
  for (int lane = 0; lane < kLanes; ++lane)
    addresses[lane] = base + (addresses[lane] & 0xffff) / 4 * kLineBytes + 4 * lane;
  return addresses;
}

/// The sectors of 32 bytes that lanes touch, in order, each once.
static std::vector<uint64_t> sectorsOf(const WideLanes &addresses, Mask mask, int bytes) {
  std::vector<uint64_t> sectors;
  for (int lane = 0; lane < kLanes; ++lane)
    if (isSet(mask, lane))
      for (uint64_t sector = addresses[lane] / kSectorBytes;
           sector <= (addresses[lane] + bytes - 1) / kSectorBytes; ++sector)
        sectors.push_back(sector);
  std::sort(sectors.begin(), sectors.end());
  sectors.erase(std::unique(sectors.begin(), sectors.end()), sectors.end());
  return sectors;
}

static int countLines(const std::vector<uint64_t> &sectors) {
  int lines = 0;
  uint64_t last = ~uint64_t(0);
  for (uint64_t sector : sectors) {
    uint64_t line = sector / (kLineBytes / kSectorBytes);
    lines += line != last;
    last = line;
  }
  return lines;
}

/// Loads that see the stores of other multiprocessors, which the first-level cache does not.
static bool isCoherent(const Instruction &instruction) {
  return instruction.has(Modifier::STRONG) && !instruction.hasText("SM");
}

Completion LoadStore::global(Warp &warp, const Instruction &instruction, Mask mask, Clock at,
                             Multiprocessor &multiprocessor) {
  Operation operation = instruction.operation;
  bool isLocal = operation == Operation::LoadLocal || operation == Operation::StoreLocal;
  bool isStore = operation == Operation::StoreGlobal || operation == Operation::StoreLocal;
  bool isCopy = operation == Operation::CopyGlobal;
  const std::vector<Operand> &operands = instruction.operands;
  WideLanes addresses = warp.registers.addresses(operands.at(!isStore));
  if (isLocal)
    addresses = localAddresses(warp, addresses);
  double width = mask ? instruction.bytes * kLanes / static_cast<double>(kLineBytes) : 0;
  // The predicate of a copy says which lanes read; the others write zeros.
  if (isCopy && operands.size() > 2 && operands[2].kind == OperandKind::Predicate)
    mask &= warp.registers.predicate(operands[2]);
  std::vector<uint64_t> sectors = sectorsOf(addresses, mask, instruction.bytes);
  double waves = std::max({1.0, countLines(sectors) * machine.l1LineWaves, width});
  Clock start = enter(warp, waves, at, multiprocessor);
  Clock read = start + machine.lsuReadLatency;
  statistics.localAccesses += isLocal;
  if (isStore) {
    statistics.stores += !isLocal;
    report(warp, instruction, addresses, mask);
    Clock last = start;
    for (uint64_t sector : sectors)
      last = memory.write(multiprocessor, sector, last);
    read = std::max(read, last);
    return {{read, Cause::OperandsRead}, read};
  }
  bool throughL1 = !(isCopy && instruction.has(Modifier::BYPASS)) && !isCoherent(instruction);
  Event arrival{start + machine.l1Latency, Cause::L1};
  for (uint64_t sector : sectors)
    if (Event event = memory.read(multiprocessor, sector, start, throughL1); event.at > arrival.at)
      arrival = event;
  if (isCopy) {
    ++statistics.copies;
    multiprocessor.loadStoreFree +=
        instruction.bytes * kLanes / static_cast<double>(kLineBytes) * machine.copyWriteWaves;
    warp.openCopies = std::max(warp.openCopies, arrival.at + machine.copyExtraLatency);
    return {{read, Cause::OperandsRead}, read};
  }
  statistics.loads += !isLocal;
  loadGlobal(warp, instruction, addresses, mask);
  return {arrival, read};
}

Completion LoadStore::issue(Warp &warp, const Instruction &instruction, Mask mask, Clock at,
                            Multiprocessor &multiprocessor) {
  multiprocessor.subCoreOf(warp).pipe(Pipe::LoadStore) = at + machine.lsuInterval;
  switch (instruction.operation) {
  case Operation::Shuffle: {
    Clock start = enter(warp, machine.shuffleWaves, at, multiprocessor);
    executeShuffle(instruction, warp.registers, mask);
    return {{start + machine.shuffleLatency, Cause::Shuffle}, start + machine.lsuReadLatency};
  }
  case Operation::LoadShared:
  case Operation::LoadMatrix:
  case Operation::StoreShared:
    return shared(warp, instruction, mask, at, multiprocessor);
  case Operation::LoadRemote:
    return remote(warp, instruction, mask, at, multiprocessor);
  default:
    return global(warp, instruction, mask, at, multiprocessor);
  }
}
