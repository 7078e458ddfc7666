//===- ExecuteTest.cpp - integers, predicates and divergence --------------===//
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

/// What the instructions leave in R0 of lane 0, whose number is `tid`.
uint32_t resultOf(std::vector<std::string> instructions, uint32_t lane = 0) {
  std::vector<Line> lines = {{1, "S2R R9, SR_LANEID"},
                             {1, "ISETP.EQ.AND P6, PT, R9, " + std::to_string(lane) + ", PT"}};
  lines[1].text = "ISETP.EQ.AND P6, PT, R9, 0x" + std::to_string(lane) + ", PT";
  for (const std::string &text : instructions)
    lines.push_back({1, text});
  lines.push_back({1, "MOV R20, 0x1000"});
  lines.push_back({1, "MOV R21, RZ"});
  lines.push_back({1, "@P6 STG.E desc[UR4][R20.64], R0"});
  lines.push_back({1, "EXIT"});
  Launch launch = readLaunch("warps 1\nprograms 1\nresident 1\ntensor 0x1000 64 memory reported\n"
                             "tensor 0x2000 16 memory data 0102030405060708090a0b0c0d0e0f10\n"
                             "constant 0 0x210 64 0x123456789abcdef0\n");
  return simulate(lines, simpleMachine(), launch).reported.at(0);
}

TEST(GPUModelExecute, Integers) {
  EXPECT_EQ(resultOf({"IADD3 R0, R9, 0x5, -R9"}, 3), 5u);
  EXPECT_EQ(resultOf({"MOV R1, 0x7", "IMAD R0, R1, 0x6, R9"}, 2), 44u);
  EXPECT_EQ(resultOf({"LDC R0, c[0x0][0x214]"}), 0x12345678u);
  EXPECT_EQ(resultOf({"LDC.64 R2, c[0x0][0x210]", "LEA.HI R0, R2, 0x1, R3, 0x4"}), 0x2345678au);
  EXPECT_EQ(resultOf({"MOV R1, 0xf0", "LOP3.LUT R0, R1, 0x3c, RZ, 0xc0, !PT"}), 0x30u);
  EXPECT_EQ(resultOf({"MOV R1, 0xf0", "LOP3.LUT R0, R1, 0x3c, RZ, 0x3c, !PT"}), 0xccu);
  EXPECT_EQ(resultOf({"MOV R1, 0x80000010", "SHF.R.S32.HI R0, RZ, 0x4, R1"}), 0xf8000001u);
  EXPECT_EQ(resultOf({"MOV R1, 0x80000010", "SHF.R.U32.HI R0, RZ, 0x4, R1"}), 0x08000001u);
  EXPECT_EQ(resultOf({"MOV R1, 0x12345678", "PRMT R0, R1, 0x3210, RZ"}), 0x12345678u);
  EXPECT_EQ(resultOf({"MOV R1, 0x12345678", "PRMT R0, R1, 0x7710, RZ"}), 0x00005678u);
  EXPECT_EQ(resultOf({"MOV R1, 0xfffffff0", "VIMNMX R0, R1, 0x3, PT"}), 0xfffffff0u);
  EXPECT_EQ(resultOf({"MOV R1, 0xfffffff0", "VIMNMX.U32 R0, R1, 0x3, PT"}), 3u);
  EXPECT_EQ(resultOf({"UMOV UR4, 0x10", "UIMAD UR5, UR4, 0x3, URZ", "IMAD.U32 R0, RZ, RZ, UR5"}),
            48u);
}

TEST(GPUModelExecute, CarriesCrossHalves) {
  // 0xffffffff + 1, with the carry in the upper half.
  EXPECT_EQ(resultOf({"MOV R1, 0xffffffff", "IADD3 R2, P0, R1, 0x1, RZ",
                      "IADD3.X R0, RZ, RZ, RZ, P0, !PT"}),
            1u);
  // Two carries of three large addends.
  EXPECT_EQ(resultOf({"MOV R1, 0xffffffff", "IADD3 R2, P0, P1, R1, R1, R1",
                      "IADD3.X R0, RZ, RZ, RZ, P0, P1"}),
            2u);
  EXPECT_EQ(resultOf({"MOV R1, 0x10000", "MOV R4, 0x5", "MOV R5, 0x7",
                      "IMAD.WIDE.U32 R2, R1, R1, R4", "MOV R0, R3"}),
            8u);
  EXPECT_EQ(resultOf({"MOV R1, -0x2", "IMAD.HI R0, R1, 0x3, RZ"}), 0xffffffffu);
  // -1 < 1 as 64 bits: the upper halves decide, and the lower ones where they are equal.
  EXPECT_EQ(resultOf({"ISETP.LT.U32.AND P0, PT, RZ, 0x1, PT",
                      "ISETP.LT.AND.EX P0, PT, RZ, RZ, PT, P0", "SEL R0, 0x5, 0x6, P0"}),
            5u);
}

