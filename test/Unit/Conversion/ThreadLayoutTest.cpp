//===- ThreadLayoutTest.cpp - equal layouts are equal maps ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic that kernels get is folded for each thread in turn, which gives the elements that
// it has.
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/TileToWarp/ThreadElements.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "gtest/gtest.h"
#include <map>

using namespace mlir;
using namespace polyattn::tile_to_warp;

namespace {
using Kind = ThreadLayout::Kind;
/// The thread of each element (row, column).
using ThreadMap = std::map<std::pair<int64_t, int64_t>, int64_t>;

class ThreadLayoutTest : public ::testing::Test {
protected:
  ThreadLayoutTest() {
    context.loadDialect<arith::ArithDialect>();
    module = ModuleOp::create(UnknownLoc::get(&context));
  }

  static int64_t number(Value value) { return value ? *getConstantIntValue(value) : 0; }

  static void add(ThreadMap &map, int64_t row, int64_t column, int64_t thread) {
    EXPECT_TRUE(map.emplace(std::pair(row, column), thread).second)
        << "two threads have element " << row << ", " << column;
  }
  static void add(ThreadMap &map, const ThreadElements &owned, int64_t thread) {
    for (int64_t row : owned.rows.offsets)
      for (int64_t column : owned.columns.offsets)
        add(map, number(owned.rows.base) + row, number(owned.columns.base) + column, thread);
  }

  void addRuns(ThreadMap &map, Emitter &e, const ThreadLayout &layout) {
    int64_t total = layout.lines() * layout.lineLength() / layout.run;
    for (int64_t i = 0; i < total; ++i)
      add(map, elementsOfRun(e, layout, e.i32(i)), i % layout.threads());
  }
  void addAccumulators(ThreadMap &map, Emitter &e, const ThreadLayout &layout) {
    WarpLayout warps = warpLayoutOf(layout);
    for (int64_t thread = 0; thread < 32 * layout.rowWarps * layout.columnWarps; ++thread) {
      WarpTile tile;
      std::tie(tile.row, tile.column) = firstAccumulator(e, layout, warps, e.i32(thread / 32));
      tile.rowTiles = warps.rowTiles;
      tile.columnTiles = warps.columnTiles;
      add(map, elementsOfAccumulators(e, tile, e.i32(thread % 32)), thread);
    }
  }
  void addLaneSums(ThreadMap &map, Emitter &e, const ThreadLayout &layout) {
    int64_t total = roundUp(layout.rows * layout.lanes, layout.threads());
    for (int64_t i = 0; i < total; ++i) {
      LaneSum sum = laneSumOf(e, layout, e.i32(i), e.i32(i % 32));
      if (number(sum.part) == 0 && number(sum.element) < layout.rows)
        add(map, number(sum.element), 0, i % layout.threads());
    }
  }
  void addRowSums(ThreadMap &map, Emitter &e, const ThreadLayout &layout) {
    for (int64_t tile = 0; tile < roundUp(layout.rows, 16) / 16; ++tile)
      for (int64_t lane = 0; lane < 32; lane += 4)
        for (int64_t half : {0, 8}) {
          int64_t row = number(rowSumOf(e, e.i32(16 * tile), e.i32(lane))) + half;
          if (row < layout.rows)
            add(map, row, 0, 32 * (tile % layout.warps) + lane);
        }
  }
  static WarpLayout warpLayoutOf(const ThreadLayout &layout) {
    int64_t rowTiles = roundUp(layout.rows, 16) / 16, columnTiles = roundUp(layout.columns, 16) / 8;
    return {layout.rowWarps, layout.columnWarps, rowTiles / layout.rowWarps,
            columnTiles / layout.columnWarps};
  }

