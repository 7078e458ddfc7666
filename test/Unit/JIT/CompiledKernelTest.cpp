//===- CompiledKernelTest.cpp - running code in this process --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/JIT/CompiledKernel.h"
#include "CopyKernel.h"
#include "gtest/gtest.h"
#include <atomic>
#include <numeric>
#include <thread>

using namespace polyattn;
using test::copyModule;
using test::nativeOptions;

static std::unique_ptr<CompiledKernel> loadCopy() {
  LoweredModule module = copyModule();
  auto object = compileLowered(module, nativeOptions());
  if (!object) {
    ADD_FAILURE() << llvm::toString(object.takeError());
    return nullptr;
  }
  auto kernel = CompiledKernel::load(
      object->kernels.front(), llvm::MemoryBuffer::getMemBufferCopy(
                                   llvm::StringRef(object->object.data(), object->object.size())));
  if (!kernel) {
    ADD_FAILURE() << llvm::toString(kernel.takeError());
    return nullptr;
  }
  return std::move(*kernel);
}

static const int64_t kSizes[] = {2, 5, 7, 4};

TEST(CompiledKernel, ReadsScratchFromTheFunction) {
  LoweredModule module = copyModule();
  auto object = compileLowered(module, nativeOptions());
  ASSERT_TRUE(bool(object)) << llvm::toString(object.takeError());
  EXPECT_EQ(object->kernels.front().plan.stages.front().scratchBytes, 64);
  EXPECT_EQ(object->kernels.front().target, "native");
}

TEST(CompiledKernel, CopiesStridedTensors) {
  std::unique_ptr<CompiledKernel> kernel = loadCopy();
  ASSERT_TRUE(kernel);
  std::vector<float> q(2 * 5 * 7 * 4), o(2 * 7 * 5 * 4, -1);
  std::iota(q.begin(), q.end(), 0.0f);
  polyattn_tensor query = polyattn_dense(q.data(), POLYATTN_F32, 4, kSizes);
  // The result as [B, H, T, d] in memory.
  polyattn_tensor output = query;
  output.data = o.data();
  output.strides[1] = 4;
  output.strides[2] = 5 * 4;
  llvm::Error error = kernel->run({query, output}, 2);
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t t = 0; t < 5; ++t)
      for (int64_t h = 0; h < 7; ++h)
        for (int64_t c = 0; c < 4; ++c)
          EXPECT_EQ(o[((b * 7 + h) * 5 + t) * 4 + c], q[((b * 5 + t) * 7 + h) * 4 + c]);
}

TEST(CompiledKernel, ReportsWrongCallsAndComputesNothing) {
  std::unique_ptr<CompiledKernel> kernel = loadCopy();
  ASSERT_TRUE(kernel);
  std::vector<float> q(2 * 5 * 7 * 4, 1), o(q.size(), -1);
  polyattn_tensor query = polyattn_dense(q.data(), POLYATTN_F32, 4, kSizes);
  polyattn_tensor output = polyattn_dense(o.data(), POLYATTN_F32, 4, kSizes);
  EXPECT_EQ(llvm::toString(kernel->run({query}, 1)), "copy: expected 2 tensors, got 1");
  EXPECT_EQ(llvm::toString(kernel->run({query, output}, 0)),
            "copy: expected at least 1 thread, got 0");
  output.sizes[1] = 6;
  EXPECT_EQ(llvm::toString(kernel->run({query, output}, 1)),
            "copy: result 'o': expected shape [B, T, H, 4] with T = 5 as in 'q', got [2, 6, 7, 4]");
  EXPECT_EQ(o.front(), -1);
}

TEST(CompiledKernel, RunsFromManyThreadsAtOnce) {
  std::unique_ptr<CompiledKernel> kernel = loadCopy();
  ASSERT_TRUE(kernel);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 6; ++caller)
    callers.emplace_back([&, caller] {
      for (int round = 0; round < 50; ++round) {
        std::vector<float> q(2 * 5 * 7 * 4, float(caller * 1000 + round)), o(q.size(), -1);
        llvm::Error error = kernel->run({polyattn_dense(q.data(), POLYATTN_F32, 4, kSizes),
                                         polyattn_dense(o.data(), POLYATTN_F32, 4, kSizes)},
                                        1 + caller % 3);
        if (error || o != q)
          ++wrong;
        llvm::consumeError(std::move(error));
      }
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(CompiledKernel, LoadReportsBadObjects) {
  auto damaged = CompiledKernel::load(test::copyDescription(),
                                      llvm::MemoryBuffer::getMemBufferCopy("not an object"));
  EXPECT_FALSE(bool(damaged));
  llvm::consumeError(damaged.takeError());
  LoweredModule module = copyModule();
  auto object = compileLowered(module, nativeOptions());
  ASSERT_TRUE(bool(object));
  KernelDescription other = test::copyDescription();
  other.plan.stages.front().function = "absent";
  auto missing = CompiledKernel::load(other, llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(
                                                 object->object.data(), object->object.size())));
  ASSERT_FALSE(bool(missing));
  EXPECT_NE(llvm::toString(missing.takeError()).find("absent"), std::string::npos);
}
