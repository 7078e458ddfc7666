//===- PlanTest.cpp - the stages of an entry and what is chosen for them --===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/runtime.h"
#include "gtest/gtest.h"
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

// A kernel in the place of compiled code: o[b, t, h] = the sum of x[b, s, h] for s <= t. Its
// programs are numbered as the compiler's are, and cut positions as the compiler's do.

static constexpr int64_t kUnit = 4;
static int64_t subsegments = 1; // of a segment

namespace {
struct Tensors {
  const polyattn_rt_memref *x, *o, *sums;
  int64_t batches, positions, heads, segments, length;

  explicit Tensors(void *const *tensors)
      : x(static_cast<const polyattn_rt_memref *>(tensors[0])),
        o(static_cast<const polyattn_rt_memref *>(tensors[1])),
        sums(static_cast<const polyattn_rt_memref *>(tensors[2])), batches(x->dimensions[0]),
        positions(x->dimensions[1]), heads(x->dimensions[2]),
        segments(sums->dimensions[0] / subsegments + 1) {
    int64_t units = (positions + kUnit - 1) / kUnit;
    length = (units + segments - 1) / segments * kUnit;
  }
  static float &at(const polyattn_rt_memref *tensor, std::initializer_list<int64_t> indices) {
    int64_t offset = tensor->offset, d = int64_t(indices.size());
    for (int64_t index : indices)
      offset += index * tensor->dimensions[d++];
    return static_cast<float *>(tensor->aligned)[offset];
  }
};
} // namespace

static std::atomic<int64_t> lastSegments;

static void buildPrefixKernel(void *const *tensors, int64_t begin, int64_t end, void *scratch) {
  Tensors t(tensors);
  ASSERT_NE(scratch, nullptr);
  for (int64_t program = begin; program < end; ++program) {
    int64_t number = program / (t.batches * t.heads), rest = program % (t.batches * t.heads);
    int64_t b = rest / t.heads, h = rest % t.heads;
    int64_t segment = number / subsegments, subsegment = number % subsegments;
    ASSERT_LT(segment, t.segments - 1);
    int64_t begin = segment * t.length, length = (t.length + subsegments - 1) / subsegments;
    int64_t end = std::min({begin + (subsegment + 1) * length, begin + t.length, t.positions});
    float sum = 0;
    for (int64_t i = begin + subsegment * length; i < end; ++i)
      sum += Tensors::at(t.x, {b, i, h});
    Tensors::at(t.sums, {number, b, h}) = sum;
  }
}

static void compute(void *const *tensors, int64_t begin, int64_t end, void *scratch) {
  Tensors t(tensors);
  ASSERT_NE(scratch, nullptr);
  lastSegments = t.segments;
  for (int64_t program = begin; program < end; ++program) {
    int64_t segment = program / (t.batches * t.heads), rest = program % (t.batches * t.heads);
    int64_t b = rest / t.heads, h = rest % t.heads;
    ASSERT_LT(segment, t.segments);
    float sum = 0;
    for (int64_t before = 0; before < segment * subsegments; ++before)
      sum += Tensors::at(t.sums, {before, b, h});
    for (int64_t i = segment * t.length; i < std::min((segment + 1) * t.length, t.positions); ++i)
      Tensors::at(t.o, {b, i, h}) = sum += Tensors::at(t.x, {b, i, h});
  }
}

