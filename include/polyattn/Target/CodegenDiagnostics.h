//===- CodegenDiagnostics.h - what LLVM says of a module --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TARGET_CODEGENDIAGNOSTICS_H
#define POLYATTN_TARGET_CODEGENDIAGNOSTICS_H

#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>

namespace polyattn {

/// Collects the errors that LLVM reports while it generates code, for as long as this lives. A
/// context without a handler prints the first one and ends the process.
class CodegenDiagnostics {
public:
  explicit CodegenDiagnostics(llvm::LLVMContext &context)
      : context(context), usual(context.getDiagnosticHandler()) {
    context.setDiagnosticHandler(std::make_unique<Handler>(text));
  }
  ~CodegenDiagnostics() { context.setDiagnosticHandler(std::move(usual)); }

  /// All errors so far, one per line.
  llvm::Error take() const {
    return text.empty() ? llvm::Error::success() : llvm::createStringError(text);
  }

private:
  struct Handler : llvm::DiagnosticHandler {
    explicit Handler(std::string &text) : text(text) {}
    bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
      // LLVM only warns of the frames of functions that were given a limit.
      if (info.getSeverity() != llvm::DS_Error && info.getKind() != llvm::DK_StackSize)
        return true;
      llvm::raw_string_ostream stream(text);
      stream << (text.empty() ? "" : "\n") << "code generation: ";
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
      return true;
    }
    std::string &text;
  };

  llvm::LLVMContext &context;
  std::unique_ptr<llvm::DiagnosticHandler> usual;
  std::string text;
};

} // namespace polyattn

#endif // POLYATTN_TARGET_CODEGENDIAGNOSTICS_H
