//===- ClustersTest.cpp - CTAs that read each other's shared memory -------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedRun.h"

using namespace polyattn;
using emulator::Problem;

namespace {

constexpr int kThreads = 64;

// Each thread gives a number to the CTA after its own, and then what it got.
const char *const kRing = R"(
    warp.store_shared %value, %own : i32 // write
    warp.cluster_barrier // before reading
    %x = warp.load_cluster %own, %next : i32 // read
    warp.cluster_barrier // after reading
    warp.store_shared %x, %own : i32 // write again
    warp.cluster_barrier // before reading again
    %z = warp.load_cluster %own, %next : i32 // second read
    warp.store_global %z, %y[%place] : i32
    warp.cluster_barrier // before the end
)";

class ClustersTest : public EmulatedRun {
protected:
  /// Clusters of `cluster` CTAs of two warps, with 256 bytes of shared memory. %y is a result of
  /// `programs` x `cluster` x 64 i32 with a %place for each thread, and %value that place's number.
  llvm::Expected<EmulatorReport> runBody(const std::string &body, int cluster = 4,
                                         int programs = 1) {
    define("%y: !llvm.ptr<1> {warp.pointer = 0 : i64}, %w: !llvm.ptr<1> {warp.workspace}",
           R"(
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %four = arith.constant 4 : i32
    %bits = arith.constant 6 : i32
    %count = arith.constant )" +
               std::to_string(cluster) + R"( : i32
    %t = warp.thread_id
    %r = warp.cluster_rank
    %p = warp.program_id
    %own = arith.muli %t, %four : i32
    %after = arith.addi %r, %one : i32
    %next = arith.remui %after, %count : i32
    %first = arith.cmpi eq, %r, %zero : i32
    %begin = arith.muli %p, %count : i32
    %cta = arith.addi %begin, %r : i32
    %row = arith.shli %cta, %bits : i32
    %value = arith.addi %row, %t : i32
    %offset = arith.muli %value, %four : i32
    %place = arith.extui %offset : i32 to i64
)" + body,
           kThreads, 256, "[[0, 0]]", 256, cluster);
    return runAgain(cluster, programs);
  }

  /// The text as it is now, with a seeded bug for instance.
  llvm::Expected<EmulatorReport> runAgain(int cluster = 4, int programs = 1) {
    result = std::make_unique<TestTensor<int32_t>>(
        std::vector<int64_t>{programs, cluster, kThreads}, /*isResult=*/true);
    return run("kernel", {*result});
  }

  /// The ring without a barrier, and with one of the CTA instead.
  void expectRingProblem(const std::string &barrier, Problem problem, const std::string &line,
                         const std::string &message) {
    for (const std::string &instead : {"", "warp.barrier"}) {
      auto good = runBody("warp.cluster_barrier\n" + std::string(kRing));
      ASSERT_TRUE(bool(good)) << toString(good.takeError());
      replace("warp.cluster_barrier " + barrier, instead + " ");
      expectProblem(runAgain(), problem, line, message);
    }
  }

  void expectFine(llvm::Expected<EmulatorReport> report) {
    EXPECT_TRUE(bool(report)) << toString(report.takeError());
  }

  std::unique_ptr<TestTensor<int32_t>> result;
};

TEST_F(ClustersTest, NumbersOfOtherCTAs) {
  for (int cluster : {2, 4, 8}) {
    constexpr int kPrograms = 3;
    expectFine(runBody(kRing, cluster, kPrograms));
    for (int cta = 0; cta < kPrograms * cluster; ++cta) {
      int from = cta / cluster * cluster + (cta + 2) % cluster;
      for (int thread = 0; thread < kThreads; ++thread)
        ASSERT_EQ(result->data[cta * kThreads + thread], from * kThreads + thread);
    }
  }
}

TEST_F(ClustersTest, NoBarrierBeforeReading) {
  expectRingProblem("// before reading", Problem::ReadAfterWriteRace, "// read",
                    "of shared memory of CTA 3; before: thread");
  expectRingProblem("// before reading again", Problem::ReadAfterWriteRace, "// second read",
                    "(warp.store_shared)");
}

TEST_F(ClustersTest, NoBarrierAfterReading) {
  expectRingProblem("// after reading", Problem::WriteAfterReadRace, "// write again",
                    "(warp.load_cluster)");
  expectRingProblem("// after reading", Problem::ReadAfterWriteRace, "// read", "of CTA");
}