  /// Vectors as rows, so that those that stand and those that lie compare.
  ThreadMap mapOf(const ThreadLayout &layout) {
    Emitter e(UnknownLoc::get(&context), &context);
    e.setInsertionPointToEnd(module->getBody());
    ThreadMap map;
    if (layout.kind == Kind::Runs)
      addRuns(map, e, layout);
    else if (layout.kind == Kind::Accumulators)
      addAccumulators(map, e, layout);
    else if (layout.kind == Kind::LaneSums)
      addLaneSums(map, e, layout);
    else
      addRowSums(map, e, layout);
    module->getBody()->clear();
    if (layout.rows != 1)
      return map;
    ThreadMap standing;
    for (auto [element, thread] : map)
      standing[{element.second, element.first}] = thread;
    return standing;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

std::vector<ThreadLayout> layouts() {
  std::vector<ThreadLayout> result;
  for (int64_t warps : {4, 8})
    for (auto [rows, columns] :
         {std::pair(16, 16), {32, 16}, {16, 32}, {1, 32}, {32, 1}, {48, 1}}) {
      for (bool columnMajor : {false, true})
        for (int64_t run : {1, 2, 4}) {
          ThreadLayout layout = ThreadLayout::runs(warps, rows, columns, columnMajor, run);
          if (layout.lineLength() % run == 0)
            result.push_back(layout);
        }
      if (columns == 1) {
        for (int64_t lanes : {1, 2, 4, 8, 32})
          for (bool neighbours : {false, true})
            result.push_back(ThreadLayout::laneSums(warps, rows, lanes, neighbours));
        result.push_back(ThreadLayout::rowSums(warps, rows));
      }
      for (int64_t together : {1, 2}) {
        WarpLayout layout = WarpLayout::of(rows, columns, warps, together);
        result.push_back(
            ThreadLayout::accumulators(warps, rows, columns, layout.rowWarps, layout.columnWarps));
      }
    }
  return result;
}

TEST_F(ThreadLayoutTest, EqualLayoutsGiveEachElementToTheSameThread) {
  std::vector<ThreadLayout> all = layouts();
  std::vector<ThreadMap> maps;
  for (const ThreadLayout &layout : all)
    maps.push_back(mapOf(layout));
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = 0; j < all.size(); ++j)
      if (all[i] == all[j])
        EXPECT_EQ(maps[i], maps[j]) << i << " and " << j;
}

TEST_F(ThreadLayoutTest, EachElementHasAThread) {
  for (const ThreadLayout &layout : layouts()) {
    ThreadMap map = mapOf(layout);
    for (int64_t row = 0; row < std::max(layout.rows, layout.columns); ++row)
      EXPECT_TRUE(map.count({row, 0}) || row >= (layout.rows == 1 ? layout.columns : layout.rows));
  }
}

TEST_F(ThreadLayoutTest, VectorsThatStandAndLieAreCutAlike) {
  EXPECT_EQ(ThreadLayout::runs(4, 1, 48, /*columnMajor=*/false, 2),
            ThreadLayout::runs(4, 48, 1, /*columnMajor=*/true, 2));
}

// Two layouts for sums of 32 elements that give them to different threads.
TEST_F(ThreadLayoutTest, SumsOfAsManyElementsAreNotOneLayout) {
  ThreadLayout neighbours = ThreadLayout::laneSums(4, 32, 4, /*neighbours=*/true),
               apart = ThreadLayout::laneSums(4, 32, 4, /*neighbours=*/false),
               rows = ThreadLayout::rowSums(4, 32);
  EXPECT_NE(neighbours, apart);
  EXPECT_NE(neighbours, rows);
  EXPECT_NE(mapOf(neighbours), mapOf(apart));
  EXPECT_NE(mapOf(neighbours), mapOf(rows));
}

TEST_F(ThreadLayoutTest, WindowsThatOverlapAreNotOneLayout) {
  ThreadLayout first = ThreadLayout::runs(4, 32, 16, false, 4), second = first;
  second.rowPhase = 16;
  EXPECT_NE(first, second);
}
} // namespace
