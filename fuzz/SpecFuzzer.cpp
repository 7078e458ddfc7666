//===- SpecFuzzer.cpp - no spec may crash the compiler --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/PolyAttn.h"
#include "polyattn/Driver/Compile.h"
#include "llvm/Support/raw_ostream.h"
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

/// From text through parser and verifiers to the LLVM dialect. What is refused must be refused with
/// words; what is accepted must be lowered, or refused with words, too.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  CompileOptions options;
  options.machine = llvm::cantFail(findMachine("x86-64-v3"));
  auto check = [](llvm::Error error) {
    bool failed = bool(error);
    std::string message = llvm::toString(std::move(error));
    if (failed && message.empty()) {
      llvm::errs() << "an error without words\n";
      std::abort();
    }
    return failed;
  };
  llvm::Expected<LoweredModule> module = parseSpec(text, "spec.mlir", options);
  if (check(module.takeError()))
    return 0;
  if (isSmall(*module->module))
    check(lower(*module, options));
  return 0;
}
