//===- InvariantTest.cpp - bits that depend on their sequence only --------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/JIT/Compiler.h"
#include "gtest/gtest.h"
#include <map>
#include <random>

using namespace polyattn;

namespace {
/// A dense tensor with memory of its own.
struct Tensor {
  std::vector<float> data;
  std::vector<int64_t> sizes;

  polyattn_tensor view() {
    return polyattn_dense(data.data(), POLYATTN_F32, sizes.size(), sizes.data());
  }
  /// Part of a dimension.
  polyattn_tensor view(int64_t dimension, int64_t begin, int64_t count) {
    polyattn_tensor result = view();
    if (dimension < int64_t(sizes.size())) {
      result.data = data.data() + begin * result.strides[dimension];
      result.sizes[dimension] = count;
    }
    return result;
  }
};

/// Compiled for the first test that wants it.
const CompiledKernel *compileOnce(llvm::StringRef file, llvm::StringRef entry, bool invariant) {
  static std::map<std::pair<std::string, bool>, std::unique_ptr<CompiledKernel>> kernels;
  std::unique_ptr<CompiledKernel> &kernel = kernels[{entry.str(), invariant}];
  if (!kernel) {
    JITOptions options;
    options.entry = entry.str();
    options.cacheDirectory = "";
    options.invariant = invariant;
    kernel =
        llvm::cantFail(compileKernelFromFile((POLYATTN_SPECS "/" + file + ".mlir").str(), options));
  }
  return kernel.get();
}

/// A kernel and what it is called with: batch 3, one head.
class Call {
public:
  Call(llvm::StringRef file, llvm::StringRef entry, int64_t positions, bool invariant) {
    kernel = compileOnce(file, entry, invariant);
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (const TensorDescription &tensor : kernel->getDescription().tensors) {
      Tensor &own = tensors.emplace_back();
      int64_t count = 1;
      for (int64_t size : tensor.sizes) {
        own.sizes.push_back(size == kBatch                                ? kSequences
                            : size == kPositions || size == kKeyPositions ? positions
                            : size < 0                                    ? 1
                                                                          : size);
        count *= own.sizes.back();
      }
      own.data.resize(count, std::nanf(""));
      if (!tensor.isResult)
        for (float &value : own.data)
          value = 0.3f * normal(random);
    }
  }

  /// The results of all sequences together.
  std::vector<float> whole(int threads) {
    std::vector<polyattn_tensor> views;
    for (Tensor &tensor : tensors)
      views.push_back(tensor.view());
    return run(views, threads);
  }

  /// Results of calls with one sequence each.
  std::vector<float> bySequence(int threads) {
    for (int64_t i = 0; i < kSequences; ++i) {
      std::vector<polyattn_tensor> views;
      for (auto [tensor, description] : llvm::zip(tensors, kernel->getDescription().tensors)) {
        views.push_back(isOfSequence(description) ? tensor.view(0, i, 1) : tensor.view());
      }
      run(views, threads);
    }
    return results();
  }

  /// Results of two calls; the second begins with the state that the first has left.
  std::vector<float> inTwo(int64_t cut, int threads) {
    std::vector<Tensor> states;
    for (bool first : {true, false}) {
      std::vector<polyattn_tensor> views;
      size_t nextState = 0;
      for (auto [tensor, description] : llvm::zip(tensors, kernel->getDescription().tensors)) {
        if (!isOfSequence(description)) {
          views.push_back(tensor.view());
          continue;
        }
        if (description.sizes[1] == kPositions) {
          int64_t all = tensor.sizes[1];
          views.push_back(first ? tensor.view(1, 0, cut) : tensor.view(1, cut, all - cut));
          continue;
        }
        // A state: given or, in the second call, what the first has left; results lie in `tensor`.
        if (!first && !description.isResult)
          views.push_back(states[nextState++].view());
        else
          views.push_back(tensor.view());
      }
      run(views, threads);
      for (auto [tensor, description] : llvm::zip(tensors, kernel->getDescription().tensors))
        if (first && description.isResult && description.sizes[1] != kPositions)
          states.push_back(tensor);
    }
    return results();
  }

  const CompiledKernel *kernel;

private:
  static constexpr int64_t kSequences = 3;

  static bool isOfSequence(const TensorDescription &tensor) {
    return !tensor.sizes.empty() && tensor.sizes[0] == kBatch;
  }
  std::vector<float> results() {
    std::vector<float> all;
    for (auto [tensor, description] : llvm::zip(tensors, kernel->getDescription().tensors))
      if (description.isResult)
        llvm::append_range(all, tensor.data);
    return all;
  }
  std::vector<float> run(llvm::ArrayRef<polyattn_tensor> views, int threads) {
    llvm::Error error = kernel->run(views, threads);
    EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
    return results();
  }
  std::vector<Tensor> tensors;
};
} // namespace

static const std::pair<const char *, const char *> kEntries[] = {
    {"linear", "linear"}, {"linear", "linear_states"}, {"based", "based"},
    {"llops", "llops"},   {"llops", "llops_states"},   {"power", "power"}};

TEST(Invariant, NothingIsCut) {
  bool cutOtherwise = false;
  for (auto [file, entry] : kEntries) {
    Call invariant(file, entry, 1, true), usual(file, entry, 1, false);
    const KernelDescription &description = invariant.kernel->getDescription();
    EXPECT_TRUE(description.invariant);
    EXPECT_FALSE(usual.kernel->getDescription().invariant);
    EXPECT_TRUE(description.plan.choices.empty()) << entry;
    cutOtherwise |= !usual.kernel->getDescription().plan.choices.empty();
  }
  EXPECT_TRUE(cutOtherwise);
}

TEST(Invariant, BitsDoNotDependOnThreadsOrBatch) {
  for (auto [file, entry] : kEntries)
    for (int64_t positions : {1, 33, 700, 1100}) {
      Call call(file, entry, positions, true);
      std::vector<float> expected = call.whole(1);
      for (int threads : {2, 8, 64})
        EXPECT_EQ(call.whole(threads), expected) << entry << ", " << threads << " threads";
      for (int threads : {1, 9})
        EXPECT_EQ(call.bySequence(threads), expected) << entry << ", " << threads << " threads";
    }
}

TEST(Invariant, BitsDoNotDependOnWhereAPrefillIsCut) {
  for (auto [file, entry] : kEntries) {
    if (!llvm::StringRef(entry).ends_with("_states"))
      continue;
    for (int64_t positions : {130, 333, 640}) {
      Call call(file, entry, positions, true);
      std::vector<float> expected = call.whole(1);
      for (int64_t cut : {64, 128, 320})
        if (cut < positions)
          EXPECT_EQ(call.inTwo(cut, 3), expected) << entry << ": " << cut << " of " << positions;
    }
  }
}
