//===- TensorCore.cpp - products and matrices of a warp -------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorCore.h"
#include "Formats.h"

using namespace polyattn::emulator;

namespace {
/// The factors of a product; of tf32 only 8 of the 16 columns of A and rows of B are used.
struct Factors {
  float a[16][16], b[16][8];
  int depth;
};
} // namespace

template <float (*floatOf)(uint16_t)>
static void unpack16(const uint32_t *const operands[32], Factors &factors) {
  auto element = [&](uint32_t pair, int which) { return floatOf(uint16_t(pair >> (16 * which))); };
  factors.depth = 16;
  for (int lane = 0; lane < 32; ++lane) {
    int g = lane / 4, q = lane % 4;
    for (int which = 0; which < 2; ++which) {
      for (int i = 0; i < 4; ++i)
        factors.a[g + 8 * (i % 2)][2 * q + which + 8 * (i / 2)] = element(operands[lane][i], which);
      for (int i = 0; i < 2; ++i)
        factors.b[2 * q + which + 8 * i][g] = element(operands[lane][4 + i], which);
    }
  }
}

static void unpackTF32(const uint32_t *const operands[32], Factors &factors) {
  factors.depth = 8;
  for (int lane = 0; lane < 32; ++lane) {
    int g = lane / 4, q = lane % 4;
    for (int i = 0; i < 4; ++i)
      factors.a[g + 8 * (i % 2)][q + 4 * (i / 2)] = truncateToTF32(floatOfBits(operands[lane][i]));
    for (int i = 0; i < 2; ++i)
      factors.b[q + 4 * i][g] = truncateToTF32(floatOfBits(operands[lane][4 + i]));
  }
}

void polyattn::emulator::multiply(OperandKind kind, const uint32_t *const operands[32],
                                  float *const accumulators[32]) {
  Factors factors;
  switch (kind) {
  case OperandKind::BF16:
    unpack16<floatOfBF16>(operands, factors);
    break;
  case OperandKind::F16:
    unpack16<floatOfF16>(operands, factors);
    break;
  case OperandKind::TF32:
    unpackTF32(operands, factors);
    break;
  }
  double result[16][8];
  auto visitAccumulators = [&](auto visit) {
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < 4; ++i)
        visit(accumulators[lane][i], result[lane / 4 + 8 * (i / 2)][2 * (lane % 4) + i % 2]);
  };
  visitAccumulators([](float sum, double &element) { element = sum; });
  for (int row = 0; row < 16; ++row)
    for (int k = 0; k < factors.depth; ++k)
      for (int column = 0; column < 8; ++column)
        result[row][column] += double(factors.a[row][k]) * factors.b[k][column];
  visitAccumulators([](float &sum, double element) { sum = truncateToFloat(element); });
}

void polyattn::emulator::distribute(const uint16_t matrix[8][8], bool transposed,
                                    uint32_t registers[32]) {
  for (int lane = 0; lane < 32; ++lane) {
    int line = lane / 4, first = 2 * (lane % 4);
    uint16_t low = transposed ? matrix[first][line] : matrix[line][first];
    uint16_t high = transposed ? matrix[first + 1][line] : matrix[line][first + 1];
    registers[lane] = low | uint32_t(high) << 16;
  }
}
