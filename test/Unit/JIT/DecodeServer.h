//===- DecodeServer.h - sequences that are continued in pools ---*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_UNIT_JIT_DECODESERVER_H
#define POLYATTN_UNIT_JIT_DECODESERVER_H

#include "polyattn/JIT/Compiler.h"
#include "gtest/gtest.h"
#include <map>
#include <numeric>
#include <random>

namespace polyattn::decoding {

constexpr int64_t kQueryHeads = 4, kPool = 32, kRowsOfTables = 512;
constexpr int64_t kBefore = 8; // slots in front of a pool that nobody may touch

/// An entry that decodes as it stands, or whose decoding is derived where its name begins with
/// `local_`. After `rounded_` its products may round to bf16, which processors do that gain from
/// it.
inline const CompiledKernel &compileOnce(llvm::StringRef entry) {
  static std::map<std::string, std::unique_ptr<CompiledKernel>> kernels;
  std::unique_ptr<CompiledKernel> &kernel = kernels[entry.str()];
  if (!kernel) {
    JITOptions options;
    bool isRounded = entry.consume_front("rounded_");
    options.entry = entry.str();
    options.cacheDirectory = "";
    bool isLocal = entry.starts_with("local_");
    if (isLocal)
      options.direction = CallDirection::Decode;
    std::string file = isLocal ? "local-decode.mlir" : "decode.mlir";
    auto content =
        llvm::MemoryBuffer::getFile(POLYATTN_TEST_DIR "/Integration/Kernels/Inputs/" + file);
    std::string text = (*content)->getBuffer().str();
    llvm::StringRef states = "{final_state";
    for (size_t i = 0; isRounded && (i = text.find(states, i)) != std::string::npos;) {
      text.insert(i + 1, "precision = bf16, ");
      i += states.size();
    }
    kernel = llvm::cantFail(compileKernel(text, file, options));
  }
  return *kernel;
}

/// Random sequences, and a pool that calls continue from and leave states in.
class Server {
public:
  /// What a call gives a sequence: where it begins, how many tokens it has there, and its slot.
  struct Row {
    int64_t sequence, begin, length, slot;
  };

  Server(llvm::StringRef entry, int64_t sequences, int64_t positions)
      : kernel(compileOnce(entry)), positions(positions) {
    std::mt19937 random(11);
    std::normal_distribution<float> normal;
    for (const TensorDescription &tensor : kernel.getDescription().tensors) {
      std::vector<float> &data = tokens.emplace_back();
      if (isSequence(tensor) && !tensor.isResult) {
        data.resize(sequences * positions * rowOf(tensor));
        bool isDecay = tensor.name == "g";
        for (float &x : data)
          x = isDecay ? -0.1f * std::fabs(normal(random)) : 0.3f * normal(random);
      }
      if (isWeight(tensor)) {
        data.resize(product(tensor.sizes));
        for (float &x : data)
          x = 0.2f * normal(random);
      }
      std::vector<float> &pool = pools.emplace_back();
      if (isPool(tensor) && !tensor.isResult) {
        pool.resize((kBefore + kPool) * slotOf(tensor));
        for (float &x : pool)
          x = std::fabs(normal(random));
      }
    }
  }

  /// The outputs [rows, T, H dv] of a call of T positions. What lies beyond a row's length is NaN.
  std::vector<float> call(llvm::ArrayRef<Row> rows, int64_t length, int threads = 2,
                          std::string *error = nullptr) {
    const auto &rules = kernel.getDescription().tensors;
    std::vector<std::vector<float>> memory(rules.size());
    std::vector<std::vector<int64_t>> numbers(rules.size());
    std::vector<std::vector<int32_t>> narrow(rules.size());
    std::vector<polyattn_tensor> views;
    size_t output = 0;
    for (auto [i, rule] : llvm::enumerate(rules)) {
      int64_t sizes[POLYATTN_MAX_RANK];
      for (auto [d, size] : llvm::enumerate(rule.sizes))
        sizes[d] = valueOf(size, rows.size(), length);
      void *data = nullptr;
      if (isWeight(rule)) {
        data = tokens[i].data();
      } else if (isPool(rule)) {
        data = pools[rule.isResult ? *rule.argument : int64_t(i)].data() + offsetOf(rule, 0);
      } else if (isSequence(rule)) {
        int64_t width = rowOf(rule);
        memory[i].assign(rows.size() * length * width, std::nanf(""));
        for (auto [r, row] : llvm::enumerate(rows))
          if (!rule.isResult)
            std::copy_n(tokens[i].begin() + (row.sequence * positions + row.begin) * width,
                        row.length * width, memory[i].begin() + r * length * width);
        data = memory[i].data();
        output = rule.isResult ? i : output;
      } else {
        for (const Row &row : rows)
          numbers[i].push_back(rule.role == Role::Slots   ? row.slot
                               : rule.role == Role::First ? row.begin
                                                          : row.length);
        narrow[i].assign(numbers[i].begin(), numbers[i].end());
        data = rule.dtype == ElementType::I64 ? static_cast<void *>(numbers[i].data())
                                              : narrow[i].data();
      }
      views.push_back(polyattn_dense(data, dtypeOf(rule.dtype), rule.sizes.size(), sizes));
    }
    if (edit)
      edit(views);
    llvm::Error failure = kernel.run(views, threads);
    if (error)
      *error = llvm::toString(std::move(failure));
    else
      EXPECT_FALSE(bool(failure)) << llvm::toString(std::move(failure));
    return memory[output];
  }