namespace {
constexpr polyattn_rt_extent dim(int64_t tensor, int64_t dimension) {
  return {POLYATTN_RT_DIMENSION, tensor, dimension, 0, 1, 1};
}
constexpr polyattn_rt_extent number(int64_t number) {
  return {POLYATTN_RT_NUMBER, 0, 0, number, 1, 1};
}

struct Kernel {
  polyattn_rt_tensor_rule tensors[2] = {
      {"x", 0, POLYATTN_F32, 3, {POLYATTN_SIZE_B, POLYATTN_SIZE_T, POLYATTN_SIZE_H}},
      {"o", 1, POLYATTN_F32, 3, {POLYATTN_SIZE_B, POLYATTN_SIZE_T, POLYATTN_SIZE_H}}};
  polyattn_rt_extent prefixes = {POLYATTN_RT_SEGMENTS, 0, 0, -1, 1, subsegments};
  polyattn_rt_extent segments = {POLYATTN_RT_SEGMENTS, 0, 0, 0, 1, 1};
  polyattn_rt_workspace_rule sums = {
      POLYATTN_F32, POLYATTN_RT_FILL_NONE, 3, {prefixes, dim(0, 0), dim(0, 2)}};
  int64_t used[1] = {0};
  polyattn_rt_stage_rule stages[2] = {
      {buildPrefixKernel,
       POLYATTN_RT_STAGE_SUMS_SEGMENTS,
       64,
       1,
       {prefixes, dim(0, 0), dim(0, 2)},
       3,
       used,
       1},
      {compute, POLYATTN_RT_STAGE, 64, 1, {segments, dim(0, 0), dim(0, 2)}, 3, used, 1}};
  polyattn_rt_choice_rule choice = {POLYATTN_RT_SEGMENTS, dim(0, 1), 2, kUnit, 0, 40,
                                    subsegments,          0,         0};
  polyattn_rt_kernel kernel = {"prefix", tensors,
                               2,        {&sums, 1, stages, 2, &choice, 1},
                               nullptr,  {-1, -1, -1, -1, -1, -1, -1, -1, -1},
                               {},       {}};

  void setSubsegments(int64_t number) {
    choice.subsegments = prefixes.times = number;
    sums.sizes[0] = stages[0].programs[0] = prefixes;
  }
  /// Each sum is of so many numbers.
  void setElements(int64_t rows, int64_t columns) {
    sums.rank = 5;
    sums.sizes[3] = number(rows);
    sums.sizes[4] = number(columns);
  }

  int64_t choose(int64_t batches, int64_t positions, int64_t heads, int64_t threads) {
    const int64_t sizes[] = {batches, positions, heads}, *shapes[] = {sizes, sizes};
    polyattn_rt_launch launch = {shapes, 0, 0, 0};
    polyattn_rt_workers workers = polyattn_rt_threads(threads);
    polyattn_rt_choose(&kernel.plan, &workers, &launch);
    EXPECT_EQ(launch.splits, 1);
    return launch.segments;
  }
};
} // namespace

TEST(Segments, FollowFromThreadsAndSizes) {
  Kernel k;
  EXPECT_EQ(k.choose(1, 1000, 1, 1), 1);
  EXPECT_EQ(k.choose(1, 1000, 1, 2), 2);
  EXPECT_EQ(k.choose(1, 1000, 1, 7), 7);
  EXPECT_EQ(k.choose(1, 1000, 2, 7), 3);
  EXPECT_EQ(k.choose(2, 1000, 2, 7), 1);
  EXPECT_EQ(k.choose(0, 1000, 1, 8), 1);
  EXPECT_EQ(k.choose(1, 0, 1, 8), 1);
  EXPECT_EQ(k.choose(1, 1 << 20, 1, 1000), 32);
  // A segment has 8 blocks of 2 positions or more.
  EXPECT_EQ(k.choose(1, 31, 1, 2), 2);
  EXPECT_EQ(k.choose(1, 27, 1, 2), 1);
  EXPECT_EQ(k.choose(1, 64, 1, 16), 4);
  // 17 units of 4 positions in 4 segments are 4 of 5; in 6 of 3 they would be more.
  EXPECT_EQ(k.choose(1, 68, 1, 4), 4);
  k.choice.min_positions = 500;
  EXPECT_EQ(k.choose(1, 499, 1, 2), 1);
  EXPECT_EQ(k.choose(1, 500, 1, 2), 2);
}

TEST(Segments, MustBeWorthTheirSums) {
  Kernel k;
  k.choice.prefix_cost_percent = 90;
  EXPECT_EQ(k.choose(1, 1000, 1, 2), 1);
  EXPECT_EQ(k.choose(1, 1000, 1, 3), 3);
  // Half of them for each of two threads.
  k.setSubsegments(2);
  EXPECT_EQ(k.choose(1, 1000, 1, 2), 2);
}

