//===- MicroKernelTest.cpp - which micro-kernel multiplies what -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/TileToVector/MicroKernel.h"
#include "mlir/IR/Builders.h"
#include "polyattn/Target/CPU.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_vector;
using tile::Layout;
using tile::Precision;
using tile::TileType;

namespace {

class MicroKernels : public testing::Test {
protected:
  MicroKernels() { context.loadDialect<tile::TileDialect>(); }

  MLIRContext context;
  Builder b{&context};
  MachineDescription small = llvm::cantFail(findMachine("x86-64"));
  MachineDescription large = llvm::cantFail(findMachine("x86-64-v4"));
};

TEST_F(MicroKernels, AreFoundByPrecisionAndElements) {
  auto of = [&](Type element, Layout layout = Layout::Rows) {
    return TileType::get(&context, 16, 16, element, layout);
  };
  TileType f32 = of(b.getF32Type()), f64 = of(b.getF64Type()), bf16 = of(b.getBF16Type());
  for (const MachineDescription &machine : {small, large})
    for (bool transposed : {false, true}) {
      auto find = [&](Precision precision, TileType lhs, TileType rhs) {
        return findMicroKernel(precision, lhs, transposed, rhs, machine);
      };
      EXPECT_EQ(find(Precision::F32, f32, f32), &fmaKernel());
      EXPECT_EQ(find(Precision::F64, f64, f64), &fmaKernel());
      EXPECT_EQ(find(Precision::F32, f32, f64), nullptr);
      EXPECT_EQ(find(Precision::F32, f32, bf16), nullptr);
      EXPECT_EQ(find(Precision::SplitTF32, f32, f32), nullptr);
      EXPECT_EQ(find(Precision::BF16, f32, f32), nullptr);
    }
}

// Pairs of terms lie side by side in both operands, where the machine multiplies such.
TEST_F(MicroKernels, PairsAreOfRowsThatAreSummed) {
  auto rows = TileType::get(&context, 16, 16, b.getBF16Type());
  TileType pairs = rows.withElements(b.getBF16Type(), Layout::RowPairs);
  MachineDescription bf16 = large;
  bf16.instructions = bf16.instructions | Instructions::AVX512BF16;
  auto find = [&](TileType lhs, bool transposed, TileType rhs) {
    EXPECT_EQ(findMicroKernel(Precision::BF16, lhs, transposed, rhs, large), nullptr);
    return findMicroKernel(Precision::BF16, lhs, transposed, rhs, bf16);
  };
  EXPECT_EQ(find(rows, false, pairs), &bf16PairsKernel());
  EXPECT_EQ(find(pairs, true, pairs), &bf16PairsKernel());
  EXPECT_EQ(find(rows, true, pairs), nullptr);
  EXPECT_EQ(find(pairs, false, pairs), nullptr);
  EXPECT_EQ(find(rows, false, rows), nullptr);
}

// The accumulators of a register tile fit the registers, beside a row of B and an element of A.
TEST_F(MicroKernels, RegisterTilesFitTheRegisters) {
  for (const MachineDescription &machine : {small, large})
    for (int64_t products : {1, 2, 3})
      for (int64_t depth : {8, 64, 4096})
        for (int64_t rows : {1, 7, 64})
          for (int64_t vectors : {1, 2, 3, 4, 8, 16}) {
            TileShape shape = fmaKernel().chooseShape(machine, {products, 1}, depth, rows, vectors);
            EXPECT_LE(shape.rows, rows);
            EXPECT_LE(shape.vectors, vectors);
            // One row of few vectors may be all that there is.
            if (shape.rows > 1)
              EXPECT_LE(shape.rows * shape.vectors * products, machine.accumulators());
          }
  // Wide panels of B are for those of which L1 holds all rows.
  EXPECT_EQ(panelVectors(large, 64), 4);
  EXPECT_EQ(panelVectors(large, 4096), 2);
  EXPECT_EQ(panelVectors(small, 64), 2);
}

// Sixteen registers hold eight sums in pairs of vectors, too few to hide a latency of five cycles,
// or twelve in tiles of three vectors. Without FMA a product needs a register of its own.
TEST_F(MicroKernels, TilesOfThreeVectorsFillSixteenRegisters) {
  MachineDescription avx2 = llvm::cantFail(findMachine("x86-64-v3"));
  auto shapeOf = [&](const MachineDescription &machine, ProductGroup group, int64_t rows,
                     int64_t vectors) {
    TileShape shape = fmaKernel().chooseShape(machine, group, 64, rows, vectors);
    return std::pair<int, int>(shape.rows, shape.vectors);
  };
  EXPECT_EQ(shapeOf(avx2, {1, 1}, 64, 8), std::pair(4, 3));
  EXPECT_EQ(shapeOf(avx2, {2, 1}, 64, 8), std::pair(2, 3));
  // Three vectors of two right operands would leave no register for an element of the left one.
  EXPECT_EQ(shapeOf(avx2, {2, 2}, 64, 8), std::pair(2, 2));
  EXPECT_EQ(shapeOf(avx2, {1, 1}, 64, 2), std::pair(4, 2));
  EXPECT_EQ(shapeOf(avx2, {1, 1}, 64, 4), std::pair(4, 2));
  EXPECT_EQ(shapeOf(small, {1, 1}, 64, 8), std::pair(4, 2));
  EXPECT_EQ(shapeOf(large, {1, 1}, 64, 8), std::pair(4, 4));
}

// No tile of one vector is left over, with few sums.
TEST_F(MicroKernels, TilesBehindThoseOfThreeVectorsHaveTwo) {
  TileShape three{4, 3}, two{4, 2};
  for (int64_t vectors = 1; vectors <= 16; ++vectors) {
    int64_t narrow = three.narrowVectors(vectors), rest = vectors - three.wholeVectors(vectors);
    EXPECT_EQ(three.wholeVectors(vectors) % 3, 0);
    EXPECT_EQ(rest % narrow, 0);
    EXPECT_EQ(narrow, vectors == 1 ? 1 : 2);
  }
  EXPECT_EQ(three.wholeVectors(8), 6);
  EXPECT_EQ(three.wholeVectors(16), 12);
  EXPECT_EQ(two.wholeVectors(5), 4);
  EXPECT_EQ(two.narrowVectors(5), 1);
}

// Large register tiles hide a loop's instructions in one step; small ones have up to four.
TEST_F(MicroKernels, SmallTilesTakeSeveralStepsInAnIteration) {
  EXPECT_EQ(stepsPerIteration(large, 1, 8, 2), 1);
  EXPECT_EQ(stepsPerIteration(large, 2, 4, 2), 1);
  EXPECT_EQ(stepsPerIteration(large, 1, 4, 2), 2);
  EXPECT_EQ(stepsPerIteration(large, 1, 2, 2), 4);
  EXPECT_EQ(stepsPerIteration(large, 1, 1, 1), 4);
  // A full set of registers has none for what the next step loads.
  EXPECT_EQ(stepsPerIteration(small, 1, 4, 3), 1);
  EXPECT_EQ(stepsPerIteration(small, 2, 2, 3), 1);
  EXPECT_EQ(stepsPerIteration(small, 1, 4, 2), 2);
  large.hidingInstructions = 4;
  EXPECT_EQ(stepsPerIteration(large, 1, 2, 2), 1);
}

TEST_F(MicroKernels, FmaWalksRowsColumnsAndPanels) {
  Product product{&fmaKernel(), {}, {}};
  product.lhs.rowStride = 48;
  product.rhs.rowStride = 80;
  OperandWalk rows = fmaKernel().walkLhs(product, 2);
  EXPECT_EQ(rows.stride.constant, 1);
  EXPECT_EQ(rows.displacements, SmallVector<int64_t>({0, 48}));
  product.lhsTransposed = true;
  OperandWalk columns = fmaKernel().walkLhs(product, 2);
  EXPECT_EQ(columns.stride.constant, 48);
  EXPECT_EQ(columns.displacements, SmallVector<int64_t>({0, 1}));
  product.lhs.panelWidth = 2;
  product.lhs.panelRows = 10;
  OperandWalk panels = fmaKernel().walkLhs(product, 4);
  EXPECT_EQ(panels.stride.constant, 2);
  EXPECT_EQ(panels.displacements, SmallVector<int64_t>({0, 1, 20, 21}));
  OperandWalk right = fmaKernel().walkRhs(product, 2, 16);
  EXPECT_EQ(right.stride.constant, 80);
  EXPECT_EQ(right.displacements, SmallVector<int64_t>({0, 16}));
}

} // namespace
