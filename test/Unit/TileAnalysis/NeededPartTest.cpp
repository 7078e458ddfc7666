//===- NeededPartTest.cpp - which rows and columns of a tile are read -----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/TileAnalysis/NeededPart.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace polyattn;

namespace {

/// Tiles %a and %b of 8 x 8 numbers of %x; `body` is what reads them. `$T` is their type.
class NeededPart : public ::testing::Test {
protected:
  NeededPart() {
    context.loadDialect<tile::TileDialect, arith::ArithDialect, memref::MemRefDialect,
                        scf::SCFDialect>();
  }

  /// The ends of the rows and the columns of %a that are needed: "n", "m", or "-" for all.
  std::string ofA(const std::string &body) {
    std::string text =
        "tile.kernel @k attributes {arg_names = [\"x\", \"out\"], num_inputs = 1} {\n"
        "^bb0(%x: memref<?x8xf32>, %out: memref<?x8xf32>):\n"
        "  %c0 = arith.constant 0 : index\n"
        "  %c1 = arith.constant 1 : index\n"
        "  %n = memref.dim %x, %c0 : memref<?x8xf32>\n"
        "  %m = arith.addi %n, %c1 : index\n"
        "  %s = tile.buffer : !tile.buffer<8x8>\n"
        "  %a = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1} : "
        "memref<?x8xf32> -> $T\n"
        "  %b = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1} : "
        "memref<?x8xf32> -> $T\n"
        "  %late = arith.addi %m, %c1 : index\n" +
        body + "}\n";
    for (size_t at = text.find("$T"); at != std::string::npos; at = text.find("$T"))
      text.replace(at, 2, "!tile.tile<8x8xf32>");
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    if (!module)
      return "";
    auto kernel = *module->getOps<tile::KernelOp>().begin();
    Block &block = kernel.getBody().front();
    Value a = (*block.getOps<tile::LoadOp>().begin()).getResult();
    Value n = (*block.getOps<memref::DimOp>().begin()).getResult();
    TilePart part = NeededParts(kernel).of(a);
    auto name = [&](Value end) { return !end ? "-" : end == n ? "n" : "m"; };
    return std::string(name(part.rows)) + " " + name(part.columns);
  }

  static std::string store(const std::string &tile, const std::string &valid = "") {
    return "  tile.store " + tile + ", %out[%c0, %c0] " + (valid.empty() ? "" : "valid " + valid) +
           " {row_dim = 0, col_dim = 1} : $T, memref<?x8xf32>\n";
  }
  static std::string dot(const std::string &operands, const std::string &attributes) {
    return "  %r = tile.dot " + operands + " " + attributes + " : $T, $T -> $T\n";
  }

  MLIRContext context;
};

TEST_F(NeededPart, StoresSayHowManyRows) {
  EXPECT_EQ(ofA(store("%a", "%n")), "n -");
  EXPECT_EQ(ofA(store("%a")), "- -");
}

TEST_F(NeededPart, SeveralReadersNeedAll) {
  EXPECT_EQ(ofA(store("%a", "%n") + store("%a", "%n")), "n -");
  EXPECT_EQ(ofA(store("%a", "%n") + store("%a", "%m")), "- -");
  EXPECT_EQ(ofA(store("%a") + store("%a", "%n")), "- -");
}

// An end that is known only after the tile is of no use for computing it.
TEST_F(NeededPart, EndsAreKnownBefore) { EXPECT_EQ(ofA(store("%a", "%late")), "- -"); }

TEST_F(NeededPart, ProductsReadRowsColumnsAndTerms) {
  EXPECT_EQ(ofA(dot("%a, %b bound %m", "") + store("%r", "%n")), "n m");
  EXPECT_EQ(ofA(dot("%a, %b bound %m", "{lhs_transposed}") + store("%r", "%n")), "m n");
  EXPECT_EQ(ofA(dot("%b, %a bound %m", "") + store("%r", "%n")), "m -");
  EXPECT_EQ(ofA(dot("%b, %a", "") + store("%r", "%n")), "- -");
  EXPECT_EQ(ofA("  tile.accumulate %a, %b, %s[%c0] bound %n : $T, $T, !tile.buffer<8x8>\n"), "- n");
  EXPECT_EQ(ofA("  tile.accumulate %b, %a, %s[%c0] bound %n : $T, $T, !tile.buffer<8x8>\n"), "n -");
}

// Rows of a lower triangle end with their number; those of an upper one begin with it.
TEST_F(NeededPart, TrianglesHaveAsManyColumnsAsRows) {
  EXPECT_EQ(ofA(dot("%a, %b", "{lower_lhs}") + store("%r", "%n")), "n n");
  EXPECT_EQ(ofA(dot("%b, %a", "{lower_lhs}") + store("%r", "%n")), "n -");
  EXPECT_EQ(ofA(dot("%b, %a", "{upper_lhs}") + store("%r", "%n")), "- -");
  EXPECT_EQ(ofA(dot("%a, %b bound %n", "{upper_lhs}") + store("%r")), "n n");
  EXPECT_EQ(ofA(dot("%b, %a", "{lower}") + store("%r", "%n")), "- n");
  std::string mask = "  %r = tile.causal_mask %a : $T -> $T\n";
  EXPECT_EQ(ofA(mask + store("%r", "%n")), "n n");
}

TEST_F(NeededPart, ReductionsHaveABound) {
  std::string store = "  tile.store %r, %out[%c0, %c0] valid %m {row_dim = 0, col_dim = -1} : "
                      "!tile.tile<8x1xf32>, memref<?x8xf32>\n";
  EXPECT_EQ(
      ofA("  %r = tile.reduce <add> <columns> %a bound %n : $T -> !tile.tile<8x1xf32>\n" + store),
      "m n");
}

TEST_F(NeededPart, TransposesSwap) {
  EXPECT_EQ(ofA("  %r = tile.transpose %a : $T -> $T\n" + store("%r", "%n")), "- n");
}

// A loop that carries a tile reads all of it.
TEST_F(NeededPart, LoopsReadAll) {
  EXPECT_EQ(ofA("  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a) -> ($T) {\n"
                "    scf.yield %t : $T\n  }\n" +
                store("%r", "%n")),
            "- -");
}

} // namespace
