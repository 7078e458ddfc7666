//===- ShortCallTest.cpp - what a short call must not do ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/runtime.h"
#include "gtest/gtest.h"
#include <malloc.h>
#include <thread>
#include <vector>

// The runtime's allocations for workspaces and scratch, counted in place of libc's function.
static thread_local int64_t allocations;
extern "C" void *aligned_alloc(size_t alignment, size_t size) noexcept {
  ++allocations;
  return memalign(alignment, size);
}

/// o[i] = i + 1.
static void compute(void *const *tensors, int64_t begin, int64_t end, void *) {
  const auto *o = static_cast<const polyattn_rt_memref *>(tensors[0]);
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(o->aligned)[i] = float(i + 1);
}

/// Runs a kernel with a workspace of `columns` numbers for each segment but one, and one of a
/// launch's numbers; `others` are tensors beside the result. Returns how often it allocates.
static int64_t countAllocations(int64_t columns, int64_t segments, int64_t others) {
  const polyattn_rt_workspace_rule spaces[] = {
      {POLYATTN_F32,
       POLYATTN_RT_FILL_NONE,
       2,
       {{POLYATTN_RT_SEGMENTS, 0, 0, segments - 2, 1, 1}, {0, 0, 0, columns, 1, 1}}},
      {POLYATTN_I64, POLYATTN_RT_FILL_LAUNCH, 1, {{0, 0, 0, 4, 1, 1}}}};
  const int64_t used[] = {0, 1};
  const polyattn_rt_stage_rule stage = {
      compute, POLYATTN_RT_STAGE, 0, 1, {{POLYATTN_RT_DIMENSION, 0, 0, 0, 1, 1}}, 1, used, 2};
  std::vector<polyattn_rt_tensor_rule> rules(1 + others,
                                             {"x", 0, POLYATTN_F32, 1, {POLYATTN_SIZE_T}, 0});
  rules[0].is_result = 1;
  polyattn_rt_kernel kernel = {};
  kernel.name = "entry";
  kernel.tensors = rules.data();
  kernel.num_tensors = rules.size();
  kernel.plan = {spaces, 2, &stage, 1, nullptr, 0};
  std::fill(std::begin(kernel.fixed), std::end(kernel.fixed), -1);
  std::vector<float> o(5, -1), x(5, 2);
  const int64_t size = 5;
  polyattn_tensor out = polyattn_dense(o.data(), POLYATTN_F32, 1, &size),
                  in = polyattn_dense(x.data(), POLYATTN_F32, 1, &size);
  std::vector<const polyattn_tensor *> tensors(1 + others, &in);
  tensors[0] = &out;
  char error[200] = "";
  int64_t before = allocations;
  EXPECT_EQ(polyattn_rt_run(&kernel, tensors.data(), tensors.size(), 1, error, sizeof error), 0)
      << error;
  int64_t count = allocations - before;
  EXPECT_EQ(o, (std::vector<float>{1, 2, 3, 4, 5}));
  return count;
}

TEST(ShortCall, AllocatesNothingWhereWorkspacesAreEmpty) {
  EXPECT_EQ(countAllocations(/*columns=*/64, /*segments=*/1, /*others=*/4), 0);
}

/// The allocations of two calls, one after the other, of a thread that keeps nothing yet.
static std::pair<int64_t, int64_t> countOfThread(int64_t columns, int64_t segments,
                                                 int64_t others) {
  std::pair<int64_t, int64_t> counts;
  std::thread([&] {
    counts.first = countAllocations(columns, segments, others);
    counts.second = countAllocations(columns, segments, others);
  }).join();
  return counts;
}

TEST(ShortCall, AllocatesWhatHasBytesOnce) {
  EXPECT_EQ(countOfThread(/*columns=*/64, /*segments=*/2, /*others=*/4), std::pair(1L, 0L));
  EXPECT_EQ(countOfThread(/*columns=*/64, /*segments=*/1, /*others=*/60), std::pair(0L, 0L));
  // More descriptors than are put on the stack, which are not kept.
  EXPECT_EQ(countOfThread(/*columns=*/64, /*segments=*/1, /*others=*/300), std::pair(1L, 1L));
  EXPECT_EQ(countOfThread(/*columns=*/64, /*segments=*/2, /*others=*/300), std::pair(2L, 1L));
}

TEST(ShortCall, KeepsNoLargeWorkspace) {
  EXPECT_EQ(countOfThread(/*columns=*/int64_t(17) << 20, /*segments=*/2, /*others=*/4),
            std::pair(1L, 1L));
}
