//===- ParallelTest.cpp - the pool of threads -----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/runtime.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <set>
#include <sys/syscall.h>
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

static int parallel(polyattn_rt_range function, void *context, int64_t count, int threads,
                    int64_t scratchBytes) {
  polyattn_rt_team team = {threads, nullptr, nullptr};
  return polyattn_rt_parallel(function, context, count, &team, scratchBytes);
}

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
      EXPECT_EQ(parallel(count, &counters, programs, threads, 100), 0);
      EXPECT_TRUE(counters.allOnce()) << threads << " threads, " << programs << " programs";
      EXPECT_EQ(counters.badScratch, 0);
    }
}

TEST(Parallel, SurvivesManyDispatches) {
  for (int round = 0; round < 20000; ++round) {
    Counters counters(3);
    parallel(count, &counters, 3, 3, 0);
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
        if (parallel(count, &counters, counters.runs.size(), 1 + caller % 5,
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
      parallel(count, &counters, 11, 4, 256);
      if (!counters.allOnce() || counters.badScratch != 0)
        ++static_cast<Outer *>(context)->wrong;
    }
    for (int i = 0; i < 256; ++i)
      if (static_cast<char *>(scratch)[i] != 7)
        ++static_cast<Outer *>(context)->wrong;
  };
  for (int round = 0; round < 50; ++round)
    parallel(body, &outer, 20, 4, 256);
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
        for (int wait = 0; wait < 60000 && state->done < 7; ++wait) // a worker may start late
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  EXPECT_EQ(parallel(body, &state, 8, 2, 0), 0);
  EXPECT_EQ(state.done, 7);
}

TEST(Parallel, ReportsMissingMemory) {
  Counters counters(4);
  for (int threads : {1, 2})
    EXPECT_EQ(parallel(count, &counters, 4, threads, INT64_MAX / 4), 1);
  EXPECT_EQ(parallel(count, &counters, 4, 2, INT64_MAX), 1);
  EXPECT_EQ(counters.runs[0], 0);
}

/// Death tests are run first, while fork has little to copy: after a thousand other tests with
/// sanitizers the system may refuse it the memory.
TEST(ParallelDeathTest, WorksInAForkedChild) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer has no threads after fork";
#endif
#endif
  Counters before(10);
  parallel(count, &before, 10, 4, 0); // The parent's threads exist.
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Counters counters(100);
    parallel(count, &counters, 100, 4, 64);
    _exit(counters.allOnce() ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

namespace {
/// An application's parallel loop in its three kinds.
struct Loop {
  enum Kind { OneAfterAnother, Threads, Reversed } kind;
  std::atomic<int> calls{0};
  std::atomic<int64_t> tasks{0};
};
} // namespace

static void runLoop(void *user, int64_t count, polyattn_task task, void *context) {
  auto *loop = static_cast<Loop *>(user);
  ++loop->calls;
  loop->tasks += count;
  if (loop->kind != Loop::Threads) {
    for (int64_t i = 0; i < count; ++i)
      task(context, loop->kind == Loop::Reversed ? count - 1 - i : i);
    return;
  }
  std::vector<std::thread> threads;
  for (int64_t i = 1; i < count; ++i)
    threads.emplace_back([=] { task(context, i); });
  task(context, 0);
  for (std::thread &thread : threads)
    thread.join();
}

TEST(CallersThreads, RunEveryProgramOnce) {
  for (Loop::Kind kind : {Loop::OneAfterAnother, Loop::Threads, Loop::Reversed})
    for (int threads : {1, 2, 5})
      for (int64_t programs : {0, 1, 2, 7, 1000}) {
        Loop loop{kind};
        polyattn_rt_team team = {threads, runLoop, &loop};
        Counters counters(programs);
        counters.scratchBytes = 100;
        EXPECT_EQ(polyattn_rt_parallel(count, &counters, programs, &team, 100), 0);
        EXPECT_TRUE(counters.allOnce()) << kind << ", " << threads << ", " << programs;
        EXPECT_EQ(counters.badScratch, 0);
        // One thread is the caller's own, which needs no loop.
        bool parallel = threads > 1 && programs > 1;
        EXPECT_EQ(loop.calls, parallel ? 1 : 0);
        EXPECT_EQ(loop.tasks, parallel ? std::min<int64_t>(threads, programs) : 0);
      }
}

/// Where the chunks of 100 programs begin, in the order in which the tasks of two threads take
/// them, of which the second one runs first.
template <typename Parallel> static std::vector<int64_t> beginningsOf(Parallel run) {
  Loop loop{Loop::Reversed};
  polyattn_rt_team team = {2, runLoop, &loop};
  std::vector<int64_t> beginnings;
  auto body = [](void *context, int64_t begin, int64_t, void *) {
    static_cast<std::vector<int64_t> *>(context)->push_back(begin);
  };
  run(body, &beginnings, 100, &team, 0);
  return beginnings;
}

TEST(CallersThreads, BeginWithTheirShares) {
  std::vector<int64_t> beginnings = beginningsOf(polyattn_rt_parallel);
  ASSERT_FALSE(beginnings.empty());
  EXPECT_EQ(beginnings.front(), 50);
  auto second = std::find(beginnings.begin(), beginnings.end(), 0);
  EXPECT_TRUE(std::is_sorted(beginnings.begin(), second));
  EXPECT_TRUE(std::is_sorted(second, beginnings.end()));
}

TEST(CallersThreads, RunChainsInSequence) {
  std::vector<int64_t> beginnings = beginningsOf(polyattn_rt_parallel_in_sequence);
  ASSERT_FALSE(beginnings.empty());
  EXPECT_EQ(beginnings.front(), 0);
  EXPECT_TRUE(std::is_sorted(beginnings.begin(), beginnings.end()));
}

TEST(CallersThreads, AreTheOnlyOnes) {
  Loop loop{Loop::OneAfterAnother};
  polyattn_rt_team team = {4, runLoop, &loop};
  std::set<std::thread::id> seen;
  auto body = [](void *context, int64_t, int64_t, void *) {
    static_cast<std::set<std::thread::id> *>(context)->insert(std::this_thread::get_id());
  };
  for (int round = 0; round < 100; ++round)
    polyattn_rt_parallel(body, &seen, 50, &team, 0);
  EXPECT_EQ(seen, std::set<std::thread::id>{std::this_thread::get_id()});
}

TEST(CallersThreads, ThatDoNothingAreNoHarm) {
  auto lazy = [](void *, int64_t, polyattn_task, void *) {};
  polyattn_rt_team team = {4, lazy, nullptr};
  Counters counters(100);
  EXPECT_EQ(polyattn_rt_parallel(count, &counters, 100, &team, 64), 0);
  EXPECT_TRUE(counters.allOnce());
}

TEST(CallersThreads, MayHaveAnyNumbers) {
  auto odd = [](void *, int64_t, polyattn_task task, void *context) {
    for (int64_t index : {int64_t(-5), INT64_MIN, INT64_MAX, int64_t(1) << 40})
      task(context, index);
  };
  polyattn_rt_team team = {3, odd, nullptr};
  Counters counters(100);
  EXPECT_EQ(polyattn_rt_parallel(count, &counters, 100, &team, 64), 0);
  EXPECT_TRUE(counters.allOnce());
}

TEST(CallersThreads, MayCallFromInside) {
  struct Outer {
    Loop loop{Loop::Threads};
    std::atomic<int> wrong{0};
  } outer;
  auto body = [](void *context, int64_t begin, int64_t end, void *scratch) {
    auto *outer = static_cast<Outer *>(context);
    memset(scratch, 7, 256);
    for (int64_t i = begin; i < end; ++i) {
      Loop inner{Loop::OneAfterAnother};
      polyattn_rt_team team = {4, runLoop, &inner};
      Counters counters(11);
      counters.scratchBytes = 256;
      polyattn_rt_parallel(count, &counters, 11, &team, 256);
      outer->wrong += !counters.allOnce() || counters.badScratch != 0;
    }
    for (int i = 0; i < 256; ++i)
      outer->wrong += static_cast<char *>(scratch)[i] != 7;
  };
  polyattn_rt_team team = {3, runLoop, &outer.loop};
  for (int round = 0; round < 20; ++round)
    polyattn_rt_parallel(body, &outer, 20, &team, 256);
  EXPECT_EQ(outer.wrong, 0);
}

TEST(CallersThreads, AreSetForAllCallsOrForOne) {
  Loop common{Loop::OneAfterAnother}, own{Loop::OneAfterAnother};
  EXPECT_EQ(polyattn_rt_team_of(3).parallel_for, nullptr);
  polyattn_rt_set_parallel_for(runLoop, &common);
  polyattn_rt_team team = polyattn_rt_team_of(3);
  EXPECT_EQ(team.threads, 3);
  EXPECT_EQ(team.user, &common);
  polyattn_call_options options = POLYATTN_CALL_OPTIONS_INIT;
  ASSERT_EQ(polyattn_rt_read_options(&options, &team, nullptr, 0), 0);
  EXPECT_EQ(team.threads, 1);
  EXPECT_EQ(team.user, &common);
  options.parallel_for = runLoop;
  options.user = &own;
  ASSERT_EQ(polyattn_rt_read_options(&options, &team, nullptr, 0), 0);
  EXPECT_EQ(team.user, &own);
  polyattn_rt_set_parallel_for(nullptr, nullptr);
  EXPECT_EQ(polyattn_rt_team_of(3).parallel_for, nullptr);
  char error[128] = "";
  options.struct_size = 8;
  EXPECT_EQ(polyattn_rt_read_options(&options, &team, error, sizeof error), 1);
  EXPECT_STREQ(error, "options: struct_size is not that of any version; start from "
                      "POLYATTN_CALL_OPTIONS_INIT");
  EXPECT_EQ(polyattn_rt_read_options(nullptr, &team, error, sizeof error), 1);
  EXPECT_STREQ(error, "options is null");
}

TEST(CallersThreads, ChangeAsAWhole) {
  // Each loop expects itself as its user.
  static std::atomic<int> wrong{0};
  static Loop first{Loop::OneAfterAnother}, second{Loop::OneAfterAnother};
  auto one = [](void *user, int64_t, polyattn_task, void *) { wrong += user != &first; };
  auto two = [](void *user, int64_t, polyattn_task, void *) { wrong += user != &second; };
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done) {
      polyattn_rt_team team = polyattn_rt_team_of(2);
      if (team.parallel_for)
        team.parallel_for(team.user, 0, nullptr, nullptr);
    }
  });
  for (int i = 0; i < 20000; ++i) {
    polyattn_rt_set_parallel_for(one, &first);
    polyattn_rt_set_parallel_for(two, &second);
  }
  done = true;
  reader.join();
  polyattn_rt_set_parallel_for(nullptr, nullptr);
  EXPECT_EQ(wrong, 0);
}

