//===- DisassemblyTest.cpp - operands, control words and their errors -----===//
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

/// As nvdisasm 12.8 prints a kernel for sm_90, some instructions left out.
constexpr const char *kText = R"(
	.target	sm_90

//--------------------- .text.other     --------------------------
	.section	.text.other,"ax",@progbits
other:
.text.other:
        /*0000*/                   EXIT ;                                                               /* 0x000000000000794d */
                                                                                                        /* 0x000fea0003800000 */

//--------------------- .text.linear     --------------------------
	.section	.text.linear,"ax",@progbits
	.align	128
        .global         linear
linear:
.text.linear:
        /*0000*/                   LDC R1, c[0x0][0x28] ;                                               /* 0x00000a00ff017b82 */
                                                                                                        /* 0x000ff00000000800 */
        /*0010*/                   LDC R13, c[0x0][0x228] ;                                             /* 0x00008a00ff0d7b82 */
                                                                                                        /* 0x000e620000000800 */
.L_x_17:
        /*0020*/                   IMAD R8, R13, R8, RZ ;                                               /* 0x000000080d087224 */
                                                                                                        /* 0x002fc400078e02ff */
        /*0030*/              @!P0 BRA `(.L_x_17) ;                                                      /* 0x000000ac00008947 */
                                                                                                        /* 0x000fea0003800000 */
        /*0040*/                   HFMA2.MMA R5, -RZ, RZ, 1.7978515625, 12480 ;                          /* 0x3f317218ff057435 */
                                                                                                        /* 0x000fe200000001ff */
)";

TEST(GPUModelDisassembly, ReadsTheKernelsSection) {
  Program program = readDisassembly(kText, "linear");
  ASSERT_EQ(program.instructions.size(), 5u);
  const Instruction &load = program.instructions[1];
  EXPECT_EQ(load.mnemonic, "LDC");
  EXPECT_EQ(load.control.stall, 1);
  EXPECT_EQ(load.control.writeScoreboard, 1);
  EXPECT_EQ(load.control.readScoreboard, 7);
  EXPECT_EQ(load.control.waitMask, 0);
  const Instruction &multiply = program.instructions[2];
  EXPECT_EQ(multiply.control.stall, 2);
  EXPECT_EQ(multiply.control.waitMask, 2);
  EXPECT_EQ(program.instructions[3].target, 2);
  EXPECT_EQ(program.instructions[3].guard, 0);
  EXPECT_TRUE(program.instructions[3].guardInverted);
  EXPECT_EQ(program.instructions[4].upperWord, 0x3f317218u);
  EXPECT_EQ(readDisassembly(kText, "other").instructions.size(), 1u);
}

TEST(GPUModelDisassembly, SaysWhatItDoesNotKnow) {
  auto read = [](const std::string &text) {
    return failureOf([&] { readDisassembly(listing({{1, text}}), "kernel"); });
  };
  EXPECT_EQ(read("FADD R0, R0, R0"), "no failure");
  EXPECT_EQ(read("WGMMA.64x64 R0, gdesc[UR4]"), "unknown instruction: WGMMA.64x64 R0, gdesc[UR4]");
  EXPECT_EQ(read("BAR.ARV 0x1, 0x40"),
            "instruction BAR.ARV 0x1, 0x40: only barriers of all warps of a CTA, BAR.SYNC 0x0, are "
            "modelled");
  EXPECT_EQ(read("BRA `(.L_x_9)"), "the target is not in the disassembly: BRA `(.L_x_9)");
  EXPECT_EQ(
      failureOf([] { readDisassembly(kText, "softmax"); }),
      "there is no machine code in section .text.softmax, which the disassembly does not have");
  std::string text = listing({{1, "NOP"}, {1, "EXIT"}});
  EXPECT_EQ(failureOf([&] { readDisassembly(text.substr(0, text.rfind("/*")), "kernel"); }),
            "the disassembly ends inside of EXIT");
}

TEST(GPUModelDisassembly, Operands) {
  Operand pair = readOperand("desc[UR4][R2.64+UR6+-0x10]");
  EXPECT_EQ(pair.kind, OperandKind::Address);
  EXPECT_EQ(pair.index, 2);
  EXPECT_EQ(pair.uniformIndex, 6);
  EXPECT_EQ(pair.offset, -16);
  EXPECT_TRUE(pair.wide);
  Operand constant = readOperand("-c[0x4][UR3+0x8]");
  EXPECT_EQ(constant.kind, OperandKind::Constant);
  EXPECT_EQ(constant.bank, 4);
  EXPECT_EQ(constant.offset, 8);
  EXPECT_TRUE(constant.negative);
  Operand half = readOperand("|R7.H1_H1|");
  EXPECT_EQ(half.index, 7);
  EXPECT_EQ(half.part, Part::Half1);
  EXPECT_TRUE(half.absolute);
  EXPECT_EQ(readOperand("!UPT").index, kUniformTrue);
  EXPECT_EQ(readOperand("RZ.reuse").index, kZeroRegister);
  EXPECT_EQ(readOperand("-0x80").immediate, 0xffffff80u);
  EXPECT_EQ(readOperand("-128").immediate, 0xc3000000u);
  EXPECT_EQ(readOperand("-INF").immediate, 0xff800000u);
  EXPECT_EQ(readOperand("SR_TID.X").name, "SR_TID.X");
}

} // namespace
