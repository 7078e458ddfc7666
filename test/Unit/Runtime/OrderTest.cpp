//===- OrderTest.cpp - programs of packed sequences, longest first --------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/order.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <random>
#include <vector>

// A kernel in the place of compiled code, which writes down the ranges of programs that it runs.

namespace {
using Ranges = std::vector<std::pair<int64_t, int64_t>>;
std::mutex mutex;
Ranges ranges;

void record(void *const *, int64_t begin, int64_t end, void *scratch) {
  EXPECT_NE(scratch, nullptr);
  std::lock_guard<std::mutex> lock(mutex);
  ranges.push_back({begin, end});
}

constexpr int64_t kHeads = 3;

/// Programs (sequence, head), with a workspace or none.
struct Kernel {
  polyattn_rt_tensor_rule tensors[2] = {
      {"cu_seqlens", 0, POLYATTN_I32, 1, {POLYATTN_SIZE_N1}, 0},
      {"o", 1, POLYATTN_F32, 3, {1, POLYATTN_SIZE_T, POLYATTN_SIZE_H}, 0}};
  polyattn_rt_workspace_rule space = {
      POLYATTN_F32, POLYATTN_RT_FILL_NONE, 1, {{POLYATTN_RT_NUMBER, 0, 0, 4, 1, 1}}};
  int64_t used[1] = {0};
  polyattn_rt_stage_rule stage = {
      record,
      POLYATTN_RT_STAGE,
      64,
      1,
      {{POLYATTN_RT_DIMENSION, 0, 0, -1, 1, 1}, {POLYATTN_RT_DIMENSION, 1, 2, 0, 1, 1}},
      2,
      used,
      0};
  polyattn_rt_kernel kernel = {};

  explicit Kernel(bool hasWorkspace = false) {
    stage.num_workspaces = hasWorkspace;
    kernel.name = "packed";
    kernel.tensors = tensors;
    kernel.num_tensors = 2;
    kernel.plan = {&space, hasWorkspace, &stage, 1, nullptr, 0};
    std::fill(std::begin(kernel.fixed), std::end(kernel.fixed), -1);
    kernel.offsets = 1;
  }

  template <typename T = int32_t>
  Ranges run(const std::vector<int64_t> &lengths, const polyattn_rt_team &team) {
    // Every second number is one of the offsets.
    std::vector<T> offsets(2 * lengths.size() + 1, std::numeric_limits<T>::min());
    offsets[0] = 0;
    for (size_t i = 0; i < lengths.size(); ++i)
      offsets[2 * i + 2] = offsets[2 * i] + lengths[i];
    int64_t sizes[] = {1, offsets.back(), kHeads}, bounds = lengths.size() + 1;
    std::vector<float> o(sizes[1] * kHeads + 1);
    tensors[0].dtype = sizeof(T) == 4 ? POLYATTN_I32 : POLYATTN_I64;
    polyattn_tensor arguments[] = {polyattn_dense(offsets.data(), tensors[0].dtype, 1, &bounds),
                                   polyattn_dense(o.data(), POLYATTN_F32, 3, sizes)};
    arguments[0].strides[0] = 2;
    const polyattn_tensor *pointers[] = {&arguments[0], &arguments[1]};
    char error[200] = "";
    ranges.clear();
    EXPECT_EQ(polyattn_rt_run_on(&kernel, pointers, 2, &team, error, sizeof error), 0) << error;
    return ranges;
  }
};

/// Tasks one after another, so that the order is that in which threads would begin.
void runInTurn(void *, int64_t count, void (*task)(void *, int64_t), void *context) {
  for (int64_t i = 0; i < count; ++i)
    task(context, i);
}
polyattn_rt_team inTurn(int threads) { return {threads, runInTurn, nullptr}; }

std::vector<int64_t> programsOf(const Ranges &ranges) {
  std::vector<int64_t> programs;
  for (auto [begin, end] : ranges)
    for (int64_t i = begin; i < end; ++i)
      programs.push_back(i);
  return programs;
}

std::vector<int64_t> mixedLengths(size_t count) {
  std::mt19937 random(std::random_device{}());
  std::uniform_real_distribution<double> exponent(0, 13);
  std::vector<int64_t> lengths(count);
  for (int64_t &length : lengths)
    length = random() % 8 == 0 ? 0 : int64_t(std::exp2(exponent(random)));
  return lengths;
}
} // namespace

