//===- RacesTest.cpp - seeded bugs of order -------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedRun.h"

using namespace polyattn;
using emulator::Problem;

namespace {

class RacesTest : public EmulatedRun {
protected:
  llvm::Expected<EmulatorReport> runProduct() {
    TestTensor<uint16_t> a({2, 32, 32}), b({2, 32, 16});
    TestTensor<float> c({2, 32, 16}, /*isResult=*/true);
    return run("product", {a, b, c});
  }
  llvm::Expected<EmulatorReport> runStream() {
    TestTensor<float> x({6, 64}), y({64}, /*isResult=*/true);
    return run("stream", {x, y});
  }

  /// Every thread of two warps writes a number, then `between`, then reads the one of the thread
  /// whose number is its own with `mask` added.
  void defineExchange(const std::string &between, const std::string &neighbour) {
    define("",
           R"(
      %four = arith.constant 4 : i32
      %mask = arith.constant )" +
               neighbour + R"( : i32
      %t = warp.thread_id
      %own = arith.muli %t, %four : i32
      warp.store_shared %t, %own : i32 // write
      )" + between +
               R"(
      %n = arith.xori %t, %mask : i32
      %other = arith.muli %n, %four : i32
      %x = warp.load_shared %other : i32 // read)",
           64, 256);
  }
};

TEST_F(RacesTest, MissingBarrier) {
  read("product");
  replace("warp.barrier // the barrier", "");
  expectProblem(runProduct(), Problem::ReadAfterWriteRace, "// of A", "(warp.copy_async)");
}

TEST_F(RacesTest, MissingWait) {
  read("product");
  replace("warp.wait_copies 0 // the wait", "");
  expectProblem(runProduct(), Problem::CopyInFlight, "// of A", "on its way");
}

TEST_F(RacesTest, MissingCommit) {
  read("product");
  replace("warp.commit_copies", "");
  expectProblem(runProduct(), Problem::CopyInFlight, "// of A");
}

TEST_F(RacesTest, WaitForTooFewGroups) {
  read("stream");
  replace("warp.wait_copies 1", "warp.wait_copies 2");
  expectProblem(runStream(), Problem::CopyInFlight, "// of this tile");
}

TEST_F(RacesTest, CopiesThatAreLeftAtTheEnd) {
  read("stream");
  replace("warp.wait_copies 0 // what lies behind the last tile", "");
  expectProblem(runStream(), Problem::CopyNotWaitedFor, "// the next tile",
                "has not waited for when it ends");
}

TEST_F(RacesTest, NoBarrierBeforeReading) {
  read("stream");
  replace("warp.barrier // before reading", "");
  expectProblem(runStream(), Problem::ReadAfterWriteRace, "// of this tile");
}

TEST_F(RacesTest, NoBarrierAfterReading) {
  read("stream");
  replace("warp.barrier // after reading", "");
  expectProblem(runStream(), Problem::WriteAfterReadRace, "// the next tile", "(warp.load_shared)");
}

TEST_F(RacesTest, OneBufferInsteadOfTwo) {
  read("stream");
  replace("arith.andi %next, %c1 : i32 // the other", "arith.andi %next, %c0 : i32 // the other");
  expectProblem(runStream(), Problem::CopyInFlight, "// the next tile");
}

TEST_F(RacesTest, SyncOrdersAWarp) {
  defineExchange("warp.sync", "1");
  auto report = run("kernel", {});
  EXPECT_TRUE(bool(report)) << toString(report.takeError());
}

TEST_F(RacesTest, SyncDoesNotOrderWarps) {
  defineExchange("warp.sync", "32");
  expectProblem(run("kernel", {}), Problem::ReadAfterWriteRace, "// read", "warp.store_shared");
}

TEST_F(RacesTest, NothingOrdersAWarp) {
  // The second warp reads what the first has written; the first, what is not written yet.
  defineExchange("", "1");
  expectProblem(run("kernel", {}), Problem::ReadAfterWriteRace, "// read");
}

TEST_F(RacesTest, ShuffleDoesNotOrderMemory) {
  defineExchange("%s = warp.shuffle <xor> %t, %t : i32", "1");
  expectProblem(run("kernel", {}), Problem::ReadAfterWriteRace, "// read");
}

TEST_F(RacesTest, BarrierOrdersWarps) {
  defineExchange("warp.barrier", "32");
  auto report = run("kernel", {});
  EXPECT_TRUE(bool(report)) << toString(report.takeError());
}

TEST_F(RacesTest, TwoThreadsWriteOnePlace) {
  define("", R"(
    %zero = arith.constant 0 : i32
    %t = warp.thread_id
    warp.store_shared %t, %zero : i32 // write)",
         32, 4);
  expectProblem(run("kernel", {}), Problem::WriteWriteRace, "// write", "before: thread 0 at");
}

TEST_F(RacesTest, ManyReadersThenAWriter) {
  define("", R"(
    %zero = arith.constant 0 : i32
    %t = warp.thread_id
    %first = arith.cmpi eq, %t, %zero : i32
    scf.if %first {
      warp.store_shared %t, %zero : i32
    }
    warp.barrier
    %x = warp.load_shared %zero : i32 // read
    warp.sync
    scf.if %first {
      warp.store_shared %t, %zero : i32 // write
    })",
         64, 4);
  expectProblem(run("kernel", {}), Problem::WriteAfterReadRace, "// write");
  replace("warp.sync", "warp.barrier");
  auto report = run("kernel", {});
  EXPECT_TRUE(bool(report)) << toString(report.takeError());
}

TEST_F(RacesTest, WorkspaceOfACTA) {
  define("%w: !llvm.ptr<1> {warp.workspace}", R"(
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    %t = warp.thread_id
    %own = arith.muli %t, %four : i32
    %own64 = arith.extui %own : i32 to i64
    warp.store_global %t, %w[%own64] : i32 // write
    warp.barrier
    %n = arith.xori %t, %one : i32
    %other = arith.muli %n, %four : i32
    %other64 = arith.extui %other : i32 to i64
    %x = warp.load_global %w[%other64] : i32 // read)",
         64, 0, "[]", 256);
  auto report = run("kernel", {});
  EXPECT_TRUE(bool(report)) << toString(report.takeError());
  replace("warp.barrier", "");
  expectProblem(run("kernel", {}), Problem::ReadAfterWriteRace, "// read", "of the workspace");
}

TEST_F(RacesTest, TwoProgramsWriteOnePlace) {
  define("%y: !llvm.ptr<1> {warp.pointer = 0 : i64}", R"(
    %four = arith.constant 4 : i32
    %t = warp.thread_id
    %own = arith.muli %t, %four : i32
    %own64 = arith.extui %own : i32 to i64
    warp.store_global %t, %y[%own64] : i32 // write)",
         32, 0, "[[0, 0]]");
  TestTensor<int32_t> y({2, 32}, /*isResult=*/true);
  expectProblem(run("kernel", {y}), Problem::TwoProgramsWrite, "// write", "the other is program");
}

} // namespace
