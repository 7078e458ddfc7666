//===- CompiledKernel.cpp - machine code in this process ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/JIT/CompiledKernel.h"
#include "llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/ExecutionEngine/Orc/TaskDispatch.h"
#include <cmath>
#include <cstring>

using namespace polyattn;
namespace orc = llvm::orc;

struct CompiledKernel::Code {
  Code(KernelDescription description, std::unique_ptr<orc::ExecutorProcessControl> process)
      : description(std::move(description)), session(std::move(process)), layer(session) {}
  // Without this the session would abort the process.
  ~Code() { llvm::consumeError(session.endSession()); }

  KernelDescription description;
  orc::ExecutionSession session;
  orc::ObjectLinkingLayer layer;
  std::optional<RuntimeKernel> kernel;
};

CompiledKernel::CompiledKernel(std::unique_ptr<Code> code) : code(std::move(code)) {}
CompiledKernel::~CompiledKernel() = default;

const KernelDescription &CompiledKernel::getDescription() const { return code->description; }

template <typename Result, typename... Arguments>
static orc::ExecutorSymbolDef symbol(Result (*function)(Arguments...)) {
  return {orc::ExecutorAddr::fromPtr(function), llvm::JITSymbolFlags::Exported};
}

/// What code generation may call by itself. The addresses are taken here, since a process that
/// loads us as a plug-in need not have these names in its global scope.
static llvm::Error defineExternals(orc::ExecutionSession &session, orc::JITDylib &library) {
  using Unary = float (*)(float);
  using Binary = float (*)(float, float);
  orc::SymbolMap symbols;
  auto define = [&](const char *name, auto *function) {
    symbols[session.intern(name)] = symbol(function);
  };
  define("memcpy", &memcpy);
  define("memmove", &memmove);
  define("memset", &memset);
  define("expf", static_cast<Unary>(&expf));
  define("exp2f", static_cast<Unary>(&exp2f));
  define("expm1f", static_cast<Unary>(&expm1f));
  define("logf", static_cast<Unary>(&logf));
  define("log2f", static_cast<Unary>(&log2f));
  define("sinf", static_cast<Unary>(&sinf));
  define("cosf", static_cast<Unary>(&cosf));
  define("tanhf", static_cast<Unary>(&tanhf));
  define("erff", static_cast<Unary>(&erff));
  define("floorf", static_cast<Unary>(&floorf));
  define("ceilf", static_cast<Unary>(&ceilf));
  define("roundf", static_cast<Unary>(&roundf));
  define("roundevenf", static_cast<Unary>(&roundevenf));
  define("rintf", static_cast<Unary>(&rintf));
  define("powf", static_cast<Binary>(&powf));
  define("fmodf", static_cast<Binary>(&fmodf));
  if (llvm::Error error = library.define(orc::absoluteSymbols(std::move(symbols))))
    return error;
  auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess('\0');
  if (!process)
    return process.takeError();
  library.addGenerator(std::move(*process));
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<CompiledKernel>>
CompiledKernel::load(KernelDescription description, std::unique_ptr<llvm::MemoryBuffer> object) {
  // Linking happens on the calling thread: threads of the session would cost more than it.
  auto process = orc::SelfExecutorProcessControl::Create(
      nullptr, std::make_unique<orc::InPlaceTaskDispatcher>());
  if (!process)
    return process.takeError();
  auto code = std::make_unique<Code>(std::move(description), std::move(*process));
  orc::ExecutionSession &session = code->session;
  // The lookup below reports the same failures to the caller.
  session.setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });
  orc::JITDylib &library = session.createBareJITDylib("kernel");
  if (llvm::Error error = defineExternals(session, library))
    return std::move(error);
  if (llvm::Error error = code->layer.add(library, std::move(object)))
    return std::move(error);
  std::vector<polyattn_rt_function> functions;
  for (const StageDescription &stage : code->description.stages) {
    auto address = session.lookup({&library}, stage.function);
    if (!address)
      return address.takeError();
    functions.push_back(address->getAddress().toPtr<polyattn_rt_function>());
  }
  code->kernel.emplace(code->description, functions);
  return std::unique_ptr<CompiledKernel>(new CompiledKernel(std::move(code)));
}

llvm::Error CompiledKernel::run(llvm::ArrayRef<polyattn_tensor> tensors, int threads) const {
  llvm::SmallVector<const polyattn_tensor *> pointers;
  for (const polyattn_tensor &tensor : tensors)
    pointers.push_back(&tensor);
  char message[512] = "";
  if (polyattn_rt_run(&code->kernel->get(), pointers.data(), pointers.size(), threads, message,
                      sizeof message) != 0)
    return llvm::createStringError(llvm::Twine(message));
  return llvm::Error::success();
}
