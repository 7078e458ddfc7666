//===- ExplainGPU.cpp - what was decided for a GPU, for people ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emit.h"
#include "dialects/Warp/Warp.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include "polyattn/Driver/Explain.h"
#include "polyattn/Launch/FromModule.h"

using namespace polyattn;

static llvm::StringRef describe(warp::MemoryKind memory) {
  switch (memory) {
  case warp::MemoryKind::Registers:
    return "registers";
  case warp::MemoryKind::Shared:
    return "shared memory";
  case warp::MemoryKind::DoubleBuffer:
    return "double-buffered shared memory";
  case warp::MemoryKind::Staged:
    return "shared memory, anew for each block of positions";
  case warp::MemoryKind::Workspace:
    return "workspace";
  case warp::MemoryKind::Tensor:
    return "read from the tensor where it is used";
  }
  llvm_unreachable("not a kind of memory");
}

/// What tile-to-warp says of the kernel's tiles.
static void explainMemory(llvm::raw_ostream &stream, mlir::gpu::GPUFuncOp kernel) {
  auto entries = kernel->getAttrOfType<mlir::ArrayAttr>(warp::kMemoryAttrName);
  if (!entries)
    return;
  for (auto tile : entries.getAsRange<warp::ResidentAttr>()) {
    stream << "    " << tile.getWhat() << ", ";
    llvm::interleave(tile.getType().getShape(), stream, " x ");
    stream << " " << tile.getType().getElementType() << ": " << describe(tile.getMemory()) << "\n";
  }
}

/// ptxas decides about registers; a thread may have all that it can use.
static void explainOccupancy(llvm::raw_ostream &stream, const LaunchDescription &launch,
                             const GPUDescription &gpu) {
  int64_t least =
      GPUDescription::blocksPerSM(launch.threads, launch.sharedBytes, gpu.sharedBytesPerSM);
  int64_t most =
      std::min({GPUDescription::blocksByMemory(launch.sharedBytes, gpu.sharedBytesPerSM),
                gpu.maxWarpsPerSM * GPUDescription::warpSize / launch.threads, gpu.maxBlocksPerSM});
  stream << "    on a multiprocessor: " << least;
  if (most > least)
    stream << ", or up to " << most << " with fewer registers";
  stream << "\n";
}

static void explainKernel(llvm::raw_ostream &stream, mlir::gpu::GPUFuncOp kernel,
                          const LaunchDescription &launch, const LaunchPlan &plan,
                          const KernelDescription *entry, const GPUDescription &gpu) {
  // Sizes as the spec has them, or by tensor and dimension where there is no spec.
  auto nameOf = [&](int64_t tensor, int64_t dimension) {
    return entry ? sizeToString(entry->tensors[tensor].sizes[dimension])
                 : toString(LaunchExtent::dimensionOf(tensor, dimension));
  };
  stream << "  kernel @" << launch.function << ": ";
  llvm::interleave(
      plan.findStage(launch.function)->programs, stream,
      [&](const LaunchExtent &extent) { stream << toString(extent, nameOf); }, " x ");
  stream << " programs of ";
  if (launch.cluster > 1)
    stream << launch.cluster << " CTAs of ";
  stream << launch.threads / GPUDescription::warpSize << " warps, each with " << launch.sharedBytes
         << " bytes of shared memory and " << launch.workspaceBytes << " of workspace\n";
  explainOccupancy(stream, launch, gpu);
  explainMemory(stream, kernel);
}

llvm::Error polyattn::explainForGPU(llvm::raw_ostream &stream, const LoweredModule &module,
                                    LoweredModule &spec, const GPUDescription &gpu) {
  if (llvm::Error error = lowerForGPU(spec, gpu, GPUPipelinePhase::Schedule))
    return error;
  stream << "machine: " << gpu.name << ", " << gpu.sharedBytesPerBlock / 1024
         << " KiB of shared memory for a CTA, " << gpu.sharedBytesPerSM / 1024
         << " KiB on a multiprocessor\n";
  llvm::SmallVector<mlir::gpu::GPUFuncOp> kernels;
  (*module.module)->walk([&](mlir::gpu::GPUFuncOp kernel) { kernels.push_back(kernel); });
  auto explainKernels = [&](const KernelDescription *entry) -> llvm::Error {
    for (mlir::gpu::GPUFuncOp kernel : kernels) {
      if (entryOf(module, kernel.getName()) != entry)
        continue;
      llvm::Expected<LaunchDescription> launch = describeLaunch(kernel);
      if (!launch)
        return launch.takeError();
      std::string name = entryLaunching(*module.module, launch->function);
      llvm::Expected<LaunchPlan> plan = planForGPU(*module.module, name);
      if (!plan)
        return plan.takeError();
      explainKernel(stream, kernel, *launch, *plan, entry, gpu);
      if (plan->stages.back().function == launch->function)
        explainChoices(stream, *plan);
    }
    return llvm::Error::success();
  };
  for (const KernelDescription &entry : module.kernels) {
    explainEntry(stream, entry, spec);
    if (llvm::Error error = explainKernels(&entry))
      return error;
  }
  // The kernels of a file in the warp dialect have no entry.
  return explainKernels(nullptr);
}