TEST(Segments, TakeNoMoreMemoryThanAllowed) {
  Kernel k;
  k.setElements(1 << 10, 1 << 10); // 4 MiB each
  EXPECT_EQ(k.choose(1, 1000, 1, 100), 9);
  k.setSubsegments(2);
  EXPECT_EQ(k.choose(1, 1000, 1, 100), 5);
  k.setElements(1 << 13, 1 << 12);
  EXPECT_EQ(k.choose(1, 1000, 1, 100), 1);
  k.setElements(int64_t(1) << 31, int64_t(1) << 31);
  EXPECT_EQ(k.choose(4, 1000, 1, 100), 1);
}

//===----------------------------------------------------------------------===//
// Workspaces of programs
//===----------------------------------------------------------------------===//

static std::mutex partsMutex;
static std::set<const void *> parts; // of the workspace, where programs have found theirs

/// o[b, t, h] = x[b, T - 1 - t, h], by way of a copy in the program's part of a workspace
/// [B, H, T, 3].
static void reverse(void *const *tensors, int64_t begin, int64_t end, void *scratch) {
  auto tensor = [&](int i) { return static_cast<const polyattn_rt_memref *>(tensors[i]); };
  const polyattn_rt_memref *x = tensor(0), *o = tensor(1), *part = tensor(2);
  int64_t positions = x->dimensions[1], heads = x->dimensions[2];
  EXPECT_EQ(std::vector(part->dimensions, part->dimensions + 8),
            (std::vector<int64_t>{x->dimensions[0], heads, positions, 3, 0, 0, 3, 1}));
  // Behind the scratch of the kernel, which stays its own.
  EXPECT_GE(static_cast<char *>(part->aligned), static_cast<char *>(scratch) + 100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(part->aligned) % 64, 0u);
  memset(scratch, 1, 100);
  for (int64_t program = begin; program < end; ++program) {
    int64_t b = program / heads, h = program % heads;
    for (int64_t t = 0; t < positions; ++t)
      for (int64_t column = 0; column < 3; ++column)
        Tensors::at(part, {b, h, t, column}) = Tensors::at(x, {b, t, h}) + float(column);
    for (int64_t t = 0; t < positions; ++t)
      Tensors::at(o, {b, t, h}) = Tensors::at(part, {b, h, positions - 1 - t, 2}) - 2;
  }
  std::lock_guard lock(partsMutex);
  parts.insert(part->aligned);
}

TEST(PartsOfPrograms, AreOneForEachThread) {
  Kernel k;
  k.sums = {
      POLYATTN_F32, POLYATTN_RT_FILL_PROGRAM, 4, {dim(0, 0), dim(0, 2), dim(0, 1), number(3)}};
  k.stages[0] = {reverse, POLYATTN_RT_STAGE, 100, 1, {dim(0, 0), dim(0, 2)}, 2, k.used, 1};
  k.kernel.plan.num_stages = 1;
  k.kernel.plan.num_choices = 0;
  for (int64_t positions : {1, 33, 1000})
    for (int threads : {1, 3}) {
      parts.clear();
      constexpr int64_t batches = 5, heads = 4;
      const int64_t sizes[3] = {batches, positions, heads};
      std::vector<float> x(batches * positions * heads), o(x.size(), NAN), wanted(x.size());
      for (size_t i = 0; i < x.size(); ++i)
        x[i] = float(i % 1013);
      for (int64_t b = 0; b < batches; ++b)
        for (int64_t t = 0; t < positions; ++t)
          for (int64_t h = 0; h < heads; ++h)
            wanted[(b * positions + t) * heads + h] =
                x[(b * positions + positions - 1 - t) * heads + h];
      polyattn_tensor in = polyattn_dense(x.data(), POLYATTN_F32, 3, sizes),
                      out = polyattn_dense(o.data(), POLYATTN_F32, 3, sizes);
      const polyattn_tensor *tensors[2] = {&in, &out};
      char error[100];
      ASSERT_EQ(polyattn_rt_run(&k.kernel, tensors, 2, threads, error, sizeof error), 0) << error;
      EXPECT_EQ(o, wanted);
      EXPECT_LE(int64_t(parts.size()), threads);
    }
}

