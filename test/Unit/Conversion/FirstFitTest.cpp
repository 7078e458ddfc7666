//===- FirstFitTest.cpp - places in a memory of a kernel ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/Analysis/FirstFit.h"
#include "gtest/gtest.h"

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

} // namespace
