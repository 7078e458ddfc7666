//===- InputTest.cpp - tables of numbers, launches, plans and what-ifs ----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Listing.h"
#include "benchmarks/gpu/model/Failure.h"
#include "benchmarks/gpu/model/Plan.h"
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace polyattn::gpumodel;
using namespace polyattn::gpumodel::testing;

namespace {

std::string machineTable() {
  std::ifstream file(POLYATTN_GPU_MODEL_MACHINE);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(GPUModelInput, TableOfTheMachine) {
  Machine machine = readMachine(machineTable());
  EXPECT_EQ(machine.multiprocessors, 132);
  EXPECT_EQ(machine.l2Bytes, 50e6);
  EXPECT_EQ(readMachine(machineTable(), {"l2_latency=300"}).l2Latency, 300);
  auto fails = [](const std::string &text, const std::vector<std::string> &settings = {}) {
    return failureOf([&] { readMachine(text, settings); });
  };
  EXPECT_EQ(fails("# nothing\n"), "the machine's table has no alu_interval");
  EXPECT_EQ(fails("l2_latancy | 1 | clocks | guessed\n"),
            "line 1 of the machine's table: there is no number l2_latancy of the machine; the "
            "nearest is l2_latency");
  EXPECT_EQ(
      fails("\nl2_latency | fast | clocks | guessed\n"),
      "line 2 of the machine's table: expected a number that is not negative, and got 'fast'");
  EXPECT_EQ(fails("l2_latency | 270 | clocks\n"),
            "line 1 of the machine's table: expected NAME | VALUE | UNIT | SOURCE");
  EXPECT_EQ(fails("l2_latency | 1 | clocks | guessed\nl2_latency | 2 | clocks | guessed\n"),
            "line 2 of the machine's table: l2_latency has a value already");
  EXPECT_EQ(fails(machineTable(), {"l2_latency=-1"}),
            "--set l2_latency=-1: expected a number that is not negative, and got '-1'");
  EXPECT_EQ(fails(machineTable(), {"clock_ghz=0"}),
            "number clock_ghz of the machine has to be positive");
}

TEST(GPUModelInput, WhatIfs) {
  WhatIf whatIf;
  EXPECT_EQ(failureOf([&] { addWhatIf(whatIf, "no-bariers"); }),
            "--what-if no-bariers: there is no such what-if; the nearest is no-barriers");
  addWhatIf(whatIf, "free:(");
  Program program = readDisassembly(listing({{1, "EXIT"}}), "kernel");
  EXPECT_EQ(failureOf([&] { whatIf.apply(program); }).rfind("--what-if free:(: ", 0), 0u);
}

TEST(GPUModelInput, Launches) {
  auto fails = [](const std::string &text) { return failureOf([&] { readLaunch(text); }); };
  EXPECT_EQ(fails("warps 1\n"), "a launch has warps, programs and CTAs of a cluster");
  EXPECT_EQ(fails("warps 33\n"), "line 1 of the launch: expected 1 to 32 warps, and got '33'");
  EXPECT_EQ(fails("warps 1\nwraps 2\n"), "line 2 of the launch: unknown keyword 'wraps'");
  EXPECT_EQ(fails("tensor 0x100\n"), "line 1 of the launch: expected a number of bytes");
  EXPECT_EQ(fails("tensor 0x100 4 data 0g\n"),
            "line 1 of the launch: expected bytes in hexadecimal, and got '0g'");
  EXPECT_EQ(fails("tensor 0x100 0\n"), "line 1 of the launch: a tensor has no bytes");
}

TEST(GPUModelInput, PlacesCTAs) {
  Machine machine = readMachine(machineTable());
  // 256 CTAs on 132 multiprocessors: the last one is the second of multiprocessor 123.
  Launch launch = readLaunch("warps 4\nregisters 245\nshared 92672\nprograms 256\n");
  Placement placement = place(launch, machine);
  EXPECT_EQ(placement.programs, (std::vector<uint32_t>{123, 255}));
  // 248 registers of 128 threads are 31,744, twice in 65,536; 93,696 bytes are twice in 233,472.
  EXPECT_EQ(placement.resident, 2u);
  EXPECT_EQ(placement.active, 132u);
  EXPECT_DOUBLE_EQ(placement.shareOfL2, 2.0 / 256);
  EXPECT_DOUBLE_EQ(placement.fromL2, machine.l2BytesPerClock / 132);
  launch.registers = 128;
  launch.shared = 200000;
  EXPECT_EQ(residentCTAs(launch, machine), 1u);
  launch.shared = 240000;
  EXPECT_EQ(failureOf([&] { place(launch, machine); }),
            "a CTA does not fit a multiprocessor: 4 warps of 128 registers and 240000 bytes of "
            "shared memory");
}

TEST(GPUModelInput, PlansChooseSegments) {
  Machine machine = readMachine(machineTable());
  // linear_d64 of specs/bench.mlir at B = 4, T = 8192, H = 16.
  std::string plan = "sizes 4 8192 16 64\n"
                     "workspace f32 segments 0 0 -1 1 2 size 0 0 0 1 1 number 0 0 64 1 1\n"
                     "kernel 4 185 65024\n"
                     "stage sums_segments 1 0 segments 0 0 -1 1 2 size 0 0 0 1 1 size 0 2 0 1 1\n"
                     "kernel 4 245 92672\n"
                     "stage plain 1 0 segments 0 0 0 1 1 size 0 0 0 1 1 size 0 2 0 1 1\n"
                     "choice segments 64 64 0 33 2 0 0 size 0 1 0 1 1\n";
  auto choices = [&](const std::string &text) {
    std::stringstream out;
    writeChoices(out, text, machine);
    return out.str();
  };
  EXPECT_EQ(choices(plan), "{\"segments\": 4, \"parts\": 1, \"programs\": [384, 256], "
                           "\"workspaces\": [[6, 4, 64]]}\n");
  EXPECT_EQ(choices(plan + "segments 2\n"),
            "{\"segments\": 2, \"parts\": 1, \"programs\": [128, 128], \"workspaces\": [[2, 4, "
            "64]]}\n");
  EXPECT_EQ(choices("sizes 4\nworkspace bf16 size 0 0 1 2 3\n"),
            "{\"segments\": 1, \"parts\": 1, \"programs\": [], \"workspaces\": [[9]]}\n");
  auto fails = [&](const std::string &text) { return failureOf([&] { choices(text); }); };
  EXPECT_EQ(fails("workspace f8 size 0 0 0 1 1\n"), "line 1 of the plan: unknown dtype 'f8'");
  EXPECT_EQ(fails("stage chained 1 0\n"), "line 1 of the plan: only plain and sums_segments are "
                                          "kinds of stages on a GPU, and got 'chained'");
  EXPECT_EQ(fails("sizes 4\nstage plain 1 0 size 1 0 0 1 1\n"),
            "line 2 of the plan: there is no such tensor or dimension");
  EXPECT_EQ(fails("segments 2\n"), "its positions cannot be cut into 2 segments");
  EXPECT_EQ(fails("choice splits 1\n"),
            "line 1 of the plan: only segments and parts are chosen on a GPU, and got 'splits'");
}

} // namespace
