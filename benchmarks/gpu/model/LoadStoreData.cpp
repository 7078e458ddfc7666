//===- LoadStoreData.cpp - numbers that memory instructions move ----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Failure.h"
#include "LoadStore.h"
#include "SharedMemory.h"
#include <algorithm>

using namespace polyattn::gpumodel;

/// The bytes of a CTA's shared memory at an address, which are checked to be there.
static uint8_t *sharedBytes(Warp &warp, const Instruction &instruction, uint64_t address,
                            int bytes) {
  // Generic addresses have the window of shared memory in their upper bits.
  uint64_t offset = (address & 0xffffff) - kSharedBegin;
  std::vector<uint8_t> &shared = warp.cta.shared;
  if ((address & 0xffffff) < kSharedBegin || offset + bytes > shared.size()) {
    char place[32];
    std::snprintf(place, sizeof(place), "%#llx", static_cast<unsigned long long>(address));
    throw Failure("instruction " + instruction.text + " accesses shared memory at " + place +
                  ", and the CTA has " + std::to_string(shared.size()) + " bytes after 0x400");
  }
  return shared.data() + offset;
}

static uint32_t extend(const Instruction &instruction, uint32_t value) {
  if (instruction.has(Modifier::S16))
    return static_cast<uint32_t>(static_cast<int16_t>(value));
  if (instruction.has(Modifier::S8))
    return static_cast<uint32_t>(static_cast<int8_t>(value));
  return value;
}

static int wordsOf(const Instruction &instruction) { return std::max(1, instruction.bytes / 4); }
static int bytesOfWord(const Instruction &instruction) { return std::min(4, instruction.bytes); }

void LoadStore::loadShared(Warp &warp, const Instruction &instruction, const WideLanes &addresses,
                           Mask mask) {
  for (int word = 0; word < wordsOf(instruction); ++word) {
    Lanes value{};
    for (int lane = 0; lane < kLanes; ++lane) {
      if (!isSet(mask, lane))
        continue;
      int bytes = bytesOfWord(instruction);
      uint32_t bits = 0;
      std::memcpy(&bits, sharedBytes(warp, instruction, addresses[lane] + 4 * word, bytes), bytes);
      value[lane] = extend(instruction, bits);
    }
    warp.registers.write(instruction.operands[0], value, mask, word);
  }
}

// Lane l gets the l % 4-th word of row l / 4. Transposed halves are not told apart.
void LoadStore::loadMatrix(Warp &warp, const Instruction &instruction, const WideLanes &addresses) {
  for (int matrix = 0; matrix < wordsOf(instruction); ++matrix) {
    Lanes value = eachLane([&](int lane) {
      uint64_t row = addresses[8 * matrix + lane / 4];
      uint32_t bits;
      std::memcpy(&bits, sharedBytes(warp, instruction, row + 4 * (lane % 4), 4), 4);
      return bits;
    });
    warp.registers.write(instruction.operands[0], value, kAllLanes, matrix);
  }
}

void LoadStore::storeShared(Warp &warp, const Instruction &instruction, const WideLanes &addresses,
                            Mask mask) {
  Operand source = instruction.operands.at(1);
  for (int word = 0; word < wordsOf(instruction); ++word) {
    Lanes value = warp.registers.raw(source);
    source.index += source.index != kZeroRegister;
    int bytes = bytesOfWord(instruction);
    for (int lane = 0; lane < kLanes; ++lane)
      if (isSet(mask, lane))
        std::memcpy(sharedBytes(warp, instruction, addresses[lane] + 4 * word, bytes), &value[lane],
                    bytes);
  }
}

void LoadStore::loadGlobal(Warp &warp, const Instruction &instruction, const WideLanes &addresses,
                           Mask mask) {
  bool isLocal = instruction.operation == Operation::LoadLocal;
  for (int word = 0; word < wordsOf(instruction); ++word) {
    Lanes value{};
    // Spilled registers come back as zeros.
    for (int lane = 0; lane < kLanes && !isLocal; ++lane)
      if (isSet(mask, lane))
        value[lane] =
            extend(instruction, launch.load(addresses[lane] + 4 * word, bytesOfWord(instruction)));
    warp.registers.write(instruction.operands[0], value, mask, word);
  }
}

void LoadStore::report(Warp &warp, const Instruction &instruction, const WideLanes &addresses,
                       Mask mask) {
  if (!mask || instruction.operation == Operation::StoreLocal)
    return;
  int lane = firstLane(mask);
  const Tensor *tensor = launch.find(addresses[lane]);
  if (!tensor || !tensor->isReported)
    return;
  statistics.reported[addresses[lane] - tensor->base] =
      warp.registers.raw(instruction.operands.at(1))[lane];
}
