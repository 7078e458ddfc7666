//===- Launch.cpp - reads a launch ----------------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include "Failure.h"
#include "TextLine.h"
#include <algorithm>
#include <sstream>

using namespace polyattn::gpumodel;

const Tensor *Launch::find(uint64_t address) const {
  for (const Tensor &tensor : tensors)
    if (tensor.contains(address))
      return &tensor;
  return nullptr;
}

/// The byte of a chain at an address.
static uint8_t chainByte(const Tensor &tensor, uint64_t address) {
  uint64_t cell = address & ~uint64_t(7);
  uint64_t next = tensor.base + (cell - tensor.base + tensor.step) % tensor.bytes;
  return static_cast<uint8_t>(next >> 8 * (address - cell));
}

uint32_t Launch::load(uint64_t address, int size) const {
  const Tensor *tensor = find(address);
  uint32_t kept = size >= 4 ? ~0u : (1u << 8 * size) - 1;
  if (!tensor || (tensor->data.empty() && tensor->content == Content::Constant))
    return 0x3d803d80u & kept; // 1/16 in bf16, and nearly so in f32
  if (tensor->data.empty() && tensor->content == Content::Zeros)
    return 0;
  uint32_t word = 0;
  for (int k = 0; k < std::min(size, 4); ++k) {
    uint64_t offset = address + k - tensor->base;
    uint32_t byte = tensor->data.empty()           ? chainByte(*tensor, address + k)
                    : offset < tensor->data.size() ? tensor->data[offset]
                                                   : 0;
    word |= byte << 8 * k;
  }
  return word;
}

static Tensor readTensor(TextLine &line) {
  Tensor tensor;
  tensor.base = line.integer("an address");
  tensor.bytes = line.integer("a number of bytes");
  while (!line.ended()) {
    std::string word = line.word("a place or a content");
    if (word == "memory")
      tensor.place = Place::DeviceMemory;
    else if (word == "l2")
      tensor.place = Place::L2;
    else if (word == "workspace")
      tensor.place = Place::Workspace;
    else if (word == "zeros")
      tensor.content = Content::Zeros;
    else if (word == "reported")
      tensor.isReported = true;
    else if (word == "data")
      tensor.data = line.bytes();
    else if (word == "chain") {
      tensor.content = Content::Chain;
      tensor.step = line.integer("bytes of a step");
    } else
      line.fail("unknown place or content '" + word + "'");
  }
  if (tensor.bytes == 0)
    line.fail("a tensor has no bytes");
  return tensor;
}

static void readConstant(TextLine &line, Launch &launch) {
  int bank = static_cast<int>(line.integer("a constant bank", 7));
  auto offset = static_cast<uint32_t>(line.integer("an offset", 1 << 16));
  int bits = static_cast<int>(line.integer("32 or 64", 64));
  uint64_t value = line.integer("a value");
  launch.constants.set(bank, offset, &value, bits == 32 ? 4 : 8);
}

/// Keywords with one number, and the largest one.
static bool readCount(TextLine &line, const std::string &keyword, Launch &launch) {
  struct Count {
    const char *keyword, *what;
    uint32_t *value;
    uint64_t most;
  };
  const Count counts[] = {{"warps", "1 to 32 warps", &launch.warps, 32},
                          {"shared", "bytes of shared memory", &launch.shared, 1 << 20},
                          {"registers", "registers of a thread", &launch.registers, kZeroRegister},
                          {"cluster", "1 to 16 CTAs of a cluster", &launch.cluster, 16},
                          {"programs", "a number of programs", &launch.programs, 1u << 31},
                          {"resident", "CTAs at a time", &launch.resident, 32}};
  for (const Count &count : counts)
    if (keyword == count.keyword) {
      *count.value = static_cast<uint32_t>(line.integer(count.what, count.most));
      return true;
    }
  return false;
}

Launch polyattn::gpumodel::readLaunch(const std::string &text) {
  Launch launch;
  std::stringstream lines(text);
  int number = 0;
  for (std::string content; std::getline(lines, content);) {
    TextLine line("line " + std::to_string(++number) + " of the launch", content);
    if (line.ended())
      continue;
    std::string keyword = line.word("a keyword");
    if (readCount(line, keyword, launch))
      continue;
    if (keyword == "multiprocessor")
      launch.multiprocessor = static_cast<int>(line.integer("a multiprocessor", 1 << 16));
    else if (keyword == "constant")
      readConstant(line, launch);
    else if (keyword == "tensor")
      launch.tensors.push_back(readTensor(line));
    else
      line.fail("unknown keyword '" + keyword + "'");
  }
  if (!launch.warps || !launch.programs || !launch.cluster)
    throw Failure("a launch has warps, programs and CTAs of a cluster");
  uint32_t sizes[] = {launch.warps * kLanes, 1, 1, launch.programs * launch.cluster};
  launch.constants.set(0, 0, sizes, sizeof(sizes));
  return launch;
}
