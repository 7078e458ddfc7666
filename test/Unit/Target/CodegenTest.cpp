//===- CodegenTest.cpp - machine code of LLVM IR --------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Target/CPU.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include <gtest/gtest.h>

using namespace polyattn;

/// Code of a function that keeps 4,096 bytes in its frame, or what is wrong with it.
static std::string compileFrameOf4096Bytes(unsigned frameBytes) {
  CodegenOptions options;
  options.optimizationLevel = 0;
  options.frameBytes = frameBytes;
  auto machine = findMachine("x86-64-v3");
  auto target = createTargetMachine(*machine, options);
  if (!target)
    return llvm::toString(target.takeError());
  llvm::LLVMContext context;
  llvm::Module module("frames", context);
  module.setTargetTriple((*target)->getTargetTriple());
  module.setDataLayout((*target)->createDataLayout());
  llvm::IRBuilder<> builder(context);
  auto *function =
      llvm::Function::Create(llvm::FunctionType::get(builder.getVoidTy(), /*isVarArg=*/false),
                             llvm::Function::ExternalLinkage, "large", module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  auto *place = builder.CreateAlloca(llvm::ArrayType::get(builder.getInt8Ty(), 4096));
  builder.CreateStore(builder.getInt8(1), place, /*isVolatile=*/true);
  builder.CreateRetVoid();
  auto code = generateCode(module, **target, CodeFile::Object, options);
  return code ? "compiled" : llvm::toString(code.takeError());
}

TEST(Codegen, FramesAboveTheLimitAreErrors) {
  EXPECT_EQ(compileFrameOf4096Bytes(0), "compiled");
  EXPECT_EQ(compileFrameOf4096Bytes(8192), "compiled");
  std::string said = compileFrameOf4096Bytes(2048);
  EXPECT_NE(said.find("stack frame size"), std::string::npos) << said;
  EXPECT_NE(said.find("'large'"), std::string::npos) << said;
}
