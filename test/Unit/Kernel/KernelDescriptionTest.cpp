//===- KernelDescriptionTest.cpp - descriptions and their JSON ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Kernel/KernelDescription.h"
#include "gtest/gtest.h"

using namespace polyattn;

static KernelDescription example() {
  KernelDescription kernel;
  kernel.entry = "based";
  kernel.tensors = {{"q", false, ElementType::F16, {kBatch, kPositions, kHeads, 16}},
                    {"k", false, ElementType::BF16, {kBatch, kKeyPositions, kKeyHeads, 16}},
                    {"w", false, ElementType::F32, {}},
                    {"o", true, ElementType::F32, {kBatch, kPositions, kHeads, 64}}};
  LaunchStage first, second;
  first.function = "based_states";
  first.programs = {LaunchExtent::dimensionOf(1, 0), LaunchExtent::dimensionOf(1, 2),
                    LaunchExtent::number(4)};
  first.scratchBytes = 1 << 20;
  second.function = "based";
  kernel.plan.stages = {first, second};
  kernel.target = "native";
  kernel.cpuLevel = "x86-64-v4";
  kernel.cpuFeatures = "avx2,fma";
  kernel.featureDimension = 153;
  kernel.degree = 2;
  kernel.scoreForm = "1 + [16] + sym 2 [16]";
  return kernel;
}

static std::string text(const KernelDescription &kernel) {
  std::string result;
  llvm::raw_string_ostream(result) << kernel.toJSON();
  return result;
}

static llvm::Expected<KernelDescription> parse(llvm::StringRef text) {
  auto json = llvm::json::parse(text);
  if (!json)
    return json.takeError();
  return KernelDescription::fromJSON(*json);
}

/// What is good is no description with `to` in the place of `from`.
static void expectSpoiled(std::string good, llvm::StringRef from, llvm::StringRef to) {
  size_t at = good.find(from);
  ASSERT_NE(at, std::string::npos) << from.str();
  std::string bad = good.replace(at, from.size(), to);
  auto result = parse(bad);
  EXPECT_FALSE(bool(result)) << bad;
  llvm::consumeError(result.takeError());
}

TEST(KernelDescription, SurvivesJSON) {
  KernelDescription kernel = example();
  auto again = parse(text(kernel));
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(text(*again), text(kernel));
  EXPECT_EQ(again->tensors[1].sizes, kernel.tensors[1].sizes);
  EXPECT_EQ(again->plan.stages[0].programs.size(), 3u);
  EXPECT_EQ(again->plan.stages[0].scratchBytes, 1 << 20);
  EXPECT_TRUE(again->tensors[3].isResult);
  EXPECT_EQ(again->degree, 2);
  kernel.degree.reset();
  again = parse(text(kernel));
  ASSERT_TRUE(bool(again));
  EXPECT_FALSE(again->degree.has_value());
}

TEST(KernelDescription, NamesSizes) {
  EXPECT_NE(text(example()).find(R"("shape":["B","Tk","Hkv",16])"), std::string::npos);
}

TEST(KernelDescription, RejectsWhatTheRuntimeCannotTake) {
  const std::string good = text(example());
  auto spoil = [&](llvm::StringRef from, llvm::StringRef to) { expectSpoiled(good, from, to); };
  spoil(R"("Hkv",16)", R"("Hkv",-16)");
  spoil(R"("Hkv",16)", R"("X",16)");
  spoil(R"("Hkv",16)", R"(1,1,1,1,1)");
  spoil(R"("bf16")", R"("f64")");
  spoil(R"("scratch_bytes":1048576)", R"("scratch_bytes":-1)");
  spoil(R"("entry":)", R"("enter":)");
  spoil(R"("plan":)", R"("plain":)");
  spoil(R"("tensor":1)", R"("tensor":4)");
  for (llvm::StringRef bad : {"[]", "{}", "null", R"({"entry": 1})"}) {
    auto result = parse(bad);
    EXPECT_FALSE(bool(result));
    llvm::consumeError(result.takeError());
  }
}

// What an earlier compiler wrote: stages, split and segments apart, and no version.
TEST(KernelDescription, RefusesEarlierVersions) {
  std::string old = text(example());
  auto remove = [&](llvm::StringRef part, llvm::StringRef by) {
    size_t at = old.find(part);
    ASSERT_NE(at, std::string::npos);
    old.replace(at, part.size(), by);
  };
  remove(R"("version":8)", R"("version":4)");
  EXPECT_EQ(llvm::toString(parse(old).takeError()),
            "'based': a description of version 4, expected 8: compile it anew");
  remove(R"("version":4)", R"("segments":{},"split":{},"stages":[])");
  EXPECT_EQ(llvm::toString(parse(old).takeError()),
            "'based': a description of version 3, expected 8: compile it anew");
}

