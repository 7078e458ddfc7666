//===- CPUTarget.cpp - polyattn-run on this processor ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Driver/CPUTarget.h"
#include "polyattn/JIT/Compiler.h"

using namespace polyattn;

static int32_t runtimeType(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return POLYATTN_F32;
  case ElementType::F16:
    return POLYATTN_F16;
  case ElementType::BF16:
    return POLYATTN_BF16;
  }
  return 0;
}

/// A tensor with more dimensions than the runtime knows is refused by its rank.
static polyattn_tensor viewOf(const HostTensor &tensor) {
  polyattn_tensor result = {};
  result.data = tensor.data;
  result.rank = tensor.rank();
  result.dtype = runtimeType(tensor.type);
  for (int64_t i = 0; i < std::min<int64_t>(tensor.rank(), POLYATTN_MAX_RANK); ++i) {
    result.sizes[i] = tensor.sizes[i];
    result.strides[i] = tensor.strides[i];
  }
  return result;
}

namespace {
class CPUExecutable : public Executable {
public:
  explicit CPUExecutable(std::unique_ptr<CompiledKernel> kernel) : kernel(std::move(kernel)) {}

  llvm::Error run(const Call &call) override {
    llvm::SmallVector<polyattn_tensor> tensors;
    for (const HostTensor &tensor : llvm::concat<const HostTensor>(call.arguments, call.results))
      tensors.push_back(viewOf(tensor));
    return kernel->run(tensors, call.threads);
  }

private:
  std::unique_ptr<CompiledKernel> kernel;
};

class CPUTarget : public Target {
  llvm::Expected<std::unique_ptr<Executable>> compile(AttentionOp attention,
                                                      const Signature &signature) override {
    // The text goes the way that every spec goes; the driver's module stays as it is.
    auto module = attention->getParentOfType<mlir::ModuleOp>();
    std::string text;
    llvm::raw_string_ostream(text) << module;
    JITOptions options;
    options.entry = signature.name;
    options.cacheDirectory = ""; // What is measured as compilation shall be one.
    auto kernel = compileKernel(text, "spec", options);
    if (!kernel)
      return kernel.takeError();
    return std::make_unique<CPUExecutable>(std::move(*kernel));
  }
};
} // namespace

void polyattn::registerCPUTarget(TargetRegistry &registry) {
  registry.add("cpu", "code for this processor, compiled in memory",
               [] { return std::make_unique<CPUTarget>(); });
}
