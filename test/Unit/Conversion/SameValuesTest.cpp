//===- SameValuesTest.cpp - values that are the same by what computes them ===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/Analysis/SameValues.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace polyattn;

namespace {

/// Kernels over an 8 x 8 tensor %x, whose rows are loaded as %r and as columns as %c.
class SameValues : public ::testing::Test {
protected:
  SameValues() {
    context.loadDialect<tile::TileDialect, arith::ArithDialect, math::MathDialect,
                        memref::MemRefDialect, scf::SCFDialect>();
  }

  void parse(const std::string &body) {
    std::string load = " = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1",
                type = "} : memref<8x8xf32> -> $T\n";
    std::string text = "tile.kernel @k attributes {arg_names = [\"x\"], num_inputs = 1} {\n"
                       "^bb0(%x: memref<8x8xf32>):\n"
                       "  %c0 = arith.constant 0 : index\n  %c8 = arith.constant 8 : index\n"
                       "  %r" +
                       load + type + "  %c" + load + ", transposed" + type + body + "}\n";
    for (size_t at = text.find("$T"); at != std::string::npos; at = text.find("$T"))
      text.replace(at, 2, "!tile.tile<8x8xf32>");
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
  }

  /// x + tanh(x), so many times over; the last is %NAME_steps.
  static std::string residualSteps(const std::string &first, const std::string &name, int steps,
                                   const std::string &function = "math.tanh") {
    std::string text, input = first;
    for (int i = 1; i <= steps; ++i) {
      std::string output = "%" + name + std::to_string(i);
      text += output + "_f = tile.map " + input +
              " : $T -> $T {\n^bb0(%a: f32):\n  %y = " + function +
              " %a : f32\n  tile.yield %y : f32\n}\n" + output + " = tile.map " + input + ", " +
              output + "_f : $T, $T -> $T {\n^bb0(%a: f32, %b: f32):\n" +
              "  %y = arith.addf %a, %b : f32\n  tile.yield %y : f32\n}\n";
      input = output;
    }
    return text;
  }

  tile::KernelOp kernel() { return *module->getOps<tile::KernelOp>().begin(); }
  Value last() { return kernel().getBody().front().back().getResult(0); }
  /// What the op before so many others at the kernel's end gives.
  Value fromEnd(int ops) {
    Operation *op = &kernel().getBody().front().back();
    for (; ops > 0; --ops)
      op = op->getPrevNode();
    return op->getResult(0);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

/// Twice the steps from the same rows, the second time beside the first.
constexpr int kSteps = 64, kOps = 2 * kSteps;

// There are 2^64 ways from the end of such a chain to its beginning: each value is followed once.
TEST_F(SameValues, ChainsOfResidualStepsAreFollowedOnce) {
  parse(residualSteps("%r", "a", kSteps) + residualSteps("%r", "b", kSteps));
  EXPECT_TRUE(areEqual(last(), fromEnd(kOps)));
  parse(residualSteps("%r", "a", kSteps) + residualSteps("%c", "b", kSteps));
  EXPECT_TRUE(areTransposed(last(), fromEnd(kOps)));
  EXPECT_FALSE(areEqual(last(), fromEnd(kOps)));
}

TEST_F(SameValues, ChainsThatDifferAtTheirEndsAreNotTheSame) {
  parse(residualSteps("%r", "a", 4) + residualSteps("%r", "b", 3) +
        residualSteps("%b3", "c", 1, "math.exp"));
  EXPECT_FALSE(areEqual(last(), fromEnd(8)));
  EXPECT_TRUE(areEqual(fromEnd(2), fromEnd(10)));
  parse(residualSteps("%r", "a", 4) + residualSteps("%c", "b", 3) +
        residualSteps("%b3", "c", 1, "math.exp"));
  EXPECT_FALSE(areTransposed(last(), fromEnd(8)));
}

// Counted where arguments of loops are compared, which the caller says.
TEST_F(SameValues, ArgumentsAreComparedOnce) {
  std::string open = "scf.for %i = %c0 to %c8 step %c8 {\n  %row = tile.load %x[%i, %c0] "
                     "{row_dim = 0, col_dim = 1} : memref<8x8xf32> -> $T\n";
  parse(open + residualSteps("%row", "a", 16) + "}\n" + open + residualSteps("%row", "b", 16) +
        "}\n");
  SmallVector<scf::ForOp> loops(kernel().getBody().front().getOps<scf::ForOp>());
  auto lastOf = [](scf::ForOp loop) {
    return loop.getBody()->getTerminator()->getPrevNode()->getResult(0);
  };
  int comparisons = 0;
  EXPECT_TRUE(areEqual(lastOf(loops[0]), lastOf(loops[1]), [&](BlockArgument, BlockArgument) {
    ++comparisons;
    return true;
  }));
  EXPECT_EQ(comparisons, 1);
  EXPECT_FALSE(areEqual(lastOf(loops[0]), lastOf(loops[1])));
}

} // namespace