#ifdef __linux__
static pid_t threadId() { return pid_t(syscall(SYS_gettid)); }

/// How often threads that all sleep have been switched off, as the system says: two equal answers
/// are one sleep. Empty where one of them runs.
static std::string sleepOf(const std::vector<pid_t> &threads) {
  std::string line, switches;
  size_t asleep = 0;
  for (pid_t thread : threads) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/status");
    while (std::getline(file, line)) {
      asleep += line.rfind("State:\tS", 0) == 0;
      if (line.find("ctxt_switches") != std::string::npos)
        switches += line + "\n";
    }
  }
  return asleep == threads.size() ? switches : "";
}

TEST(Workers, SleepAfterTheLastJob) {
  // Each program lasts until all have begun: there are three workers.
  struct Meeting {
    std::atomic<int> begun{0};
    std::vector<pid_t> threads = std::vector<pid_t>(4);
  } meeting;
  auto meet = [](void *context, int64_t begin, int64_t end, void *) {
    auto *meeting = static_cast<Meeting *>(context);
    for (int64_t i = begin; i < end; ++i) {
      meeting->threads[i] = threadId();
      ++meeting->begun;
      while (meeting->begun < 4)
        std::this_thread::yield();
    }
  };
  ASSERT_EQ(parallel(meet, &meeting, 4, 4, 0), 0);
  std::vector<pid_t> workers;
  for (pid_t thread : meeting.threads)
    if (thread != threadId())
      workers.push_back(thread);
  ASSERT_EQ(workers.size(), 3u);
  // Where one spins they would never be found asleep. Where they wait for a processor they may be
  // found late.
  bool asleep = false;
  for (int look = 0; look < 600 && !asleep; ++look) {
    std::string before = sleepOf(workers);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    asleep = !before.empty() && sleepOf(workers) == before;
  }
  EXPECT_TRUE(asleep);
}

