//===- SpecFuzzer.cpp - no spec may crash the compiler --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/PolyAttn.h"
#include "polyattn/Compiler/CompileGPU.h"
#include "polyattn/Target/NVPTX.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <cstdlib>

using namespace polyattn;

/// Code grows with these; what is larger is only parsed and verified, so that a run stays quick.
static constexpr int64_t kMaxWidth = 128;
static constexpr int64_t kMaxOperations = 40;

static bool isSmall(mlir::ModuleOp module) {
  int64_t operations = 0;
  auto narrow = [](mlir::Type type) {
    if (auto feature = llvm::dyn_cast<FeatureType>(type))
      return feature.getWidth() <= kMaxWidth;
    if (auto shaped = llvm::dyn_cast<mlir::ShapedType>(type))
      return !shaped.hasRank() ||
             llvm::all_of(shaped.getShape(), [](int64_t size) { return size <= kMaxWidth; });
    return true;
  };
  return !module
              .walk([&](mlir::Operation *op) {
                bool small = ++operations <= kMaxOperations &&
                             llvm::all_of(op->getResultTypes(), narrow) &&
                             llvm::all_of(op->getOperandTypes(), narrow);
                for (mlir::Region &region : op->getRegions())
                  small &= llvm::all_of(region.getArgumentTypes(), narrow);
                return small ? mlir::WalkResult::advance() : mlir::WalkResult::interrupt();
              })
              .wasInterrupted();
}

/// Whether there was an error, which must have words.
static bool failed(llvm::Error error) {
  bool hasError = bool(error);
  std::string message = llvm::toString(std::move(error));
  if (hasError && message.empty()) {
    llvm::errs() << "an error without words\n";
    std::abort();
  }
  return hasError;
}

/// To an object.
static void compileForProcessor(llvm::StringRef text, llvm::StringRef machine) {
  CompileOptions options;
  options.machine = llvm::cantFail(findMachine(machine));
  llvm::Expected<LoweredModule> module = parseSpec(text, "spec.mlir", options);
  if (failed(module.takeError()) || !isSmall(*module->module) || failed(lower(*module, options)))
    return;
  failed(compileLowered(*module, options).takeError());
}

/// To PTX.
static void compileForGPU(llvm::StringRef text, llvm::StringRef chip) {
  GPUDescription gpu = llvm::cantFail(findGPU(chip));
  llvm::Expected<LoweredModule> module = parseForGPU(text, "spec.mlir", {});
  if (failed(module.takeError()) || !isSmall(*module->module) ||
      failed(lowerForGPU(*module, gpu, GPUPipelinePhase::Warp)))
    return;
  failed(emitKernelPTX(*module, /*kernel=*/"", gpu).takeError());
}

/// From text through parser and verifiers to code. What is refused must be refused with words; what
/// is accepted must be compiled, or refused with words, too. Each input goes one way, which its
/// text decides: all ways take the same passes first, and code takes most of the time.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  switch (llvm::xxh3_64bits(text) % 4) {
  case 0:
    compileForProcessor(text, "x86-64-v3");
    break;
  case 1:
    compileForProcessor(text, "x86-64");
    break;
  case 2:
    compileForGPU(text, "sm_80");
    break;
  default:
    compileForGPU(text, "sm_90");
  }
  return 0;
}
