//===- Chips.cpp - the GPUs that have a name ------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Limits of threads, blocks, registers and shared memory: CUDA C++ Programming Guide, "Technical
// Specifications per Compute Capability". Versions of the PTX ISA: the oldest that knows the
// target, from the release notes in "Parallel Thread Execution ISA", so that old drivers can load
// the code. Rates and sizes of cards: NVIDIA's data sheets, dense and not sparse.
//
//===----------------------------------------------------------------------===//

#include "dialects/Attributes/DidYouMean.h"
#include "polyattn/Target/NVPTX.h"

using namespace polyattn;

namespace {
struct Chip {
  llvm::StringRef name;
  int64_t ptxVersion, maxWarpsPerSM, maxBlocksPerSM, sharedPerBlockKiB, sharedPerSMKiB,
      maxBlocksPerCluster;
  int64_t multiprocessors, l2MiB;
  double bf16TeraFlops, tf32TeraFlops, gigabytesPerSecond;
};
} // namespace

static const Chip kChips[] = {
    // A100 SXM 80 GB ("NVIDIA A100 Tensor Core GPU", data sheet).
    {"sm_80", 70, 64, 32, 163, 164, 1, 108, 40, 312, 156, 2039},
    // A40 (data sheet). The same chip's consumer cards sum f32 at half of this rate.
    {"sm_86", 71, 48, 16, 99, 100, 1, 84, 6, 149.7, 74.8, 696},
    // L40S (data sheet; L2: "NVIDIA Ada GPU Architecture").
    {"sm_89", 78, 48, 24, 99, 100, 1, 142, 96, 362, 183, 864},
    // H100 SXM (data sheet; "NVIDIA H100 Tensor Core GPU Architecture"). The H200 has the same
    // rates and 4800 GB/s.
    {"sm_90", 78, 64, 32, 227, 228, 8, 132, 50, 989.4, 494.7, 3350},
    // B200 ("NVIDIA Blackwell Architecture Technical Brief": 4.5 and 2.2 sparse PFLOP/s, 8 TB/s).
    {"sm_100", 86, 64, 32, 227, 228, 8, 148, 126, 2250, 1100, 8000},
};

static GPUDescription describe(const Chip &chip) {
  GPUDescription gpu;
  gpu.name = chip.name.str();
  gpu.ptxVersion = chip.ptxVersion;
  gpu.maxWarpsPerSM = chip.maxWarpsPerSM;
  gpu.maxBlocksPerSM = chip.maxBlocksPerSM;
  gpu.sharedBytesPerBlock = chip.sharedPerBlockKiB << 10;
  gpu.sharedBytesPerSM = chip.sharedPerSMKiB << 10;
  gpu.maxBlocksPerCluster = chip.maxBlocksPerCluster;
  gpu.multiprocessors = chip.multiprocessors;
  gpu.l2Bytes = chip.l2MiB << 20;
  gpu.bf16FlopsPerSecond = chip.bf16TeraFlops * 1e12;
  gpu.tf32FlopsPerSecond = chip.tf32TeraFlops * 1e12;
  gpu.globalBytesPerSecond = chip.gigabytesPerSecond * 1e9;
  return gpu;
}

bool polyattn::isGPUName(llvm::StringRef name) { return name.starts_with("sm_"); }

std::string polyattn::listGPUs() {
  std::string names;
  for (const Chip &chip : kChips)
    names += (names.empty() ? "" : ", ") + chip.name.str();
  return names;
}

llvm::Expected<GPUDescription> polyattn::findGPU(llvm::StringRef name) {
  for (const Chip &chip : kChips)
    if (chip.name == name)
      return describe(chip);
  return llvm::createStringError("unknown GPU '" + name + "', expected one of " + listGPUs() +
                                 didYouMean(name, listGPUs()));
}

llvm::Expected<GPUDescription> polyattn::findNearestGPU(int major, int minor) {
  const Chip *nearest = nullptr;
  for (const Chip &chip : kChips) {
    int number = 0;
    chip.name.substr(strlen("sm_")).getAsInteger(10, number);
    if (number <= 10 * major + minor)
      nearest = &chip;
  }
  if (nearest)
    return describe(*nearest);
  return llvm::createStringError("compute capability " + llvm::Twine(major) + "." +
                                 llvm::Twine(minor) + ", expected at least that of " +
                                 kChips[0].name);
}
