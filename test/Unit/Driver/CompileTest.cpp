//===- CompileTest.cpp - machines, code generation, entries ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../JIT/CopyKernel.h"
#include "../Reference/PlainSpec.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/TargetParser/Triple.h"
#include "gtest/gtest.h"

using namespace polyattn;

TEST(Compile, NamesMachines) {
  for (llvm::StringRef name :
       {"cpu", "native", "x86-64", "x86-64-v3", "x86-64-v4", "x86-64-v4-bf16", "aarch64"})
    EXPECT_TRUE(bool(findMachine(name))) << name.str();
  for (const MachineName &named : namedMachines())
    EXPECT_TRUE(bool(findMachine(named.name))) << named.name.str();
  EXPECT_EQ(llvm::cantFail(findMachine("x86-64-v4")).vectorWidth, 16);
  EXPECT_EQ(llvm::cantFail(findMachine("x86-64-v3")).vectorRegisters, 16);
  auto unknown = findMachine("vax");
  EXPECT_EQ(llvm::toString(unknown.takeError()),
            "unknown target 'vax', expected one of cpu, native, x86-64, x86-64-v3, x86-64-v4, "
            "x86-64-v4-bf16, aarch64");
}

TEST(Compile, WritesObjectsForEveryMachine) {
  for (llvm::StringRef name :
       {"native", "x86-64", "x86-64-v3", "x86-64-v4", "x86-64-v4-bf16", "aarch64"}) {
    CompileOptions options;
    options.machine = llvm::cantFail(findMachine(name));
    LoweredModule module = test::copyModule();
    auto compiled = compileLowered(module, options);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    auto object = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(
        llvm::StringRef(compiled->object.data(), compiled->object.size()), name));
    ASSERT_TRUE(bool(object)) << llvm::toString(object.takeError());
    EXPECT_EQ((*object)->getArch(), llvm::Triple(options.machine.triple).getArch());
  }
}

TEST(Compile, RefusesFunctionsOfAnotherShape) {
  LoweredModule module = test::copyModule();
  module.module = mlir::parseSourceString<mlir::ModuleOp>(
      "llvm.func @copy(%a: !llvm.ptr) { llvm.return }\n"
      "tile.entry @copy tensors 2 inputs 1 { tile.stage @copy programs [] }",
      module.context.get());
  llvm::Error error = completeDescriptions(module, test::nativeOptions());
  EXPECT_EQ(llvm::toString(std::move(error)),
            "@copy: the lowered function @copy is not one that the runtime can call");
}

TEST(Compile, RefusesEntriesThatNothingLaunches) {
  LoweredModule other = test::copyModule();
  other.kernels.front().entry = "other";
  EXPECT_EQ(llvm::toString(completeDescriptions(other, test::nativeOptions())),
            "@other: the CPU pipeline does not lower this entry yet");
  LoweredModule fewer = test::copyModule();
  fewer.kernels.front().tensors.clear();
  EXPECT_EQ(llvm::toString(completeDescriptions(fewer, test::nativeOptions())),
            "stage 'copy': there is no dimension 0 of tensor 0");
}

TEST(Compile, DescribesArguments) {
  auto module = parseSpec(kPlainSpec, "spec.mlir", test::nativeOptions());
  ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
  ASSERT_EQ(module->kernels.size(), 1u);
  const KernelDescription &kernel = module->kernels.front();
  ASSERT_EQ(kernel.tensors.size(), 4u);
  using Sizes = std::vector<int64_t>;
  EXPECT_EQ(kernel.tensors[0].sizes, (Sizes{kBatch, kPositions, kHeads, 16}));
  EXPECT_EQ(kernel.tensors[1].sizes, (Sizes{kBatch, kKeyPositions, kKeyHeads, 16}));
  EXPECT_TRUE(kernel.tensors[3].isResult);
  EXPECT_EQ(kernel.tensors[3].name, "o");
}

TEST(Compile, LocatesErrorsOfTheSpec) {
  auto module = parseSpec("\n  polyattn.nonsense\n", "spec.mlir", test::nativeOptions());
  ASSERT_FALSE(bool(module));
  llvm::Error error = module.takeError();
  EXPECT_TRUE(error.isA<SpecError>());
  EXPECT_EQ(llvm::toString(std::move(error)).find("spec.mlir:2:3: error: "), 0u);
}

TEST(ParseSpec, ReadsNoFurtherThanTheText) {
  // What lies behind the text makes no difference, and there need not be a zero.
  CompileOptions options;
  auto message = [&](llvm::StringRef text) {
    llvm::Expected<LoweredModule> module = parseSpec(text, "spec.mlir", options);
    return module ? std::string("no error") : llvm::toString(module.takeError());
  };
  llvm::StringRef text = "polyattn.feature_map @m(%x: [4]) { yield %x : [4] }";
  std::string longer = (text + "garbage").str();
  EXPECT_EQ(message(llvm::StringRef(longer).take_front(text.size())),
            "spec.mlir: no polyattn.attention, nothing to compile");
  // A word that ends with the text.
  EXPECT_EQ(message(llvm::StringRef("polyattn.feature_mapgarbage").take_front(20)),
            message("polyattn.feature_map"));
}
