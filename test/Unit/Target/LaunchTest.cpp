//===- LaunchTest.cpp - launches of GPU kernels ---------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Target/Launch.h"
#include "dialects/Tile/Tile.h"
#include "dialects/Warp/Warp.h"
#include "mlir/Parser/Parser.h"
#include "polyattn/Launch/LaunchCall.h"
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
  /// The programs of the kernel alone.
  int64_t countPrograms(llvm::ArrayRef<LaunchTensor> tensors) {
    LaunchPlan plan = llvm::cantFail(planForGPU(*module, "f"));
    return LaunchCall(plan, shapesOf(tensors)).countPrograms(0);
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
  EXPECT_EQ(countPrograms(tensors), 3 * 7);
  auto address = [](void *pointer) { return reinterpret_cast<uint64_t>(pointer); };
  EXPECT_EQ(bindParameters(*launch, tensors, &workspace),
            (std::vector<uint64_t>{5, address(data + 1), 11, address(&workspace), 0}));
}

TEST_F(LaunchTest, CTAsOfClusters) {
  auto launch = describe("", numbers + ", warp.programs = [[0, 0]], warp.cluster = 4 : i64");
  ASSERT_TRUE(bool(launch)) << toString(launch.takeError());
  EXPECT_EQ(launch->cluster, 4);
  EXPECT_EQ(llvm::cantFail(planForGPU(*module, "f")).stages[0].cluster, 4);
  int64_t sizes[] = {3};
  LaunchTensor tensors[] = {{nullptr, sizes, sizes}};
  EXPECT_EQ(countPrograms(tensors), 3);
  auto alone = describe("", numbers + ", warp.programs = [[0, 0]]");
  ASSERT_TRUE(bool(alone)) << toString(alone.takeError());
  EXPECT_EQ(llvm::cantFail(planForGPU(*module, "f")).stages[0].cluster, 1);
}

TEST_F(LaunchTest, NamesWhatIsMissing) {
  ASSERT_TRUE(bool(describe("", numbers)));
  EXPECT_EQ(toString(planForGPU(*module, "f").takeError()),
            "kernel @f: neither a tile.entry nor warp.programs says how many programs there are");
  EXPECT_EQ(toString(planForGPU(*module, "g").takeError()), "no kernel @g");
  EXPECT_EQ(toString(describe("%p: !llvm.ptr<1>", numbers + ", warp.programs = []").takeError()),
            "kernel @f: nothing says what parameter 0 is");
  EXPECT_EQ(toString(describe("", "warp.threads = 32 : i64").takeError()),
            "kernel @f: no attribute warp.shared_bytes");
}

/// Two kernels whose batches, heads and positions are those of tensor 0, and heads of the state
/// those of tensor 1.
const char kEntry[] = R"(
tile.entry @f tensors 2 inputs 1 {
  tile.workspace @states : f32 [segments - 1, dim(0, 0), dim(1, 2), 16]
  tile.workspace @more : f32 [7]
  tile.stage @f__prefix role segment_sums programs [dim(0, 0), dim(1, 2), segments - 1] uses [@states, @more]
  tile.stage @f programs [dim(0, 0), dim(0, 2), segments] uses [@states, @more]
  tile.choose segments of dim(0, 1) {block = 64, min_positions = 300, multiple = 64, prefix_cost_percent = 40, subsegments = 1}
}
gpu.module @m {
  gpu.func @f() kernel attributes {warp.threads = 64 : i64, warp.shared_bytes = 512 : i64, warp.workspace_bytes = 24 : i64} { gpu.return }
  gpu.func @f__prefix() kernel attributes {warp.threads = 32 : i64, warp.shared_bytes = 0 : i64, warp.workspace_bytes = 8 : i64} { gpu.return }
}
)";

