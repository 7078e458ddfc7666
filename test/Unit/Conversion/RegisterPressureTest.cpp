//===- RegisterPressureTest.cpp - registers that a thread needs -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/TileToWarp/RegisterPressure.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "polyattn/Pipelines/Registration.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace polyattn::tile_to_warp;

namespace {

class RegisterPressureTest : public ::testing::Test {
protected:
  /// The most in a kernel, and in its first loop or branch where it has one.
  std::pair<int64_t, int64_t> pressureOf(const std::string &body) {
    DialectRegistry registry;
    polyattn::registerDialects(registry);
    MLIRContext context(registry);
    auto module = parseSourceString<ModuleOp>(
        "gpu.module @kernels { gpu.func @f(%p: i32, %c: i1) kernel {\n"
        "%zero = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n"
        "%many = arith.constant 9 : i32\n" +
            body + "\ngpu.return } }",
        &context);
    EXPECT_TRUE(module);
    std::pair<int64_t, int64_t> result;
    module->walk([&](gpu::GPUFuncOp kernel) {
      RegisterPressure pressure(kernel);
      result.first = pressure.most();
      for (Operation &op : kernel.getBody().front())
        if (op.getNumRegions())
          result.second = pressure.within(&op);
    });
    return result;
  }
  int64_t mostIn(const std::string &body) { return pressureOf(body).first; }
};

TEST_F(RegisterPressureTest, TypesTakeWordsOf32Bits) {
  MLIRContext context;
  Builder b(&context);
  auto words = [](Type type) { return RegisterPressure::registersOf(type); };
  EXPECT_EQ(words(b.getF32Type()), 1);
  EXPECT_EQ(words(b.getI16Type()), 1);
  EXPECT_EQ(words(b.getI64Type()), 2);
  EXPECT_EQ(words(b.getIndexType()), 2);
  EXPECT_EQ(words(b.getI1Type()), 0); // a predicate
  EXPECT_EQ(words(VectorType::get({4}, b.getI32Type())), 4);
  EXPECT_EQ(words(VectorType::get({8}, b.getF16Type())), 4);
}

TEST_F(RegisterPressureTest, ValuesEndWithTheirLastUse) {
  EXPECT_EQ(mostIn("%a = warp.load_shared %p : f32\nwarp.store_shared %a, %p : f32\n"
                   "%b = warp.load_shared %p : f32\nwarp.store_shared %b, %p : f32"),
            1);
  EXPECT_EQ(mostIn("%a = warp.load_shared %p : f32\n%b = warp.load_shared %p : f32\n"
                   "warp.store_shared %a, %p : f32\nwarp.store_shared %b, %p : f32"),
            2);
}

TEST_F(RegisterPressureTest, ConstantOffsetsAreOfTheInstruction) {
  EXPECT_EQ(mostIn("%lane = warp.lane_id\n%next = arith.addi %lane, %one : i32\n"
                   "%after = arith.addi %next, %many : i32\n"
                   "%a = warp.load_shared %after : f32\nwarp.store_shared %a, %next : f32"),
            2);
}

TEST_F(RegisterPressureTest, LoopsKeepWhatComesFromOutside) {
  // The lane, which later iterations read, the counter, an address and two numbers; bounds are
  // constants.
  EXPECT_EQ(pressureOf("%lane = warp.lane_id\nscf.for %i = %zero to %many step %one : i32 {\n"
                       "%at = arith.muli %i, %lane : i32\n%a = warp.load_shared %at : f32\n"
                       "%b = warp.load_shared %i : f32\nwarp.store_shared %a, %at : f32\n"
                       "warp.store_shared %b, %at : f32\n}")
                .second,
            5);
}

TEST_F(RegisterPressureTest, CarriedValuesAreCountedOnce) {
  EXPECT_EQ(mostIn("%start = warp.load_shared %p : vector<4xf32>\n"
                   "%end = scf.for %i = %zero to %many step %one iter_args(%sum = %start) -> "
                   "(vector<4xf32>) : i32 {\n%next = arith.addf %sum, %sum : vector<4xf32>\n"
                   "scf.yield %next : vector<4xf32>\n}\n"
                   "warp.store_shared %end, %p : vector<4xf32>"),
            5);
}

TEST_F(RegisterPressureTest, OneBranchIsTaken) {
  std::string branch = "%x = warp.load_shared %p : vector<4xf32>\n"
                       "warp.store_shared %x, %p : vector<4xf32>\n";
  EXPECT_EQ(mostIn("scf.if %c {\n" + branch + "} else {\n" + branch + "}"), 4);
}

} // namespace
