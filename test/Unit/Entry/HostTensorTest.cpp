//===- HostTensorTest.cpp - rounding and layout of host tensors -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Entry/HostTensor.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

using namespace polyattn;

namespace {

uint16_t bitsOf(ElementType type, double value) {
  uint16_t bits;
  storeElement(type, &bits, value);
  return bits;
}

TEST(HostTensorTest, RoundsTiesToEven) {
  EXPECT_EQ(bitsOf(ElementType::BF16, 1.0), 0x3f80);
  EXPECT_EQ(bitsOf(ElementType::BF16, 1.0 + 1.0 / 256), 0x3f80);
  EXPECT_EQ(bitsOf(ElementType::BF16, 1.0 + 3.0 / 256), 0x3f82);
  // Rounding through f32 first would make this a tie.
  EXPECT_EQ(bitsOf(ElementType::BF16, 1.0 + 1.0 / 256 + 0x1p-40), 0x3f81);
  EXPECT_EQ(bitsOf(ElementType::F16, 1.0), 0x3c00);
  EXPECT_EQ(bitsOf(ElementType::F16, 65504.0), 0x7bff);
  EXPECT_EQ(bitsOf(ElementType::F16, 65520.0), 0x7c00);
  EXPECT_EQ(bitsOf(ElementType::F16, -0x1p-24), 0x8001);
  EXPECT_EQ(bitsOf(ElementType::F16, 0x1p-14), 0x0400);
}

TEST(HostTensorTest, EveryHalfSurvives) {
  for (ElementType type : {ElementType::F16, ElementType::BF16})
    for (int bits = 0; bits < 65536; ++bits) {
      uint16_t stored = bits;
      double value = loadElement(type, &stored);
      if (std::isnan(value))
        EXPECT_TRUE(std::isnan(roundTo(type, value)));
      else
        EXPECT_EQ(bitsOf(type, value), bits);
    }
}

TEST(HostTensorTest, PaddedRowsAreVisitedInOrder) {
  auto tensor = allocateTensor(ElementType::F32, {2, 3, 4}, Layout::Padded);
  ASSERT_TRUE(bool(tensor));
  EXPECT_EQ(tensor->strides[2], 1);
  EXPECT_GT(tensor->strides[1], 4);
  EXPECT_GT(tensor->strides[0], 3 * tensor->strides[1]);
  int64_t next = 0;
  tensor->forEach([&](int64_t linear, void *address) {
    EXPECT_EQ(linear, next++);
    storeElement(ElementType::F32, address, double(linear));
  });
  EXPECT_EQ(next, 24);
  EXPECT_TRUE(tensor->paddingIsPoison());
  float *at = static_cast<float *>(tensor->data);
  EXPECT_EQ(at[tensor->strides[0] + 2 * tensor->strides[1] + 1], 21);
  at[4] = 1; // behind the first row
  EXPECT_FALSE(tensor->paddingIsPoison());
}

TEST(HostTensorTest, SizesThatOverflowAreRefused) {
  int64_t large = int64_t(1) << 62;
  auto tensor = allocateTensor(ElementType::F32, {large, large, large});
  ASSERT_FALSE(bool(tensor));
  EXPECT_NE(llvm::toString(tensor.takeError()).find("too large"), std::string::npos);
}

TEST(HostTensorTest, EmptyTensor) {
  auto tensor = allocateTensor(ElementType::F16, {2, 0, 4}, Layout::Padded);
  ASSERT_TRUE(bool(tensor));
  EXPECT_EQ(tensor->count(), 0);
  tensor->forEach([](int64_t, void *) { FAIL(); });
}

TEST(HostTensorTest, WholeNumbers) {
  EXPECT_EQ(bytesOf(ElementType::I32), 4);
  EXPECT_EQ(bytesOf(ElementType::I64), 8);
  auto tensor = allocateTensor(ElementType::I64, {3}, Layout::Padded);
  ASSERT_TRUE(bool(tensor));
  auto *numbers = static_cast<int64_t *>(tensor->data);
  const double given[] = {-3.0, 0x1p53, 1e300};
  tensor->forEach([&](int64_t i, void *at) { storeElement(ElementType::I64, at, given[i]); });
  EXPECT_EQ(numbers[0], -3);
  EXPECT_EQ(numbers[1], int64_t(1) << 53);
  EXPECT_EQ(numbers[2], INT64_MAX);
  EXPECT_EQ(loadInteger(ElementType::I64, &numbers[2]), INT64_MAX);
  EXPECT_EQ(loadElement(ElementType::I64, &numbers[1]), 0x1p53);
  int32_t narrow[2] = {0, 77};
  storeElement(ElementType::I32, narrow, -1e300);
  EXPECT_EQ(narrow[0], INT32_MIN);
  EXPECT_EQ(narrow[1], 77);
  EXPECT_EQ(loadInteger(ElementType::I32, narrow), INT32_MIN);
  storeElement(ElementType::I32, narrow, std::nan(""));
  EXPECT_EQ(narrow[0], 0);
}

} // namespace
