//===- LaunchPlanTest.cpp - plans, their JSON and what is wrong with them -===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Launch/LaunchPlan.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "polyattn/Launch/FromModule.h"
#include "gtest/gtest.h"
#include <random>

using namespace polyattn;

namespace {
/// Entries with all that a plan can say, and functions for their stages.
const char kEntries[] = R"(
tile.entry @segments tensors 2 inputs 1 {
  tile.workspace @states : f32 [2 * (segments - 1), dim(0, 0), dim(1, 2), 64, 32]
  tile.workspace @decays : f32 [2 * (segments - 1), dim(0, 0), dim(1, 2)]
  tile.stage @prefix role segment_sums programs [dim(1, 0), dim(1, 2), 2 * (segments - 1)] uses [@states, @decays]
  tile.stage @main programs [dim(0, 0), dim(0, 2), segments] uses [@states, @decays]
  tile.choose segments of dim(0, 1) {block = 32, min_positions = 100, multiple = 64, prefix_cost_percent = 47, subsegments = 2}
}
tile.entry @splits tensors 2 inputs 1 {
  tile.workspace @partial : f32 [splits, dim(0, 0), dim(0, 1), dim(0, 2), 65]
  tile.workspace @launch : i64 [4] fill launch
  tile.stage @main programs [dim(0, 0), dim(0, 2)] uses [@partial, @launch] per_split
  tile.stage @prefix role combine programs [dim(0, 0), dim(0, 2)] uses [@partial, @launch]
  tile.choose splits of dim(0, 1) {max = 8, min_positions = 96, multiple = 64}
}
tile.entry @rest tensors 2 inputs 1 {
  tile.workspace @dw : f32 [parts, 4]
  tile.workspace @flags : i32 [ceildiv(dim(0, 1) + 3, 64)] fill zero
  tile.stage @main programs [parts, ceildiv(dim(0, 1) + 3, 64)] uses [@flags, @dw] chained
  tile.stage @prefix role weight_sums programs [16] uses [@dw]
  tile.choose parts of dim(0, 0) {bytes = 1024, max = 64}
}
func.func private @main()
func.func private @prefix()
)";
const std::vector<int64_t> kRanks = {4, 4};

class Plans : public testing::Test {
protected:
  Plans() {
    context.loadDialect<tile::TileDialect, mlir::func::FuncDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(kEntries, &context);
  }
  LaunchPlan plan(llvm::StringRef entry) { return llvm::cantFail(planOf(*module, entry)); }
  std::string text(llvm::StringRef entry) {
    std::string result;
    llvm::raw_string_ostream(result) << plan(entry).toJSON();
    return result;
  }
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

llvm::Expected<LaunchPlan> parse(llvm::StringRef text) {
  auto json = llvm::json::parse(text);
  if (!json)
    return json.takeError();
  return LaunchPlan::fromJSON(*json, kRanks);
}
} // namespace