/// The runtime's calls come here, as those of other tests do.
static std::atomic<int64_t> yields;
extern "C" int sched_yield() noexcept {
  ++yields;
  return int(syscall(SYS_sched_yield));
}

/// How often threads that spin have offered their processors, in so many small jobs.
static int64_t yieldsOf(int threads, int rounds) {
  int64_t before = yields;
  for (int round = 0; round < rounds; ++round) {
    Counters counters(threads);
    parallel(count, &counters, threads, threads, 0);
    std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
  return yields - before;
}

TEST(Workers, SpinOnlyWithEnoughProcessors) {
  int processors = polyattn_rt_processors();
  ASSERT_GE(processors, 1);
  // At first there may be workers that still spin after a job of before.
  int64_t spun = 1;
  for (int attempt = 0; attempt < 10 && spun != 0; ++attempt)
    spun = yieldsOf(4 * processors, 200);
  EXPECT_EQ(spun, 0);
  if (processors == 1)
    GTEST_SKIP() << "a worker needs a second processor to spin";
  // One that gets its processor back too late does not spin: another job, then.
  for (int round = 0; round < 10000 && spun == 0; ++round)
    spun = yieldsOf(processors, 1);
  EXPECT_GT(spun, 0);
}
#endif

TEST(Workers, AwakeWaitEndsWithItsCondition) {
  std::atomic<int> happened{0};
  auto condition = [](const void *context) {
    return int(static_cast<const std::atomic<int> *>(context)->load());
  };
  EXPECT_EQ(polyattn_rt_wait_awake(condition, &happened), 0);
  happened = 1;
  EXPECT_EQ(polyattn_rt_wait_awake(condition, &happened), 1);
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

// A call of one token would else wait for new pages.
TEST(Scratch, SmallWorkspacesAreKeptBesideIt) {
  polyattn_rt_buffer scratch, workspaces, again;
  ASSERT_EQ(polyattn_rt_scratch_acquire(1000, &scratch), 0);
  ASSERT_EQ(polyattn_rt_workspaces_acquire(200000, &workspaces), 0);
  polyattn_rt_scratch_release(scratch);
  polyattn_rt_workspaces_release(workspaces);
  ASSERT_EQ(polyattn_rt_workspaces_acquire(100000, &again), 0);
  EXPECT_EQ(again.data, workspaces.data);
  EXPECT_EQ(again.bytes, workspaces.bytes);
  polyattn_rt_workspaces_release(again);
  ASSERT_EQ(polyattn_rt_workspaces_acquire(INT64_C(65) << 20, &workspaces), 0);
  polyattn_rt_workspaces_release(workspaces);
  ASSERT_EQ(polyattn_rt_workspaces_acquire(100000, &again), 0);
  EXPECT_LT(again.bytes, INT64_C(65) << 20);
  polyattn_rt_workspaces_release(again);
}
