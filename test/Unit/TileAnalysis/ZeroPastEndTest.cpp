//===- ZeroPastEndTest.cpp - tiles that are zero past the end of a tensor -===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/TileAnalysis/ZeroPastEnd.h"
#include "dialects/Tile/Tile.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace polyattn;

namespace {

/// Blocks of 8 positions of %x, of which %n are in the tensor, as rows (%r) and as columns (%c),
/// and a weight %w. `$T` is their type.
class ZeroPastEnd : public ::testing::Test {
protected:
  ZeroPastEnd() {
    context.loadDialect<tile::TileDialect, arith::ArithDialect, math::MathDialect,
                        memref::MemRefDialect, scf::SCFDialect>();
  }

  /// Whether the last op of `body` is zero from its %n-th row (column) on.
  bool holds(const std::string &body, tile::Axis axis) {
    std::string load = "tile.load %x[%c0, %c0] valid %n {row_dim = 0, col_dim = 1";
    std::string text =
        "tile.kernel @k attributes {arg_names = [\"x\"], num_inputs = 1} {\n"
        "^bb0(%x: memref<?x8xf32>):\n"
        "  %c0 = arith.constant 0 : index\n"
        "  %c3 = arith.constant 3 : index\n"
        "  %n = memref.dim %x, %c0 : memref<?x8xf32>\n"
        "  %w = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<?x8xf32> -> $T\n"
        "  %shorter = tile.load %x[%c0, %c0] valid %c3 {row_dim = 0, col_dim = 1} : "
        "memref<?x8xf32> -> $T\n  %r = " +
        load + "} : memref<?x8xf32> -> $T\n  %c = " + load +
        ", transposed} : memref<?x8xf32> -> $T\n" + body + "}\n";
    for (size_t at = text.find("$T"); at != std::string::npos; at = text.find("$T"))
      text.replace(at, 2, "!tile.tile<8x8xf32>");
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    if (!module)
      return false;
    auto kernel = *module->getOps<tile::KernelOp>().begin();
    Block &block = kernel.getBody().front();
    Value end = (*block.getOps<memref::DimOp>().begin()).getResult();
    return isZeroPast(block.back().getResult(0), axis, end);
  }

  bool inRows(const std::string &body) { return holds(body, tile::Axis::Rows); }
  bool inColumns(const std::string &body) { return holds(body, tile::Axis::Columns); }

  static std::string map(const std::string &inputs, const std::string &function) {
    bool two = inputs.find(',') != std::string::npos;
    return "  %m = tile.map " + inputs + " : " + (two ? "$T, $T" : "$T") +
           " -> $T {\n  ^bb0(%a: f32" + (two ? ", %b: f32" : "") + "):\n" + function +
           "    tile.yield %y : f32\n  }\n";
  }

  MLIRContext context;
};

TEST_F(ZeroPastEnd, BlocksOfTensors) {
  EXPECT_TRUE(inColumns(""));
  EXPECT_FALSE(inRows(""));
  std::string transpose = "  %t = tile.transpose %c : $T -> $T\n";
  EXPECT_TRUE(inRows(transpose));
  EXPECT_FALSE(inColumns(transpose));
  EXPECT_FALSE(inRows("  %t = tile.transpose %w : $T -> $T\n"));
  // What another end bounds is not known past this one.
  EXPECT_FALSE(inColumns("  %t = tile.transpose %shorter : $T -> $T\n"));
}

TEST_F(ZeroPastEnd, ProductsOfRows) {
  std::string table = "[%c0] {table = dense<[[0, 1], [7, 7]]> : tensor<2x2xi32>} : $T -> "
                      "!tile.tile<2x8xf32>\n";
  EXPECT_TRUE(inColumns("  %p = tile.monomials %c" + table));
  EXPECT_FALSE(inRows("  %p = tile.monomials %r" + table));
  EXPECT_FALSE(inColumns("  %p = tile.monomials %w" + table));
  EXPECT_TRUE(inColumns("  %p = tile.select_rows %c {rows = array<i64: 5, 0>} : $T -> "
                        "!tile.tile<2x8xf32>\n"));
}

TEST_F(ZeroPastEnd, ElementsOfZeros) {
  EXPECT_TRUE(inColumns(map("%c", "    %k = arith.constant 0.5 : f32\n"
                                  "    %y = arith.mulf %a, %k : f32\n")));
  EXPECT_TRUE(inColumns(map("%c", "    %s = arith.mulf %a, %a : f32\n"
                                  "    %y = arith.addf %s, %a : f32\n")));
  // One more, and a power of it, are not.
  EXPECT_FALSE(inColumns(map("%c", "    %k = arith.constant 1.0 : f32\n"
                                   "    %y = arith.addf %a, %k : f32\n")));
  EXPECT_FALSE(inColumns(map("%c", "    %y = math.exp %a : f32\n")));
}

// Zero times infinity is NaN.
TEST_F(ZeroPastEnd, WeightsMayBeInfinite) {
  EXPECT_FALSE(inColumns(map("%c, %w", "    %y = arith.mulf %a, %b : f32\n")));
  EXPECT_FALSE(inColumns(map("%c", "    %k = arith.constant 0x7F800000 : f32\n"
                                   "    %y = arith.mulf %a, %k : f32\n")));
  EXPECT_FALSE(inColumns("  %p = tile.dot %w, %c : $T, $T -> $T\n"));
}

// There are 2^64 ways from the end of a chain of residual steps to its beginning: each is looked at
// once.
TEST_F(ZeroPastEnd, ChainsOfResidualSteps) {
  std::string steps;
  for (int i = 0; i < 64; ++i) {
    std::string input = i ? "%x" + std::to_string(i) : "%c", name = std::to_string(i + 1);
    steps += "  %f" + name + " = tile.map " + input +
             " : $T -> $T {\n  ^bb0(%a: f32):\n    %y = arith.negf %a : f32\n"
             "    tile.yield %y : f32\n  }\n  %x" +
             name + " = tile.map " + input + ", %f" + name +
             " : $T, $T -> $T {\n  ^bb0(%a: f32, %b: f32):\n    %y = arith.addf %a, %b : f32\n"
             "    tile.yield %y : f32\n  }\n";
  }
  EXPECT_TRUE(inColumns(steps));
  EXPECT_FALSE(inRows(steps));
}

} // namespace