TEST_F(Plans, SayWhatTheEntrySays) {
  ASSERT_TRUE(module);
  LaunchPlan segments = plan("segments");
  ASSERT_EQ(segments.workspaces.size(), 2u);
  EXPECT_EQ(segments.workspaces[0].name, "states");
  EXPECT_EQ(toString(segments.workspaces[0].shape[0]), "2 x (S - 1)");
  EXPECT_EQ(toString(segments.workspaces[0].shape[2]), "size 2 of tensor 1");
  ASSERT_EQ(segments.stages.size(), 2u);
  EXPECT_EQ(segments.stages[0].function, "prefix");
  EXPECT_EQ(segments.stages[0].kind, LaunchStage::SumsSegments);
  EXPECT_EQ(segments.stages[1].kind, LaunchStage::Plain);
  EXPECT_EQ(segments.stages[1].workspaces, (std::vector<int64_t>{0, 1}));
  const LaunchChoice *choice = segments.find(LaunchExtent::Segments);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->block, 32);
  EXPECT_EQ(choice->multiple, 64);
  EXPECT_EQ(choice->minPositions, 100);
  EXPECT_EQ(choice->prefixCostPercent, 47);
  EXPECT_EQ(choice->subsegments, 2);
  EXPECT_FALSE(segments.find(LaunchExtent::Splits));
  LaunchPlan splits = plan("splits");
  EXPECT_EQ(splits.stages[0].kind, LaunchStage::PerSplit);
  EXPECT_EQ(splits.stages[1].kind, LaunchStage::CombinesSplits);
  LaunchPlan rest = plan("rest");
  EXPECT_EQ(rest.stages[0].kind, LaunchStage::Chained);
  EXPECT_EQ(rest.stages[0].workspaces, (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(rest.workspaces[1].dtype, ElementType::I32);
  EXPECT_EQ(rest.workspaces[1].fill, LaunchWorkspace::Zero);
  EXPECT_EQ(toString(rest.stages[0].programs[1], [](int64_t, int64_t) { return "T"; }),
            "ceil((T + 3) / 64)");
  EXPECT_EQ(llvm::toString(planOf(*module, "none").takeError()),
            "@none: no tile.entry says how it is launched");
}

TEST_F(Plans, SurviveJSON) {
  for (llvm::StringRef entry : {"segments", "splits", "rest"}) {
    std::string good = text(entry);
    auto again = parse(good);
    ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
    std::string second;
    llvm::raw_string_ostream(second) << again->toJSON();
    EXPECT_EQ(second, good);
  }
}

// Final states of 16 bits stay in a workspace of their type until they are written back.
TEST_F(Plans, KeepWorkspacesOf16Bits) {
  for (llvm::StringRef type : {"bf16", "f16"}) {
    std::string good = text("rest");
    size_t at = good.find("f32");
    ASSERT_NE(at, std::string::npos);
    auto again = parse(good.replace(at, 3, type));
    ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
    EXPECT_EQ(nameOf(again->workspaces[0].dtype), type);
  }
}

TEST_F(Plans, BecomeTheRuntimesTables) {
  LaunchPlan segments = plan("segments");
  auto function = [](void *const *, int64_t, int64_t, void *) {};
  RuntimePlan runtime(segments, {function, function});
  const polyattn_rt_plan &tables = runtime.get();
  ASSERT_EQ(tables.num_workspaces, 2);
  EXPECT_EQ(tables.workspaces[1].rank, 3);
  EXPECT_EQ(tables.workspaces[0].sizes[3].plus, 64);
  ASSERT_EQ(tables.num_stages, 2);
  EXPECT_EQ(tables.stages[0].num_programs, 3);
  EXPECT_EQ(tables.stages[0].programs[2].times, 2);
  EXPECT_EQ(tables.stages[1].workspaces[1], 1);
  EXPECT_EQ(tables.stages[1].function, function);
  ASSERT_EQ(tables.num_choices, 1);
  EXPECT_EQ(tables.choices[0].kind, POLYATTN_RT_SEGMENTS);
  EXPECT_EQ(tables.choices[0].prefix_cost_percent, 47);
}

// Gradients of attentions with many weights have hundreds, and the launcher has room for as many.
TEST_F(Plans, HaveManyWorkspaces) {
  auto parseEntry = [&](int64_t workspaces) {
    std::string entry = "func.func private @main()\ntile.entry @many tensors 2 inputs 1 {\n";
    for (int64_t i = 0; i < workspaces; ++i)
      entry += "tile.workspace @w" + std::to_string(i) + " : f32 [4]\n";
    return mlir::parseSourceString<mlir::ModuleOp>(entry + "tile.stage @main programs []\n}",
                                                   &context);
  };
  std::string error;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) { error += diagnostic.str(); });
  auto most = parseEntry(512);
  ASSERT_TRUE(most) << error;
  LaunchPlan plan = llvm::cantFail(planOf(*most, "many"));
  EXPECT_EQ(llvm::toString(plan.verify(kRanks)), "");
  EXPECT_FALSE(parseEntry(513));
  EXPECT_EQ(error, "'tile.entry' op C4: an entry has at most 512 workspaces; got 513");
  plan.workspaces.push_back(plan.workspaces[0]); // as a file may say it
  EXPECT_EQ(llvm::toString(plan.verify(kRanks)),
            "the plan has 513 workspaces, and there can be 512");
}