/// Runs a stage with one workspace, for which no memory is large enough.
static void expectNoMemory(const polyattn_rt_workspace_rule &workspace) {
  Kernel k;
  k.sums = workspace;
  k.stages[0] = {reverse, POLYATTN_RT_STAGE, 100, 1, {dim(0, 0)}, 1, k.used, 1};
  k.kernel.plan.num_stages = 1;
  k.kernel.plan.num_choices = 0;
  float numbers[2] = {};
  const int64_t sizes[3] = {1, 1, 1};
  polyattn_tensor in = polyattn_dense(numbers, POLYATTN_F32, 3, sizes),
                  out = polyattn_dense(numbers + 1, POLYATTN_F32, 3, sizes);
  const polyattn_tensor *tensors[2] = {&in, &out};
  char error[100] = "";
  EXPECT_EQ(polyattn_rt_run(&k.kernel, tensors, 2, 1, error, sizeof error), 1);
  EXPECT_NE(std::string(error).find("no memory"), std::string::npos) << error;
}

TEST(PartsOfPrograms, MustFitMemory) {
  expectNoMemory({POLYATTN_F32,
                  POLYATTN_RT_FILL_PROGRAM,
                  3,
                  {dim(0, 0), number(INT64_MAX / 4), number(INT64_MAX / 4)}});
}

TEST(Workspaces, MustNotOverflowWhenTheirBytesAreRounded) {
  expectNoMemory({POLYATTN_F32, POLYATTN_RT_FILL_NONE, 2, {dim(0, 0), number(INT64_MAX / 4)}});
}

static void checkPrefix() {
  Kernel k;
  for (int64_t positions : {0, 1, 31, 32, 33, 64, 65, 300})
    for (int threads : {1, 2, 3, 5, 9}) {
      constexpr int64_t batches = 2, heads = 1;
      std::vector<float> x(batches * positions * heads + 1), o(x.size(), NAN);
      for (size_t i = 0; i < x.size(); ++i)
        x[i] = float((i * 7) % 11) - 5;
      int64_t sizes[3] = {batches, positions, heads};
      polyattn_tensor in = polyattn_dense(x.data(), POLYATTN_F32, 3, sizes),
                      out = polyattn_dense(o.data(), POLYATTN_F32, 3, sizes);
      const polyattn_tensor *tensors[2] = {&in, &out};
      char error[100];
      ASSERT_EQ(polyattn_rt_run(&k.kernel, tensors, 2, threads, error, sizeof error), 0) << error;
      if (positions > 0) // else nothing runs
        EXPECT_EQ(lastSegments, k.choose(batches, positions, heads, threads));
      for (int64_t b = 0; b < batches; ++b) {
        float sum = 0;
        for (int64_t i = 0; i < positions; ++i) {
          sum += x[b * positions + i];
          ASSERT_EQ(o[b * positions + i], sum)
              << b << ", " << i << " of " << positions << " with " << threads << " threads";
        }
      }
      EXPECT_TRUE(std::isnan(o.back()));
    }
}

TEST(Segments, EachBeginsWithThoseBeforeIt) { checkPrefix(); }

TEST(Segments, AreSummedUpInSubsegments) {
  for (subsegments = 2; subsegments <= 3; ++subsegments)
    checkPrefix();
  subsegments = 1;
}

TEST(Segments, SaysThatProgramsAreTooMany) {
  Kernel k;
  k.stages[0].programs[2] = k.stages[1].programs[2] = number(INT64_MAX);
  float numbers[4] = {};
  const int64_t sizes[3] = {2, 1, 1};
  polyattn_tensor in = polyattn_dense(numbers, POLYATTN_F32, 3, sizes),
                  out = polyattn_dense(numbers + 2, POLYATTN_F32, 3, sizes);
  const polyattn_tensor *tensors[2] = {&in, &out};
  char error[100] = "";
  EXPECT_EQ(polyattn_rt_run(&k.kernel, tensors, 2, 1, error, sizeof error), 1);
  EXPECT_NE(std::string(error).find("exceeds 64 bits"), std::string::npos) << error;
}

