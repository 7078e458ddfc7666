//===- SegmentsTest.cpp - heads that are cut by positions -----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/runtime.h"
#include "gtest/gtest.h"
#include <atomic>
#include <cmath>
#include <string>
#include <vector>

// A kernel in the place of compiled code: o[b, t, h] = the sum of x[b, s, h] for s <= t. Its
// programs are numbered as the compiler's are, and cut positions as the compiler's do.

static constexpr int64_t kUnit = 4;
static int64_t pieces = 1; // of a segment

namespace {
struct Tensors {
  const polyattn_rt_memref *x, *o, *sums;
  int64_t batches, positions, heads, segments, length;

  explicit Tensors(void *const *tensors)
      : x(static_cast<const polyattn_rt_memref *>(tensors[0])),
        o(static_cast<const polyattn_rt_memref *>(tensors[1])),
        sums(static_cast<const polyattn_rt_memref *>(tensors[2])), batches(x->dimensions[0]),
        positions(x->dimensions[1]), heads(x->dimensions[2]),
        segments(sums->dimensions[0] / pieces + 1) {
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

static void sumSegments(void *const *tensors, int64_t begin, int64_t end, void *scratch) {
  Tensors t(tensors);
  ASSERT_NE(scratch, nullptr);
  for (int64_t program = begin; program < end; ++program) {
    int64_t number = program / (t.batches * t.heads), rest = program % (t.batches * t.heads);
    int64_t b = rest / t.heads, h = rest % t.heads;
    int64_t segment = number / pieces, piece = number % pieces;
    ASSERT_LT(segment, t.segments - 1);
    int64_t begin = segment * t.length, length = (t.length + pieces - 1) / pieces;
    int64_t end = std::min({begin + (piece + 1) * length, begin + t.length, t.positions});
    float sum = 0;
    for (int64_t i = begin + piece * length; i < end; ++i)
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
    for (int64_t before = 0; before < segment * pieces; ++before)
      sum += Tensors::at(t.sums, {before, b, h});
    for (int64_t i = segment * t.length; i < std::min((segment + 1) * t.length, t.positions); ++i)
      Tensors::at(t.o, {b, i, h}) = sum += Tensors::at(t.x, {b, i, h});
  }
}

namespace {
struct Kernel {
  polyattn_rt_tensor_rule tensors[2] = {
      {"x", 0, POLYATTN_F32, 3, {POLYATTN_RT_B, POLYATTN_RT_T, POLYATTN_RT_H}},
      {"o", 1, POLYATTN_F32, 3, {POLYATTN_RT_B, POLYATTN_RT_T, POLYATTN_RT_H}}};
  polyattn_rt_stage_rule stages[2] = {{sumSegments, {POLYATTN_RT_B, POLYATTN_RT_H, 1, 1}, 64},
                                      {compute, {POLYATTN_RT_B, POLYATTN_RT_H, 1, 1}, 64}};
  polyattn_rt_sum_shape sums = {0, {}};
  polyattn_rt_kernel kernel = {"prefix",
                               tensors,
                               2,
                               stages,
                               2,
                               nullptr,
                               {-1, -1, -1, -1, -1, -1},
                               {1, 0, 0, 0},
                               {&sums, 1, 2, kUnit, 0, 40, pieces},
                               {},
                               {}};

  int64_t choose(int64_t batches, int64_t positions, int64_t heads, int64_t threads) {
    polyattn_rt_sizes sizes = {{batches, positions, -1, heads, -1, -1}};
    return polyattn_rt_choose_segments(&kernel, &sizes, threads);
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
  k.kernel.segments.from = 500;
  EXPECT_EQ(k.choose(1, 499, 1, 2), 1);
  EXPECT_EQ(k.choose(1, 500, 1, 2), 2);
}

TEST(Segments, MustBeWorthTheirSums) {
  Kernel k;
  k.kernel.segments.sums_percent = 90;
  EXPECT_EQ(k.choose(1, 1000, 1, 2), 1);
  EXPECT_EQ(k.choose(1, 1000, 1, 3), 3);
  // Half of them for each of two threads.
  k.kernel.segments.pieces = 2;
  EXPECT_EQ(k.choose(1, 1000, 1, 2), 2);
}

TEST(Segments, TakeNoMoreMemoryThanAllowed) {
  Kernel k;
  k.sums = {2, {1 << 10, 1 << 10}}; // 4 MiB each
  EXPECT_EQ(k.choose(1, 1000, 1, 100), 9);
  k.kernel.segments.pieces = 2;
  EXPECT_EQ(k.choose(1, 1000, 1, 100), 5);
  k.sums = {2, {1 << 13, 1 << 12}};
  EXPECT_EQ(k.choose(1, 1000, 1, 100), 1);
  k.sums = {2, {int64_t(1) << 31, int64_t(1) << 31}};
  EXPECT_EQ(k.choose(4, 1000, 1, 100), 1);
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

TEST(Segments, AreSummedUpInPieces) {
  for (pieces = 2; pieces <= 3; ++pieces)
    checkPrefix();
  pieces = 1;
}

TEST(Segments, SaysThatProgramsAreTooMany) {
  Kernel k;
  k.stages[0].factors[2] = k.stages[1].factors[2] = INT64_MAX;
  float numbers[4] = {};
  const int64_t sizes[3] = {2, 1, 1};
  polyattn_tensor in = polyattn_dense(numbers, POLYATTN_F32, 3, sizes),
                  out = polyattn_dense(numbers + 2, POLYATTN_F32, 3, sizes);
  const polyattn_tensor *tensors[2] = {&in, &out};
  char error[100] = "";
  EXPECT_EQ(polyattn_rt_run(&k.kernel, tensors, 2, 1, error, sizeof error), 1);
  EXPECT_NE(std::string(error).find("exceeds 64 bits"), std::string::npos) << error;
}
