//===- PackedTest.cpp - packed sequences have the bits of each alone ------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/JIT/Compiler.h"
#include "polyattn/Spec/ParseSpec.h"
#include "polyattn/Transforms/PackSequences.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"
#include <random>

using namespace polyattn;

namespace {

std::string packedText(llvm::StringRef file) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  auto buffer = llvm::MemoryBuffer::getFile((POLYATTN_SPECS "/" + file + ".mlir").str());
  sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  auto module = parseSpecSource(sources, context);
  EXPECT_TRUE(llvm::succeeded(packSequences(*module)));
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  return text;
}

std::unique_ptr<CompiledKernel> compile(llvm::StringRef text, llvm::StringRef entry) {
  JITOptions options;
  options.entry = entry.str();
  options.cacheDirectory = "";
  options.invariant = true;
  return llvm::cantFail(compileKernel(text, "packed.mlir", options));
}

constexpr int64_t kQueryHeads = 4, kGroups = 2; // H and Hkv

/// Random arguments and poisoned results of a packed call.
struct PackedCall {
  PackedCall(const KernelDescription &description, std::vector<int32_t> bounds)
      : offsets(std::move(bounds)) {
    std::mt19937 random(11);
    std::normal_distribution<float> normal;
    for (const TensorDescription &tensor : description.tensors) {
      std::vector<int64_t> shape;
      int64_t count = 1;
      for (int64_t size : tensor.sizes) {
        shape.push_back(size == kBatch                                ? 1
                        : size == kPositions || size == kKeyPositions ? offsets.back()
                        : size == kHeads                              ? kQueryHeads
                        : size == kKeyHeads                           ? kGroups
                        : size == kSequences                          ? int64_t(offsets.size()) - 1
                        : size == kSequenceBounds                     ? int64_t(offsets.size())
                                                                      : size);
        count *= shape.back();
      }
      shapes.push_back(shape);
      std::vector<float> &own = numbers.emplace_back(count, std::nanf(""));
      if (!tensor.isResult)
        for (float &value : own)
          value = 0.3f * normal(random);
    }
  }

  /// Tensor `i`, whole.
  polyattn_tensor whole(const KernelDescription &description, size_t i) {
    bool isOffsets = description.offsets && int64_t(i) == *description.offsets;
    void *data = isOffsets ? static_cast<void *>(offsets.data()) : numbers[i].data();
    return polyattn_dense(data, isOffsets ? POLYATTN_I32 : POLYATTN_F32, shapes[i].size(),
                          shapes[i].data());
  }
  /// What sequence `n` has of it, a view.
  polyattn_tensor part(const KernelDescription &description, size_t i, int64_t n) {
    polyattn_tensor view = whole(description, i);
    for (size_t d = 0; d < description.tensors[i].sizes.size(); ++d) {
      int64_t size = description.tensors[i].sizes[d], first = 0;
      if (size == kPositions || size == kKeyPositions) {
        first = offsets[n];
        view.sizes[d] = offsets[n + 1] - offsets[n];
      } else if (size == kSequences) {
        first = n;
        view.sizes[d] = 1;
      }
      view.data = static_cast<float *>(view.data) + first * view.strides[d];
    }
    return view;
  }

  std::vector<int32_t> offsets;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<std::vector<float>> numbers;
};

void expectSameBits(llvm::StringRef file, llvm::StringRef entry, std::vector<int32_t> offsets) {
  std::string text = packedText(file);
  auto buffer = llvm::MemoryBuffer::getFile((POLYATTN_SPECS "/" + file + ".mlir").str());
  auto packed = compile(text, entry), alone = compile((*buffer)->getBuffer(), entry);
  const KernelDescription &description = packed->getDescription();
  PackedCall together(description, offsets), apart(description, offsets);
  std::vector<polyattn_tensor> tensors;
  for (size_t i = 0; i < description.tensors.size(); ++i)
    tensors.push_back(together.whole(description, i));
  llvm::cantFail(packed->run(tensors, 3));
  for (size_t n = 0; n + 1 < offsets.size(); ++n) {
    tensors.clear();
    for (size_t i = 0; i < description.tensors.size(); ++i)
      if (int64_t(i) != *description.offsets)
        tensors.push_back(apart.part(description, i, n));
    llvm::cantFail(alone->run(tensors, 2));
  }
  for (auto [i, tensor] : llvm::enumerate(description.tensors))
    if (tensor.isResult)
      EXPECT_EQ(together.numbers[i], apart.numbers[i]) << entry.str() << ": " << tensor.name;
}

TEST(Packed, BitsAreThoseOfEachSequenceAlone) {
  for (auto [file, entry] : {std::pair("linear", "linear"),
                             {"linear", "linear_states"},
                             {"linear", "linear_gated"},
                             {"llops", "llops_states"},
                             {"power", "power"},
                             {"polysketch-learned", "polysketch_learned"},
                             {"fast-rope", "fast_rope_p2_d8"}}) {
    expectSameBits(file, entry, {0, 1, 1, 64, 129, 429, 429, 445});
    expectSameBits(file, entry, {0, 33});
  }
}

} // namespace
