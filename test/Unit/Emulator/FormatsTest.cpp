//===- FormatsTest.cpp - number formats and layouts of a GPU --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/Formats.h"
#include "runtime/emulator/AccessGroups.h"
#include "runtime/emulator/TensorCore.h"
#include "llvm/ADT/APFloat.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>

using namespace polyattn::emulator;

namespace {

uint16_t roundByLLVM(const llvm::fltSemantics &semantics, float value) {
  llvm::APFloat number(value);
  bool loses;
  number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &loses);
  return static_cast<uint16_t>(number.bitcastToAPInt().getZExtValue());
}

float extendByLLVM(const llvm::fltSemantics &semantics, uint16_t bits) {
  llvm::APFloat number(semantics, llvm::APInt(16, bits));
  bool loses;
  number.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return number.convertToFloat();
}

TEST(EmulatorNumbers, ExtendEveryNumberOf16Bits) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float bf16 = extendByLLVM(llvm::APFloat::BFloat(), bits);
    float f16 = extendByLLVM(llvm::APFloat::IEEEhalf(), bits);
    if (std::isnan(bf16))
      EXPECT_TRUE(std::isnan(floatOfBF16(bits)));
    else
      EXPECT_EQ(bitsOfFloat(floatOfBF16(bits)), bitsOfFloat(bf16)) << bits;
    if (std::isnan(f16))
      EXPECT_TRUE(std::isnan(floatOfF16(bits)));
    else
      EXPECT_EQ(bitsOfFloat(floatOfF16(bits)), bitsOfFloat(f16)) << bits;
  }
}

void expectRoundingLikeLLVM(float value) {
  EXPECT_EQ(bf16OfFloat(value), roundByLLVM(llvm::APFloat::BFloat(), value)) << value;
  EXPECT_EQ(f16OfFloat(value), roundByLLVM(llvm::APFloat::IEEEhalf(), value)) << value;
}

TEST(EmulatorNumbers, RoundTo16Bits) {
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) {
    float value = floatOfBits(random());
    if (!std::isnan(value))
      expectRoundingLikeLLVM(value);
    // Exponents where f16 is subnormal, normal and overflows.
    float scaled = std::ldexp(1.0f + float(random() % 65536) / 65536, int(random() % 50) - 32);
    expectRoundingLikeLLVM(random() % 2 ? scaled : -scaled);
  }
  for (float value : {0.0f, -0.0f, 65504.0f, 65519.0f, 65520.0f, 65536.0f, 0x1p-14f, 0x1p-24f,
                      0x1p-25f, 0x1.8p-25f, INFINITY, -INFINITY})
    expectRoundingLikeLLVM(value);
  EXPECT_TRUE(std::isnan(floatOfBF16(bf16OfFloat(NAN))));
  EXPECT_TRUE(std::isnan(floatOfF16(f16OfFloat(NAN))));
}

TEST(EmulatorNumbers, TF32HasTenBits) {
  EXPECT_EQ(truncateToTF32(1 + 0x1p-10f + 0x1p-11f), 1 + 0x1p-10f);
  EXPECT_EQ(roundToTF32(1 + 0x1p-11f), 1 + 0x1p-10f);
  EXPECT_EQ(roundToTF32(-1 - 0x1p-11f), -1 - 0x1p-10f);
  EXPECT_EQ(roundToTF32(1 + 0x1p-12f), 1.0f);
  EXPECT_EQ(roundToTF32(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(roundToTF32(NAN)));
}

TEST(EmulatorLayouts, MatricesToLanes) {
  uint16_t matrix[8][8];
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < 8; ++column)
      matrix[row][column] = 8 * row + column;
  uint32_t registers[32];
  distribute(matrix, /*transposed=*/false, registers);
  EXPECT_EQ(registers[0], 0u | 1u << 16);
  EXPECT_EQ(registers[1], 2u | 3u << 16);
  EXPECT_EQ(registers[4], 8u | 9u << 16);
  EXPECT_EQ(registers[31], 62u | 63u << 16);
  distribute(matrix, /*transposed=*/true, registers);
  EXPECT_EQ(registers[0], 0u | 8u << 16);
  EXPECT_EQ(registers[4], 1u | 9u << 16);
  EXPECT_EQ(registers[31], 55u | 63u << 16);
}

