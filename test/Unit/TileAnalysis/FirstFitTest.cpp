//===- FirstFitTest.cpp - places in a memory of a kernel ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/TileAnalysis/FirstFit.h"
#include "gtest/gtest.h"
#include <random>

using namespace polyattn;

namespace {

TEST(FirstFitTest, RoundsSizesUp) {
  FirstFit memory(64);
  EXPECT_EQ(memory.allocate(1), 0);
  EXPECT_EQ(memory.allocate(64), 64);
  EXPECT_EQ(memory.allocate(65), 128);
  EXPECT_EQ(memory.bytes(), 256);
}

TEST(FirstFitTest, TakesTheLowestPlaceThatIsLargeEnough) {
  FirstFit memory(16);
  for (int64_t bytes : {16, 32, 16, 64, 16})
    memory.allocate(bytes);
  for (int64_t offset : {0, 16, 64})
    memory.free(offset);
  // Neighbours that were freed are one place: there are 48 bytes at 0 and 64 at 64.
  EXPECT_EQ(memory.allocate(80), 144);
  EXPECT_EQ(memory.allocate(49), 64);
  EXPECT_EQ(memory.allocate(32), 0);
  EXPECT_EQ(memory.allocate(16), 32);
  EXPECT_EQ(memory.bytes(), 224);
}

TEST(FirstFitTest, RemembersHowFarPlacesReached) {
  FirstFit memory(16);
  memory.allocate(160);
  memory.free(0);
  EXPECT_EQ(memory.allocate(16), 0);
  EXPECT_EQ(memory.bytes(), 160);
}

TEST(FirstFitTest, FreshPlacesWereNobodysBefore) {
  FirstFit memory(16);
  memory.allocate(32);
  memory.free(0);
  EXPECT_EQ(memory.allocateFresh(10), 32);
  EXPECT_EQ(memory.bytes(), 48);
  EXPECT_EQ(memory.allocate(32), 0);
  EXPECT_EQ(memory.allocate(16), 48);
}

TEST(FirstFitTest, RefusesWhatExceedsItsCapacity) {
  FirstFit memory(16, 64);
  EXPECT_EQ(memory.allocate(65), std::nullopt);
  EXPECT_EQ(memory.bytes(), 0);
  EXPECT_EQ(memory.allocate(48), 0);
  EXPECT_EQ(memory.allocate(17), std::nullopt);
  EXPECT_EQ(memory.allocate(16), 48);
  EXPECT_EQ(memory.allocateFresh(16), std::nullopt);
  memory.free(0);
  EXPECT_EQ(memory.allocate(48), 0);
}

TEST(FirstFitTest, RemembersWhenPlacesWereInUse) {
  FirstFit memory(16, 64);
  memory.allocate(16);
  memory.allocate(20);
  memory.free(0);
  EXPECT_EQ(memory.allocate(64), std::nullopt); // is none of them
  memory.allocate(16);
  memory.free(16);
  ASSERT_EQ(memory.requests().size(), 3u);
  EXPECT_EQ(memory.requests()[0].end, 2);
  EXPECT_EQ(memory.requests()[1].bytes, 32);
  EXPECT_EQ(memory.requests()[1].end, 3);
  EXPECT_EQ(memory.requests()[2].begin, 2);
  EXPECT_EQ(memory.requests()[2].end, INT64_MAX);
}

TEST(FirstFitTest, GivesOutWhatWasPlanned) {
  FirstFit memory(16, 64, {32, 0, 32});
  EXPECT_EQ(memory.allocate(32), 32);
  EXPECT_EQ(memory.allocate(16), 0);
  memory.free(32);
  EXPECT_EQ(memory.allocate(16), 32);
  EXPECT_EQ(memory.bytes(), 64);
}

TEST(PackTest, SmallOnesDoNotTakeThePlaceOfLargeOnes) {
  // The vector comes where the first matrix was, and stays; the second matrix comes after it.
  std::vector<Lifetime> lifetimes = {{64, 0, 2}, {64, 1, 4}, {16, 2, 4}, {64, 3, 4}};
  FirstFit memory(16);
  memory.allocate(64);
  memory.allocate(64);
  memory.free(0);
  memory.allocate(16);
  memory.allocate(64);
  EXPECT_EQ(memory.bytes(), 192);
  EXPECT_EQ(pack(lifetimes).bytes, 144);
}

TEST(PackTest, NeverWorseThanFirstFitAndNothingOverlaps) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    FirstFit memory(16);
    std::vector<int64_t> live;
    for (int i = 0; i < 30; ++i) {
      live.push_back(*memory.allocate(1 + random() % 500));
      while (!live.empty() && random() % 3 == 0) {
        size_t victim = random() % live.size();
        memory.free(live[victim]);
        live.erase(live.begin() + victim);
      }
    }
    const std::vector<Lifetime> &all = memory.requests();
    PackedMemory packed = pack(all);
    EXPECT_LE(packed.bytes, memory.bytes());
    for (size_t a = 0; a < all.size(); ++a) {
      EXPECT_LE(packed.offsets[a] + all[a].bytes, packed.bytes);
      for (size_t b = 0; b < a; ++b)
        EXPECT_TRUE(all[a].begin >= all[b].end || all[b].begin >= all[a].end ||
                    packed.offsets[a] + all[a].bytes <= packed.offsets[b] ||
                    packed.offsets[b] + all[b].bytes <= packed.offsets[a])
            << round << ": " << a << " and " << b;
    }
  }
}

} // namespace
