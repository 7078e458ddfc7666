//===- BarriersTest.cpp - where the threads of a CTA must meet ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/TileToWarp/Barriers.h"
#include "dialects/Warp/Warp.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;

namespace {
/// Phases of a kernel; the text says what is left of their barriers: `b` a barrier, `w` a wait
/// for all copies before it or a number for all but so many groups of them, `.` a phase.
class BarriersTest : public ::testing::Test {
protected:
  BarriersTest() : builder(&context) {
    context.loadDialect<warp::WarpDialect>();
    module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module->getBody());
  }
  void phase(std::initializer_list<std::pair<char, TileMemory>> accesses,
             const std::optional<ThreadLayout> &layout = {}) {
    barriers.beginPhase(warp::BarrierOp::create(builder, builder.getUnknownLoc()));
    for (auto [kind, storage] : accesses) {
      if (kind == 'c')
        barriers.copy(storage), barriers.closeGroup();
      else
        barriers.access(storage, kind == 'w', layout);
    }
    warp::SyncOp::create(builder, builder.getUnknownLoc());
  }
  std::string finish() {
    Operation *end = warp::SyncOp::create(builder, builder.getUnknownLoc());
    barriers.finish(end);
    end->erase();
    std::string text;
    for (Operation &op : *module->getBody())
      if (auto wait = dyn_cast<warp::WaitCopiesOp>(op))
        text += wait.getPending() ? std::to_string(wait.getPending()) : "w";
      else
        text += isa<warp::BarrierOp>(op) ? 'b' : '.';
    return text;
  }
  static TileMemory bytes(int64_t begin, int64_t size, Space space = Space::Shared) {
    TileMemory storage;
    storage.space = space;
    storage.offset = begin;
    storage.bytes = size;
    return storage;
  }

  MLIRContext context;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
  Barriers barriers;
  TileMemory a = bytes(0, 64), b = bytes(64, 64), overlapsA = bytes(32, 64);
  ThreadLayout layout = ThreadLayout::runs(/*warps=*/4, 16, 16, /*columnMajor=*/false, /*run=*/4);
};

TEST_F(BarriersTest, ReadersWaitForWriters) {
  phase({{'w', a}});
  phase({{'r', b}});
  phase({{'r', a}});
  phase({{'r', a}});
  EXPECT_EQ(finish(), "..b..");
}

TEST_F(BarriersTest, WritersWaitForReadersOfOverlappingBytes) {
  phase({{'r', a}});
  phase({{'w', b}});
  phase({{'w', overlapsA}});
  EXPECT_EQ(finish(), "..b.");
}

TEST_F(BarriersTest, SpacesAreApart) {
  phase({{'w', a}});
  phase({{'r', bytes(0, 64, Space::Workspace)}});
  EXPECT_EQ(finish(), "..");
}

TEST_F(BarriersTest, ThreadsReadWhatTheyWrote) {
  phase({{'w', a}}, layout);
  phase({{'r', a}, {'w', a}}, layout);
  EXPECT_EQ(finish(), "..");
}

TEST_F(BarriersTest, OtherLayoutsGiveElementsToOtherThreads) {
  phase({{'r', a}, {'w', a}}, ThreadLayout::laneSums(4, 32, 4, /*neighbours=*/true));
  phase({{'r', a}, {'w', a}}, ThreadLayout::laneSums(4, 32, 4, /*neighbours=*/false));
  EXPECT_EQ(finish(), ".b.");
}

TEST_F(BarriersTest, AnotherTileOfTheSameBytesHasItsElementsElsewhere) {
  TileMemory lying = a;
  lying.columnMajor = true;
  a.rows = a.columns = lying.rows = lying.columns = 16;
  phase({{'w', a}}, layout);
  phase({{'w', lying}}, layout);
  EXPECT_EQ(finish(), ".b.");
}

TEST_F(BarriersTest, OneLayoutOfTwoPlacesIsNoExcuse) {
  phase({{'w', a}}, layout);
  phase({{'r', overlapsA}}, layout);
  EXPECT_EQ(finish(), ".b.");
}

