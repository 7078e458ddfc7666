//===- WeightsTest.cpp - weights of any strides ---------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/runtime.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {
/// What compiled code saw of the weight: its bytes in row-major order.
struct Seen {
  int calls = 0;
  const void *data = nullptr;
  std::vector<char> bytes;
};
Seen seen;
int64_t elementBytes;
int64_t weightRank;

void look(void *const *tensors, int64_t, int64_t, void *) {
  const auto *weight = static_cast<const polyattn_rt_memref *>(tensors[0]);
  const int64_t *sizes = weight->dimensions, *strides = weight->dimensions + weightRank;
  ++seen.calls;
  seen.data = weight->aligned;
  int64_t count = 1;
  for (int64_t i = 0; i < weightRank; ++i)
    count *= sizes[i];
  for (int64_t element = 0; element < count; ++element) {
    int64_t offset = 0;
    for (int64_t i = weightRank, rest = element; i-- > 0; rest /= sizes[i])
      offset += rest % sizes[i] * strides[i];
    const char *at = static_cast<const char *>(weight->aligned) + offset * elementBytes;
    seen.bytes.insert(seen.bytes.end(), at, at + elementBytes);
  }
  if (count > 0 && weightRank > 0 && sizes[weightRank - 1] > 1)
    EXPECT_EQ(strides[weightRank - 1], 1);
}

/// Calls a kernel of one weight and one result.
std::string run(const polyattn_tensor &weight, std::vector<int64_t> sizes) {
  polyattn_rt_tensor_rule rules[] = {{"w", 0, weight.dtype, int64_t(sizes.size()), {}},
                                     {"o", 1, POLYATTN_F32, 1, {1}}};
  std::copy(sizes.begin(), sizes.end(), rules[0].sizes);
  polyattn_rt_stage_rule stage = {};
  stage.function = look;
  polyattn_rt_kernel kernel = {};
  kernel.name = "entry";
  kernel.tensors = rules;
  kernel.num_tensors = 2;
  kernel.plan.stages = &stage;
  kernel.plan.num_stages = 1;
  std::fill(std::begin(kernel.fixed), std::end(kernel.fixed), -1);
  float result = 0;
  const int64_t one = 1;
  polyattn_tensor output = polyattn_dense(&result, POLYATTN_F32, 1, &one);
  const polyattn_tensor *tensors[] = {&weight, &output};
  seen = Seen();
  weightRank = sizes.size();
  elementBytes = polyattn_dtype_bytes(weight.dtype);
  char message[200] = "";
  int status = polyattn_rt_run(&kernel, tensors, 2, 1, message, sizeof message);
  EXPECT_EQ(status != 0, message[0] != 0);
  EXPECT_EQ(seen.calls, status == 0);
  return message;
}
} // namespace

TEST(Weights, OfAnyStridesReachCompiledCodeAsRows) {
  std::mt19937 random(std::random_device{}());
  auto below = [&](int64_t end) { return int64_t(random() % end); };
  std::vector<char> memory(1 << 16);
  for (char &byte : memory)
    byte = char(random());
  for (int round = 0; round < 500; ++round) {
    int32_t rank = 1 + below(4), dtype = 1 + below(3);
    std::vector<int64_t> sizes;
    for (int32_t i = 0; i < rank; ++i)
      sizes.push_back(1 + below(6));
    polyattn_tensor weight = polyattn_dense(memory.data() + (1 << 15), dtype, rank, sizes.data());
    for (int32_t i = 0; i < rank; ++i)
      weight.strides[i] = below(300) - 150;
    std::vector<char> expected;
    int64_t count = 1, bytes = polyattn_dtype_bytes(dtype);
    for (int64_t size : sizes)
      count *= size;
    for (int64_t element = 0; element < count; ++element) {
      const char *at = static_cast<const char *>(weight.data);
      for (int64_t i = rank, rest = element; i-- > 0; rest /= sizes[i])
        at += rest % sizes[i] * weight.strides[i] * bytes;
      expected.insert(expected.end(), at, at + bytes);
    }
    ASSERT_EQ(run(weight, sizes), "");
    ASSERT_EQ(seen.bytes, expected) << "round " << round;
  }
}

TEST(Weights, WithRowsAreNotCopied) {
  std::vector<float> data(256);
  const int64_t sizes[] = {4, 8};
  polyattn_tensor weight = polyattn_dense(data.data(), POLYATTN_F32, 2, sizes);
  weight.strides[0] = 20;
  EXPECT_EQ(run(weight, {4, 8}), "");
  EXPECT_EQ(seen.data, data.data());
  // One element per row: it has no second one.
  weight.sizes[1] = 1;
  weight.strides[1] = 7;
  EXPECT_EQ(run(weight, {4, 1}), "");
  EXPECT_EQ(seen.data, data.data());
}

TEST(Weights, OfNoHeadsAreNotRead) {
  const int64_t sizes[] = {0, 4, 8};
  polyattn_tensor weight = polyattn_dense(nullptr, POLYATTN_F32, 3, sizes);
  weight.strides[1] = 1;
  weight.strides[2] = 4;
  EXPECT_EQ(run(weight, {POLYATTN_SIZE_H, 4, 8}), "");
  EXPECT_TRUE(seen.bytes.empty());
}

// A copy that no machine has memory for: every head is the same one.
TEST(Weights, WithoutMemoryForACopyNothingRuns) {
  std::vector<float> data(64);
  const int64_t sizes[] = {int64_t(1) << 60, 4, 8};
  polyattn_tensor weight = polyattn_dense(data.data(), POLYATTN_F32, 1, sizes);
  weight.rank = 3;
  std::copy(std::begin(sizes), std::end(sizes), weight.sizes);
  weight.strides[0] = 0;
  weight.strides[1] = 1;
  weight.strides[2] = 4;
  EXPECT_EQ(run(weight, {POLYATTN_SIZE_H, 4, 8}),
            "entry: argument 'w': no memory for a copy with an innermost stride of 1");
}