TEST(PackedOrder, EveryProgramRunsOnce) {
  for (bool hasWorkspace : {false, true})
    for (size_t count : {1, 2, 7, 64, 65, 200})
      for (int threads : {1, 2, 3, 16}) {
        std::vector<int64_t> lengths = mixedLengths(count), all(count * kHeads);
        lengths[0] = 1;
        std::iota(all.begin(), all.end(), 0);
        Kernel k(hasWorkspace);
        for (const polyattn_rt_team &team :
             {polyattn_rt_team{threads, nullptr, nullptr}, inTurn(threads)}) {
          std::vector<int64_t> narrow = programsOf(k.run<int32_t>(lengths, team)),
                               wide = programsOf(k.run<int64_t>(lengths, team));
          std::sort(narrow.begin(), narrow.end());
          std::sort(wide.begin(), wide.end());
          EXPECT_EQ(narrow, all) << count << " sequences, " << threads << " threads";
          EXPECT_EQ(wide, all) << count << " sequences, " << threads << " threads";
        }
      }
}

TEST(PackedOrder, LongestSequencesBeginFirst) {
  for (bool hasWorkspace : {false, true})
    for (size_t count : {5, 64, 300}) {
      std::vector<int64_t> lengths = mixedLengths(count), begun;
      lengths.back() = 9000;
      Kernel k(hasWorkspace);
      for (int64_t program : programsOf(k.run(lengths, inTurn(4))))
        begun.push_back(std::max<int64_t>(lengths[program / kHeads], 1));
      EXPECT_TRUE(std::is_sorted(begun.rbegin(), begun.rend()));
      EXPECT_EQ(begun.front(), 9000);
    }
}

// A chunk of a quarter of all programs, the longest ones, would be most of the work.
TEST(PackedOrder, ChunksAreSharesOfPositions) {
  constexpr int threads = 2;
  for (int round = 0; round < 20; ++round) {
    std::vector<int64_t> lengths = mixedLengths(100);
    lengths.back() = 8192;
    double busy[threads] = {}, longest = 0;
    for (auto [begin, end] : Kernel().run(lengths, inTurn(threads))) {
      double cost = 0;
      for (int64_t i = begin; i < end; ++i) {
        cost += lengths[i / kHeads];
        longest = std::max(longest, double(lengths[i / kHeads]));
      }
      // The next chunk goes to the thread that is free first.
      *std::min_element(busy, busy + threads) += cost;
    }
    double all = busy[0] + busy[1];
    EXPECT_LE(std::max(busy[0], busy[1]), 1.02 * std::max(all / 2, longest));
  }
}

TEST(PackedOrder, SequencesOfOneLengthRunInFewRanges) {
  std::vector<int64_t> lengths(256, 7);
  Ranges own = Kernel().run(lengths, inTurn(2));
  EXPECT_LE(own.size(), 32u);
  EXPECT_TRUE(std::is_sorted(own.begin(), own.end()));
}

TEST(PackedOrder, OneThreadRunsOneRange) {
  std::vector<int64_t> lengths = {1, 5, 2};
  EXPECT_EQ(Kernel().run(lengths, inTurn(1)), (Ranges{{0, 3 * kHeads}}));
}

// Programs of such a stage wait for those with smaller numbers.
TEST(PackedOrder, ChainedProgramsKeepTheirOrder) {
  Kernel k;
  k.stage.kind = POLYATTN_RT_STAGE_CHAINED;
  std::vector<int64_t> programs = programsOf(k.run({1, 5, 2, 70}, inTurn(2)));
  EXPECT_TRUE(std::is_sorted(programs.begin(), programs.end()));
}
