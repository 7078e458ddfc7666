//===- Tools.cpp - the command-line tools of the Python package -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The wheel's polyattn-run, polyattn-compile and polyattn-opt are scripts that call this function:
// programs of their own would bring LLVM three more times. It is no part of the C API.
//
//===----------------------------------------------------------------------===//

#include "polyattn-c/polyattn.h"
#include "polyattn/Compiler/Version.h"
#include "polyattn/Driver/CompileMain.h"
#include "polyattn/Driver/RunDriver.h"
#include "polyattn/Pipelines/OptMain.h"
#include "polyattn/Pipelines/Registration.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace polyattn;

static int run(int argc, char **argv) {
  mlir::DialectRegistry dialects;
  registerDialects(dialects);
  TargetRegistry targets;
  registerTargets(targets);
  return runMain(argc, argv, dialects, targets);
}

static int opt(int argc, char **argv) {
  llvm::cl::SetVersionPrinter(printVersion);
  return optMain(argc, argv);
}

/// The exit status of a tool, which argv[0] names. Like the tool it may end the process, so it is
/// for a process of its own.
extern "C" POLYATTN_EXPORT int polyattn_tool_main(int argc, char **argv) {
  llvm::StringRef name = argc ? argv[0] : "";
  if (name == "polyattn-run")
    return run(argc, argv);
  if (name == "polyattn-compile")
    return compileMain(argc, argv);
  if (name == "polyattn-opt")
    return opt(argc, argv);
  llvm::errs() << "polyattn: error: expected polyattn-run, polyattn-compile or polyattn-opt, got '"
               << name << "'\n";
  return 1;
}
