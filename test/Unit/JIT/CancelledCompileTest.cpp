//===- CancelledCompileTest.cpp - compilations that callers cancel --------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Compiler/CompileGPU.h"
#include "polyattn/JIT/Compiler.h"
#include "polyattn/Target/NVPTX.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <atomic>
#include <thread>

using namespace polyattn;

static std::string specText() {
  auto file = llvm::MemoryBuffer::getFile(POLYATTN_SPECS "/polysketch-learned.mlir");
  return file ? (*file)->getBuffer().str() : "";
}

/// The options of a half that has many functions and takes seconds to compile.
static CompileOptions optionsFor(llvm::StringRef target) {
  CompileOptions options;
  options.entry = "polysketch_learned";
  options.direction.direction = CallDirection::Backward;
  options.machine = llvm::cantFail(findMachine(target));
  return options;
}

/// Runs `work` in a task that has been cancelled, and expects that it ends as such.
static void expectCancelled(llvm::function_ref<llvm::Error()> work) {
  std::atomic<bool> begun = false;
  bool isCancelledError = false;
  EXPECT_FALSE(untilCancelled(
      [&] {
        begun = true;
        while (!isCancelled())
          std::this_thread::yield();
        llvm::Error error = work();
        isCancelledError = error.isA<CancelledError>();
        llvm::consumeError(std::move(error));
      },
      [&] { return begun.load(); }));
  EXPECT_TRUE(isCancelledError);
}

TEST(CancelledCompile, PassesEnd) {
  CompileOptions options = optionsFor("x86-64-v3");
  llvm::Expected<LoweredModule> module = parseSpec(specText(), "spec", options);
  ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
  expectCancelled([&] { return lower(*module, options); });
}

TEST(CancelledCompile, CodeGenerationEnds) {
  for (const char *target : {"x86-64-v3", "x86-64-v4", "aarch64"}) {
    CompileOptions options = optionsFor(target);
    options.codegen.optimizeIR = true;
    llvm::Expected<LoweredModule> module = parseSpec(specText(), "spec", options);
    ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
    llvm::cantFail(lower(*module, options));
    expectCancelled([&] { return compileLowered(*module, options).takeError(); });
  }
}

TEST(CancelledCompile, OfAGPUEnds) {
  GPUDescription gpu = llvm::cantFail(findGPU("sm_90"));
  SpecOptions options;
  options.entry = "polysketch_learned";
  llvm::Expected<LoweredModule> module = parseForGPU(specText(), "spec", options);
  ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
  llvm::cantFail(lowerForGPU(*module, gpu, GPUPipelinePhase::Warp));
  expectCancelled([&] { return emitKernelPTX(*module, "", gpu).takeError(); });
}

TEST(CancelledCompile, LeavesNoFileAndDisturbsNoOther) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("polyattn-cancelled", folder));
  JITOptions options;
  options.entry = "polysketch_learned";
  options.direction = CallDirection::Backward;
  options.cacheDirectory = folder.str().str();
  for (int wanted : {1, 2, 5, 8}) {
    int asked = 0;
    options.cancelled = [&] { return ++asked == wanted; };
    auto kernel = compileKernel(specText(), "spec", options);
    ASSERT_FALSE(bool(kernel));
    EXPECT_TRUE(kernel.errorIsA<CancelledError>());
    llvm::consumeError(kernel.takeError());
    EXPECT_EQ(asked, wanted);
  }
  std::error_code code;
  EXPECT_EQ(llvm::sys::fs::directory_iterator(folder, code), llvm::sys::fs::directory_iterator());
  options.cancelled = [] { return false; };
  options.direction = CallDirection::Forward;
  auto kernel = compileKernel(specText(), "spec", options);
  EXPECT_TRUE(bool(kernel)) << llvm::toString(kernel.takeError());
  llvm::sys::fs::remove_directories(folder);
}