//===----------------------------------------------------------------------===//
// Plans of other forms
//===----------------------------------------------------------------------===//

/// A call of a plan on `o`, [n] numbers of f32.
static std::string runPlan(const polyattn_rt_plan &plan, std::vector<float> &o, int threads) {
  const polyattn_rt_tensor_rule rule = {"o", 1, POLYATTN_F32, 1, {POLYATTN_SIZE_T}};
  polyattn_rt_kernel kernel = {
      "entry", &rule, 1, plan, nullptr, {-1, -1, -1, -1, -1, -1, -1, -1, -1}, {}, {}};
  int64_t size = o.size();
  polyattn_tensor tensor = polyattn_dense(o.data(), POLYATTN_F32, 1, &size);
  const polyattn_tensor *tensors[] = {&tensor};
  char error[200] = "";
  int status = polyattn_rt_run(&kernel, tensors, 1, threads, error, sizeof error);
  EXPECT_EQ(status != 0, error[0] != 0);
  return error;
}

template <typename Element> static Element *dataOf(void *const *tensors, int64_t number) {
  auto *memref = static_cast<const polyattn_rt_memref *>(tensors[number]);
  return static_cast<Element *>(memref->aligned) + memref->offset;
}

static int64_t sizeOf(void *const *tensors, int64_t number, int64_t dimension) {
  return static_cast<const polyattn_rt_memref *>(tensors[number])->dimensions[dimension];
}

// Programs of one stage that wait for each other, as chained states do: a flag for each, zero at
// the beginning, and a number that the one before has left.
static void chain(void *const *tensors, int64_t begin, int64_t end, void *) {
  auto *flags = dataOf<std::atomic<int32_t>>(tensors, 1);
  float *states = dataOf<float>(tensors, 2);
  for (int64_t i = begin; i < end; ++i) {
    while (i > 0 && flags[i - 1] == 0)
      std::this_thread::yield();
    dataOf<float>(tensors, 0)[i] = states[i] = i ? states[i - 1] + float(i) : 0;
    flags[i] = 1;
  }
}

TEST(Plan, ProgramsMayWaitForThoseBefore) {
  const polyattn_rt_workspace_rule spaces[] = {
      {POLYATTN_I32, POLYATTN_RT_FILL_ZERO, 1, {dim(0, 0)}},
      {POLYATTN_F32, POLYATTN_RT_FILL_NONE, 1, {dim(0, 0)}}};
  const int64_t used[] = {0, 1};
  const polyattn_rt_stage_rule stage = {
      chain, POLYATTN_RT_STAGE_CHAINED, 0, 1, {dim(0, 0)}, 1, used, 2};
  for (int threads : {1, 2, 5}) {
    std::vector<float> o(300, NAN);
    for (int repeat = 0; repeat < 3; ++repeat)
      EXPECT_EQ(runPlan({spaces, 2, &stage, 1, nullptr, 0}, o, threads), "");
    for (int64_t i = 0; i < 300; ++i)
      ASSERT_EQ(o[i], float(i * (i + 1) / 2));
  }
}

// A reduction, as the gradient of a weight is: each part sums up its items, and a second stage adds
// the parts. The number of parts depends on the sizes alone.
static void sumItems(void *const *tensors, int64_t begin, int64_t end, void *) {
  int64_t items = sizeOf(tensors, 0, 0), parts = sizeOf(tensors, 1, 0);
  for (int64_t part = begin; part < end; ++part) {
    float sum = 0;
    for (int64_t i = part * items / parts; i < (part + 1) * items / parts; ++i)
      sum += float(i);
    dataOf<float>(tensors, 1)[part] = sum;
  }
}