TEST_F(ClustersTest, NoBarrierBeforeTheEnd) {
  expectRingProblem("// before the end", Problem::RemoteOfEnded, "// second read",
                    "may have ended");
}

TEST_F(ClustersTest, NoBarrierAtTheBeginning) {
  expectFine(runBody(kRing));
  replace("warp.cluster_barrier // before reading", "");
  expectProblem(runAgain(), Problem::RemoteBeforeBarrier, "// read", "may not have begun");
}

TEST_F(ClustersTest, EndsBeforeItIsRead) {
  // The last CTA to be read ends first.
  expectProblem(runBody(R"(
    warp.store_shared %t, %own : i32
    warp.cluster_barrier
    scf.if %first {
      %x = warp.load_cluster %own, %next : i32 // read
    })",
                        2),
                Problem::RemoteOfEnded, "// read", "of shared memory of CTA 1");
  expectProblem(runBody(R"(
    warp.store_shared %t, %own : i32
    warp.cluster_barrier
    scf.if %first {
    } else {
      %x = warp.load_cluster %own, %next : i32 // read
    })",
                        2),
                Problem::RemoteOfEnded, "// read", "of shared memory of CTA 0");
}

TEST_F(ClustersTest, CopiesInFlight) {
  const char *const kCopy = R"(
    %sixteen = arith.constant 16 : i32
    %line = arith.muli %t, %sixteen : i32
    %far = arith.extui %line : i32 to i64
    %few = arith.cmpi ult, %t, %sixteen : i32
    scf.if %few {
      %v = arith.constant dense<1> : vector<4xi32>
      warp.store_global %v, %w[%far] : vector<4xi32>
      warp.copy_async %w[%far], %line bytes %sixteen
      warp.commit_copies
    }
    warp.wait_copies 0 // the wait
    warp.cluster_barrier
    %x = warp.load_cluster %own, %next : i32 // read
    warp.cluster_barrier)";
  auto report = runBody(kCopy, 2);
  // Both CTAs have written the same workspace.
  expectProblem(std::move(report), Problem::TwoProgramsWrite, "warp.store_global %v",
                "the other is program 0, CTA");
  replace("%far = arith.extui %line", R"(%bytes = arith.constant 256 : i32
    %start = arith.muli %cta, %bytes : i32
    %way = arith.addi %start, %line : i32
    %far = arith.extui %way)");
  expectFine(runAgain(2));
  replace("warp.wait_copies 0 // the wait", "");
  expectProblem(runAgain(2), Problem::CopyInFlight, "// read", "on its way");
}

TEST_F(ClustersTest, AddressesOfOtherCTAs) {
  auto read = [&](const std::string &address, const std::string &rank,
                  const std::string &type = "i32") {
    return runBody("warp.store_shared %t, %own : i32\nwarp.cluster_barrier\n"
                   "%far = arith.constant 256 : i32\n%x = warp.load_cluster " +
                   address + ", " + rank + " : " + type + " // read\nwarp.cluster_barrier");
  };
  expectFine(read("%own", "%next"));
  expectProblem(read("%far", "%next"), Problem::OutOfBounds, "// read",
                "byte 256 of shared memory of CTA");
  expectProblem(read("%own", "%next", "vector<2xf32>"), Problem::Misaligned, "// read",
                "byte 132 of shared memory of CTA 0");
  expectProblem(read("%own", "%count"), Problem::BeyondCluster, "// read", "rank 4");
  expectProblem(runBody("warp.cluster_barrier\n%x = warp.load_cluster %own, %next : i32 // read\n"
                        "warp.cluster_barrier"),
                Problem::Uninitialised, "// read", "of shared memory of CTA");
}

TEST_F(ClustersTest, OwnMemoryNeedsNoOther) {
  const char *const kOwn = R"(
    %mask = arith.constant 32 : i32
    %n = arith.xori %t, %mask : i32
    %other = arith.muli %n, %four : i32
    warp.store_shared %t, %own : i32
    warp.barrier // the barrier
    %x = warp.load_cluster %other, %r : i32 // read)";
  expectFine(runBody(kOwn));
  replace("warp.barrier // the barrier", "");
  expectProblem(runAgain(), Problem::ReadAfterWriteRace, "// read");
}

