//===- ChosenEntry.cpp - one of a module's entries ------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Compiler/ChosenEntry.h"

using namespace polyattn;

mlir::OwningOpRef<mlir::ModuleOp> polyattn::cloneAlone(AttentionOp attention) {
  mlir::OwningOpRef<mlir::ModuleOp> module = attention->getParentOfType<mlir::ModuleOp>().clone();
  for (AttentionOp other : llvm::make_early_inc_range(module->getOps<AttentionOp>()))
    if (other.getSymName() != attention.getSymName())
      other.erase();
  return module;
}