TEST(EmulatorLayouts, ProductOfF16) {
  // A has one 3 at (row, k), B one 5 at (k, column): one element of the product is 15.
  for (int row : {0, 7, 9, 15})
    for (int k : {0, 5, 8, 15})
      for (int column : {0, 3, 7}) {
        uint32_t registers[32][6] = {};
        float sums[32][4];
        auto half = [](int position) { return position % 2 * 16; };
        registers[row % 8 * 4 + k % 8 / 2][row / 8 + k / 8 * 2] |= f16OfFloat(3) << half(k);
        registers[column * 4 + k % 8 / 2][4 + k / 8] |= f16OfFloat(5) << half(k);
        const uint32_t *operands[32];
        float *pointers[32];
        for (int lane = 0; lane < 32; ++lane) {
          operands[lane] = registers[lane];
          pointers[lane] = sums[lane];
          std::fill(sums[lane], sums[lane] + 4, 1.0f);
        }
        multiply(OperandKind::F16, operands, pointers);
        for (int lane = 0; lane < 32; ++lane)
          for (int i = 0; i < 4; ++i) {
            bool isIt = lane == row % 8 * 4 + column / 2 && i == row / 8 * 2 + column % 2;
            EXPECT_EQ(sums[lane][i], isIt ? 16 : 1) << row << " " << k << " " << column;
          }
      }
}

// One and a half times the half unit in the last place: to nearest, the sum would go up.
TEST(EmulatorLayouts, SumsOfTensorCoresAreCutOff) {
  for (float sign : {1.0f, -1.0f}) {
    uint32_t registers[32][6] = {};
    float sums[32][4];
    registers[0][0] = f16OfFloat(sign * 1.5f * 0x1p-12f);
    registers[0][4] = f16OfFloat(0x1p-12f);
    const uint32_t *operands[32];
    float *pointers[32];
    for (int lane = 0; lane < 32; ++lane) {
      operands[lane] = registers[lane];
      pointers[lane] = sums[lane];
      std::fill(sums[lane], sums[lane] + 4, sign);
    }
    multiply(OperandKind::F16, operands, pointers);
    EXPECT_EQ(sums[0][0], sign);
  }
  EXPECT_EQ(truncateToFloat(1 + 0x1.8p-23), 1 + 0x1p-23f);
  EXPECT_EQ(truncateToFloat(-1 - 0x1.fp-24), -1.0f);
  EXPECT_EQ(truncateToFloat(0x1.8p-126), 0x1.8p-126f);
  EXPECT_EQ(truncateToFloat(-0x1.cp-149), -0x1p-149f);
  EXPECT_EQ(truncateToFloat(1e300), INFINITY);
  EXPECT_TRUE(std::isnan(truncateToFloat(NAN)));
}

/// Lane l accesses `bytes` at l * stride.
int wavefronts(uint64_t stride, uint32_t bytes, uint32_t lanes = ~0u) {
  uint64_t addresses[32];
  for (int lane = 0; lane < 32; ++lane)
    addresses[lane] = lane * stride;
  return countWavefronts(addresses, lanes, bytes);
}

TEST(EmulatorLayouts, BankConflicts) {
  EXPECT_EQ(wavefronts(4, 4), 1);
  EXPECT_EQ(wavefronts(0, 4), 1); // all lanes read one word
  EXPECT_EQ(wavefronts(8, 4), 2);
  EXPECT_EQ(wavefronts(128, 4), 32);
  EXPECT_EQ(wavefronts(132, 4), 1); // rows with a pad
  EXPECT_EQ(wavefronts(2, 2), 1);
  EXPECT_EQ(wavefronts(8, 8), 2);
  EXPECT_EQ(wavefronts(16, 16), 4);
  EXPECT_EQ(wavefronts(128, 16), 32);
  EXPECT_EQ(wavefronts(144, 16), 4);
  EXPECT_EQ(wavefronts(128, 16, 0xff), 8);
  EXPECT_EQ(wavefronts(128, 4, 1), 1);
}

} // namespace
