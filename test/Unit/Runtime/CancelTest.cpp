//===- CancelTest.cpp - calls that their callers cancel -------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/runtime.h"
#include "gtest/gtest.h"
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

// A kernel in the place of compiled code, o[i] = i + 1, one number per program. A program takes
// long enough for its caller to be asked before the last one: also where the caller's thread has no
// processor for a while, as the second half is not run by others until then.

static constexpr int64_t kPrograms = 400;
static std::atomic<int64_t> begun, ended, asks;
/// How often the caller has to be asked; 0 where programs are short.
static std::atomic<int64_t> asksWanted;
static std::thread::id callerThread;
static std::atomic<bool> callerWaits; // in a chain, for the programs of others

static void takeLong() {
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  while (std::this_thread::get_id() != callerThread && begun > kPrograms / 2 && asks < asksWanted &&
         !callerWaits)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

static void compute(void *const *tensors, int64_t begin, int64_t end, void *) {
  const auto *o = static_cast<const polyattn_rt_memref *>(tensors[0]);
  for (int64_t i = begin; i < end; ++i) {
    ++begun;
    if (asksWanted > 0)
      takeLong();
    static_cast<float *>(o->aligned)[i] = float(i + 1);
    ++ended;
  }
}

/// Each program waits until those before it have ended.
static void computeInChain(void *const *tensors, int64_t begin, int64_t end, void *scratch) {
  bool isCaller = std::this_thread::get_id() == callerThread;
  for (int64_t i = begin; i < end; ++i) {
    if (isCaller)
      callerWaits = true;
    while (ended < i)
      std::this_thread::yield();
    if (isCaller)
      callerWaits = false;
    compute(tensors, i, i + 1, scratch);
  }
}

static std::atomic<int64_t> later;
static void count(void *const *, int64_t begin, int64_t end, void *) { later += end - begin; }

namespace {
struct Caller {
  std::thread::id thread = std::this_thread::get_id();
  int answer = 1;
  int64_t asked = 0, askedElsewhere = 0;

  static int isCancelled(void *user) {
    auto &self = *static_cast<Caller *>(user);
    ++self.asked;
    ++asks;
    self.askedElsewhere += std::this_thread::get_id() != self.thread;
    return self.answer;
  }
};

/// The stage that computes, and one after it. With `packed` programs are those of sequences, each
/// of another length.
struct Kernel {
  polyattn_rt_tensor_rule tensors[2] = {{"o", 1, POLYATTN_F32, 1, {kPrograms}, 0},
                                        {"offsets", 0, POLYATTN_I64, 1, {POLYATTN_SIZE_N1}, 0}};
  polyattn_rt_stage_rule stages[2] = {
      {compute, POLYATTN_RT_STAGE, 64, 1, {{0, 0, 0, kPrograms, 1, 1}}, 1, nullptr, 0},
      {count, POLYATTN_RT_STAGE, 0, 1, {{0, 0, 0, 7, 1, 1}}, 1, nullptr, 0}};
  polyattn_rt_kernel kernel = {};
  std::vector<float> o = std::vector<float>(kPrograms, -1);
  std::vector<int64_t> offsets = std::vector<int64_t>(kPrograms + 1);
  std::string error;

  explicit Kernel(bool packed = false) {
    kernel.name = "entry";
    kernel.tensors = tensors;
    kernel.num_tensors = packed ? 2 : 1;
    kernel.plan = {nullptr, 0, stages, 2, nullptr, 0};
    std::fill(std::begin(kernel.fixed), std::end(kernel.fixed), -1);
    if (!packed)
      return;
    kernel.offsets = 2;
    kernel.fixed[-1 - POLYATTN_SIZE_T] = kPrograms * (kPrograms - 1) / 2;
    stages[0].programs[0] = {POLYATTN_RT_DIMENSION, 1, 0, -1, 1, 1};
    for (int64_t i = 0; i < kPrograms; ++i)
      offsets[i + 1] = offsets[i] + i;
  }

  int run(const polyattn_call_options &options) {
    begun = ended = later = asks = 0;
    callerThread = std::this_thread::get_id();
    callerWaits = false;
    const int64_t size = kPrograms, size1 = kPrograms + 1;
    polyattn_tensor out = polyattn_dense(o.data(), POLYATTN_F32, 1, &size),
                    in = polyattn_dense(offsets.data(), POLYATTN_I64, 1, &size1);
    const polyattn_tensor *given[] = {&out, &in};
    char message[200] = "";
    int status =
        polyattn_rt_run_with(&kernel, given, kernel.num_tensors, &options, message, sizeof message);
    error = message;
    return status;
  }
  bool isComplete() const {
    std::vector<float> expected(kPrograms);
    std::iota(expected.begin(), expected.end(), 1.0f);
    return o == expected && later == 7;
  }
};

void runInTurn(void *, int64_t count, polyattn_task task, void *context) {
  for (int64_t i = 0; i < count; ++i)
    task(context, i);
}
} // namespace

static polyattn_call_options optionsOf(Caller &caller, int threads,
                                       polyattn_parallel_for loop = nullptr) {
  polyattn_call_options options = POLYATTN_CALL_OPTIONS_INIT;
  options.threads = threads;
  options.parallel_for = loop;
  options.is_cancelled = &Caller::isCancelled;
  options.cancelled_user = &caller;
  return options;
}

/// Cancels a call, sees that it ended before its last program, and runs it whole.
static void cancelAndRepeat(Kernel &kernel, int threads, polyattn_parallel_for loop) {
  Caller caller;
  asksWanted = 1;
  EXPECT_EQ(kernel.run(optionsOf(caller, threads, loop)), POLYATTN_RT_CANCELLED);
  EXPECT_EQ(kernel.error, "entry: the call has been cancelled");
  EXPECT_EQ(caller.asked, 1);
  EXPECT_EQ(caller.askedElsewhere, 0);
  EXPECT_GT(begun, 0);
  EXPECT_LT(begun, kPrograms);
  EXPECT_EQ(begun, ended); // nothing is running any more
  EXPECT_EQ(later, 0);
  asksWanted = 0;
  caller.answer = 0;
  EXPECT_EQ(kernel.run(optionsOf(caller, threads, loop)), 0) << kernel.error;
  EXPECT_TRUE(kernel.isComplete());
}

TEST(Cancel, EndsACallBetweenPrograms) {
  for (int threads : {1, 2, 5})
    for (polyattn_parallel_for loop : {polyattn_parallel_for(nullptr), &runInTurn}) {
      Kernel kernel;
      cancelAndRepeat(kernel, threads, loop);
    }
}

TEST(Cancel, EndsPackedSequencesBetweenPrograms) {
  for (int threads : {1, 3}) {
    Kernel kernel(/*packed=*/true);
    cancelAndRepeat(kernel, threads, nullptr);
  }
}

TEST(Cancel, LeavesNoProgramOfAChainWaiting) {
  for (int threads : {1, 3}) {
    Kernel kernel;
    kernel.stages[0].function = computeInChain;
    kernel.stages[0].kind = POLYATTN_RT_STAGE_CHAINED;
    cancelAndRepeat(kernel, threads, nullptr);
  }
}

TEST(Cancel, ACallThatIsNotCancelledIsAskedAndComplete) {
  for (int threads : {1, 3}) {
    Kernel kernel;
    Caller caller;
    caller.answer = 0;
    asksWanted = 2;
    EXPECT_EQ(kernel.run(optionsOf(caller, threads)), 0) << kernel.error;
    EXPECT_GT(caller.asked, 1);
    EXPECT_TRUE(kernel.isComplete());
  }
}

TEST(Cancel, OptionsOfEarlierVersionsEndBeforeIt) {
  Kernel kernel;
  Caller caller;
  asksWanted = 1; // all programs are the caller's, and it is not asked
  polyattn_call_options options = optionsOf(caller, 1);
  options.struct_size = offsetof(polyattn_call_options, is_cancelled);
  EXPECT_EQ(kernel.run(options), 0) << kernel.error;
  EXPECT_EQ(caller.asked, 0);
  EXPECT_TRUE(kernel.isComplete());
}
