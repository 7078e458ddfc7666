//===- MachineTest.cpp - what named processors can execute ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Target/CPU/MultiplyLoops.h"
#include "polyattn/Target/CPU.h"
#include "gtest/gtest.h"

using namespace polyattn;

namespace {

MachineDescription machine(llvm::StringRef name) { return llvm::cantFail(findMachine(name)); }

TEST(Machine, NamesSayWhatInstructionsThereAre) {
  EXPECT_EQ(toText(machine("x86-64").instructions), "none");
  EXPECT_EQ(toText(machine("x86-64-v3").instructions), "fma,round");
  EXPECT_EQ(toText(machine("x86-64-v4").instructions), "fma,round,avx512");
  EXPECT_EQ(toText(machine("x86-64-v4-bf16").instructions), "fma,round,avx512,avx512bf16");
  // Four lanes as on the first, and yet it has both.
  EXPECT_EQ(toText(machine("aarch64").instructions), "fma,round");
  EXPECT_EQ(machine("aarch64").vectorWidth, machine("x86-64").vectorWidth);
}

TEST(Machine, HasWhatItIsAskedForTogether) {
  MachineDescription levelFour = machine("x86-64-v4");
  EXPECT_TRUE(levelFour.has(Instructions::None));
  EXPECT_TRUE(levelFour.has(Instructions::AVX512 | Instructions::Fma));
  EXPECT_FALSE(levelFour.has(Instructions::AVX512 | Instructions::AVX512BF16));
}

TEST(Machine, FeaturesBringInstructions) {
  EXPECT_EQ(instructionsOf(""), Instructions::None);
  EXPECT_EQ(instructionsOf("sse2,movbe"), Instructions::None);
  EXPECT_EQ(instructionsOf("-fma,+sse4.1"), Instructions::Round);
  EXPECT_EQ(toText(instructionsOf("amx-bf16,+amx-tile,avx512bf16,avx512f")),
            "avx512,avx512bf16,amx,amxbf16");
}

TEST(Machine, InstructionsAreText) {
  for (llvm::StringRef text : {"none", "fma", "fma,round,avx512,avx512bf16,amx,amxbf16"}) {
    llvm::Expected<Instructions> parsed = parseInstructions(text);
    ASSERT_TRUE(bool(parsed)) << text.str();
    EXPECT_EQ(toText(*parsed), text);
  }
  for (const char *wrong : {"fma,sse9", ""})
    EXPECT_EQ(llvm::toString(parseInstructions(wrong).takeError()),
              std::string("instructions are of fma, round, avx512, avx512bf16, amx, amxbf16, or "
                          "none; got '") +
                  wrong + "'");
}

// The host is the last of its architecture that it is no less than, and has what that one has.
TEST(Machine, HostIsLikeTheLastThatItIsNoLessThan) {
  MachineDescription host = machine("native");
  for (llvm::StringRef name : {"x86-64", "x86-64-v3", "x86-64-v4", "aarch64"}) {
    MachineDescription named = machine(name);
    if (named.vectorWidth > host.vectorWidth || !isHostArchitecture(named))
      continue;
    EXPECT_TRUE(host.has(named.instructions)) << name.str();
    if (named.level == host.level) {
      EXPECT_EQ(host.vectorWidth, named.vectorWidth);
      EXPECT_EQ(host.vectorRegisters, named.vectorRegisters);
    }
  }
}

// A processor may have products of bf16 pairs and gain nothing from them.
TEST(Machine, HostMultipliesBF16WhereItGains) {
  double gain = measureBF16Gain();
  EXPECT_EQ(machine("native").has(Instructions::AVX512BF16), gain >= 1.3) << gain;
  EXPECT_EQ(gain > 0, bf16PairsLoop().has_value());
  EXPECT_LT(gain, 4);
}

} // namespace
