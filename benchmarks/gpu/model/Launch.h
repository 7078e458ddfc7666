//===- Launch.h - a launch of a kernel, and where its CTAs run --*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef POLYATTN_BENCHMARKS_GPU_MODEL_LAUNCH_H
#define POLYATTN_BENCHMARKS_GPU_MODEL_LAUNCH_H

#include "Machine.h"
#include "Registers.h"

namespace polyattn::gpumodel {

/// Where a tensor is when the kernel starts.
enum class Place : uint8_t {
  DeviceMemory,
  /// In the second-level cache, as weights are that all CTAs read.
  L2,
  /// A CTA's own workspace, in device memory.
  Workspace
};

/// Numbers that loads find where no bytes are given.
enum class Content : uint8_t { Constant, Zeros, Chain };

struct Tensor {
  uint64_t base = 0, bytes = 0;
  Place place = Place::DeviceMemory;
  Content content = Content::Constant;
  /// Of a chain: each address holds the address so many bytes after it, around the tensor's end.
  uint64_t step = 0;
  /// Whether stores are reported, as those of microbenchmarks.
  bool isReported = false;
  /// The numbers themselves, where control depends on them; else empty.
  std::vector<uint8_t> data;

  bool contains(uint64_t address) const { return address - base < bytes; }
};

struct Launch {
  uint32_t warps = 0, shared = 0, registers = 0;
  /// CTAs of a program, and programs of the grid.
  uint32_t cluster = 1, programs = 0;
  /// CTAs that run on a multiprocessor at a time; 0: as many as fit.
  uint32_t resident = 0;
  /// Which multiprocessor is simulated; -1: the one that has the last CTA.
  int multiprocessor = -1;
  Constants constants;
  std::vector<Tensor> tensors;

  const Tensor *find(uint64_t address) const;
  /// The word that a load finds; bytes beyond `size` are zero.
  uint32_t load(uint64_t address, int size) const;
};

/// Reads lines of a keyword and values; README.md has the list.
Launch readLaunch(const std::string &text);

/// What one multiprocessor, or those of a cluster, gets of a launch.
struct Placement {
  /// Programs that run here, one after another, and at a time.
  std::vector<uint32_t> programs;
  uint32_t resident = 1;
  /// Multiprocessors that have work.
  uint32_t active = 1;
  /// The share of the second-level cache.
  double shareOfL2 = 1;
  /// Bytes per clock of the multiprocessor.
  double fromL2 = 0, toL2 = 0, memory = 0;
};

/// CTAs of a launch that registers, shared memory and warps of a multiprocessor allow.
uint32_t residentCTAs(const Launch &launch, const Machine &machine);

/// CTAs go to multiprocessors in turn, and bandwidths are divided among those that have work.
Placement place(const Launch &launch, const Machine &machine);

} // namespace polyattn::gpumodel

#endif // POLYATTN_BENCHMARKS_GPU_MODEL_LAUNCH_H