TEST(GPUModelExecute, DivisionAsPtxasWritesIt) {
  // 100 / 7 by the reciprocal of a float, with the corrections.
  EXPECT_EQ(
      resultOf({"MOV R10, 0x64", "MOV R11, 0x7", "I2F.U32.RP R1, R11", "MUFU.RCP R1, R1",
                "VIADD R2, R1, 0xffffffe", "F2I.FTZ.U32.TRUNC.NTZ R3, R2", "MOV R2, RZ",
                "IMAD.MOV R4, RZ, RZ, -R3", "IMAD R5, R4, R11, RZ", "IMAD.HI.U32 R3, R3, R5, R2",
                "IMAD.HI.U32 R3, R3, R10, RZ", "IMAD.MOV R5, RZ, RZ, -R3", "IMAD R5, R11, R5, R10",
                "ISETP.GE.U32.AND P0, PT, R5, R11, PT", "@P0 IADD3 R5, R5, -R11, RZ",
                "@P0 VIADD R3, R3, 0x1", "ISETP.GE.U32.AND P1, PT, R5, R11, PT",
                "@P1 VIADD R3, R3, 0x1", "MOV R0, R3"}),
      14u);
}

TEST(GPUModelExecute, SharedMemoryAndShuffles) {
  EXPECT_EQ(resultOf({"IMAD R2, R9, 0x3, RZ", "SHFL.BFLY PT, R0, R2, 0x1, 0x1f"}, 4), 15u);
  EXPECT_EQ(resultOf({"IMAD R2, R9, 0x3, RZ", "SHFL.UP P0, R0, R2, 0x2, RZ"}, 5), 9u);
  EXPECT_EQ(resultOf({"IMAD R2, R9, 0x3, RZ", "SHFL.IDX PT, R0, R2, 0x6, 0x1f"}, 5), 18u);
  EXPECT_EQ(resultOf({"VOTE.ALL R0, PT, P6"}, 5), 1u << 5);
  // Numbers of tensors, whose bytes the launch has.
  EXPECT_EQ(resultOf({"MOV R2, 0x2004", "MOV R3, RZ", "LDG.E R0, desc[UR4][R2.64]"}), 0x08070605u);
  EXPECT_EQ(resultOf({"MOV R2, 0x2006", "MOV R3, RZ", "LDG.E.U16 R0, desc[UR4][R2.64]"}), 0x0807u);
  EXPECT_EQ(resultOf({"MOV R2, 0x9000", "MOV R3, RZ", "LDG.E.U16 R0, desc[UR4][R2.64]"}), 0x3d80u);
}

TEST(GPUModelExecute, LanesPartAndMeet) {
  // Lanes below 16 add 1 three times, the others 10 once; BSYNC joins them before the vote.
  std::vector<Line> code = {{1, "S2R R1, SR_LANEID"},
                            {1, "MOV R0, RZ"},
                            {1, "ISETP.GE.AND P0, PT, R1, 0x10, PT"},
                            {1, "BSSY B0, `(.L_x_2)"},
                            {1, "@P0 BRA `(.L_x_1)"},
                            {1, "MOV R3, RZ"},
                            {0, ".L_x_0:"},
                            {1, "VIADD R0, R0, 0x1"},
                            {1, "VIADD R3, R3, 0x1"},
                            {1, "ISETP.LT.AND P1, PT, R3, 0x3, PT"},
                            {1, "@P1 BRA `(.L_x_0)"},
                            {1, "BRA `(.L_x_2)"},
                            {0, ".L_x_1:"},
                            {1, "VIADD R0, R0, 0xa"},
                            {0, ".L_x_2:"},
                            {1, "BSYNC B0"},
                            {1, "VOTE.ALL R2, PT, PT"},
                            {1, "MOV R20, 0x1000"},
                            {1, "IMAD R20, R1, 0x4, R20"},
                            {1, "MOV R21, RZ"},
                            {1, "ISETP.EQ.AND P2, PT, R1, 0x3, PT"},
                            {1, "@P2 STG.E desc[UR4][R20.64], R0"},
                            {1, "ISETP.EQ.AND P2, PT, R1, 0x11, PT"},
                            {1, "@P2 STG.E desc[UR4][R20.64], R0"},
                            {1, "ISETP.EQ.AND P2, PT, R1, RZ, PT"},
                            {1, "@P2 STG.E desc[UR4][R20.64], R2"},
                            {1, "EXIT"}};
  Launch launch =
      readLaunch("warps 1\nprograms 1\nresident 1\ntensor 0x1000 128 memory reported\n");
  Statistics statistics = simulate(code, simpleMachine(), launch);
  EXPECT_EQ(statistics.reported[12], 3u);
  EXPECT_EQ(statistics.reported[68], 10u);
  EXPECT_EQ(statistics.reported[0], ~0u);
}

TEST(GPUModelExecute, SaysWhatCannotRun) {
  auto run = [](const std::vector<Line> &code, uint32_t warps = 1) {
    return failureOf([&] { simulate(code, simpleMachine(), launchOf(warps, 1024)); });
  };
  EXPECT_EQ(run({{1, "S2R R0, SR_SMEMSZ"}, {1, "EXIT"}}), "unknown special register SR_SMEMSZ");
  EXPECT_EQ(run({{1, "LDS R0, [RZ+0x800]"}, {1, "EXIT"}}),
            "instruction LDS R0, [RZ+0x800] accesses shared memory at 0x800, and the CTA has 1024 "
            "bytes after 0x400");
  EXPECT_EQ(run({{1, "FADD R0, R1"}, {1, "EXIT"}}),
            "instruction FADD R0, R1 has other operands than the model knows");
  EXPECT_EQ(run({{1, "NOP"}}), "a warp runs past the last instruction of the kernel");
  EXPECT_EQ(run({{1, "UCGABAR_WAIT"}, {1, "EXIT"}}),
            "no warp can go on: warp 0 of CTA 0 waits at UCGABAR_WAIT");
}

} // namespace
