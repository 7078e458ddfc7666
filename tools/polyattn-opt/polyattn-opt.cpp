//===- polyattn-opt.cpp - the optimizer driver ----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Compiler/Version.h"
#include "polyattn/Pipelines/OptMain.h"
#include "llvm/Support/CommandLine.h"

int main(int argc, char **argv) {
  llvm::cl::SetVersionPrinter(polyattn::printVersion);
  return polyattn::optMain(argc, argv);
}
