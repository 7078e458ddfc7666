//===- DivisibilityTest.cpp - what divides an index -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/TileAnalysis/Divisibility.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace polyattn;

namespace {

constexpr int64_t kAny = 1 << 20;

/// The divisor of the result of the op with the attribute `asked`, in a function of %x and %n.
int64_t divisorIn(llvm::StringRef body, llvm::function_ref<Value(Operation *)> passedOn = nullptr) {
  MLIRContext context;
  context.allowUnregisteredDialects();
  context.loadDialect<arith::ArithDialect, func::FuncDialect, scf::SCFDialect>();
  std::string text = ("func.func @f(%x: index, %n: i32) {\n" + body + "\nreturn }").str();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  int64_t divisor = -1;
  module->walk([&](Operation *op) {
    if (op->hasAttr("asked"))
      divisor = knownDivisor(op->getResult(0), passedOn);
  });
  return divisor;
}

/// What a target's op passes on is the target's to say.
TEST(DivisibilityTest, OpsOfTargets) {
  const char *body = "%c40 = arith.constant 40 : index\n%a = \"target.same\"(%c40) {asked} : "
                     "(index) -> index";
  EXPECT_EQ(divisorIn(body), 1);
  EXPECT_EQ(divisorIn(body, [](Operation *op) { return op->getOperand(0); }), 8);
}

TEST(DivisibilityTest, Constants) {
  EXPECT_EQ(knownDivisor(Value()), kAny);
  EXPECT_EQ(divisorIn("%a = arith.constant {asked} 48 : index"), 16);
  EXPECT_EQ(divisorIn("%a = arith.constant {asked} -24 : index"), 8);
  EXPECT_EQ(divisorIn("%a = arith.constant {asked} 0 : index"), kAny);
  EXPECT_EQ(divisorIn("%a = arith.constant {asked} 8388608 : i32"), kAny);
}

TEST(DivisibilityTest, Arithmetic) {
  const char *constants =
      "%c12 = arith.constant 12 : index\n%c40 = arith.constant 40 : index\n"
      "%x12 = arith.muli %x, %c12 : index\n%x40 = arith.muli %x, %c40 : index\n";
  auto divisor = [&](llvm::StringRef op) { return divisorIn(constants + op.str()); };
  EXPECT_EQ(divisor("%a = arith.muli %x, %c12 {asked} : index"), 4);
  EXPECT_EQ(divisor("%a = arith.muli %x12, %x40 {asked} : index"), 32);
  EXPECT_EQ(divisor("%a = arith.addi %x12, %x40 {asked} : index"), 4);
  EXPECT_EQ(divisor("%a = arith.subi %x40, %c40 {asked} : index"), 8);
  EXPECT_EQ(divisor("%a = arith.addi %x40, %x {asked} : index"), 1);
  EXPECT_EQ(divisor("%a = arith.index_cast %x40 {asked} : index to i32"), 8);
  EXPECT_EQ(divisor("%a = arith.divui %x40, %c12 {asked} : index"), 1);
}

TEST(DivisibilityTest, InductionVariables) {
  auto divisor = [&](int64_t first, int64_t step) {
    return divisorIn(
        ("%first = arith.constant " + llvm::Twine(first) + " : index\n%step = arith.constant " +
         llvm::Twine(step) +
         " : index\n%zero = arith.constant 0 : index\n"
         "scf.for %i = %first to %x step %step {\n%a = arith.addi %i, %zero {asked} : index\n}")
            .str());
  };
  EXPECT_EQ(divisor(0, 64), 64);
  EXPECT_EQ(divisor(16, 64), 16);
  EXPECT_EQ(divisor(3, 64), 1);
  // What a loop carries is not known.
  EXPECT_EQ(divisorIn("%c0 = arith.constant 0 : index\n%c8 = arith.constant 8 : index\n"
                      "%r = scf.for %i = %c0 to %x step %c8 iter_args(%s = %c0) -> index {\n"
                      "%a = arith.addi %s, %c0 {asked} : index\nscf.yield %a : index\n}"),
            1);
}

} // namespace
