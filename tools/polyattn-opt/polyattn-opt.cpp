//===- polyattn-opt.cpp - the optimizer driver ----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/PolyAttn.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::registerTransformsPasses();
  mlir::DialectRegistry registry;
  registry.insert<polyattn::PolyAttnDialect>();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "polyattn optimizer driver\n", registry));
}
