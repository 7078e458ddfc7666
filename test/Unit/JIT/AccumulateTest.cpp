//===- AccumulateTest.cpp - gradients that are added up over calls --------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/JIT/Compiler.h"
#include "gtest/gtest.h"
#include <cstring>
#include <random>

using namespace polyattn;

namespace {

constexpr int64_t kBatches = 3, kQueryHeads = 4, kGroups = 2; // B, H and Hkv
constexpr const char *kSpec = POLYATTN_TEST_DIR "/Integration/Gradients/Inputs/accumulate.mlir";

std::unique_ptr<CompiledKernel> compile(const std::string &entry, bool accumulate) {
  JITOptions options;
  options.entry = entry;
  options.cacheDirectory = "";
  options.direction = CallDirection::Backward;
  options.gradients.accumulate = accumulate;
  return llvm::cantFail(compileKernelFromFile(kSpec, options));
}

/// A call of random arguments, which depend on their names alone. Results are NaN, or begin as what
/// the argument holds in which they live.
class Call {
public:
  Call(const CompiledKernel &kernel, int64_t positions) : kernel(kernel) {
    for (const TensorDescription &tensor : kernel.getDescription().tensors) {
      std::vector<int64_t> shape;
      int64_t count = 1;
      for (int64_t size : tensor.sizes) {
        shape.push_back(size == kBatch                                ? kBatches
                        : size == kPositions || size == kKeyPositions ? positions
                        : size == kHeads                              ? kQueryHeads
                        : size == kKeyHeads                           ? kGroups
                                                                      : size);
        count *= shape.back();
      }
      std::vector<float> &own = memory[nameOf(tensor)];
      if (own.empty())
        own.assign(count, std::nanf(""));
      if (!tensor.isResult) {
        std::mt19937 random(std::hash<std::string>()(tensor.name));
        std::normal_distribution<float> normal;
        for (float &value : own)
          value = 0.3f * normal(random);
      }
      views.push_back(polyattn_dense(own.data(), POLYATTN_F32, shape.size(), shape.data()));
    }
  }

  void run(int threads) {
    llvm::Error error = kernel.run(views, threads);
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  }
  const std::vector<float> &operator[](const std::string &name) { return memory.at(name); }

private:
  /// The tensor whose memory it is.
  std::string nameOf(const TensorDescription &tensor) const {
    return tensor.argument ? kernel.getDescription().tensors[*tensor.argument].name : tensor.name;
  }

  const CompiledKernel &kernel;
  std::map<std::string, std::vector<float>> memory;
  std::vector<polyattn_tensor> views;
};

bool haveSameBits(const std::vector<float> &a, const std::vector<float> &b) {
  return a.size() == b.size() &&
         (a.empty() || memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

class Accumulate : public testing::TestWithParam<const char *> {};
} // namespace

TEST_P(Accumulate, AddsOnceToWhatIsHeld) {
  auto alone = compile(GetParam(), false), adding = compile(GetParam(), true);
  for (int64_t positions : {0, 1, 70}) {
    Call gradients(*alone, positions), sums(*adding, positions), again(*adding, positions);
    std::map<std::string, std::vector<float>> before;
    for (const TensorDescription &tensor : adding->getDescription().tensors)
      before[tensor.name] = sums[tensor.argument ? "sum_" + tensor.name : tensor.name];
    gradients.run(1);
    sums.run(1);
    again.run(4);
    unsigned accumulated = 0;
    for (const TensorDescription &tensor : adding->getDescription().tensors) {
      if (!tensor.isResult)
        continue;
      std::vector<float> expected = gradients[tensor.name];
      std::string name = tensor.name;
      if (tensor.argument) {
        name = "sum_" + name;
        ++accumulated;
        for (auto [total, held] : llvm::zip_equal(expected, before[name]))
          total += held;
      }
      EXPECT_TRUE(haveSameBits(sums[name], expected)) << name;
      EXPECT_TRUE(haveSameBits(again[name], expected)) << name;
    }
    EXPECT_EQ(accumulated, GetParam() == llvm::StringRef("weights") ? 4u : 2u);
  }
}

TEST_P(Accumulate, CallsAddUp) {
  auto alone = compile(GetParam(), false), adding = compile(GetParam(), true);
  Call gradients(*alone, 40), sums(*adding, 40);
  gradients.run(2);
  std::vector<float> expected = sums["sum_d_w"];
  for (int i = 0; i < 3; ++i) {
    sums.run(2);
    for (auto [total, gradient] : llvm::zip_equal(expected, gradients["d_w"]))
      total += gradient;
  }
  EXPECT_TRUE(haveSameBits(sums["sum_d_w"], expected));
}

INSTANTIATE_TEST_SUITE_P(, Accumulate, testing::Values("weights", "decay"),
                         [](const auto &info) { return std::string(info.param); });
