//===- LayoutTest.cpp - where tiles lie, and how warps share a result -----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/TileToWarp/Layout.h"
#include "mlir/IR/Builders.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace polyattn::tile_to_warp;

namespace {

std::string describe(const WarpLayout &layout) {
  return std::to_string(layout.rowWarps) + "x" + std::to_string(layout.columnWarps) + " warps of " +
         std::to_string(layout.rowTiles) + "x" + std::to_string(layout.columnTiles);
}

TEST(WarpGridTest, WarpsHavePartsThatReadLeast) {
  // 2 x 4 fragments are read by 8 + 8 wavefronts, 1 x 8 by 4 + 16.
  EXPECT_EQ(describe(WarpLayout::of(64, 64, 4)), "2x2 warps of 2x4");
  EXPECT_EQ(describe(WarpLayout::of(64, 128, 4)), "2x2 warps of 2x8");
  EXPECT_EQ(describe(WarpLayout::of(64, 128, 8)), "2x4 warps of 2x4");
}

TEST(WarpGridTest, TwoLeftFactorsTakeFewerRows) {
  EXPECT_EQ(describe(WarpLayout::of(128, 64, 8, 1)), "4x2 warps of 2x4");
  EXPECT_EQ(describe(WarpLayout::of(64, 64, 4, 2)), "4x1 warps of 1x8");
}

TEST(WarpGridTest, AllWarpsWhereTheyCan) {
  // Three rows of fragments cannot be shared by two warps.
  EXPECT_EQ(describe(WarpLayout::of(48, 64, 4)), "1x4 warps of 3x2");
  EXPECT_EQ(describe(WarpLayout::of(16, 16, 4)), "1x2 warps of 1x1");
  // Sizes are rounded up to fragments.
  EXPECT_EQ(describe(WarpLayout::of(17, 1, 4)), "2x2 warps of 1x1");
}

TEST(StorageTest, LinesArePaddedAgainstBankConflicts) {
  MLIRContext context;
  Builder builder(&context);
  TileMemory matrix = TileMemory::of(60, 33, builder.getBF16Type(), /*columnMajor=*/false);
  EXPECT_EQ(matrix.rows, 64);
  EXPECT_EQ(matrix.columns, 48);
  EXPECT_EQ(matrix.pitch, 56);
  EXPECT_EQ(matrix.bytes, 64 * 56 * 2);
  TileMemory lying = TileMemory::of(60, 33, builder.getF32Type(), /*columnMajor=*/true);
  EXPECT_EQ(lying.pitch, 72);
  EXPECT_EQ(lying.bytes, 48 * 72 * 4);
  TileMemory vector = TileMemory::of(33, 1, builder.getF32Type(), /*columnMajor=*/true);
  EXPECT_EQ(vector.bytes, 48 * 4);
}

} // namespace
