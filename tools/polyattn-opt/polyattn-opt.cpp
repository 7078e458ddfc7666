//===- polyattn-opt.cpp - the optimizer driver ----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "polyattn/Compiler/Version.h"
#include "polyattn/Pipelines/Registration.h"
#include "llvm/Support/CommandLine.h"

int main(int argc, char **argv) {
  llvm::cl::SetVersionPrinter(polyattn::printVersion);
  polyattn::registerPasses();
  mlir::DialectRegistry registry;
  polyattn::registerDialects(registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv,
                        "Runs passes on attention specs and tile kernels; "
                        "--polyattn-cpu-pipeline goes all of the way\n",
                        registry));
}
