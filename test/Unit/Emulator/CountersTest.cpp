//===- CountersTest.cpp - what emulated kernels cost ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedRun.h"

using namespace polyattn;

namespace {

class CountersTest : public EmulatedRun {
protected:
  EmulatorReport runBody(const std::string &body, int threads, int sharedBytes,
                         const std::string &chip = "sm_80") {
    define("", "%t = warp.thread_id\n%l = warp.lane_id\n" + body, threads, sharedBytes);
    EmulatorOptions options;
    options.chip = chip;
    auto report = run("kernel", {}, options);
    if (report)
      return *report;
    ADD_FAILURE() << toString(report.takeError());
    return {};
  }
};

TEST_F(CountersTest, BankConflictsOfOneAccess) {
  // Words that are 8 bytes apart: two in each of half the banks.
  EmulatorReport report = runBody(R"(
    %eight = arith.constant 8 : i32
    %address = arith.muli %t, %eight : i32
    warp.store_shared %t, %address : i32)",
                                  64, 512);
  EXPECT_EQ(report.counters.sharedWavefronts, 4u);
  EXPECT_EQ(report.counters.idealSharedWavefronts, 2u);
  EXPECT_EQ(report.counters.sharedClocks, 4.0);
  // The op's own.
  ASSERT_EQ(report.sites.size(), 1u);
  EXPECT_EQ(report.sites[0].op, "warp.store_shared");
  ASSERT_EQ(report.counters.sites.size(), 1u);
  EXPECT_EQ(report.counters.sites[0].sharedWavefronts, 4u);
  EXPECT_EQ(report.counters.sites[0].mma, 0u);
}

TEST_F(CountersTest, AccessesInALoopAreToldApart) {
  // The lanes of a warp run one after another, three accesses each; some skip the first.
  EmulatorReport report = runBody(R"(
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %three = arith.constant 3 : i32
    %four = arith.constant 4 : i32
    %row = arith.constant 128 : i32
    %own = arith.muli %t, %four : i32
    scf.for %i = %zero to %three step %one : i32 {
      %begin = arith.muli %i, %row : i32
      %address = arith.addi %begin, %own : i32
      %skips = arith.addi %i, %l : i32
      %takes = arith.cmpi ne, %skips, %zero : i32
      scf.if %takes {
        warp.store_shared %t, %address : i32
      }
    })",
                                  32, 384);
  EXPECT_EQ(report.counters.sharedWavefronts, 3u);
}

const char *const kProducts = R"(
    %zero = arith.constant 0.0 : f32
    %count = arith.constant 4 : i32
    %half = arith.constant 64 : i32
    %low = arith.cmpi ult, %t, %half : i32
    %d:4 = warp.mma_sync <bf16> (%t, %t, %t, %t) (%t, %t) (%zero, %zero, %zero, %zero)
    scf.if %low {
      %e:4 = warp.mma_sync <f16> (%t, %t, %t, %t) (%t, %t) (%zero, %zero, %zero, %zero)
    }
    warp.barrier
    %address = arith.muli %l, %count : i32
    %first = arith.constant 32 : i32
    %writes = arith.cmpi ult, %t, %first : i32
    scf.if %writes {
      warp.store_shared %t, %address : i32
    })";

TEST_F(CountersTest, ClocksOfIntervals) {
  // Six warps: sub-cores 0 and 1 have two products of bf16, and one of f16 in the first two warps.
  EmulatorReport report = runBody(kProducts, 192, 128);
  EXPECT_EQ(report.counters.mma[0], 6u);
  EXPECT_EQ(report.counters.mma[1], 2u);
  EXPECT_EQ(report.counters.barriers, 1u);
  EXPECT_EQ(report.counters.tensorClocks, 3 * 8.0);
  EXPECT_EQ(report.counters.sharedClocks, 1.0);
  EXPECT_EQ(report.counters.predictedClocks, 25.0);
  EXPECT_EQ(runBody(kProducts, 192, 128, "sm_90").counters.tensorClocks, 3 * 6.45);
}

TEST_F(CountersTest, UnknownChip) {
  define("", "", 32, 0);
  EmulatorOptions options;
  options.chip = "sm_1";
  EXPECT_EQ(toString(run("kernel", {}, options).takeError()),
            "unknown chip 'sm_1', expected one of sm_80, sm_86, sm_89, sm_90");
}

TEST_F(CountersTest, Printed) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  runBody(kProducts, 192, 128).print(stream);
  EXPECT_NE(text.find("  emulated 1 programs without a finding; for each:\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("    clocks, the larger in each interval   25.0\n"), std::string::npos)
      << text;
}

TEST_F(CountersTest, RefusesWhatIsNoLaunch) {
  define("", "", 32, 0);
  EXPECT_EQ(toString(run("other", {}).takeError()), "no kernel @other");
}

} // namespace
