//===- CheckTest.cpp - what callers may pass ------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/runtime.h"
#include "gtest/gtest.h"
#include <string>
#include <vector>

namespace {
const polyattn_rt_tensor_rule kRules[] = {
    {"q", 0, POLYATTN_F32, 4, {POLYATTN_RT_B, POLYATTN_RT_T, POLYATTN_RT_H, 8}},
    {"k", 0, POLYATTN_F32, 4, {POLYATTN_RT_B, POLYATTN_RT_TK, POLYATTN_RT_HKV, 8}},
    {"w", 0, POLYATTN_BF16, 2, {8, 16}},
    {"o", 1, POLYATTN_F32, 4, {POLYATTN_RT_B, POLYATTN_RT_T, POLYATTN_RT_H, 8}},
    {"s", 1, POLYATTN_F32, 3, {POLYATTN_RT_B, POLYATTN_RT_HKV, 16}},
};
const polyattn_rt_kernel kKernel = {
    "entry", kRules, 5, nullptr, 0, nullptr, {-1, -1, -1, -1, -1}, {1, 0, 0, 0}, {}};

/// A correct call; tests spoil it.
class Check : public testing::Test {
protected:
  Check() {
    auto add = [&](int32_t dtype, std::vector<int64_t> sizes) {
      memory.emplace_back(4096);
      tensors.push_back(polyattn_dense(memory.back().data(), dtype, sizes.size(), sizes.data()));
    };
    memory.reserve(5);
    add(POLYATTN_F32, {2, 3, 4, 8});
    add(POLYATTN_F32, {2, 5, 2, 8});
    add(POLYATTN_BF16, {8, 16});
    add(POLYATTN_F32, {2, 3, 4, 8});
    add(POLYATTN_F32, {2, 2, 16});
  }
  std::string check() {
    std::vector<const polyattn_tensor *> pointers;
    for (const polyattn_tensor &tensor : tensors)
      pointers.push_back(&tensor);
    char message[300] = "";
    int status = polyattn_rt_check(&kKernel, pointers.data(), pointers.size(), &sizes, message,
                                   sizeof message);
    EXPECT_EQ(status != 0, message[0] != 0);
    EXPECT_EQ(std::string(message).find('\n'), std::string::npos);
    return message;
  }
  std::vector<std::vector<float>> memory;
  std::vector<polyattn_tensor> tensors;
  polyattn_rt_sizes sizes;
};
} // namespace

TEST_F(Check, BindsSizes) {
  EXPECT_EQ(check(), "");
  EXPECT_EQ(sizes.values[-POLYATTN_RT_B - 1], 2);
  EXPECT_EQ(sizes.values[-POLYATTN_RT_T - 1], 3);
  EXPECT_EQ(sizes.values[-POLYATTN_RT_TK - 1], 5);
  EXPECT_EQ(sizes.values[-POLYATTN_RT_H - 1], 4);
  EXPECT_EQ(sizes.values[-POLYATTN_RT_HKV - 1], 2);
}

TEST_F(Check, Count) {
  tensors.pop_back();
  EXPECT_EQ(check(), "entry: expected 5 tensors, got 4");
}

TEST_F(Check, ElementType) {
  tensors[2].dtype = POLYATTN_F16;
  EXPECT_EQ(check(), "entry: argument 'w': expected element type bf16, got f16 (2)");
  tensors[2].dtype = 99;
  EXPECT_EQ(check(), "entry: argument 'w': expected element type bf16, got an unknown element "
                     "type (99)");
}

TEST_F(Check, Rank) {
  tensors[0].rank = 3;
  EXPECT_EQ(check(), "entry: argument 'q': expected 4 dimensions [B, T, H, 8], got 3");
  tensors[0].rank = 1000;
  EXPECT_EQ(check(), "entry: argument 'q': expected 4 dimensions [B, T, H, 8], got 1000");
}

TEST_F(Check, FixedSize) {
  tensors[2].sizes[1] = 17;
  EXPECT_EQ(check(), "entry: argument 'w': expected shape [8, 16], got [8, 17]");
}

TEST_F(Check, NamedSize) {
  tensors[4].sizes[0] = 3;
  EXPECT_EQ(check(),
            "entry: result 's': expected shape [B, Hkv, 16] with B = 2 as in 'q', got [3, 2, 16]");
}

TEST_F(Check, NegativeSize) {
  tensors[1].sizes[1] = -5;
  EXPECT_EQ(check(),
            "entry: argument 'k': expected shape [B, Tk, Hkv, 8], got size -5 in dimension 1");
}

TEST_F(Check, HeadsDivide) {
  tensors[1].sizes[2] = tensors[4].sizes[1] = 3;
  tensors[4].strides[0] = 3 * 16;
  EXPECT_EQ(check(), "entry: argument 'k': expected a number of heads that divides H = 4, got "
                     "Hkv = 3");
  tensors[1].sizes[2] = tensors[4].sizes[1] = 0;
  EXPECT_NE(check(), "");
}

