//===- LaunchTest.cpp - launches of GPU kernels ---------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Target/Launch.h"
#include "dialects/Warp/Warp.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace polyattn;

namespace {
class LaunchTest : public ::testing::Test {
protected:
  llvm::Expected<LaunchDescription> describe(const std::string &arguments,
                                             const std::string &attributes) {
    context.loadDialect<warp::WarpDialect>();
    module =
        parseSourceString<ModuleOp>("gpu.module @m { gpu.func @f(" + arguments +
                                        ") kernel attributes {" + attributes + "} { gpu.return } }",
                                    &context);
    gpu::GPUFuncOp function;
    module->walk([&](gpu::GPUFuncOp op) { function = op; });
    return describeLaunch(function);
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  const std::string numbers =
      "warp.threads = 64 : i64, warp.shared_bytes = 512 : i64, warp.workspace_bytes = 24 : i64";
};

TEST_F(LaunchTest, BindsParametersInOrder) {
  auto launch = describe("%t: i64 {warp.size = [0, 1]}, %p: !llvm.ptr<1> {warp.pointer = 1 : i64}, "
                         "%s: i64 {warp.stride = [1, 0]}, %w: !llvm.ptr<1> {warp.workspace}, "
                         "%x: !llvm.ptr<1> {warp.profile}",
                         numbers + ", warp.programs = [[0, 0], [1, 1]]");
  ASSERT_TRUE(bool(launch)) << toString(launch.takeError());
  EXPECT_EQ(launch->function, "f");
  EXPECT_EQ(launch->threads, 64);
  EXPECT_EQ(launch->sharedBytes, 512);
  EXPECT_EQ(launch->workspaceBytes, 24);

  float data[2];
  int workspace;
  int64_t sizes[] = {3, 5}, otherSizes[] = {2, 7}, strides[] = {11, 1};
  LaunchTensor tensors[] = {{data, sizes, strides}, {data + 1, otherSizes, strides}};
  EXPECT_EQ(countPrograms(*launch, tensors), 3 * 7);
  auto address = [](void *pointer) { return reinterpret_cast<uint64_t>(pointer); };
  EXPECT_EQ(bindParameters(*launch, tensors, &workspace),
            (std::vector<uint64_t>{5, address(data + 1), 11, address(&workspace), 0}));
}

TEST_F(LaunchTest, CTAsOfClusters) {
  auto launch = describe("", numbers + ", warp.programs = [[0, 0]], warp.cluster = 4 : i64");
  ASSERT_TRUE(bool(launch)) << toString(launch.takeError());
  EXPECT_EQ(launch->cluster, 4);
  int64_t sizes[] = {3};
  LaunchTensor tensors[] = {{nullptr, sizes, sizes}};
  EXPECT_EQ(countPrograms(*launch, tensors), 3);
  EXPECT_EQ(countCTAs(*launch, tensors), 12);
  auto alone = describe("", numbers + ", warp.programs = [[0, 0]]");
  ASSERT_TRUE(bool(alone)) << toString(alone.takeError());
  EXPECT_EQ(countCTAs(*alone, tensors), 3);
}

TEST_F(LaunchTest, NamesWhatIsMissing) {
  EXPECT_EQ(toString(describe("", numbers).takeError()), "kernel @f: no attribute warp.programs");
  EXPECT_EQ(toString(describe("%p: !llvm.ptr<1>", numbers + ", warp.programs = []").takeError()),
            "kernel @f: nothing says what parameter 0 is");
  EXPECT_EQ(toString(describe("", "warp.threads = 32 : i64").takeError()),
            "kernel @f: no attribute warp.shared_bytes");
  EXPECT_EQ(toString(describe("", numbers + ", warp.programs = [\"x\"]").takeError()),
            "kernel @f: warp.programs is not a list of sizes");
}

/// A kernel whose batches, heads and positions are those of tensor 0, and heads of the state those
/// of tensor 1.
const char kSegmentAttributes[] =
    ", warp.programs = [[0, 0], [0, 2], [0]], warp.hidden = [[[-1], [0, 0], [1, 2], 16], [7]], "
    "warp.segment_rule = {states = \"f__states\", block = 64 : i64, unit = 128 : i64, "
    "whole_below = 300 : i64, states_percent = 40 : i64, positions = [0, 1], state_heads = [1, 2]}";

TEST_F(LaunchTest, CountsWithSegments) {
  auto launch = describe("", numbers + kSegmentAttributes);
  ASSERT_TRUE(bool(launch)) << toString(launch.takeError());
  int64_t sizes[] = {3, 1000, 8, 64}, keySizes[] = {3, 1000, 2, 64}, strides[] = {1, 1, 1, 1};
  LaunchTensor tensors[] = {{nullptr, sizes, strides}, {nullptr, keySizes, strides}};
  EXPECT_EQ(countPrograms(*launch, tensors), 24);
  EXPECT_EQ(countPrograms(*launch, tensors, 5), 120);
  ASSERT_EQ(launch->hidden.size(), 2u);
  EXPECT_EQ(sizesOf(launch->hidden[0], tensors, 5), (std::vector<int64_t>{4, 3, 2, 16}));
  EXPECT_EQ(sizesOf(launch->hidden[1], tensors, 5), (std::vector<int64_t>{7}));
  ASSERT_TRUE(launch->segments);
  EXPECT_EQ(launch->segments->states, "f__states");
  EXPECT_EQ(launch->segments->block, 64);
  EXPECT_EQ(launch->segments->unit, 128);
  EXPECT_EQ(launch->segments->wholeBelow, 300);
  EXPECT_EQ(launch->segments->statesPercent, 40);
  EXPECT_EQ(launch->segments->stateHeads.tensor, 1);
}

TEST_F(LaunchTest, RefusesWhatSegmentsCannotBe) {
  auto error = [&](const std::string &attributes) {
    return toString(describe("", numbers + ", warp.programs = [[0, 0]]" + attributes).takeError());
  };
  EXPECT_EQ(error(", warp.hidden = [[\"x\"]]"),
            "kernel @f: warp.hidden is not a list of lists of sizes");
  EXPECT_EQ(error(", warp.hidden = 3 : i64"),
            "kernel @f: warp.hidden is not a list of lists of sizes");
  EXPECT_EQ(error(", warp.segment_rule = {states = \"f__states\"}"),
            "kernel @f: warp.segment_rule lacks a number, or has one that cannot be");
  std::string attributes = kSegmentAttributes;
  attributes.replace(attributes.find("unit = 128"), 10, "unit = 32");
  EXPECT_EQ(toString(describe("", numbers + attributes).takeError()),
            "kernel @f: warp.segment_rule lacks a number, or has one that cannot be");
}

class SegmentChoice : public LaunchTest {
protected:
  SegmentChoice() {
    std::string attributes = kSegmentAttributes;
    attributes.replace(attributes.find("unit = 128"), 10, "unit = 64");
    launch = llvm::cantFail(describe("", numbers + attributes));
  }
  int64_t choose(int64_t batches, int64_t heads, int64_t positions, int64_t multiprocessors = 132) {
    int64_t sizes[] = {batches, positions, heads, 64}, strides[] = {1, 1, 1, 1};
    LaunchTensor tensors[] = {{nullptr, sizes, strides}, {nullptr, sizes, strides}};
    return chooseSegments(launch, tensors, multiprocessors);
  }
  LaunchDescription launch;
};

TEST_F(SegmentChoice, FillsTheChipOnce) {
  EXPECT_EQ(choose(1, 8, 65536), 16); // 128 programs on 132 multiprocessors
  EXPECT_EQ(choose(1, 8, 65536, 108), 13);
  EXPECT_EQ(choose(4, 8, 65536), 4);
  EXPECT_EQ(choose(4, 16, 65536), 2);
}

TEST_F(SegmentChoice, LeavesAFullChipAlone) {
  EXPECT_EQ(choose(4, 32, 65536), 1);
  EXPECT_EQ(choose(1, 101, 65536), 1); // more than 132 / 1.3
  EXPECT_EQ(choose(16, 16, 65536), 1);
  EXPECT_EQ(choose(1, 1, 65536, 1), 1);
}

TEST_F(SegmentChoice, KeepsSegmentsLong) {
  EXPECT_EQ(choose(1, 1, 64 * 14), 1);
  EXPECT_EQ(choose(1, 1, 64 * 14 + 1), 2); // the last one may be shorter than the others
  EXPECT_EQ(choose(1, 1, 64 * 16), 2);
  EXPECT_EQ(choose(1, 8, 64 * 32), 4);
  // Never more than can be folded, nor an empty one.
  EXPECT_LE(choose(1, 1, int64_t(1) << 22), 32);
  for (int64_t units = 16; units < 300; ++units) {
    int64_t segments = choose(1, 2, 64 * units);
    EXPECT_LT((segments - 1) * ((units + segments - 1) / segments), units) << units;
  }
}

TEST_F(SegmentChoice, WeighsWhatIsComputedTwice) {
  EXPECT_EQ(choose(4, 16, 65536), 2);
  launch.segments->statesPercent = 90; // half the positions and as much again: nothing is won
  EXPECT_EQ(choose(4, 16, 65536), 1);
}

TEST_F(SegmentChoice, KeepsTheQuadraticFormWhole) {
  EXPECT_GT(choose(1, 1, 4096), 1);
  launch.segments->wholeBelow = 4097;
  EXPECT_EQ(choose(1, 1, 4096), 1);
  launch.segments.reset();
  EXPECT_EQ(choose(1, 1, 65536), 1);
}

TEST_F(SegmentChoice, BoundsTheMemory) {
  EXPECT_EQ(choose(1, 8, 65536), 16);
  launch.workspaceBytes = int64_t(1) << 24; // 8 x 8 programs fill the 1 GiB, but for hidden tensors
  EXPECT_EQ(choose(1, 8, 65536), 7);
  launch.workspaceBytes = 0;
  launch.hidden[0].sizes.back().number = int64_t(1)
                                         << 23; // 256 MiB for each segment before the last
  EXPECT_EQ(choose(1, 8, 65536), 4);
}

TEST_F(SegmentChoice, CutsAtUnits) {
  launch.segments->unit = 1024;
  EXPECT_EQ(choose(1, 1, 4096), 4);
  EXPECT_EQ(choose(1, 1, 4097), 5);
  EXPECT_EQ(choose(1, 1, 1024), 1);
}

TEST_F(SegmentChoice, TakesEmptyTensors) {
  EXPECT_EQ(choose(0, 8, 65536), 1);
  EXPECT_EQ(choose(1, 8, 0), 1);
}
} // namespace