static void addParts(void *const *tensors, int64_t begin, int64_t end, void *) {
  float sum = 0;
  for (int64_t part = 0; part < sizeOf(tensors, 1, 0); ++part)
    sum += dataOf<float>(tensors, 1)[part];
  for (int64_t i = begin; i < end; ++i)
    dataOf<float>(tensors, 0)[i] = sum + float(sizeOf(tensors, 1, 0)) / 1024;
}

TEST(Plan, SumsOfPartsAreReduced) {
  const polyattn_rt_extent parts = {POLYATTN_RT_PARTS, 0, 0, 0, 1, 1};
  const polyattn_rt_workspace_rule space = {POLYATTN_F32, POLYATTN_RT_FILL_NONE, 1, {parts}};
  const int64_t used[] = {0};
  const polyattn_rt_stage_rule stages[] = {
      {sumItems, POLYATTN_RT_STAGE, 0, 1, {parts}, 1, used, 1},
      {addParts, POLYATTN_RT_STAGE, 0, 1, {dim(0, 0)}, 1, used, 1}};
  polyattn_rt_choice_rule choice = {POLYATTN_RT_PARTS, dim(0, 0), 0, 0, 0, 0, 0, 7, 1 << 20};
  auto expect = [&](int64_t items, int64_t expected) {
    for (int threads : {1, 4}) {
      std::vector<float> o(items, NAN);
      EXPECT_EQ(runPlan({&space, 1, stages, 2, &choice, 1}, o, threads), "");
      for (float number : o)
        ASSERT_EQ(number, float(items * (items - 1) / 2) + float(expected) / 1024);
    }
  };
  expect(100, 7);
  expect(3, 3);
  choice.bytes = int64_t(64) << 20; // 256 MiB for all
  expect(100, 4);
  choice.bytes = int64_t(1) << 40;
  expect(100, 1);
}

// Programs of one part have sums of their own: together they are no more than the rule allows, but
// for those that one part has.
TEST(Plan, PartsAreFewerWherePartsHaveSeveralPrograms) {
  const polyattn_rt_extent parts = {POLYATTN_RT_PARTS, 0, 0, 0, 1, 1};
  const polyattn_rt_stage_rule stage = {addParts, POLYATTN_RT_STAGE, 0, 1, {parts, dim(0, 1)},
                                        2,        nullptr,           0};
  auto choose = [&](int64_t batches, int64_t heads, int64_t bytes) {
    const polyattn_rt_choice_rule choice = {POLYATTN_RT_PARTS, dim(0, 0), 0, 0, 0, 0, 0, 64, bytes};
    const polyattn_rt_plan plan = {nullptr, 0, &stage, 1, &choice, 1};
    const int64_t sizes[] = {batches, heads}, *shapes[] = {sizes};
    const polyattn_rt_launch launch = {shapes, 1, 1, 1};
    return polyattn_rt_choose_parts(&plan, &launch);
  };
  EXPECT_EQ(choose(3, 2, 4), 3);
  EXPECT_EQ(choose(100, 1, 4), 64);
  EXPECT_EQ(choose(100, 5, 4), 13);
  EXPECT_EQ(choose(100, 64, 4), 1);
  EXPECT_EQ(choose(100, 200, 4), 1);
  EXPECT_EQ(choose(100, 2, int64_t(16) << 20), 8); // 256 MiB for all
  EXPECT_EQ(choose(0, 2, 4), 1);
  EXPECT_EQ(choose(2, 0, 4), 2);
}