class SegmentChoice : public ::testing::Test {
protected:
  SegmentChoice() {
    context.loadDialect<tile::TileDialect, warp::WarpDialect>();
    module = parseSourceString<ModuleOp>(kEntry, &context);
    plan = llvm::cantFail(planForGPU(*module, "f"));
  }
  LaunchChoice &choice() { return plan.choices.front(); }
  int64_t choose(int64_t batches, int64_t heads, int64_t positions, int64_t multiprocessors = 132,
                 int64_t residentCTAs = 1) {
    std::vector<int64_t> sizes = {batches, positions, heads, 64};
    LaunchCall call(plan, {sizes, sizes});
    call.choose(polyattn_rt_multiprocessors(multiprocessors, residentCTAs));
    return call.getSegments();
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  LaunchPlan plan;
};

TEST_F(SegmentChoice, PlanHasTheKernelsNeeds) {
  ASSERT_EQ(plan.stages.size(), 2u);
  EXPECT_EQ(plan.stages[0].function, "f__prefix");
  EXPECT_EQ(plan.stages[0].scratchBytes, 8);
  EXPECT_EQ(plan.stages[1].scratchBytes, 24);
  LaunchCall call(plan, {{3, 1000, 8, 64}, {3, 1000, 2, 64}});
  EXPECT_EQ(call.countPrograms(1), 24);
  EXPECT_EQ(call.countPrograms(0), 0);
  call.setSegments(5);
  EXPECT_EQ(call.countPrograms(1), 120);
  EXPECT_EQ(call.countPrograms(0), 24);
  EXPECT_EQ(call.shapeOf(0), (std::vector<int64_t>{4, 3, 2, 16}));
  EXPECT_EQ(call.shapeOf(1), (std::vector<int64_t>{7}));
}

TEST_F(SegmentChoice, FillsTheChipOnce) {
  EXPECT_EQ(choose(1, 8, 65536), 16); // 128 programs on 132 multiprocessors
  EXPECT_EQ(choose(1, 8, 65536, 108), 13);
  EXPECT_EQ(choose(4, 8, 65536), 4);
  EXPECT_EQ(choose(4, 16, 65536), 2);
}

TEST_F(SegmentChoice, FillsMultiprocessorsThatRunSeveral) {
  EXPECT_EQ(choose(4, 16, 65536, 132, 2), 4); // 256 programs, two on nearly each
  EXPECT_EQ(choose(4, 16, 65536, 132, 3), 6);
  EXPECT_EQ(choose(4, 32, 65536, 132, 2), 1); // what is computed twice is more than is won
  EXPECT_EQ(choose(4, 64, 65536, 132, 2), 1);
}

TEST_F(SegmentChoice, LeavesAFullChipAlone) {
  EXPECT_EQ(choose(4, 32, 65536), 1);
  EXPECT_EQ(choose(1, 101, 65536), 1); // more than 132 / 1.3
  EXPECT_EQ(choose(16, 16, 65536), 1);
  EXPECT_EQ(choose(1, 1, 65536, 1), 1);
}

TEST_F(SegmentChoice, KeepsSegmentsLong) {
  EXPECT_EQ(choose(1, 1, 64 * 15), 1);
  EXPECT_EQ(choose(1, 1, 64 * 15 + 1), 2); // the last one may be shorter than the others
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
  choice().prefixCostPercent = 90; // half the positions and as much again: nothing is won
  EXPECT_EQ(choose(4, 16, 65536), 1);
}

TEST_F(SegmentChoice, KeepsTheQuadraticFormWhole) {
  EXPECT_GT(choose(1, 1, 4096), 1);
  choice().minPositions = 4097;
  EXPECT_EQ(choose(1, 1, 4096), 1);
  plan.choices.clear();
  EXPECT_EQ(choose(1, 1, 65536), 1);
}

TEST_F(SegmentChoice, BoundsTheMemory) {
  EXPECT_EQ(choose(1, 8, 65536), 16);
  plan.stages.back().scratchBytes = int64_t(1)
                                    << 24; // 8 x 8 programs fill the 1 GiB, but for hidden tensors
  EXPECT_EQ(choose(1, 8, 65536), 7);
  plan.stages.back().scratchBytes = 0;
  plan.workspaces[0].shape.back().plus = int64_t(1)
                                         << 23; // 256 MiB for each segment before the last
  EXPECT_EQ(choose(1, 8, 65536), 4);
}

TEST_F(SegmentChoice, CutsAtUnits) {
  choice().multiple = 1024;
  EXPECT_EQ(choose(1, 1, 4096), 4);
  EXPECT_EQ(choose(1, 1, 4097), 5);
  EXPECT_EQ(choose(1, 1, 1024), 1);
}

TEST_F(SegmentChoice, TakesEmptyTensors) {
  EXPECT_EQ(choose(0, 8, 65536), 1);
  EXPECT_EQ(choose(1, 8, 0), 1);
}
} // namespace