TEST(KernelDescription, BecomesTheRuntimesTables) {
  KernelDescription kernel = example();
  auto function = [](void *const *, int64_t, int64_t, void *) {};
  RuntimeKernel runtime(kernel, {function, function});
  EXPECT_STREQ(runtime.get().name, "based");
  EXPECT_EQ(runtime.get().num_tensors, 4);
  EXPECT_EQ(runtime.get().tensors[2].rank, 0);
  EXPECT_EQ(runtime.get().plan.num_stages, 2);
  EXPECT_EQ(runtime.get().plan.stages[0].num_programs, 3);
  EXPECT_EQ(runtime.get().plan.stages[0].programs[2].plus, 4);
  EXPECT_EQ(runtime.get().plan.stages[1].num_programs, 0);
  EXPECT_STREQ(runtime.get().cpu, "native");
}

TEST(KernelDescription, PackedSequences) {
  KernelDescription kernel = example();
  kernel.tensors.insert(kernel.tensors.begin() + 1,
                        {"at", false, ElementType::I32, {kSequenceBounds}});
  for (int size : {0, 1})
    kernel.plan.stages[0].programs[size].tensor = 2;
  kernel.offsets = 1;
  auto again = parse(text(kernel));
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(text(*again), text(kernel));
  EXPECT_EQ(again->offsets, 1);
  auto spoil = [&](llvm::StringRef from, llvm::StringRef to) {
    expectSpoiled(text(kernel), from, to);
  };
  spoil(R"("packed":"at")", R"("packed":"q")");
  spoil(R"("packed":"at")", R"("packed":"none")");
  spoil(R"("packed":"at")", R"("packed":{})");
  spoil(R"("packed":"at")", R"("packed":[])");
  spoil(R"(["N+1"])", R"(["B"])");
}

TEST(KernelDescription, Limits) {
  KernelDescription kernel = example();
  kernel.limits = {{kPositions, 40, 1}, {kKeyPositions, 7, 0}};
  auto again = parse(text(kernel));
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(text(*again), text(kernel));
  ASSERT_EQ(again->limits.size(), 2u);
  EXPECT_EQ(again->limits[0].most, 40);
  EXPECT_EQ(again->limits[0].tensor, 1);
  auto function = [](void *const *, int64_t, int64_t, void *) {};
  RuntimeKernel runtime(kernel, {function, function});
  EXPECT_EQ(runtime.get().limits[indexOf(kPositions)].most, 40);
  EXPECT_EQ(runtime.get().limits[indexOf(kPositions)].tensor, 1);
  EXPECT_EQ(runtime.get().limits[indexOf(kKeyPositions)].most, 7);
  EXPECT_EQ(runtime.get().limits[indexOf(kBatch)].most, 0);
  auto spoil = [&](llvm::StringRef from, llvm::StringRef to) {
    expectSpoiled(text(kernel), from, to);
  };
  spoil(R"("most":40)", R"("most":0)");
  spoil(R"("most":40,"size":"T")", R"("most":40,"size":"X")");
  spoil(R"("argument":"q","most":7)", R"("argument":"none","most":7)");
  spoil(R"("limits":[)", R"("limit":[)");
}

TEST(KernelDescription, FirstPosition) {
  KernelDescription kernel = example();
  kernel.tensors.insert(kernel.tensors.begin() + 1, {"first", false, ElementType::I64, {kBatch}});
  for (int size : {0, 1})
    kernel.plan.stages[0].programs[size].tensor = 2;
  kernel.firstPosition = {1, 64};
  auto again = parse(text(kernel));
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(text(*again), text(kernel));
  EXPECT_EQ(again->firstPosition->tensor, 1);
  EXPECT_EQ(again->firstPosition->unit, 64);
  auto spoil = [&](llvm::StringRef from, llvm::StringRef to) {
    expectSpoiled(text(kernel), from, to);
  };
  spoil(R"({"argument":"first","unit":64})", R"({"argument":"first","unit":0})");
  spoil(R"({"argument":"first","unit":64})", R"({"argument":"q","unit":64})");
  spoil(R"({"argument":"first","unit":64})", R"({"argument":"none","unit":64})");
  spoil(R"({"argument":"first","unit":64})", R"({"unit":64})");
  spoil(R"({"argument":"first","unit":64})", R"([])");
  spoil(R"("dtype":"i64")", R"("dtype":"f32")");
  spoil(R"("dtype":"i64","name":"first","role":"query","shape":["B"])",
        R"("dtype":"i64","name":"first","role":"query","shape":["T"])");
  spoil(R"("first_position")", R"("last_position")");
}
