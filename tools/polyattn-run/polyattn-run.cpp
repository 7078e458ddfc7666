//===- polyattn-run.cpp - run an attention of a spec ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Driver/RunDriver.h"
#include "polyattn/Pipelines/Registration.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry dialects;
  polyattn::registerDialects(dialects);
  polyattn::TargetRegistry targets;
  polyattn::registerTargets(targets);
  return polyattn::runMain(argc, argv, dialects, targets);
}
