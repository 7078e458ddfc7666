//===- TaskTest.cpp - work that its caller cancels ------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Tasks/Task.h"
#include "gtest/gtest.h"
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace polyattn;

namespace {
/// Work that looks often, or that has a stretch which its test ends.
struct Work {
  std::atomic<bool> begun = false, mayLook = true, sawCancel = false, ended = false;

  void run() {
    begun = true;
    while (!mayLook || !isCancelled())
      std::this_thread::yield();
    sawCancel = true;
    ended = true;
  }
};

/// Cancels once the work has begun.
CancelledByCaller whenBegun(const Work &work) {
  return [&] { return work.begun.load(); };
}
} // namespace

TEST(Task, EndsWhereItLooks) {
  Work work;
  EXPECT_FALSE(untilCancelled([&] { work.run(); }, whenBegun(work)));
  EXPECT_TRUE(work.ended && work.sawCancel);
  EXPECT_FALSE(isCancelled()); // of this thread
}

TEST(Task, IsNotBegunWhereItsCallerHasCancelled) {
  Work work;
  EXPECT_FALSE(untilCancelled([&] { work.run(); }, [] { return true; }));
  EXPECT_FALSE(orAbandoned([&] { work.run(); }, [] { return true; }));
  EXPECT_FALSE(work.begun);
}

TEST(Task, AsksOnTheCallersThreadUntilYes) {
  auto work = std::make_shared<Work>();
  int asked = 0;
  std::thread::id caller = std::this_thread::get_id();
  auto cancelled = [&] {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    return ++asked == 4;
  };
  EXPECT_FALSE(untilCancelled([work] { work->run(); }, cancelled));
  EXPECT_EQ(asked, 4);
}

TEST(Task, GivesResultsAndExceptions) {
  auto never = [] { return false; };
  llvm::Expected<int> made = makeOrAbandon<int>([] { return 42; }, never);
  ASSERT_TRUE(bool(made));
  EXPECT_EQ(*made, 42);
  EXPECT_THROW((void)orAbandoned([] { throw std::runtime_error("no"); }, never),
               std::runtime_error);
  EXPECT_THROW(onLargeStack([] { throw std::runtime_error("no"); }), std::runtime_error);
}

TEST(Task, IsAbandonedInALongStretch) {
  auto work = std::make_shared<Work>();
  work->mayLook = false;
  llvm::Expected<int> made = makeOrAbandon<int>(
      [work] {
        work->run();
        return 1;
      },
      whenBegun(*work));
  ASSERT_FALSE(bool(made));
  EXPECT_TRUE(made.errorIsA<CancelledError>());
  llvm::consumeError(made.takeError());
  EXPECT_FALSE(work->ended);
  work->mayLook = true;
  while (!work->ended)
    std::this_thread::yield();
}

/// Several may be on their way, and the next call waits for one of them, or is cancelled. How soon
/// a thread gets a processor is not known: the first two have a minute until they begin.
TEST(Task, FewAreAbandonedAtOnce) {
  std::vector<std::shared_ptr<Work>> works;
  int64_t asked = 0, begun = 0;
  auto abandonOne = [&] {
    auto work = works.emplace_back(std::make_shared<Work>());
    work->mayLook = false;
    int64_t before = asked;
    (void)orAbandoned(
        [work] { work->run(); },
        [&, work] { return ++asked > before + (begun < 2 ? 1200 : 3) || work->begun; });
    begun += work->begun;
  };
  for (int i = 0; i < 12; ++i)
    abandonOne();
  EXPECT_GE(begun, 2);
  EXPECT_LT(begun, 12);
  for (auto &work : works)
    work->mayLook = true;
  for (auto &work : works)
    while (work->begun && !work->ended)
      std::this_thread::yield();
  EXPECT_TRUE(orAbandoned([] {}, [] { return false; }));
}

TEST(Task, IsWaitedForOnceItWrites) {
  auto work = std::make_shared<Work>();
  auto write = [work] {
    EXPECT_TRUE(beginWriting());
    work->begun = true;
    while (!work->sawCancel)
      std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_FALSE(isCancelled());
    work->ended = true;
  };
  EXPECT_FALSE(orAbandoned(write, [&] {
    work->sawCancel = work->begun.load();
    return work->sawCancel.load();
  }));
  EXPECT_TRUE(work->ended);
}

TEST(Task, DoesNotWriteOnceCancelled) {
  Work work;
  bool writes = true;
  EXPECT_FALSE(untilCancelled(
      [&] {
        work.run();
        writes = beginWriting();
      },
      whenBegun(work)));
  EXPECT_FALSE(writes);
}

/// A child has no thread of its parent, and must not wait for one. Death tests are run first, while
/// fork has little to copy: see ParallelDeathTest.
TEST(TaskDeathTest, OfAParentDoesNotKeepItsChildFromEnding) {
  auto work = std::make_shared<Work>();
  work->mayLook = false;
  EXPECT_FALSE(orAbandoned([work] { work->run(); }, whenBegun(*work)));
  pid_t child = fork();
  EXPECT_GE(child, 0);
  if (child == 0)
    std::exit(untilCancelled([] {}, [] { return false; }) ? 0 : 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  work->mayLook = true;
  while (!work->ended)
    std::this_thread::yield();
}

TEST(TaskDeathTest, IsWaitedForAtTheEndOfTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        auto work = std::make_shared<Work>();
        work->mayLook = false;
        std::thread([work] {
          std::this_thread::sleep_for(std::chrono::milliseconds(300));
          work->mayLook = true;
        }).detach();
        (void)orAbandoned(
            [work] {
              work->run();
              llvm::errs() << "the work has ended\n";
            },
            whenBegun(*work));
        std::exit(0);
      },
      testing::ExitedWithCode(0), "the work has ended");
}
