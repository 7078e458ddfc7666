//===- DefaultPipeline.h - LLVM's optimizations of a module -----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TARGET_DEFAULTPIPELINE_H
#define POLYATTN_TARGET_DEFAULTPIPELINE_H

#include "polyattn/Tasks/Cancelled.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

namespace polyattn {

/// Runs the passes that clang runs at a level, -O2 for instance; hardly any once the work has been
/// cancelled.
inline void runDefaultPipeline(llvm::Module &module, llvm::TargetMachine &machine,
                               llvm::OptimizationLevel level,
                               llvm::PipelineTuningOptions tuning = {}) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerShouldRunOptionalPassCallback(
      [](llvm::StringRef, llvm::Any) { return !isCancelled(); });
  llvm::PassBuilder builder(&machine, tuning, /*PGOOpt=*/std::nullopt, &callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graph, modules);
  builder.buildPerModuleDefaultPipeline(level).run(module, modules);
}

} // namespace polyattn

#endif // POLYATTN_TARGET_DEFAULTPIPELINE_H