TEST_F(ClustersTest, IsABarrierOfItsCTA) {
  const char *const kExchange = R"(
    %mask = arith.constant 32 : i32
    %n = arith.xori %t, %mask : i32
    %other = arith.muli %n, %four : i32
    warp.store_shared %t, %own : i32
    warp.cluster_barrier // the barrier
    %x = warp.load_shared %other : i32 // read)";
  expectFine(runBody(kExchange));
  replace("warp.cluster_barrier // the barrier", "");
  expectProblem(runAgain(), Problem::ReadAfterWriteRace, "// read");
}

TEST_F(ClustersTest, ThreadsThatMissABarrier) {
  auto few = [&](int count) {
    return runBody("%few = arith.constant " + std::to_string(count) + R"( : i32
    %takes = arith.cmpi ult, %t, %few : i32
    scf.if %takes {
      warp.cluster_barrier // here
    })");
  };
  expectProblem(few(7), Problem::DivergentBarrier, "// here", "thread 7 of CTA 0 has ended");
  expectProblem(few(32), Problem::Deadlock, "// here", "has ended");
  expectFine(few(kThreads));
}

TEST_F(ClustersTest, ACTAThatMissesABarrier) {
  expectProblem(runBody(R"(
    %last = arith.cmpi eq, %r, %one : i32
    scf.if %last {
    } else {
      warp.cluster_barrier // here
    })",
                        2),
                Problem::Deadlock, "// here", "thread 63 of CTA 1 has ended");
}

TEST_F(ClustersTest, LanesAtDifferentBarriers) {
  expectProblem(runBody(R"(
    %few = arith.cmpi ult, %t, %four : i32
    scf.if %few {
      warp.cluster_barrier // here
    } else {
      warp.cluster_barrier // there
    })"),
                Problem::DivergentBarrier, "// there", "(warp.cluster_barrier)");
}

TEST_F(ClustersTest, WarpsAtDifferentKindsOfBarriers) {
  expectProblem(runBody(R"(
    %half = arith.constant 32 : i32
    %few = arith.cmpi ult, %t, %half : i32
    scf.if %few {
      warp.barrier
    } else {
      warp.cluster_barrier // here
    })"),
                Problem::Deadlock, "// here");
}

TEST_F(ClustersTest, CTAsAtDifferentBarriersMeet) {
  expectFine(runBody(R"(
    scf.if %first {
      warp.cluster_barrier
    } else {
      warp.cluster_barrier
    })"));
}

TEST_F(ClustersTest, AFailedClusterLeavesNothingBehind) {
  for (int i = 0; i < 3; ++i)
    expectProblem(runBody("scf.if %first {\nwarp.cluster_barrier // here\n}"), Problem::Deadlock,
                  "// here");
  expectFine(runBody(kRing));
}

TEST_F(ClustersTest, Counted) {
  auto report = runBody(R"(
    warp.store_shared %t, %own : i32
    warp.cluster_barrier
    scf.if %first {
      %x = warp.load_cluster %own, %next : i32
      %z = warp.load_cluster %own, %next : i32
    }
    warp.cluster_barrier)",
                        4, 3);
  ASSERT_TRUE(bool(report)) << toString(report.takeError());
  EXPECT_EQ(report->programs, 3);
  EXPECT_EQ(report->cluster, 4);
  // Two warps of four CTAs store, and those of one load twice.
  EXPECT_EQ(report->counters.sharedWavefronts, 3u * (2 * 4 + 2 * 2));
  EXPECT_EQ(report->counters.clusterBytesRead, 3u * 2 * 4 * kThreads);
  EXPECT_EQ(report->counters.barriers, 3u * 4 * 2);
  // The others wait for the first CTA.
  EXPECT_EQ(report->counters.sharedClocks, 3 * (4 * 2 + 4.0));
  EXPECT_EQ(report->counters.predictedClocks, 3 * (4 * 2 + 4 * 4.0));
  std::string text;
  llvm::raw_string_ostream stream(text);
  report->print(stream);
  EXPECT_NE(text.find("emulated 3 programs of 4 CTAs without a finding"), std::string::npos)
      << text;
  EXPECT_NE(text.find("    clocks, the larger in each interval   6.0\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("    bytes read from other CTAs            512.0\n"), std::string::npos)
      << text;
}

} // namespace
