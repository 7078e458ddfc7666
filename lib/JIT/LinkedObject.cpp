//===- LinkedObject.cpp - an object file in this process ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/JIT/LinkedObject.h"
#include "runtime/runtime.h"
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

struct LinkedObject::Session {
  explicit Session(std::unique_ptr<orc::ExecutorProcessControl> process)
      : session(std::move(process)), layer(session), library(session.createBareJITDylib("kernel")) {
  }
  // Without this the session would abort the process.
  ~Session() { llvm::consumeError(session.endSession()); }

  orc::ExecutionSession session;
  orc::ObjectLinkingLayer layer;
  orc::JITDylib &library;

  void report(llvm::Error error);
  llvm::Error failure() const;

private:
  std::string reason;       // what went wrong first
  bool isForbidden = false; // it was the system that refused
};

/// Failures of lookups name symbols that have none now. Why not, the session is told before.
void LinkedObject::Session::report(llvm::Error error) {
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase &info) {
    std::error_code code = info.convertToErrorCode();
    isForbidden |=
        code == std::errc::permission_denied || code == std::errc::operation_not_permitted;
    if (reason.empty())
      reason = info.message();
  });
}

llvm::Error LinkedObject::Session::failure() const {
  if (isForbidden)
    return llvm::createStringError(
        "the system does not let this process make memory executable (" + reason +
        "), as systemd's MemoryDenyWriteExecute and SELinux ask for: expected a process that may, "
        "or "
        "a library that polyattn-compile, polyattn_save or Kernel.save has written in another one");
  return llvm::createStringError("compiled code cannot be linked into this process: " + reason);
}

LinkedObject::LinkedObject(std::unique_ptr<Session> session) : session(std::move(session)) {}
LinkedObject::~LinkedObject() = default;

static orc::ExecutorSymbolDef symbol(void *address) {
  return {orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
}

/// What code generation may call by itself. The addresses are taken here, since a process that
/// loads us as a plug-in need not have these names in its global scope.
static llvm::Error defineExternals(orc::ExecutionSession &session, orc::JITDylib &library,
                                   llvm::ArrayRef<LinkedObject::External> externals) {
  using Unary = float (*)(float);
  using Binary = float (*)(float, float);
  orc::SymbolMap symbols;
  auto define = [&](const char *name, auto *function) {
    symbols[session.intern(name)] = symbol(reinterpret_cast<void *>(function));
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
  for (const polyattn_rt_named_function &conversion : polyattn_rt_half_functions)
    if (conversion.name)
      define(conversion.name, conversion.function);
  for (auto [name, address] : externals)
    define(name, address);
  if (llvm::Error error = library.define(orc::absoluteSymbols(std::move(symbols))))
    return error;
  auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess('\0');
  if (!process)
    return process.takeError();
  library.addGenerator(std::move(*process));
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<LinkedObject>>
LinkedObject::link(std::unique_ptr<llvm::MemoryBuffer> object, llvm::ArrayRef<External> externals) {
  // Linking happens on the calling thread: threads of the session would cost more than it.
  auto process = orc::SelfExecutorProcessControl::Create(
      nullptr, std::make_unique<orc::InPlaceTaskDispatcher>());
  if (!process)
    return process.takeError();
  auto linked = std::make_unique<Session>(std::move(*process));
  linked->session.setErrorReporter(
      [self = linked.get()](llvm::Error error) { self->report(std::move(error)); });
  if (llvm::Error error = defineExternals(linked->session, linked->library, externals))
    return std::move(error);
  if (llvm::Error error = linked->layer.add(linked->library, std::move(object)))
    return std::move(error);
  return std::unique_ptr<LinkedObject>(new LinkedObject(std::move(linked)));
}

llvm::Expected<void *> LinkedObject::lookup(llvm::StringRef name) {
  auto address = session->session.lookup({&session->library}, name);
  if (!address) {
    session->report(address.takeError());
    return session->failure();
  }
  return address->getAddress().toPtr<void *>();
}
