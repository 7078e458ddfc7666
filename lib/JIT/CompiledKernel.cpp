//===- CompiledKernel.cpp - machine code in this process ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/JIT/CompiledKernel.h"
#include "polyattn/JIT/LinkedObject.h"
#include "polyattn/Tasks/Cancelled.h"

using namespace polyattn;

struct CompiledKernel::Code {
  KernelDescription description;
  std::unique_ptr<LinkedObject> object;
  std::optional<RuntimeKernel> kernel;
};

CompiledKernel::CompiledKernel(std::unique_ptr<Code> code) : code(std::move(code)) {}
CompiledKernel::~CompiledKernel() = default;

const KernelDescription &CompiledKernel::getDescription() const { return code->description; }

llvm::Expected<std::unique_ptr<CompiledKernel>>
CompiledKernel::load(KernelDescription description, std::unique_ptr<llvm::MemoryBuffer> object) {
  auto linked = LinkedObject::link(std::move(object));
  if (!linked)
    return linked.takeError();
  auto code = std::make_unique<Code>();
  code->description = std::move(description);
  code->object = std::move(*linked);
  std::vector<polyattn_rt_function> functions;
  for (const LaunchStage &stage : code->description.plan.stages) {
    auto address = code->object->lookup(stage.function);
    if (!address)
      return address.takeError();
    functions.push_back(reinterpret_cast<polyattn_rt_function>(*address));
  }
  code->kernel.emplace(code->description, functions);
  return std::unique_ptr<CompiledKernel>(new CompiledKernel(std::move(code)));
}

llvm::Error CompiledKernel::run(llvm::ArrayRef<polyattn_tensor> tensors, int threads) const {
  polyattn_call_options options = POLYATTN_CALL_OPTIONS_INIT;
  options.threads = threads;
  return run(tensors, options);
}

llvm::Error CompiledKernel::run(llvm::ArrayRef<polyattn_tensor> tensors,
                                const polyattn_call_options &options) const {
  llvm::SmallVector<const polyattn_tensor *> pointers;
  for (const polyattn_tensor &tensor : tensors)
    pointers.push_back(&tensor);
  char message[512] = "";
  int status = polyattn_rt_run_with(&code->kernel->get(), pointers.data(), pointers.size(),
                                    &options, message, sizeof message);
  if (status == POLYATTN_RT_CANCELLED)
    return llvm::make_error<CancelledError>();
  return status == 0 ? llvm::Error::success() : llvm::createStringError(llvm::Twine(message));
}