  /// All outputs of a sequence in calls of these lengths.
  std::vector<float> run(int64_t sequence, int64_t slot, llvm::ArrayRef<int64_t> lengths,
                         int threads = 2) {
    std::vector<float> all;
    int64_t begin = 0;
    for (int64_t length : lengths) {
      llvm::append_range(all, call({{sequence, begin, length, slot}}, length, threads));
      begin += length;
    }
    return all;
  }

  /// What all pools have in a slot, or lies before them where a slot below 0 would be.
  std::vector<float> stateOf(int64_t slot) const {
    std::vector<float> all;
    for (auto [rule, pool] : llvm::zip(kernel.getDescription().tensors, pools))
      if (!pool.empty())
        all.insert(all.end(), pool.begin() + offsetOf(rule, slot),
                   pool.begin() + offsetOf(rule, slot + 1));
    return all;
  }
  void poison(int64_t slot) {
    for (auto [rule, pool] : llvm::zip(kernel.getDescription().tensors, pools))
      if (!pool.empty())
        std::fill_n(pool.begin() + offsetOf(rule, slot), slotOf(rule), std::nanf(""));
  }

  const CompiledKernel &kernel;
  std::vector<std::vector<float>> pools; // by tensor
  /// Spoils the tensors of the next calls.
  std::function<void(std::vector<polyattn_tensor> &)> edit;

  size_t numberOf(llvm::StringRef name) const {
    const auto &rules = kernel.getDescription().tensors;
    return llvm::find_if(rules, [&](const auto &rule) { return rule.name == name; }) -
           rules.begin();
  }
  std::vector<float> &tokensOf(llvm::StringRef name) { return tokens[numberOf(name)]; }

private:
  /// Where a slot begins in a pool's memory.
  static int64_t offsetOf(const TensorDescription &tensor, int64_t slot) {
    return (kBefore + slot) * slotOf(tensor);
  }
  static bool isPool(const TensorDescription &tensor) { return tensor.sizes[0] == kSlots; }
  static bool isSequence(const TensorDescription &tensor) {
    return tensor.sizes.size() > 1 && tensor.sizes[1] == kPositions;
  }
  static bool isWeight(const TensorDescription &tensor) {
    return tensor.role == Role::Weight || tensor.role == Role::Frequencies ||
           tensor.role == Role::Positional;
  }
  static int64_t valueOf(int64_t size, int64_t batch, int64_t length) {
    switch (size) {
    case kBatch:
      return batch;
    case kPositions:
      return length;
    case kHeads:
      return kQueryHeads;
    case kKeyHeads:
      return kQueryHeads / 2;
    case kSlots:
      return kPool;
    case kTableRows:
      return kRowsOfTables;
    default:
      return size;
    }
  }
  static int64_t product(llvm::ArrayRef<int64_t> sizes) {
    int64_t count = 1;
    for (int64_t size : sizes)
      count *= valueOf(size, 1, 1);
    return count;
  }
  /// Elements of a position, and of a slot.
  static int64_t rowOf(const TensorDescription &tensor) {
    return product(llvm::ArrayRef(tensor.sizes).drop_front(2));
  }
  static int64_t slotOf(const TensorDescription &tensor) {
    return product(llvm::ArrayRef(tensor.sizes).drop_front());
  }

  int64_t positions;
  std::vector<std::vector<float>> tokens; // by tensor, with weights
};

/// Bits, so that NaN is equal to itself.
inline std::vector<uint32_t> bits(llvm::ArrayRef<float> values) {
  std::vector<uint32_t> result(values.size());
  memcpy(result.data(), values.data(), values.size() * sizeof(float));
  return result;
}
template <typename Range> std::vector<float> part(const Range &all, size_t index, size_t parts) {
  size_t size = all.size() / parts;
  return {all.begin() + index * size, all.begin() + (index + 1) * size};
}
inline double relativeError(llvm::ArrayRef<float> a, llvm::ArrayRef<float> b) {
  double difference = 0, size = 0;
  for (auto [x, y] : llvm::zip_equal(a, b)) {
    difference += (double(x) - y) * (double(x) - y);
    size += double(y) * y;
  }
  return std::sqrt(difference / size);
}
} // namespace polyattn::decoding

#endif // POLYATTN_UNIT_JIT_DECODESERVER_H