TEST_F(BarriersTest, CopiesAreWaitedForAtTheBarrierThatTheirReaderNeeds) {
  phase({{'c', a}});
  phase({{'c', b}});
  phase({{'r', a}});
  phase({{'r', b}});
  EXPECT_EQ(finish(), "..1b.wb.");
}

TEST_F(BarriersTest, BarriersForOthersLeaveCopiesOnTheirWay) {
  phase({{'c', a}});
  phase({{'w', b}});
  phase({{'r', b}});
  phase({{'r', a}});
  EXPECT_EQ(finish(), "..b.wb.");
}

TEST_F(BarriersTest, CopiesAreWaitedForBeforeTheirPlaceIsWritten) {
  phase({{'c', a}});
  phase({{'w', overlapsA}});
  EXPECT_EQ(finish(), ".wb.");
}

TEST_F(BarriersTest, TheNextIterationWaitsForTheLast) {
  barriers.beginLoop();
  phase({{'w', a}});
  phase({{'r', a}});
  barriers.endLoop();
  EXPECT_EQ(finish(), "b.b.");
}

TEST_F(BarriersTest, ALoopMayRunNoTime) {
  phase({{'w', a}});
  barriers.beginLoop();
  phase({{'r', b}});
  barriers.endLoop();
  phase({{'r', a}});
  EXPECT_EQ(finish(), "..b.");
}

// `a` is this iteration's stage and `b` the next iteration's.
TEST_F(BarriersTest, OneBarrierServesCopiesThatComeAndThoseThatStart) {
  phase({{'c', a}});
  barriers.beginLoop({0, 64});
  phase({{'r', a}, {'c', b}});
  phase({{'r', a}});
  barriers.endLoop();
  EXPECT_EQ(finish(), ".wb..w");
}

TEST_F(BarriersTest, OneStageIsReadWhileTheOtherIsWritten) {
  barriers.beginLoop({0, 64});
  phase({{'r', a}});
  phase({{'w', b}});
  barriers.endLoop();
  EXPECT_EQ(finish(), "b..");
}

TEST_F(BarriersTest, WhatAStageHeldTwoIterationsAgoIsInNobodysWay) {
  TileMemory c = bytes(128, 64);
  barriers.beginLoop({0, 64});
  phase({{'r', a}, {'w', c}}, layout);
  phase({{'w', b}});
  phase({{'r', c}});
  barriers.endLoop();
  EXPECT_EQ(finish(), "b..b.");
}

TEST_F(BarriersTest, BehindTheLoopEitherStageMayBeTheLast) {
  barriers.beginLoop({0, 64});
  phase({{'r', a}, {'c', b}});
  barriers.endLoop();
  phase({{'r', bytes(0, 16)}});
  EXPECT_EQ(finish(), "wb.wb.");
}

TEST_F(BarriersTest, WhatLaysThereBeforeTheLoopIsInTheWay) {
  phase({{'w', overlapsA}});
  barriers.beginLoop({0, 64});
  phase({{'c', b}});
  barriers.endLoop();
  EXPECT_EQ(finish(), ".1b.w");
}

TEST_F(BarriersTest, ABarrierInOneBranchIsNotOneInTheOther) {
  phase({{'w', a}});
  barriers.beginBranch();
  phase({{'r', a}});
  barriers.nextBranch();
  phase({{'r', b}});
  barriers.endBranch();
  phase({{'r', a}});
  EXPECT_EQ(finish(), ".b..b.");
}

// Weights are copied before a branch, and no other way to the end uses them.
TEST_F(BarriersTest, CopiesForABranchAreWaitedForAtTheEnd) {
  phase({{'c', a}});
  barriers.beginBranch();
  phase({{'r', a}});
  barriers.endBranch();
  phase({{'w', b}});
  EXPECT_EQ(finish(), ".wb..w");
}

TEST_F(BarriersTest, NothingIsWaitedForAtTheEndWhereNoCopyIsLeft) {
  phase({{'c', a}});
  phase({{'r', a}});
  phase({{'w', b}});
  EXPECT_EQ(finish(), ".wb..");
}
} // namespace