TEST(Plan, CountsExtents) {
  const int64_t sizes[] = {100, 7}, *shapes[] = {sizes};
  const polyattn_rt_launch launch = {shapes, 5, 3, 2};
  auto value = [&](polyattn_rt_extent extent) {
    return polyattn_rt_extent_value(&extent, &launch);
  };
  EXPECT_EQ(value({POLYATTN_RT_NUMBER, 0, 0, 12, 1, 1}), 12);
  EXPECT_EQ(value({POLYATTN_RT_DIMENSION, 0, 1, 0, 1, 1}), 7);
  EXPECT_EQ(value({POLYATTN_RT_DIMENSION, 0, 0, 0, 64, 1}), 2);
  EXPECT_EQ(value({POLYATTN_RT_DIMENSION, 0, 0, 28, 64, 3}), 6);
  EXPECT_EQ(value({POLYATTN_RT_DIMENSION, 0, 1, -8, 1, 3}), 0);
  EXPECT_EQ(value({POLYATTN_RT_SEGMENTS, 0, 0, -1, 1, 2}), 8);
  EXPECT_EQ(value({POLYATTN_RT_SPLITS, 0, 0, 0, 1, 1}), 3);
  EXPECT_EQ(value({POLYATTN_RT_PARTS, 0, 0, 0, 1, 1}), 2);
  EXPECT_EQ(value({POLYATTN_RT_NUMBER, 0, 0, INT64_MAX, 1, 2}), -1);
  EXPECT_EQ(value({POLYATTN_RT_DIMENSION, 0, 0, INT64_MAX, 1, 1}), -1);
}

TEST(Plan, SaysThatWorkspacesAreTooLarge) {
  for (int64_t size : {int64_t(1) << 50, INT64_MAX}) {
    const polyattn_rt_workspace_rule space = {
        POLYATTN_F32, POLYATTN_RT_FILL_NONE, 2, {number(size), dim(0, 0)}};
    const polyattn_rt_stage_rule stage = {addParts, POLYATTN_RT_STAGE, 0, 1, {dim(0, 0)},
                                          1,        nullptr,           0};
    std::vector<float> o(3);
    std::string error = runPlan({&space, 1, &stage, 1, nullptr, 0}, o, 1);
    EXPECT_NE(error.find("entry: no memory for "), std::string::npos) << error;
    EXPECT_NE(error.find(" bytes of workspaces"), std::string::npos) << error;
  }
}

// Splits of a head's features: o[i] = i + 1 as the sum over them of what each has for it, in rounds
// of positions over which each program keeps its scratch.
static constexpr int64_t kColumns = 1 << 18;
static int64_t allRows;
static void splitSums(void *const *tensors, int64_t begin, int64_t end, void *scratch) {
  const int64_t *launch = dataOf<int64_t>(tensors, 2);
  auto *seen = static_cast<int64_t *>(scratch);
  ASSERT_EQ(end - begin, 1);
  if (launch[2] == 0)
    *seen = 0;
  ASSERT_EQ(*seen, launch[2]); // the rows of the rounds before
  int64_t rows = sizeOf(tensors, 0, 0), splits = sizeOf(tensors, 1, 0);
  ASSERT_EQ(sizeOf(tensors, 1, 1), rows);
  ASSERT_LT(launch[0], launch[1]);
  ASSERT_EQ(launch[2] + rows + launch[3], allRows);
  for (int64_t split = launch[0]; split < launch[1]; ++split)
    for (int64_t i = 0; i < rows; ++i)
      dataOf<float>(tensors, 1)[(split * rows + i) * kColumns] =
          split == 0 ? float(launch[2] + i + 1 - (splits - 1)) : 1;
  *seen += rows;
}

static void combineSplits(void *const *tensors, int64_t begin, int64_t end, void *) {
  const int64_t *launch = dataOf<int64_t>(tensors, 2);
  int64_t splits = sizeOf(tensors, 1, 0), rows = sizeOf(tensors, 0, 0);
  ASSERT_LE(launch[1], splits);
  for (int64_t i = launch[0]; i < rows; i += launch[1]) {
    float sum = 0;
    for (int64_t split = 0; split < splits; ++split)
      sum += dataOf<float>(tensors, 1)[(split * rows + i) * kColumns];
    dataOf<float>(tensors, 0)[i] = sum;
  }
}