TEST_F(Check, NullData) {
  tensors[1].data = nullptr;
  EXPECT_EQ(check(), "entry: argument 'k': the data pointer is null");
  // No element, no memory.
  tensors[0].sizes[0] = tensors[1].sizes[0] = tensors[3].sizes[0] = tensors[4].sizes[0] = 0;
  EXPECT_EQ(check(), "");
}

TEST_F(Check, Alignment) {
  tensors[0].data = static_cast<char *>(tensors[0].data) + 2;
  EXPECT_EQ(check().find("entry: argument 'q': expected data aligned to 4 bytes, got address 0x"),
            0u);
  tensors[0].data = static_cast<char *>(tensors[0].data) - 2;
  tensors[2].data = static_cast<char *>(tensors[2].data) + 2;
  EXPECT_EQ(check(), "");
}

TEST_F(Check, InnermostStride) {
  tensors[0].strides[3] = 2;
  EXPECT_EQ(check(), "entry: argument 'q': expected an innermost stride of 1, got 2");
}

TEST_F(Check, InputsMayRepeatAndRunBackwards) {
  tensors[0].strides[0] = 0;
  tensors[1].strides[1] = -16;
  EXPECT_EQ(check(), "");
}

TEST_F(Check, ResultsMustNotOverlapThemselves) {
  tensors[3].strides[0] = 0;
  EXPECT_EQ(
      check(),
      "entry: result 'o': expected elements that do not overlap, got stride 0 in dimension 0");
  tensors[3].strides[0] = 8; // As dimension 2.
  EXPECT_EQ(check(), "entry: result 'o': expected elements that do not overlap, got strides that "
                     "fold them");
}

TEST_F(Check, ResultsMayBePermutedAndPadded) {
  // [B, H, T, d] in memory, with a gap behind every row.
  tensors[3].strides[2] = 3 * 10;
  tensors[3].strides[1] = 10;
  tensors[3].strides[0] = 4 * 3 * 10;
  EXPECT_EQ(check(), "");
  tensors[3].strides[1] = -10;
  EXPECT_EQ(check(), "");
}

TEST_F(Check, ResultsHaveMemoryOfTheirOwn) {
  tensors[4].data = tensors[3].data;
  EXPECT_EQ(check(), "entry: result 's': expected memory of its own, got that of result 'o'");
}

TEST_F(Check, ResultsShareNoMemoryWithArguments) {
  tensors[3].data = tensors[0].data;
  EXPECT_EQ(check(), "entry: result 'o': expected memory of its own, got that of argument 'q'");
  // A part of it, from either end.
  tensors[3].data = static_cast<float *>(tensors[0].data) + 8;
  EXPECT_EQ(check(), "entry: result 'o': expected memory of its own, got that of argument 'q'");
  tensors[3].data = static_cast<float *>(tensors[0].data) - 8;
  EXPECT_EQ(check(), "entry: result 'o': expected memory of its own, got that of argument 'q'");
  // The next bytes are free.
  tensors[3].data = static_cast<float *>(tensors[0].data) + 2 * 3 * 4 * 8;
  EXPECT_EQ(check(), "");
}

TEST_F(Check, ViewsOfOnePackedBuffer) {
  // [B, T, H, q and o]: rows in turn, nothing shared.
  for (int tensor : {0, 3}) {
    tensors[tensor].strides[2] = 16;
    tensors[tensor].strides[1] = 4 * 16;
    tensors[tensor].strides[0] = 3 * 4 * 16;
  }
  tensors[3].data = static_cast<float *>(tensors[0].data) + 8;
  EXPECT_EQ(check(), "");
  tensors[3].data = tensors[0].data;
  EXPECT_EQ(check(), "entry: result 'o': expected memory of its own, got that of argument 'q'");
}

TEST_F(Check, BackwardsViewsOverlapToo) {
  // From its last element down into the argument.
  tensors[3].strides[0] = -3 * 4 * 8;
  tensors[3].data = static_cast<float *>(tensors[0].data) + 2 * 3 * 4 * 8;
  EXPECT_EQ(check(), "entry: result 'o': expected memory of its own, got that of argument 'q'");
}

TEST_F(Check, Overflow) {
  tensors[1].strides[0] = INT64_MAX / 2;
  EXPECT_EQ(check(), "entry: argument 'k': sizes and strides exceed the address space");
  tensors[1].strides[0] = INT64_MIN;
  EXPECT_EQ(check(), "entry: argument 'k': sizes and strides exceed the address space");
}

TEST_F(Check, ShortBufferIsTerminated) {
  tensors.pop_back();
  std::vector<const polyattn_tensor *> pointers(4, nullptr);
  char message[8] = "XXXXXXX";
  EXPECT_EQ(polyattn_rt_check(&kKernel, pointers.data(), 4, &sizes, message, sizeof message), 1);
  EXPECT_STREQ(message, "entry: ");
  EXPECT_EQ(polyattn_rt_check(&kKernel, pointers.data(), 4, &sizes, nullptr, 0), 1);
  EXPECT_EQ(polyattn_rt_check(&kKernel, pointers.data(), 5, &sizes, message, sizeof message), 1);
}
