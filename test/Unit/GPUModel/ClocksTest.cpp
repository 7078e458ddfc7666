//===- ClocksTest.cpp - clocks of short listings, counted by hand ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Listing.h"
#include <gtest/gtest.h>

using namespace polyattn::gpumodel;
using namespace polyattn::gpumodel::testing;

namespace {

// All latencies that a test does not set are zero, so that EXIT issues when its waits end.

TEST(GPUModelClocks, DependentChainIsTheSumOfStalls) {
  // FFMAs at 0, 4, 8, 12; EXIT at 16.
  std::vector<Line> chain(4, {4, "FFMA R0, R0, R1, R2"});
  chain.push_back({5, "EXIT"});
  EXPECT_EQ(clocks(chain, simpleMachine(), launchOf(1)), 16);
}

TEST(GPUModelClocks, PipeTakesAnInstructionEachInterval) {
  // Stalls allow one each clock: 0, 2, 4, 6 on a pipe of 16 lanes, then EXIT.
  std::vector<Line> ints(4, {1, "IADD3 R0, R1, R2, RZ"});
  ints.push_back({5, "EXIT"});
  Machine machine = simpleMachine();
  machine.aluInterval = 2;
  EXPECT_EQ(clocks(ints, machine, launchOf(1)), 7);
  // Another pipe in between fills the gaps: 0 1 2 3.
  for (size_t k : {1, 3})
    ints[k].text = "FADD R0, R1, R2";
  EXPECT_EQ(clocks(ints, machine, launchOf(1)), 4);
}

TEST(GPUModelClocks, TwoWarpsShareASubCore) {
  // Warps 0 and 4 issue into one sub-core, one instruction a clock; warps 0 and 1 into two.
  std::vector<Line> code(6, {1, "FFMA R0, R1, R2, R3"});
  code.push_back({1, "EXIT"});
  EXPECT_EQ(clocks(code, simpleMachine(), launchOf(4)), 6);
  // Five warps: warp 0 has seven issues, and warp 4 the seven clocks after them.
  EXPECT_EQ(clocks(code, simpleMachine(), launchOf(5)), 13);
  // Where each waits for its own sum, the other warp issues in the meantime: 0 4 8 and 1 5 9,
  // then EXIT at 12 and 13.
  std::vector<Line> chain(3, {4, "FFMA R0, R0, R1, R2"});
  chain.push_back({1, "EXIT"});
  EXPECT_EQ(clocks(chain, simpleMachine(), launchOf(4)), 12);
  EXPECT_EQ(clocks(chain, simpleMachine(), launchOf(5)), 13);
}

TEST(GPUModelClocks, ScoreboardWaitsForTheLoad) {
  Machine machine = simpleMachine();
  machine.lsuIssueLatency = 4;
  machine.l1Latency = 30;
  machine.l2Latency = 200;
  machine.memoryLatency = 900;
  std::vector<Line> code = {{1, "LDG.E R2, desc[UR4][R4.64]", 0},
                            {2, "FADD R3, R2, R2", 7, 7, {0}},
                            {1, "LDG.E R2, desc[UR4][R4.64]", 1},
                            {2, "FADD R3, R2, R2", 7, 7, {1}},
                            {1, "EXIT"}};
  // The unit takes the first load at 4, which device memory answers at 904; the FADD issues then.
  // The second one, at 906, is taken at 910 and hits the first-level cache: 940. EXIT follows by 2.
  EXPECT_EQ(clocks(code, machine, launchOf(1)), 942);
  // From the second-level cache, where weights are: 4 + 200 and, from 206 on, 4 + 30; EXIT at 242.
  Launch weights = readLaunch("warps 1\nprograms 1\nresident 1\ntensor 0 4096 l2\n");
  EXPECT_EQ(clocks(code, machine, weights), 242);
  // Without the wait the stalls are all: 0, 1, 3, 4, 6.
  code[1].waits = code[3].waits = {};
  EXPECT_EQ(clocks(code, machine, launchOf(1)), 6);
}

TEST(GPUModelClocks, CoherentLoadsPassTheFirstLevelCache) {
  for (auto [modifier, hits] : {std::pair("", 1u), {".STRONG.SM", 1u}, {".STRONG.GPU", 0u}}) {
    std::string load = std::string("LDG.E") + modifier + " R2, desc[UR4][R4.64]";
    std::vector<Line> code = {
        {1, load, 0}, {1, "NOP", 7, 7, {0}}, {1, load, 0}, {1, "EXIT", 7, 7, {0}}};
    EXPECT_EQ(simulate(code, simpleMachine(), launchOf(1)).l1Hits, hits) << load;
  }
}

TEST(GPUModelClocks, StoreReleasesItsOperands) {
  Machine machine = simpleMachine();
  machine.lsuIssueLatency = 4;
  machine.lsuReadLatency = 6;
  machine.smStoreBytesPerClock = 32;
  // Four sectors leave at 4, 5, 6, 7, later than 4 + 6 are the operands read: 10.
  std::vector<Line> code = {{1, "S2R R0, SR_LANEID", 1},
                            {4, "IMAD.SHL.U32 R2, R0, 0x4, RZ", 7, 7, {1}},
                            {1, "STG.E desc[UR4][R2.64], R5", 7, 0},
                            {1, "EXIT", 7, 7, {0}}};
  // S2R at 0, IMAD at 1, STG at 5: taken at 9, read at 15.
  EXPECT_EQ(clocks(code, machine, launchOf(1)), 15);
  // At 8 bytes a clock the last of four sectors leaves 3 x 4 clocks after the first one.
  machine.smStoreBytesPerClock = 8;
  EXPECT_EQ(clocks(code, machine, launchOf(1)), 9 + 12);
}

/// Touches so many lines of 128 bytes, one after another, in a loop.
std::vector<Line> touch(const std::string &text, const std::string &first, const std::string &end,
                        const std::string &label) {
  return {{1, "MOV R3, RZ"},
          {1, "MOV R2, " + first},
          {0, label + ":"},
          {1, text},
          {1, "VIADD R2, R2, 0x80"},
          {1, "ISETP.LT.AND P0, PT, R2, " + end + ", PT"},
          {1, "@P0 BRA `(" + label + ")"}};
}

TEST(GPUModelClocks, ReplacedStoresGoToMemory) {
  Machine machine = simpleMachine();
  machine.l2Bytes = 131072; // 1,024 lines
  std::vector<Line> code = touch("STG.E desc[UR4][R2.64], R5", "0x100000", "0x11f000", ".L_x_0");
  code.push_back({1, "EXIT"});
  // 992 lines fit.
  EXPECT_EQ(simulate(code, machine, launchOf(1)).bytesToMemory, 0u);
  // Loads of 8,192 others take the place of all but a few of them, chosen at random.
  std::vector<Line> loads = touch("LDG.E R5, desc[UR4][R2.64]", "0x200000", "0x300000", ".L_x_1");
  code.insert(code.end() - 1, loads.begin(), loads.end());
  Statistics statistics = simulate(code, machine, launchOf(1));
  EXPECT_GT(statistics.bytesToMemory, 980u * 128);
  EXPECT_LE(statistics.bytesToMemory, 992u * 128);
}

/// Each lane reads the word of its number times STRIDE.
std::vector<Line> sharedLoad(const std::string &stride, const std::string &load) {
  return {{1, "S2R R0, SR_LANEID", 0},
          {4, "IMAD R2, R0, " + stride + ", RZ", 7, 7, {0}},
          {1, load, 1},
          {1, "FADD R4, R4, R4", 7, 7, {1}},
          {1, "EXIT"}};
}

TEST(GPUModelClocks, BankConflictsTakeWavefronts) {
  Machine machine = simpleMachine();
  machine.ldsLatency = 20;
  machine.lds128Latency = 20;
  Launch launch = launchOf(1, 8192);
  // S2R 0, IMAD 1, LDS 5; the result after 20 and the wavefronts but one; then FADD and EXIT.
  auto load = [&](const std::string &stride, const std::string &text = "LDS R4, [R2+0x400]") {
    return clocks(sharedLoad(stride, text), machine, launch) - 26;
  };
  EXPECT_EQ(load("0x4"), 0);                            // 32 words side by side
  EXPECT_EQ(load("0x0"), 0);                            // all lanes read one word
  EXPECT_EQ(load("0x8"), 1);                            // every other bank, twice
  EXPECT_EQ(load("0x80"), 31);                          // one bank
  EXPECT_EQ(load("0x84"), 0);                           // rows of 33 words
  EXPECT_EQ(load("0x10", "LDS.128 R4, [R2+0x400]"), 3); // 512 bytes
  EXPECT_EQ(load("0x20", "LDS.128 R4, [R2+0x400]"), 7); // eight lanes in half of the banks
  // 16 bytes go by quarters of a warp, also where all lanes read the same.
  EXPECT_EQ(load("0x0", "LDS.128 R4, [R2+0x400]"), 3);
  WhatIf noConflicts;
  addWhatIf(noConflicts, "no-conflicts");
  EXPECT_EQ(clocks(sharedLoad("0x80", "LDS R4, [R2+0x400]"), machine, launch, noConflicts), 26);
}

TEST(GPUModelClocks, LoadStoreUnitIsOneForAllSubCores) {
  Machine machine = simpleMachine();
  machine.ldsLatency = 20;
  // Four warps read 32-way conflicts at clock 5: the unit takes them at 5, 37, 69 and 101.
  std::vector<Line> code = sharedLoad("0x80", "LDS R4, [R2+0x400]");
  EXPECT_EQ(clocks(code, machine, launchOf(4, 8192)), 101 + 31 + 20 + 1);
  Statistics statistics = simulate(code, machine, launchOf(4, 8192));
  EXPECT_EQ(statistics.sharedWavefronts, 128u);
  EXPECT_EQ(statistics.sharedAccesses, 4u);
}

TEST(GPUModelClocks, QueueOfTheSubCoreIsShort) {
  Machine machine = simpleMachine();
  machine.lsuQueue = 2;
  // Loads of 32 wavefronts at 5 and 6 are taken at 5 and 37. The third one waits until the first
  // of the latest two has been taken, at 5, so it issues at 7; the fourth one at 37.
  std::vector<Line> code = sharedLoad("0x80", "LDS R4, [R2+0x400]");
  code.insert(code.begin() + 3, 3, code[2]);
  code.erase(code.begin() + 6);
  EXPECT_EQ(clocks(code, machine, launchOf(1, 8192)), 38);
}

TEST(GPUModelClocks, BarrierWaitsForTheLastWarp) {
  Machine machine = simpleMachine();
  machine.barrierLatency = 10;
  // Warp 0 arrives at 2 + 1. Warp 1 runs a loop of FADDs before it, 4 clocks each.
  std::vector<Line> code = {{1, "S2R R0, SR_TID.X", 0},
                            {1, "ISETP.GE.AND P0, PT, R0, 0x20, PT", 7, 7, {0}},
                            {15, "@P0 FADD R1, R1, R1"},
                            {1, "BAR.SYNC.DEFER_BLOCKING 0x0"},
                            {1, "EXIT"}};
  // Both stall 15, with the predicate or without it: S2R 0, ISETP 1, FADD 2, BAR 17, EXIT 27.
  EXPECT_EQ(clocks(code, machine, launchOf(2)), 27);
  // A branch around the FADD: warp 0 arrives at 3, and waits for warp 1 as before, at 3 + 15.
  code[2] = {1, "@!P0 BRA `(.L_x_0)"};
  code.insert(code.begin() + 3, {{15, "FADD R1, R1, R1"}, {0, ".L_x_0:"}});
  EXPECT_EQ(clocks(code, machine, launchOf(2)), 18 + 10);
  Statistics statistics = simulate(code, machine, launchOf(2));
  // Warp 0 waits from 4 on and warp 1 from 19, both until 28.
  EXPECT_EQ(statistics.waits[static_cast<int>(Cause::CTABarrier)], 24 + 9);
  WhatIf noBarriers;
  addWhatIf(noBarriers, "no-barriers");
  EXPECT_EQ(clocks(code, machine, launchOf(2), noBarriers), 19);
}

TEST(GPUModelClocks, CopiesArriveByGroups) {
  Machine machine = simpleMachine();
  machine.memoryLatency = 500;
  std::vector<Line> code = {{1, "MOV R2, 0x10000"},
                            {1, "MOV R6, 0x20000"},
                            {1, "LDGSTS.E.BYPASS.128 [R8], desc[UR4][R2.64]"},
                            {1, "LDGDEPBAR"},
                            {1, "LDGSTS.E.BYPASS.128 [R8], desc[UR4][R6.64]"},
                            {1, "LDGDEPBAR"},
                            {1, "DEPBAR.LE SB0, 0x1"},
                            {1, "DEPBAR.LE SB0, 0x0"},
                            {1, "EXIT"}};
  // Copies at 2 and 4. Each occupies the unit for four wavefronts, so that it takes them at 2 and
  // 6. The first group is there at 502, the second one at 506; EXIT follows.
  EXPECT_EQ(clocks(code, machine, launchOf(1)), 507);
  // Allowing one open group, nobody waits for the second one: DEPBAR at 502, EXIT at 503.
  code.erase(code.begin() + 7);
  EXPECT_EQ(clocks(code, machine, launchOf(1)), 503);
  EXPECT_EQ(simulate(code, machine, launchOf(1)).bytesFromL2, 64u);
}

TEST(GPUModelClocks, PredicateOfACopySaysWhichLanesRead) {
  Machine machine = simpleMachine();
  std::vector<Line> code = {{1, "S2R R0, SR_LANEID", 0},
                            {1, "ISETP.GE.AND P0, PT, R0, 0x10, PT", 7, 7, {0}},
                            {4, "IMAD.SHL.U32 R2, R0, 0x10, RZ"},
                            {1, "LDGSTS.E.BYPASS.128 [R8], desc[UR4][R2.64], !P0"},
                            {1, "EXIT"}};
  // Half of the lanes, 16 bytes each: they are inside where P0, the end, is not reached.
  EXPECT_EQ(simulate(code, machine, launchOf(1)).bytesFromL2, 256u);
  code[1].text = "ISETP.GE.AND P0, PT, R0, 0x20, PT";
  EXPECT_EQ(simulate(code, machine, launchOf(1)).bytesFromL2, 512u);
}

TEST(GPUModelClocks, ChainOfMatrixProducts) {
  Machine machine = simpleMachine();
  machine.mmaInterval = 7;
  machine.mmaLatency = 33;
  std::vector<Line> dependent;
  for (int k = 0; k < 4; ++k) {
    // Of the 18 clocks that ptxas leaves between sums, one control word has at most 15.
    dependent.push_back({10, "HMMA.16816.F32.BF16 R4, R8, R12, R4"});
    dependent.push_back({8, "NOP"});
  }
  dependent.push_back({1, "EXIT"});
  EXPECT_EQ(clocks(dependent, machine, launchOf(1)), 72);
  // Independent products are as fast as the pipe: 0 7 14 21, EXIT at 22.
  std::vector<Line> chain(4, {1, "HMMA.16816.F32.BF16 R4, R8, R12, R4"});
  chain.push_back({1, "EXIT"});
  EXPECT_EQ(clocks(chain, machine, launchOf(1)), 22);
  // Two warps share it: eight products, the last one at 49.
  EXPECT_EQ(clocks(chain, machine, launchOf(5)), 50);
  // Fractions of a clock add up: 0, 6.5, 13, 19.5 issue at 0 7 13 20.
  machine.mmaInterval = 6.5;
  EXPECT_EQ(clocks(chain, machine, launchOf(1)), 21);
  // A scoreboard waits for the latency of the last one.
  chain[3].writes = 2;
  chain[4].waits = {2};
  EXPECT_EQ(clocks(chain, machine, launchOf(1)), 20 + 33);
  // wgmma, as a bound: 0 4 8 12.
  machine.wgmmaInterval = 4;
  chain[4].waits = {};
  WhatIf wgmma;
  addWhatIf(wgmma, "wgmma");
  EXPECT_EQ(clocks(chain, machine, launchOf(1), wgmma), 13);
}

TEST(GPUModelClocks, CodeComesThroughTheCaches) {
  Machine machine = simpleMachine();
  machine.instructionMissLatency = 100;
  std::vector<Line> code(16, {1, "FADD R0, R0, R0"});
  code.push_back({1, "EXIT"});
  // Lines of eight instructions. Each is asked for when the one before it has been left: the first
  // at 0, there at 100; the eighth FADD issues at 107, the next line comes at 207, the last one,
  // with EXIT, at 314.
  EXPECT_EQ(clocks(code, machine, launchOf(1)), 314);
  // A line ahead: two lines come at 100. The third one is asked for at 107.
  machine.fetchAheadLines = 1;
  EXPECT_EQ(clocks(code, machine, launchOf(1)), 207);
  WhatIf noFetch;
  addWhatIf(noFetch, "no-fetch");
  EXPECT_EQ(clocks(code, machine, launchOf(1), noFetch), 16);
}

TEST(GPUModelClocks, FreeInstructionsTakeNoTime) {
  std::vector<Line> code(4, {4, "FADD R0, R0, R1"});
  code.push_back({4, "FMUL R0, R0, R1"});
  code.push_back({1, "EXIT"});
  WhatIf free;
  addWhatIf(free, "free:^FADD");
  EXPECT_EQ(clocks(code, simpleMachine(), launchOf(1), free), 4);
}

TEST(GPUModelClocks, CTAsFollowEachOther) {
  Machine machine = simpleMachine();
  machine.ctaStartLatency = 40;
  machine.ctaLaunchGap = 60;
  std::vector<Line> code(3, {4, "FADD R0, R0, R1"});
  code.push_back({1, "EXIT"});
  // Nine CTAs on four multiprocessors, two at a time: the first one has three of them. The two
  // begin at 40 and end at 52 and 53; the third one begins at 52 + 60 + 40.
  Launch launch = readLaunch("warps 1\nprograms 9\nresident 2\nregisters 32\n");
  EXPECT_EQ(place(launch, machine).programs, (std::vector<uint32_t>{0, 4, 8}));
  EXPECT_EQ(clocks(code, machine, launch), 152 + 12);
}

TEST(GPUModelClocks, ClusterBarrierWaitsForBothCTAs) {
  Machine machine = simpleMachine();
  machine.clusterBarrierLatency = 100;
  machine.remoteLatency = 50;
  machine.remoteBytesPerClock = 16;
  std::vector<Line> code = {{1, "S2R R0, SR_CgaCtaId", 0},
                            {1, "ISETP.EQ.AND P0, PT, R0, 0x1, PT", 7, 7, {0}},
                            {1, "@!P0 BRA `(.L_x_0)"},
                            {15, "FADD R1, R1, R1"},
                            {0, ".L_x_0:"},
                            {1, "UCGABAR_ARV"},
                            {1, "UCGABAR_WAIT"},
                            {1, "LD.E.64 R2, [R4.64]", 1},
                            {1, "EXIT", 7, 7, {1}}};
  // The second CTA arrives at 3 + 15, and the first one has waited since 4. Eight bytes of 32
  // lanes take 16 clocks on their way: 118 + 16 + 50.
  Launch launch = readLaunch("warps 1\ncluster 2\nprograms 1\nresident 1\n");
  EXPECT_EQ(clocks(code, machine, launch), 184);
}

} // namespace
