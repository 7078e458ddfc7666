//===- CheckTest.cpp - what callers may pass ------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/runtime.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {
const polyattn_rt_tensor_rule kRules[] = {
    {"q", 0, POLYATTN_F32, 4, {POLYATTN_SIZE_B, POLYATTN_SIZE_T, POLYATTN_SIZE_H, 8}},
    {"k", 0, POLYATTN_F32, 4, {POLYATTN_SIZE_B, POLYATTN_SIZE_TK, POLYATTN_SIZE_HKV, 8}},
    {"w", 0, POLYATTN_BF16, 2, {8, 16}},
    {"o", 1, POLYATTN_F32, 4, {POLYATTN_SIZE_B, POLYATTN_SIZE_T, POLYATTN_SIZE_H, 8}},
    {"s", 1, POLYATTN_F32, 3, {POLYATTN_SIZE_B, POLYATTN_SIZE_HKV, 16}},
};
const polyattn_rt_kernel kKernel = {
    "entry", kRules, 5, {}, nullptr, {-1, -1, -1, -1, -1, -1, -1, -1, -1}, {}, {}};

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
  EXPECT_EQ(sizes.values[-POLYATTN_SIZE_B - 1], 2);
  EXPECT_EQ(sizes.values[-POLYATTN_SIZE_T - 1], 3);
  EXPECT_EQ(sizes.values[-POLYATTN_SIZE_TK - 1], 5);
  EXPECT_EQ(sizes.values[-POLYATTN_SIZE_H - 1], 4);
  EXPECT_EQ(sizes.values[-POLYATTN_SIZE_HKV - 1], 2);
}

TEST_F(Check, Count) {
  tensors.pop_back();
  EXPECT_EQ(check(), "entry: expected 5 tensors, got 4");
}

