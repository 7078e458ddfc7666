//===- polyattn-lsp-server.cpp - specs in an editor -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "polyattn/Pipelines/Registration.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  polyattn::registerDialects(registry);
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
