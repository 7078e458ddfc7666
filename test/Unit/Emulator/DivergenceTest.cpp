//===- DivergenceTest.cpp - seeded bugs of meetings -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedRun.h"

using namespace polyattn;
using emulator::Problem;

namespace {

class DivergenceTest : public EmulatedRun {
protected:
  /// Two warps; %few is true for threads below `count`.
  llvm::Expected<EmulatorReport> runBody(int count, const std::string &body,
                                         const EmulatorOptions &options = {}) {
    define("",
           "%t = warp.thread_id\n%count = arith.constant " + std::to_string(count) +
               " : i32\n%few = arith.cmpi ult, %t, %count : i32\n" + body,
           64, 256);
    return run("kernel", {}, options);
  }
};

TEST_F(DivergenceTest, LanesAtDifferentCollectives) {
  expectProblem(runBody(7, R"(scf.if %few {
      warp.sync // here
    } else {
      %x = warp.shuffle <xor> %t, %t : i32 // there
    })"),
                Problem::DivergentCollective, "// there", "(warp.sync)");
}

TEST_F(DivergenceTest, LanesThatHaveEnded) {
  expectProblem(runBody(7, R"(scf.if %few {
      %x = warp.shuffle <xor> %t, %t : i32 // here
    })"),
                Problem::DivergentCollective, "// here", "thread 7 has ended");
}

TEST_F(DivergenceTest, LanesAtABarrierAndACollective) {
  expectProblem(runBody(7, R"(scf.if %few {
      warp.sync // here
    } else {
      warp.barrier // there
    })"),
                Problem::DivergentCollective, "// here", "(warp.barrier)");
}

TEST_F(DivergenceTest, LanesAtDifferentBarriers) {
  expectProblem(runBody(40, R"(scf.if %few {
      warp.barrier // here
    } else {
      warp.barrier // there
    })"),
                Problem::DivergentBarrier, "// there", "thread 39");
}

TEST_F(DivergenceTest, LanesThatMissABarrier) {
  expectProblem(runBody(40, R"(scf.if %few {
      warp.barrier // here
    })"),
                Problem::DivergentBarrier, "// here", "thread 40 has ended");
}

TEST_F(DivergenceTest, WarpsAtDifferentBarriersMeet) {
  auto report = runBody(32, R"(scf.if %few {
      warp.barrier
    } else {
      warp.barrier
    })");
  EXPECT_TRUE(bool(report)) << toString(report.takeError());
}

TEST_F(DivergenceTest, AWarpThatMissesABarrier) {
  expectProblem(runBody(32, R"(scf.if %few {
      warp.barrier // here
    })"),
                Problem::Deadlock, "// here", "thread 63 has ended");
}

TEST_F(DivergenceTest, ALoopWithoutAnEnd) {
  EmulatorOptions options;
  options.accessLimit = 1000;
  expectProblem(runBody(64, R"(
    %zero = arith.constant 0 : i32
    %four = arith.constant 4 : i32
    %own = arith.muli %t, %four : i32
    warp.store_shared %zero, %own : i32
    scf.while : () -> () {
      %x = warp.load_shared %own : i32 // here
      %waits = arith.cmpi eq, %x, %zero : i32
      scf.condition(%waits)
    } do {
      scf.yield
    })",
                        options),
                Problem::Deadlock, "// here");
}

TEST_F(DivergenceTest, AFailedProgramLeavesNothingBehind) {
  for (int i = 0; i < 3; ++i)
    expectProblem(runBody(40, "scf.if %few {\nwarp.barrier // here\n}"), Problem::DivergentBarrier,
                  "// here");
  auto report = runBody(40, "warp.barrier");
  EXPECT_TRUE(bool(report)) << toString(report.takeError());
}

} // namespace
