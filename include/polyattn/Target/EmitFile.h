//===- EmitFile.h - LLVM's code generation of a module ----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Code generation has no way to stop: each pass relies on those before it. Cancelled work leaves
// out the passes that are optional, and functions that have not begun become empty, so it soon
// ends.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TARGET_EMITFILE_H
#define POLYATTN_TARGET_EMITFILE_H

#include "polyattn/Target/CodegenDiagnostics.h"
#include "polyattn/Tasks/Cancelled.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/Pass.h"
#include "llvm/Target/TargetMachine.h"

namespace polyattn {

/// Which of the passes that code may do without are run.
struct CodegenGate : llvm::OptPassGate {
  bool shouldRunPass(llvm::StringRef name, llvm::StringRef) const override {
    return !isCancelled();
  }
  bool isEnabled() const override { return true; }
};

/// Empties a function where the work has been cancelled.
class EmptyIfCancelled : public llvm::FunctionPass {
public:
  static inline char ID = 0;
  EmptyIfCancelled() : FunctionPass(ID) {}
  bool runOnFunction(llvm::Function &function) override {
    if (!isCancelled())
      return false;
    auto linkage = function.getLinkage();
    function.deleteBody();
    function.setLinkage(linkage);
    llvm::LLVMContext &context = function.getContext();
    new llvm::UnreachableInst(context, llvm::BasicBlock::Create(context, "", &function));
    return true;
  }
};

/// A pass manager with EmptyIfCancelled before the first pass over functions. From there on each
/// function gets all of the passes before the next one.
class CodegenPasses : public llvm::legacy::PassManagerBase {
public:
  void add(llvm::Pass *pass) override {
    if (!hasFunctionPass && pass->getPassKind() == llvm::PT_Function) {
      hasFunctionPass = true;
      passes.add(new EmptyIfCancelled);
    }
    passes.add(pass);
  }
  void run(llvm::Module &module) { passes.run(module); }

private:
  llvm::legacy::PassManager passes;
  bool hasFunctionPass = false;
};

/// Writes a module's code, `what` in the words of an error; the module is consumed.
inline llvm::Error emitFile(llvm::Module &module, llvm::TargetMachine &target,
                            llvm::raw_pwrite_stream &stream, llvm::CodeGenFileType type,
                            llvm::StringRef what, llvm::OptPassGate &gate) {
  CodegenPasses passes;
  if (target.addPassesToEmitFile(passes, stream, nullptr, type))
    return llvm::createStringError("this LLVM cannot write " + what);
  CodegenDiagnostics diagnostics(module.getContext());
  llvm::OptPassGate &usual = module.getContext().getOptPassGate();
  module.getContext().setOptPassGate(gate);
  passes.run(module);
  module.getContext().setOptPassGate(usual);
  if (isCancelled())
    return llvm::make_error<CancelledError>();
  return diagnostics.take();
}

} // namespace polyattn

#endif // POLYATTN_TARGET_EMITFILE_H
