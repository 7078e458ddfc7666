//===- ParallelTest.cpp - the pool of threads -----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/runtime.h"
#include "gtest/gtest.h"
#include <atomic>
#include <cstring>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {
struct Counters {
  std::vector<std::atomic<int>> runs;
  std::atomic<int> badScratch{0};
  int64_t scratchBytes = 0;
  explicit Counters(size_t count) : runs(count) {}
  bool allOnce() const {
    for (const auto &run : runs)
      if (run != 1)
        return false;
    return true;
  }
};
} // namespace

static void count(void *context, int64_t begin, int64_t end, void *scratch) {
  auto *counters = static_cast<Counters *>(context);
  if (counters->scratchBytes) {
    if (!scratch || reinterpret_cast<uintptr_t>(scratch) % 64 != 0)
      ++counters->badScratch;
    else
      memset(scratch, 1, counters->scratchBytes);
  }
  for (int64_t i = begin; i < end; ++i)
    ++counters->runs[i];
}

TEST(Parallel, RunsEveryProgramOnce) {
  for (int threads : {1, 2, 3, 8, 64})
    for (int64_t programs : {0, 1, 2, 7, 1000}) {
      Counters counters(programs);
      counters.scratchBytes = 100;
      EXPECT_EQ(polyattn_rt_parallel(count, &counters, programs, threads, 100), 0);
      EXPECT_TRUE(counters.allOnce()) << threads << " threads, " << programs << " programs";
      EXPECT_EQ(counters.badScratch, 0);
    }
}

TEST(Parallel, SurvivesManyDispatches) {
  for (int round = 0; round < 20000; ++round) {
    Counters counters(3);
    polyattn_rt_parallel(count, &counters, 3, 3, 0);
    ASSERT_TRUE(counters.allOnce()) << round;
  }
}

TEST(Parallel, ServesManyCallersAtOnce) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 8; ++caller)
    callers.emplace_back([&, caller] {
      for (int round = 0; round < 500; ++round) {
        Counters counters(1 + (caller + round) % 17);
        counters.scratchBytes = 64 * (1 + round % 9);
        if (polyattn_rt_parallel(count, &counters, counters.runs.size(), 1 + caller % 5,
                                 counters.scratchBytes) != 0 ||
            !counters.allOnce() || counters.badScratch != 0)
          ++wrong;
      }
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Parallel, MayBeNested) {
  struct Outer {
    std::atomic<int> wrong{0};
  } outer;
  auto body = [](void *context, int64_t begin, int64_t end, void *scratch) {
    // The inner call must leave this thread's scratch alone.
    memset(scratch, 7, 256);
    for (int64_t i = begin; i < end; ++i) {
      Counters counters(11);
      counters.scratchBytes = 256;
      polyattn_rt_parallel(count, &counters, 11, 4, 256);
      if (!counters.allOnce() || counters.badScratch != 0)
        ++static_cast<Outer *>(context)->wrong;
    }
    for (int i = 0; i < 256; ++i)
      if (static_cast<char *>(scratch)[i] != 7)
        ++static_cast<Outer *>(context)->wrong;
  };
  for (int round = 0; round < 50; ++round)
    polyattn_rt_parallel(body, &outer, 20, 4, 256);
  EXPECT_EQ(outer.wrong, 0);
}

TEST(Parallel, BalancesUnequalPrograms) {
  // The first program lasts until all others are done: whoever has it must not hold the rest.
  struct State {
    std::atomic<int> done{0};
  } state;
  auto body = [](void *context, int64_t begin, int64_t end, void *) {
    auto *state = static_cast<State *>(context);
    for (int64_t i = begin; i < end; ++i)
      if (i != 7)
        ++state->done;
      else
        for (int wait = 0; wait < 2000 && state->done < 7; ++wait)
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  EXPECT_EQ(polyattn_rt_parallel(body, &state, 8, 2, 0), 0);
  EXPECT_EQ(state.done, 7);
}

TEST(Parallel, ReportsMissingMemory) {
  Counters counters(4);
  for (int threads : {1, 2})
    EXPECT_EQ(polyattn_rt_parallel(count, &counters, 4, threads, INT64_MAX / 4), 1);
  EXPECT_EQ(polyattn_rt_parallel(count, &counters, 4, 2, INT64_MAX), 1);
  EXPECT_EQ(counters.runs[0], 0);
}

TEST(Parallel, WorksInAForkedChild) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer has no threads after fork";
#endif
#endif
  Counters before(10);
  polyattn_rt_parallel(count, &before, 10, 4, 0); // The parent's threads exist.
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Counters counters(100);
    polyattn_rt_parallel(count, &counters, 100, 4, 64);
    _exit(counters.allOnce() ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(Scratch, IsKeptAndGrows) {
  polyattn_rt_buffer first, second, nested;
  ASSERT_EQ(polyattn_rt_scratch_acquire(1000, &first), 0);
  ASSERT_EQ(polyattn_rt_scratch_acquire(1000, &nested), 0);
  EXPECT_NE(first.data, nested.data);
  polyattn_rt_scratch_release(nested);
  polyattn_rt_scratch_release(first);
  ASSERT_EQ(polyattn_rt_scratch_acquire(500, &second), 0);
  EXPECT_TRUE(second.data == first.data || second.data == nested.data);
  polyattn_rt_scratch_release(second);
  ASSERT_EQ(polyattn_rt_scratch_acquire(100000, &second), 0);
  memset(second.data, 0, 100000);
  polyattn_rt_scratch_release(second);
}