TEST_F(Check, ElementType) {
  tensors[2].dtype = POLYATTN_F16;
  EXPECT_EQ(check(), "entry: argument 'w': expected element type bf16, got f16");
  tensors[2].dtype = 99;
  EXPECT_EQ(check(), "entry: argument 'w': expected element type bf16, got one of no known "
                     "name, 99");
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

TEST_F(Check, WeightsMayHaveAnyStrides) {
  auto checkRows = [&] {
    std::vector<const polyattn_tensor *> pointers;
    for (const polyattn_tensor &tensor : tensors)
      pointers.push_back(&tensor);
    char message[300] = "";
    int status = polyattn_rt_check_rows(&kKernel, pointers.data(), message, sizeof message);
    EXPECT_EQ(status != 0, message[0] != 0);
    return std::string(message);
  };
  EXPECT_EQ(checkRows(), "");
  for (auto [outer, inner] : {std::pair(1, 8), {-1, -8}, {16, -1}, {0, 0}, {32, 2}}) {
    tensors[2].strides[0] = outer;
    tensors[2].strides[1] = inner;
    EXPECT_EQ(check(), "");
    // Calls that copy no weights refuse them.
    EXPECT_EQ(checkRows(), "entry: argument 'w': expected an innermost stride of 1, got " +
                               std::to_string(inner));
  }
  tensors[2].strides[1] = INT64_MAX / 2;
  EXPECT_EQ(check(), "entry: argument 'w': sizes and strides exceed the address space");
}

TEST(CheckWeights, AreWhatHasNoPositionsAndNoBatch) {
  auto isWeight = [](int32_t isResult, std::vector<int64_t> sizes) {
    polyattn_rt_tensor_rule rule = {"w", isResult, POLYATTN_F32, int64_t(sizes.size()), {}};
    std::copy(sizes.begin(), sizes.end(), rule.sizes);
    return polyattn_rt_is_weight(&rule) != 0;
  };
  EXPECT_TRUE(isWeight(0, {8, 16}));
  EXPECT_TRUE(isWeight(0, {POLYATTN_SIZE_H, 8, 16}));
  EXPECT_TRUE(isWeight(0, {POLYATTN_SIZE_HKV}));
  EXPECT_FALSE(isWeight(1, {8, 16}));
  EXPECT_FALSE(isWeight(0, {POLYATTN_SIZE_T, 1, 8}));
  EXPECT_FALSE(isWeight(0, {POLYATTN_SIZE_TK, 1, 8}));
  EXPECT_FALSE(isWeight(0, {POLYATTN_SIZE_L, 1, 8}));
  EXPECT_FALSE(isWeight(0, {POLYATTN_SIZE_B, POLYATTN_SIZE_H, 8, 8}));
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

TEST_F(Check, ResultsThatInterleaveWithSharedElements) {
  // Rows of 8 at every 24th number: every third row of the argument is a row of the result.
  tensors[3].sizes[1] = tensors[0].sizes[1];
  tensors[3].strides[2] = 24;
  tensors[3].strides[1] = 4 * 24;
  tensors[3].strides[0] = 3 * 4 * 24;
  tensors[3].data = static_cast<float *>(tensors[0].data) + 16;
  EXPECT_EQ(check(), "entry: result 'o': expected memory of its own, got that of argument 'q'");
  // With a gap in the argument's rows, too, there is room between them, or not.
  tensors[0].strides[2] = 12;
  tensors[0].strides[1] = 4 * 12;
  tensors[0].strides[0] = 3 * 4 * 12;
  EXPECT_EQ(check(), "entry: result 'o': expected memory of its own, got that of argument 'q'");
}

/// The addresses of a tensor's bytes.
static std::vector<uintptr_t> bytesOf(const polyattn_tensor &tensor) {
  std::vector<uintptr_t> offsets = {reinterpret_cast<uintptr_t>(tensor.data)};
  for (int32_t i = 0; i < tensor.rank; ++i) {
    std::vector<uintptr_t> next;
    for (uintptr_t offset : offsets)
      for (int64_t j = 0; j < tensor.sizes[i]; ++j)
        next.push_back(offset + 4 * j * tensor.strides[i]);
    offsets = std::move(next);
  }
  std::vector<uintptr_t> bytes;
  for (uintptr_t offset : offsets)
    for (int byte = 0; byte < 4; ++byte)
      bytes.push_back(offset + byte);
  return bytes;
}

// A result and an argument of random sizes, strides and distance against all of their bytes.
TEST(Overlap, IsExactForViews) {
  const polyattn_rt_tensor_rule rules[] = {
      {"q", 0, POLYATTN_F32, 3, {POLYATTN_SIZE_B, POLYATTN_SIZE_T, POLYATTN_SIZE_H}},
      {"o", 1, POLYATTN_F32, 3, {POLYATTN_SIZE_HKV, POLYATTN_SIZE_TK, 2}},
  };
  polyattn_rt_kernel kernel = {};
  kernel.name = "entry";
  kernel.tensors = rules;
  kernel.num_tensors = 2;
  std::fill(std::begin(kernel.fixed), std::end(kernel.fixed), -1);
  std::mt19937 random(std::random_device{}());
  auto below = [&](int64_t n) { return int64_t(random() % n); };
  char *memory = reinterpret_cast<char *>(uintptr_t(1) << 40);
  int shared = 0, apart = 0;
  for (int i = 0; i < 20000; ++i) {
    polyattn_tensor q = {memory, 3, POLYATTN_F32, {1 + below(3), 1 + below(4), 1 + below(3)}, {}};
    q.strides[0] = below(40) - 10;
    q.strides[1] = below(20);
    q.strides[2] = 1;
    polyattn_tensor o = {memory + 4 * (below(120) - 60),
                         3,
                         POLYATTN_F32,
                         {q.sizes[2] * (1 + below(2)), 1 + below(3), 2},
                         {}};
    if (q.sizes[2] != o.sizes[0])
      q.sizes[2] = o.sizes[0]; // heads divide one another
    o.strides[0] = (2 + below(12)) * (below(4) ? 1 : -1);
    o.strides[1] = (2 + below(40)) * (below(4) ? 1 : -1);
    o.strides[2] = 1;
    const polyattn_tensor *tensors[] = {&q, &o};
    char message[200] = "";
    polyattn_rt_sizes sizes;
    polyattn_rt_check(&kernel, tensors, 2, &sizes, message, sizeof message);
    if (std::string(message).find("elements that do not overlap") != std::string::npos)
      continue; // the result has folds of its own
    std::vector<uintptr_t> mine = bytesOf(o), others = bytesOf(q), both;
    std::sort(mine.begin(), mine.end());
    std::sort(others.begin(), others.end());
    std::set_intersection(mine.begin(), mine.end(), others.begin(), others.end(),
                          std::back_inserter(both));
    std::string expected =
        both.empty() ? ""
                     : "entry: result 'o': expected memory of its own, got that of argument 'q'";
    ASSERT_EQ(message, expected) << "strides " << q.strides[0] << ", " << q.strides[1] << " and "
                                 << o.strides[0] << ", " << o.strides[1];
    ++(both.empty() ? apart : shared);
  }
  EXPECT_GT(shared, 100);
  EXPECT_GT(apart, 100);
}

// A call without positions computes nothing, however many program instances there would be.
TEST(Launch, ManyBatchesOfNothingEndAtOnce) {
  static std::atomic<int64_t> programs;
  const polyattn_rt_tensor_rule rules[] = {
      {"q", 0, POLYATTN_F32, 3, {POLYATTN_SIZE_B, POLYATTN_SIZE_T, 8}},
      {"o", 1, POLYATTN_F32, 3, {POLYATTN_SIZE_B, POLYATTN_SIZE_T, 8}},
  };
  polyattn_rt_stage_rule stage = {};
  stage.function = [](void *const *, int64_t begin, int64_t end, void *) {
    programs += end - begin;
  };
  stage.programs[0] = {POLYATTN_RT_DIMENSION, 0, 0, 0, 1, 1};
  stage.num_programs = 1;
  polyattn_rt_kernel kernel = {};
  kernel.name = "entry";
  kernel.tensors = rules;
  kernel.num_tensors = 2;
  kernel.plan.stages = &stage;
  kernel.plan.num_stages = 1;
  std::fill(std::begin(kernel.fixed), std::end(kernel.fixed), -1);
  const int64_t sizes[3] = {int64_t(1) << 40, 0, 8};
  polyattn_tensor tensor = polyattn_dense(nullptr, POLYATTN_F32, 3, sizes);
  const polyattn_tensor *tensors[] = {&tensor, &tensor};
  char message[200] = "";
  EXPECT_EQ(polyattn_rt_run(&kernel, tensors, 2, 2, message, sizeof message), 0) << message;
  EXPECT_EQ(programs, 0);
}

TEST(Launch, ChecksEveryFeatureOfTheProcessor) {
  polyattn_rt_kernel kernel = {};
  kernel.name = "entry";
  kernel.cpu = "native";
  char message[200] = "";
  EXPECT_EQ(polyattn_rt_run(&kernel, nullptr, 0, 1, message, sizeof message), 0) << message;
  kernel.cpu_features.bits[POLYATTN_RT_FEATURE_WORDS - 1] = uint64_t(1) << 63;
#if defined(__x86_64__)
  EXPECT_EQ(polyattn_rt_run(&kernel, nullptr, 0, 1, message, sizeof message), 1);
  EXPECT_STREQ(message, "entry: the code is for native, and this processor has no a feature of a "
                        "later version");
  int missing = 0, present = 0;
  for (const char *name : {"sse2", "avx2", "avx512f", "avx512bf16", "amx-int8", "xop", "sm4"}) {
    polyattn_rt_cpu_features feature = {};
    if (polyattn_rt_add_cpu_feature(name, strlen(name), &feature) != 0) {
      EXPECT_STREQ(name, "sm4"); // no kernel has any use for it
      continue;
    }
    const char *lacks = polyattn_rt_missing_cpu_feature(&feature);
    ++(lacks ? missing : present);
    if (lacks)
      EXPECT_STREQ(lacks, name);
  }
  EXPECT_GT(present, 0);
#endif
}

#if defined(__x86_64__) && defined(__FLT16_MAX__)
// Against the compiler's own conversions.
TEST(Half, ConvertsAsProcessorsDo) {
  auto extend = reinterpret_cast<float (*)(_Float16)>(polyattn_rt_half_functions[0].function);
  auto truncate = reinterpret_cast<_Float16 (*)(float)>(polyattn_rt_half_functions[1].function);
  auto bitsOf = [](auto number) {
    uint32_t bits = 0;
    memcpy(&bits, &number, sizeof number);
    return bits;
  };
  for (uint32_t i = 0; i < 0x10000; ++i) {
    uint16_t bits = i;
    _Float16 half;
    memcpy(&half, &bits, sizeof half);
    ASSERT_EQ(bitsOf(extend(half)), bitsOf(static_cast<float>(half))) << i;
  }
  std::mt19937 random(std::random_device{}());
  for (int i = 0; i < 1000000; ++i) {
    // Mostly numbers that an f16 is near to.
    uint32_t bits = random();
    if (i % 4)
      bits = (bits & 0x8fffffff) | 0x30000000 | (random() & 0x1f000000);
    if (i % 8 == 0)
      bits &= 0xfffff000; // ties
    float number;
    memcpy(&number, &bits, sizeof number);
    ASSERT_EQ(bitsOf(truncate(number)), bitsOf(static_cast<_Float16>(number))) << number;
  }
}
#endif

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

/// Calls that begin at multiples of 16, with tables of so many rows, or none where that is
/// negative.
static std::string checkFirst(std::vector<int64_t> first, int64_t rows, int32_t dtype) {
  bool hasTable = rows >= 0;
  const polyattn_rt_tensor_rule rules[] = {
      {"q", 0, POLYATTN_F32, 3, {POLYATTN_SIZE_B, POLYATTN_SIZE_T, 1}},
      {"p", 0, POLYATTN_F32, 2, {hasTable ? int64_t(POLYATTN_SIZE_L) : 1, 1}},
      {"first", 0, dtype, 1, {POLYATTN_SIZE_B}},
  };
  const polyattn_rt_kernel kernel = {
      "entry", rules, 3, {}, nullptr, {-1, -1, -1, -1, -1, -1, -1, -1, -1}, {}, {2, 16}};
  std::vector<float> memory(4096);
  std::vector<int32_t> narrow(first.begin(), first.end());
  int64_t batch = first.size(), q[] = {batch, 20, 1}, p[] = {hasTable ? rows : 1, 1};
  void *positions = dtype == POLYATTN_I64 ? static_cast<void *>(first.data()) : narrow.data();
  polyattn_tensor tensors[] = {polyattn_dense(memory.data(), POLYATTN_F32, 3, q),
                               polyattn_dense(memory.data(), POLYATTN_F32, 2, p),
                               polyattn_dense(positions, dtype, 1, &batch)};
  const polyattn_tensor *pointers[] = {&tensors[0], &tensors[1], &tensors[2]};
  polyattn_rt_sizes sizes;
  char message[300] = "";
  EXPECT_EQ(polyattn_rt_check(&kernel, pointers, 3, &sizes, message, sizeof message), 0) << message;
  int status = polyattn_rt_check_values(&kernel, pointers, &sizes, message, sizeof message);
  EXPECT_EQ(status != 0, message[0] != 0);
  return message;
}
/// A call of 20 positions in sequences with these offsets, with tables of so many rows, or none
/// where that is negative, and of `states` sequences.
static std::string checkOffsets(std::vector<int64_t> offsets, int64_t rows = -1,
                                int64_t states = -1) {
  const polyattn_rt_tensor_rule rules[] = {
      {"q", 0, POLYATTN_F32, 3, {POLYATTN_SIZE_B, POLYATTN_SIZE_T, 1}},
      {"p", 0, POLYATTN_F32, 2, {rows >= 0 ? int64_t(POLYATTN_SIZE_L) : 1, 1}},
      {"s", 0, POLYATTN_F32, 1, {states >= 0 ? int64_t(POLYATTN_SIZE_N) : 1}},
      {"at", 0, POLYATTN_I64, 1, {POLYATTN_SIZE_N1}},
  };
  const polyattn_rt_kernel kernel = {
      "entry", rules, 4, {}, nullptr, {1, -1, -1, -1, -1, -1, -1, -1, -1}, {}, {}, 0, 0, 4};
  std::vector<float> memory(4096);
  int64_t bounds = offsets.size(), q[] = {1, 20, 1}, p[] = {std::max<int64_t>(rows, 1), 1},
          s = std::max<int64_t>(states, 1);
  polyattn_tensor tensors[] = {polyattn_dense(memory.data(), POLYATTN_F32, 3, q),
                               polyattn_dense(memory.data(), POLYATTN_F32, 2, p),
                               polyattn_dense(memory.data(), POLYATTN_F32, 1, &s),
                               polyattn_dense(offsets.data(), POLYATTN_I64, 1, &bounds)};
  const polyattn_tensor *pointers[] = {&tensors[0], &tensors[1], &tensors[2], &tensors[3]};
  polyattn_rt_sizes sizes;
  char message[300] = "";
  int status = polyattn_rt_check(&kernel, pointers, 4, &sizes, message, sizeof message);
  if (status == 0)
    status = polyattn_rt_check_values(&kernel, pointers, &sizes, message, sizeof message);
  EXPECT_EQ(status != 0, message[0] != 0);
  return message;
}

TEST(CheckOffsets, FillAllPositionsInOrder) {
  EXPECT_EQ(checkOffsets({0, 20}), "");
  EXPECT_EQ(checkOffsets({0, 0, 7, 7, 20, 20}), "");
  EXPECT_EQ(checkOffsets({3, 20}),
            "entry: argument 'at': expected the first offset to be 0, got 3");
  EXPECT_EQ(checkOffsets({0, 7, 6, 20}),
            "entry: argument 'at': expected at least the offset before, 7, got 6 at 2");
  EXPECT_EQ(checkOffsets({0, 7, INT64_MIN}),
            "entry: argument 'at': expected at least the offset before, 7, got "
            "-9223372036854775808 at 2");
  EXPECT_EQ(checkOffsets({0, INT64_MAX}), "entry: argument 'at': expected the last offset to be "
                                          "T = 20, got 9223372036854775807");
  EXPECT_EQ(checkOffsets({0, 19}),
            "entry: argument 'at': expected the last offset to be T = 20, got 19");
  EXPECT_EQ(checkOffsets({}),
            "entry: argument 'at': expected N + 1 offsets, at least one, got none");
}

/// Calls of 20 positions, with a table of so many distances: of packed sequences where there are
/// offsets, else of sequences in slots that begin at `first`.
static std::string checkLimit(int64_t most, std::vector<int64_t> offsets,
                              std::vector<int64_t> first = {}, std::vector<int64_t> slots = {},
                              std::vector<int64_t> lengths = {}) {
  const polyattn_rt_tensor_rule rules[] = {
      {"q", 0, POLYATTN_F32, 2, {1, POLYATTN_SIZE_T}},
      {"t", 0, POLYATTN_F32, 2, {POLYATTN_SIZE_H, most}},
      {"first", 0, POLYATTN_I64, 1, {POLYATTN_SIZE_B}},
      {"slots", 0, POLYATTN_I64, 1, {POLYATTN_SIZE_B}},
      {"lengths", 0, POLYATTN_I64, 1, {POLYATTN_SIZE_B}},
      {"at", 0, POLYATTN_I64, 1, {POLYATTN_SIZE_N1}},
      {"pool", 0, POLYATTN_F32, 1, {POLYATTN_SIZE_P}},
  };
  polyattn_rt_kernel kernel = {"entry", rules, 7, {}, nullptr, {-1, -1, -1, -1, -1, -1, -1, -1, -1},
                               {},      {}};
  kernel.limits[-1 - POLYATTN_SIZE_T] = {most, 1};
  if (!first.empty()) {
    kernel.first = {2, 1};
    kernel.slots = 4;
    kernel.lengths = 5;
  }
  if (!offsets.empty())
    kernel.offsets = 6;
  std::vector<float> memory(4096);
  int64_t q[] = {1, 20}, t[] = {2, most}, batch = first.size(), bounds = offsets.size(), pool = 9;
  polyattn_tensor tensors[] = {polyattn_dense(memory.data(), POLYATTN_F32, 2, q),
                               polyattn_dense(memory.data(), POLYATTN_F32, 2, t),
                               polyattn_dense(first.data(), POLYATTN_I64, 1, &batch),
                               polyattn_dense(slots.data(), POLYATTN_I64, 1, &batch),
                               polyattn_dense(lengths.data(), POLYATTN_I64, 1, &batch),
                               polyattn_dense(offsets.data(), POLYATTN_I64, 1, &bounds),
                               polyattn_dense(memory.data(), POLYATTN_F32, 1, &pool)};
  const polyattn_tensor *pointers[7];
  for (int i = 0; i < 7; ++i)
    pointers[i] = &tensors[i];
  polyattn_rt_sizes sizes;
  char message[300] = "";
  int status = polyattn_rt_check(&kernel, pointers, 7, &sizes, message, sizeof message);
  if (status == 0)
    status = polyattn_rt_check_values(&kernel, pointers, &sizes, message, sizeof message);
  EXPECT_EQ(status != 0, message[0] != 0);
  return message;
}

TEST(CheckLimits, OfSizes) {
  EXPECT_EQ(checkLimit(20, {}), "");
  EXPECT_EQ(checkLimit(19, {}),
            "entry: argument 't': expected T <= 19 with shape [H, 19], got T = 20");
}

TEST(CheckLimits, OfPackedSequences) {
  EXPECT_EQ(checkLimit(8, {0, 8, 12, 20}), "");
  EXPECT_EQ(checkLimit(8, {0, 8, 8, 17, 20}),
            "entry: argument 't': expected T <= 8 with shape [H, 8], got T = 9 in sequence 2");
}

TEST(CheckLimits, OfSequencesThatCallsContinue) {
  EXPECT_EQ(checkLimit(30, {}, {0, 10, 99}, {3, 0, -1}, {20, 20, 20}), "");
  EXPECT_EQ(checkLimit(30, {}, {0, 10, 99}, {3, -1, 0}, {20, 20, 20}),
            "entry: argument 't': expected T <= 30 with shape [H, 30], got T = 119 in batch 2");
  EXPECT_EQ(checkLimit(30, {}, {25, 27}, {3, 0}, {5, 4}),
            "entry: argument 't': expected T <= 30 with shape [H, 30], got T = 31 in batch 1");
}

TEST(CheckOffsets, FitStatesAndTables) {
  EXPECT_EQ(checkOffsets({0, 9, 20}, 11, 2), "");
  EXPECT_EQ(checkOffsets({0, 9, 20}, 10),
            "entry: argument 'at': expected sequences no longer than tables, L = 10, got 11 "
            "positions in sequence 1");
  EXPECT_EQ(checkOffsets({0, 9, 20}, -1, 3),
            "entry: argument 'at': expected N + 1 offsets, of N = 3 sequences, got 3");
}

static std::string checkWide(std::vector<int64_t> first, int64_t rows = 100) {
  return checkFirst(std::move(first), rows, POLYATTN_I64);
}
static std::string checkNarrow(std::vector<int64_t> first) {
  return checkFirst(std::move(first), 100, POLYATTN_I32);
}

TEST(CheckFirstPosition, InsideTheTables) {
  EXPECT_EQ(checkWide({0, 80, 16}), "");
  EXPECT_EQ(checkNarrow({0, 80, 16}), "");
  EXPECT_EQ(
      checkWide({0, 96}),
      "entry: argument 'first': expected at most 80, so that 20 rows end within the tables' L "
      "= 100 positions, got 96 for batch 1");
  EXPECT_EQ(
      checkNarrow({INT32_MAX / 16 * 16}),
      "entry: argument 'first': expected at most 80, so that 20 rows end within the tables' L "
      "= 100 positions, got 2147483632 for batch 0");
  EXPECT_EQ(checkWide({0}, 19), "entry: argument 'first': expected tables of at least 20 rows, "
                                "they have L = 19, got 0 for batch 0");
}

TEST(CheckFirstPosition, WithoutTables) {
  EXPECT_EQ(checkWide({POLYATTN_RT_MAX_POSITION - 32}, -1), "");
  EXPECT_NE(checkWide({POLYATTN_RT_MAX_POSITION - 16}, -1), "");
  EXPECT_NE(checkWide({INT64_MAX / 16 * 16}, -1), "");
}

TEST(CheckFirstPosition, NegativeOrInsideALocalBlock) {
  EXPECT_EQ(checkWide({16, -16}), "entry: argument 'first': expected a position of at least 0, "
                                  "got -16 for batch 1");
  EXPECT_NE(checkWide({INT64_MIN}), "");
  EXPECT_NE(checkNarrow({INT32_MIN}), "");
  EXPECT_EQ(checkWide({24}), "entry: argument 'first': expected a multiple of the local block, "
                             "16, got 24 for batch 0");
}