TEST(Plan, SplitsAreCombinedInRounds) {
  const polyattn_rt_extent splits = {POLYATTN_RT_SPLITS, 0, 0, 0, 1, 1};
  const polyattn_rt_workspace_rule spaces[] = {
      {POLYATTN_F32, POLYATTN_RT_FILL_NONE, 3, {splits, dim(0, 0), number(kColumns)}},
      {POLYATTN_I64, POLYATTN_RT_FILL_LAUNCH, 1, {number(4)}}};
  const int64_t used[] = {0, 1};
  const polyattn_rt_stage_rule stages[] = {
      {splitSums, POLYATTN_RT_STAGE_PER_SPLIT, 64, 1, {}, 0, used, 2},
      {combineSplits, POLYATTN_RT_STAGE_COMBINES_SPLITS, 64, 1, {}, 0, used, 2}};
  polyattn_rt_choice_rule choice = {POLYATTN_RT_SPLITS, dim(0, 0), 0, 2, 0, 0, 0, 4, 0};
  const polyattn_rt_plan plan = {spaces, 2, stages, 2, &choice, 1};
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
    GTEST_SKIP() << "one processor has nothing to split for";
  for (int64_t rows : {8, 9, 33})
    for (int threads : {1, 2, 3, 7}) {
      std::vector<float> o(rows, NAN);
      allRows = rows;
      ASSERT_EQ(runPlan(plan, o, threads), "");
      for (int64_t i = 0; i < rows; ++i)
        ASSERT_EQ(o[i], float(i + 1)) << rows << " rows, " << threads << " threads";
    }
}

TEST(Plan, FewThreadsTakeSeveralSplitsAtATime) {
  const polyattn_rt_stage_rule stage = {
      splitSums, POLYATTN_RT_STAGE_PER_SPLIT, 0, 1, {dim(0, 1)}, 1, nullptr, 0};
  const polyattn_rt_plan plan = {nullptr, 0, &stage, 1, nullptr, 0};
  auto count = [&](int64_t splits, int64_t heads, int64_t threads) {
    const int64_t sizes[] = {1000, heads}, *shapes[] = {sizes};
    const polyattn_rt_launch launch = {shapes, 1, splits, 1};
    return polyattn_rt_count_turns(&plan, &launch, threads);
  };
  EXPECT_EQ(count(4, 1, 1), 1);
  EXPECT_EQ(count(4, 1, 2), 2);
  EXPECT_EQ(count(4, 1, 3), 3);
  EXPECT_EQ(count(4, 1, 64), 4);
  EXPECT_EQ(count(2, 3, 4), 2);
  EXPECT_EQ(count(2, 3, 3), 1);
  EXPECT_EQ(count(1, 1, 64), 1);
  EXPECT_EQ(count(4, 0, 4), 1);
}

TEST(Plan, SplitsFollowFromProcessorsAndSizes) {
  const polyattn_rt_stage_rule stage = {
      splitSums, POLYATTN_RT_STAGE_PER_SPLIT, 0, 1, {dim(0, 1)}, 1, nullptr, 0};
  polyattn_rt_choice_rule choice = {POLYATTN_RT_SPLITS, dim(0, 0), 0, 64, 300, 0, 0, 6, 0};
  const polyattn_rt_plan plan = {nullptr, 0, &stage, 1, &choice, 1};
  auto choose = [&](int64_t positions, int64_t heads, int64_t processors) {
    const int64_t sizes[] = {positions, heads}, *shapes[] = {sizes};
    polyattn_rt_launch launch = {shapes, 0, 0, 0};
    polyattn_rt_workers workers = polyattn_rt_threads(1);
    workers.processors = processors;
    polyattn_rt_choose(&plan, &workers, &launch);
    return launch.splits;
  };
  EXPECT_EQ(choose(1000, 1, 4), 4);
  EXPECT_EQ(choose(1000, 3, 4), 2);
  EXPECT_EQ(choose(1000, 4, 4), 1);
  EXPECT_EQ(choose(1000, 1, 100), 6);
  EXPECT_EQ(choose(299, 1, 4), 1);
  EXPECT_EQ(choose(300, 1, 4), 4);
  EXPECT_EQ(choose(0, 1, 4), 1);
  EXPECT_EQ(choose(1000, 0, 4), 1);
  choice.max = 1000;
  EXPECT_EQ(choose(1000, 1, 100), 16);
  choice.min_positions = 0;
  EXPECT_EQ(choose(255, 1, 4), 1); // four blocks
  EXPECT_EQ(choose(256, 1, 4), 4);
}