// What a damaged or hostile file may hold.
TEST_F(Plans, RefuseWhatALauncherCouldNotTake) {
  auto spoil = [&](llvm::StringRef entry, llvm::StringRef from, llvm::StringRef to,
                   llvm::StringRef problem) {
    std::string bad = text(entry);
    size_t at = bad.find(from);
    ASSERT_NE(at, std::string::npos) << from.str() << " in " << bad;
    auto result = parse(bad.replace(at, from.size(), to));
    ASSERT_FALSE(bool(result)) << bad;
    EXPECT_EQ(llvm::toString(result.takeError()), problem.str()) << bad;
  };
  spoil("segments", R"("times":2},{)", R"("times":-2},{)",
        "workspace 'states': a number of a size is out of range");
  spoil("segments", R"("times":2},{)", R"("times":4611686018427387904},{)",
        "workspace 'states': a number of a size is out of range");
  spoil("segments", R"("times":2},{)", R"("times":549755813888},{)",
        "workspace 'states' has more than 2^40 elements");
  spoil("segments", R"("times":2)", R"("times":"x")", "a size has no such 'times'");
  spoil("segments", R"("tensor":0)", R"("tensor":2)",
        "choice of S: there is no dimension 1 of tensor 2");
  spoil("segments", R"("dimension":1)", R"("dimension":4)",
        "choice of S: there is no dimension 4 of tensor 0");
  spoil("segments", R"("dimension":1)", R"("dimension":-1)",
        "choice of S: there is no dimension -1 of tensor 0");
  spoil("segments", R"("block":32)", R"("block":0)", "choice of S: a number is out of range");
  spoil("segments", R"("multiple":64)", R"("multiple":16)",
        "choice of S: a number is out of range");
  spoil("segments", R"("subsegments":2)", R"("subsegments":0)",
        "choice of S: a number is out of range");
  spoil("segments", R"("choose":"segments")", R"("choose":"parts","bytes":4,"max":4)",
        "workspace 'states': the plan does not choose S");
  spoil("segments", R"("choose":"segments")", R"("choose":"clusters")",
        "a choice has no such 'choose'");
  spoil("segments", R"("workspaces":[0,1])", R"("workspaces":[0,2])",
        "stage 'prefix': there is no workspace 2");
  spoil("segments", R"("workspaces":[0,1])", R"("workspaces":[0,1,1])",
        "stage 'prefix' uses more workspaces than there are");
  spoil("segments", R"("function":"prefix")", R"("function":"main")",
        "stage 'main': there is one already");
  spoil("segments", R"("function":"prefix")", R"("function":"")", "a stage names no function");
  spoil("segments", R"("scratch_bytes":0)", R"("scratch_bytes":-1)",
        "stage 'prefix': scratch or cluster is out of range");
  spoil("segments", R"("cluster":1)", R"("cluster":16)",
        "stage 'prefix': scratch or cluster is out of range");
  spoil("segments", R"("kind":"plain")", R"("kind":"cyclic")", "a stage has no such 'kind'");
  spoil("segments", R"("stages":)", R"("steps":)", "a plan has no such 'stages'");
  spoil("segments", R"("dtype":"f32")", R"("dtype":"f64")", "a workspace has no such 'dtype'");
  spoil("splits", R"("fill":"none")", R"("fill":"launch")",
        "workspace 'partial': the numbers of a launch are i64 [4]");
  spoil("splits", R"("max":8)", R"("max":0)", "choice of splits: a number is out of range");
  spoil("splits", R"("of":{"dimension":1,"tensor":0})", R"("of":{"choice":"splits"})",
        "choice of splits: a choice depends on no other");
  spoil("rest", R"("divided_by":64)", R"("divided_by":0)",
        "stage 'main': a number of a size is out of range");
  for (llvm::StringRef bad : {"[]", "{}", "null", "3", R"({"stages":[]})",
                              R"({"stages":[],"workspaces":[],"choices":[]})",
                              R"({"stages":[3],"workspaces":[],"choices":[]})"}) {
    auto result = parse(bad);
    EXPECT_FALSE(bool(result)) << bad.str();
    llvm::consumeError(result.takeError());
  }
}

// Whatever becomes of the text, it is refused, or is a plan whose sizes can be counted.
TEST_F(Plans, RandomDamageIsRefusedOrCounts) {
  unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  const std::string digits = "0123456789-";
  int taken = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bad = text(i % 3 == 0 ? "segments" : i % 3 == 1 ? "splits" : "rest");
    for (unsigned change = 0; change <= random() % 3; ++change) {
      size_t at = random() % bad.size();
      if (isdigit(bad[at]))
        bad.insert(at, std::string(random() % 5, digits[random() % digits.size()]));
      else if (random() % 8 == 0)
        bad.erase(at, 1 + random() % 20);
    }
    auto result = parse(bad);
    if (!result) {
      EXPECT_FALSE(llvm::toString(result.takeError()).empty());
      continue;
    }
    ++taken;
    RuntimePlan runtime(*result);
    int64_t small[] = {2, 300, 3, 64}, large[] = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
    for (const int64_t *sizes : {small, large}) {
      const int64_t *shapes[] = {sizes, sizes};
      polyattn_rt_launch launch = {shapes, 1, 1, 1};
      polyattn_rt_workers workers = polyattn_rt_threads(8);
      polyattn_rt_choose(&runtime.get(), &workers, &launch);
      EXPECT_GE(launch.segments, 1) << bad << ", seed " << seed;
      EXPECT_LE(launch.segments, 32) << bad << ", seed " << seed;
      for (int64_t stage = 0; stage < runtime.get().num_stages; ++stage)
        EXPECT_GE(polyattn_rt_count_programs(&runtime.get().stages[stage], &launch), -1);
      for (int64_t space = 0; space < runtime.get().num_workspaces; ++space)
        EXPECT_GE(polyattn_rt_workspace_bytes(&runtime.get().workspaces[space], &launch), -1);
    }
  }
  EXPECT_GT(taken, 100);
}
