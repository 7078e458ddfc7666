//===- WeightStridesTest.cpp - transposed weights in compiled kernels -----===//
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
enum class Lie { Rows, Transposed, Backwards };

/// Memory of a tensor and where its elements lie in it.
struct Tensor {
  std::vector<char> memory;
  polyattn_tensor view;
};

/// An argument whose values do not depend on its layout, or a result filled with NaN.
Tensor makeTensor(const TensorDescription &description, int64_t positions, Lie lie, unsigned seed) {
  std::vector<int64_t> sizes;
  int64_t count = 1;
  for (int64_t size : description.sizes) {
    sizes.push_back(size == kPositions || size == kKeyPositions ? positions : size < 0 ? 2 : size);
    count *= sizes.back();
  }
  bool isWeight = description.sizes.size() == 2;
  int64_t bytes = description.dtype == ElementType::F32 ? 4 : 2;
  Tensor tensor = {std::vector<char>(count * bytes, char(0xff)), {}};
  tensor.view =
      polyattn_dense(tensor.memory.data(), int32_t(description.dtype), sizes.size(), sizes.data());
  if (isWeight && lie != Lie::Rows) {
    tensor.view.strides[0] = 1;
    tensor.view.strides[1] = sizes[0];
  }
  if (isWeight && lie == Lie::Backwards) {
    tensor.view.strides[0] = -1;
    tensor.view.strides[1] = -sizes[0];
    tensor.view.data = tensor.memory.data() + (count - 1) * bytes;
  }
  if (description.isResult)
    return tensor;
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.3f);
  for (int64_t element = 0; element < count; ++element) {
    int64_t offset = 0;
    for (int64_t i = sizes.size(), rest = element; i-- > 0; rest /= sizes[i])
      offset += rest % sizes[i] * tensor.view.strides[i];
    float value = normal(random);
    char *at = static_cast<char *>(tensor.view.data) + offset * bytes;
    // Numbers of bf16 are the upper halves of those of f32.
    memcpy(at, reinterpret_cast<char *>(&value) + 4 - bytes, bytes);
  }
  return tensor;
}

/// The bits of all results.
std::vector<char> run(const CompiledKernel &kernel, int64_t positions, Lie lie) {
  std::vector<Tensor> tensors;
  unsigned seed = 100;
  for (const TensorDescription &description : kernel.getDescription().tensors)
    tensors.push_back(makeTensor(description, positions, lie, seed++));
  std::vector<polyattn_tensor> views;
  for (const Tensor &tensor : tensors)
    views.push_back(tensor.view);
  llvm::Error error = kernel.run(views, 2);
  EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
  std::vector<char> results;
  for (auto [tensor, description] : llvm::zip(tensors, kernel.getDescription().tensors))
    if (description.isResult)
      results.insert(results.end(), tensor.memory.begin(), tensor.memory.end());
  return results;
}

struct Stored {
  const char *file, *entry, *storage;
};

class WeightStrides : public testing::TestWithParam<Stored> {};
} // namespace

TEST_P(WeightStrides, GiveTheBitsOfRows) {
  auto [file, entry, storage] = GetParam();
  JITOptions options;
  options.entry = entry;
  options.dtype = storage;
  options.cacheDirectory = "";
  auto kernel =
      compileKernelFromFile((llvm::Twine(POLYATTN_SPECS "/") + file + ".mlir").str(), options);
  ASSERT_TRUE(bool(kernel)) << llvm::toString(kernel.takeError());
  for (int64_t positions : {1, 77}) {
    std::vector<char> expected = run(**kernel, positions, Lie::Rows);
    EXPECT_NE(std::count(expected.begin(), expected.end(), char(0xff)), int64_t(expected.size()));
    EXPECT_TRUE(run(**kernel, positions, Lie::Transposed) == expected);
    EXPECT_TRUE(run(**kernel, positions, Lie::Backwards) == expected);
  }
}

INSTANTIATE_TEST_SUITE_P(, WeightStrides,
                         testing::Values(Stored{"llops", "llops", "f32"},
                                         Stored{"llops", "llops", "bf16"},
                                         Stored{"rff", "rff", "f32"}),
                         [](const auto &info) {
                           return std::string(info.param.entry) + "_" + info.param.storage;
                         });
