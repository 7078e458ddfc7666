//===- FarStridesTest.cpp - offsets beyond 32 bits in compiled kernels ----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/JIT/Compiler.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>
#include <sys/mman.h>

using namespace polyattn;

namespace {
/// Address space, of which only what is touched takes memory.
class Reserved {
public:
  explicit Reserved(size_t bytes)
      : bytes(bytes), address(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  Reserved(const Reserved &) = delete;
  ~Reserved() {
    if (address != MAP_FAILED)
      munmap(address, bytes);
  }

  size_t bytes;
  void *address;
};

constexpr int64_t kBatch = 2, kLength = 3, kHeads = 2;
/// More elements than 32 bits can count with a sign, and with a carry into each of them.
constexpr int64_t kFar = (int64_t(1) << 31) + 12345 * 16;

struct Call {
  /// Whether batches, positions or heads lie `kFar` elements apart; none where negative.
  int farDimension;
  bool reserved = true;
  std::vector<float> results;
};

/// Runs the kernel on numbers that do not depend on where they lie.
void run(const CompiledKernel &kernel, Call &call) {
  std::vector<std::unique_ptr<Reserved>> memory;
  std::vector<polyattn_tensor> views;
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 0.3f);
  auto forEach = [](const polyattn_tensor &view, llvm::function_ref<void(float &)> body) {
    for (int64_t b = 0; b < view.sizes[0]; ++b)
      for (int64_t t = 0; t < view.sizes[1]; ++t)
        for (int64_t h = 0; h < view.sizes[2]; ++h)
          for (int64_t i = 0; i < view.sizes[3]; ++i)
            body(static_cast<float *>(view.data)[b * view.strides[0] + t * view.strides[1] +
                                                 h * view.strides[2] + i * view.strides[3]]);
  };
  for (const TensorDescription &tensor : kernel.getDescription().tensors) {
    ASSERT_EQ(tensor.sizes.size(), 4u) << tensor.name;
    int64_t sizes[] = {kBatch, kLength, kHeads, tensor.sizes.back()};
    polyattn_tensor view = polyattn_dense(nullptr, POLYATTN_F32, 4, sizes);
    // The other dimensions lie as densely as they did.
    if (call.farDimension >= 0)
      view.strides[call.farDimension] = kFar;
    int64_t last = 0;
    for (int d = 0; d < 4; ++d)
      last += (sizes[d] - 1) * view.strides[d];
    memory.push_back(std::make_unique<Reserved>((last + 1) * sizeof(float)));
    call.reserved &= memory.back()->address != MAP_FAILED;
    if (!call.reserved)
      return;
    view.data = memory.back()->address;
    forEach(view, [&](float &x) { x = tensor.isResult ? std::nanf("") : normal(random); });
    views.push_back(view);
  }
  llvm::Error error = kernel.run(views, 2);
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  for (auto [view, tensor] : llvm::zip(views, kernel.getDescription().tensors))
    if (tensor.isResult)
      forEach(view, [&](float &x) { call.results.push_back(x); });
}

class FarStrides : public testing::TestWithParam<CallDirection> {};
} // namespace

// flash-linear-attention #1082, #769: offsets in 32 bits wrap around in long sequences and large
// batches.
TEST_P(FarStrides, GiveTheSameBits) {
  JITOptions options;
  options.entry = "linear";
  options.cacheDirectory = "";
  options.direction = GetParam();
  auto kernel = llvm::cantFail(compileKernelFromFile(POLYATTN_SPECS "/linear.mlir", options));
  Call dense{-1};
  run(*kernel, dense);
  ASSERT_FALSE(dense.results.empty());
  for (float x : dense.results)
    ASSERT_TRUE(std::isfinite(x));
  for (int dimension = 0; dimension < 3; ++dimension) {
    Call far{dimension};
    run(*kernel, far);
    if (!far.reserved)
      GTEST_SKIP() << "no address space of " << (kFar * kLength * 4 >> 30) << " GiB";
    EXPECT_EQ(far.results, dense.results) << "dimension " << dimension;
  }
}

INSTANTIATE_TEST_SUITE_P(Directions, FarStrides,
                         testing::Values(CallDirection::Forward, CallDirection::Training,
                                         CallDirection::Backward));
