//===- NumbersTest.cpp - what emulated kernels compute --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedRun.h"

using namespace polyattn;

namespace {

/// Small whole numbers: sums of their products are exact.
template <typename Element, typename Convert>
void fill(TestTensor<Element> &tensor, Convert convert) {
  std::mt19937 random(1);
  for (Element &element : tensor.data)
    element = convert(static_cast<float>(static_cast<int>(random() % 17) - 8));
}

float unit(float value) { return value; }

float ofBF16(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

TEST_F(EmulatedRun, ProductOfBF16ThroughSharedMemory) {
  read("product");
  constexpr int kPrograms = 5, kRows = 32, kDepth = 32, kColumns = 16;
  TestTensor<uint16_t> a({kPrograms, kRows, kDepth}), b({kPrograms, kDepth, kColumns});
  TestTensor<float> c({kPrograms, kRows, kColumns}, /*isResult=*/true);
  fill(a, bf16);
  fill(b, bf16);
  auto report = run("product", {a, b, c});
  ASSERT_TRUE(bool(report)) << toString(report.takeError());
  for (int p = 0; p < kPrograms; ++p)
    for (int i = 0; i < kRows; ++i)
      for (int j = 0; j < kColumns; ++j) {
        float sum = 0;
        for (int k = 0; k < kDepth; ++k)
          sum += ofBF16(a.data[(p * kRows + i) * kDepth + k]) *
                 ofBF16(b.data[(p * kDepth + k) * kColumns + j]);
        ASSERT_EQ(c.data[(p * kRows + i) * kColumns + j], sum) << p << " " << i << " " << j;
      }

  const emulator::Counters &counters = report->counters;
  EXPECT_EQ(report->programs, kPrograms);
  EXPECT_EQ(counters.mma[0], uint64_t(kPrograms * 2 * 2 * 2));
  EXPECT_EQ(counters.barriers, uint64_t(kPrograms));
  EXPECT_EQ(counters.globalBytesRead, uint64_t(kPrograms * (kRows + kColumns) * kDepth * 2));
  EXPECT_EQ(counters.globalSectorsRead, counters.globalBytesRead / 32);
  EXPECT_EQ(counters.globalBytesWritten, uint64_t(kPrograms * kRows * kColumns * 4));
  EXPECT_EQ(counters.globalSectorsWritten, counters.globalBytesWritten / 32);
  // Rows are 80 and 48 bytes apart: nothing conflicts. 16-byte copies, 8 lanes at a time; then 4
  // matrices of A and 2 of B for each product.
  EXPECT_EQ(counters.idealSharedWavefronts, uint64_t(kPrograms * (192 / 8 + 8 * 6)));
  // The mma of two warps are in two sub-cores.
  EXPECT_EQ(counters.tensorClocks, kPrograms * 4 * 8.0);
}

TEST_F(EmulatedRun, TensorCoresIgnoreTheLowBitsOfTF32) {
  read("tf32");
  TestTensor<float> a({16, 8}), b({8, 8}), c({16, 8}, /*isResult=*/true);
  TestTensor<float> truncate({0}), round({1});
  // 1 + 2^-10 survives; 2^-11 more is cut off, or rounds up.
  std::fill(a.data.begin(), a.data.end(), 1 + 0x1p-10f + 0x1p-11f);
  fill(b, unit);
  for (int i = 0; i < 128; ++i)
    a.data[i] *= static_cast<float>(1 << (i / 8 % 4));
  for (bool rounds : {false, true}) {
    auto report = run("tf32", {a, b, c, rounds ? round : truncate});
    ASSERT_TRUE(bool(report)) << toString(report.takeError());
    EXPECT_EQ(report->counters.mma[2], 1u);
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 8; ++j) {
        float sum = 0;
        for (int k = 0; k < 8; ++k)
          sum += (rounds ? 1 + 0x1p-9f : 1 + 0x1p-10f) * static_cast<float>(1 << (i % 4)) *
                 b.data[k * 8 + j];
        ASSERT_EQ(c.data[i * 8 + j], sum) << i << " " << j;
      }
  }
}

TEST_F(EmulatedRun, CopiesThroughTwoBuffers) {
  read("stream");
  constexpr int kTiles = 7;
  TestTensor<float> x({kTiles, 64}), y({64}, /*isResult=*/true);
  fill(x, unit);
  auto report = run("stream", {x, y});
  ASSERT_TRUE(bool(report)) << toString(report.takeError());
  for (int i = 0; i < 64; ++i) {
    float sum = 0;
    for (int t = 0; t < kTiles; ++t)
      sum += x.data[t * 64 + (i + 1) % 64];
    EXPECT_EQ(y.data[i], sum) << i;
  }
  EXPECT_EQ(report->counters.barriers, 2u * kTiles);
}

TEST_F(EmulatedRun, ShufflesReduceAndScan) {
  read("reduce");
  TestTensor<float> x({2, 32}), y({2, 35}, /*isResult=*/true);
  fill(x, unit);
  auto report = run("reduce", {x, y});
  ASSERT_TRUE(bool(report)) << toString(report.takeError());
  for (int w = 0; w < 2; ++w) {
    const float *in = &x.data[w * 32], *out = &y.data[w * 35];
    EXPECT_EQ(out[1], in[5]);
    float sum = 0;
    for (int i = 0; i < 32; ++i) {
      sum += in[i];
      EXPECT_EQ(out[2 + i], sum);
    }
    EXPECT_EQ(out[0], sum);
    uint32_t packed;
    memcpy(&packed, &out[34], 4);
    EXPECT_EQ(packed, bf16(std::exp2(in[0])) * 0x10001u);
  }
}

} // namespace
