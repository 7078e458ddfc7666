//===- DecodeTest.cpp - states in pools, updated in place -----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/JIT/Compiler.h"
#include "gtest/gtest.h"
#include <map>
#include <numeric>
#include <random>

using namespace polyattn;

namespace {
constexpr int64_t kQueryHeads = 4, kPool = 32;

const CompiledKernel &compileOnce(llvm::StringRef entry) {
  static std::map<std::string, std::unique_ptr<CompiledKernel>> kernels;
  std::unique_ptr<CompiledKernel> &kernel = kernels[entry.str()];
  if (!kernel) {
    JITOptions options;
    options.entry = entry.str();
    options.cacheDirectory = "";
    kernel = llvm::cantFail(compileKernelFromFile(
        POLYATTN_TEST_DIR "/Integration/Kernels/Inputs/decode.mlir", options));
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
      : kernel(compileOnce(entry)), sequences(sequences), positions(positions) {
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
        pool.resize(kPool * slotOf(tensor));
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
        data = pools[rule.isResult ? *rule.argument : int64_t(i)].data();
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
          numbers[i].push_back(rule.name == "slots"   ? row.slot
                               : rule.name == "first" ? row.begin
                                                      : row.length);
        narrow[i].assign(numbers[i].begin(), numbers[i].end());
        data = rule.dtype == ElementType::I64 ? static_cast<void *>(numbers[i].data())
                                              : narrow[i].data();
      }
      views.push_back(polyattn_dense(data, dtypeOf(rule.dtype), rule.sizes.size(), sizes));
    }
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

  /// What all pools have in a slot.
  std::vector<float> stateOf(int64_t slot) const {
    std::vector<float> all;
    for (auto [rule, pool] : llvm::zip(kernel.getDescription().tensors, pools))
      if (!pool.empty())
        all.insert(all.end(), pool.begin() + slot * slotOf(rule),
                   pool.begin() + (slot + 1) * slotOf(rule));
    return all;
  }
  void poison(int64_t slot) {
    for (auto [rule, pool] : llvm::zip(kernel.getDescription().tensors, pools))
      if (!pool.empty())
        std::fill_n(pool.begin() + slot * slotOf(rule), slotOf(rule), std::nanf(""));
  }

  const CompiledKernel &kernel;
  std::vector<std::vector<float>> pools; // by tensor

private:
  static bool isPool(const TensorDescription &tensor) { return tensor.sizes[0] == kSlots; }
  static bool isSequence(const TensorDescription &tensor) {
    return tensor.sizes.size() > 1 && tensor.sizes[1] == kPositions;
  }
  static bool isWeight(const TensorDescription &tensor) { return tensor.role == Role::Weight; }
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

  int64_t sequences, positions;
  std::vector<std::vector<float>> tokens; // by tensor, with weights
};

/// Bits, so that NaN is equal to itself.
std::vector<uint32_t> bits(llvm::ArrayRef<float> values) {
  std::vector<uint32_t> result(values.size());
  memcpy(result.data(), values.data(), values.size() * sizeof(float));
  return result;
}
template <typename Range> std::vector<float> part(const Range &all, size_t index, size_t parts) {
  size_t size = all.size() / parts;
  return {all.begin() + index * size, all.begin() + (index + 1) * size};
}
double relativeError(llvm::ArrayRef<float> a, llvm::ArrayRef<float> b) {
  double difference = 0, size = 0;
  for (auto [x, y] : llvm::zip_equal(a, b)) {
    difference += (double(x) - y) * (double(x) - y);
    size += double(y) * y;
  }
  return std::sqrt(difference / size);
}
} // namespace

// vLLM #55178, sglang #36885, vllm-gaudi #1431: rows of padding overwrite the slot of a request.
TEST(Decode, PaddingRowsTouchNoSlot) {
  for (const char *entry : {"plain", "grouped", "projected", "gated", "gated_plain"})
    for (const std::vector<int64_t> &slots :
         std::vector<std::vector<int64_t>>{{-1, 3, 0}, {5, 0, -1}, {-1, -1, -1}, {2, -1, -7}})
      for (int64_t length : {1, 5}) {
        Server server(entry, 3, 16), alone(entry, 3, 16);
        std::vector<std::vector<float>> before;
        for (int64_t slot = 0; slot < kPool; ++slot)
          before.push_back(server.stateOf(slot));
        std::vector<Server::Row> rows;
        for (auto [sequence, slot] : llvm::enumerate(slots))
          rows.push_back({int64_t(sequence), 3, length, slot});
        std::vector<float> outputs = server.call(rows, length);
        for (auto [i, row] : llvm::enumerate(rows)) {
          std::vector<float> own = part(outputs, i, rows.size());
          if (row.slot < 0)
            EXPECT_EQ(bits(own), bits(std::vector<float>(own.size(), 0.0f))) << entry;
          else
            EXPECT_EQ(bits(own), bits(alone.call(row, length))) << entry;
        }
        for (int64_t slot = 0; slot < kPool; ++slot)
          EXPECT_EQ(bits(server.stateOf(slot)),
                    bits(llvm::is_contained(slots, slot) ? alone.stateOf(slot) : before[slot]))
              << entry << ", slot " << slot;
      }
}

TEST(Decode, SlotsComeInAnyOrder) {
  for (const char *entry : {"plain", "grouped", "projected", "gated", "gated_plain"}) {
    std::vector<int64_t> order(kPool);
    std::iota(order.begin(), order.end(), 0);
    std::mt19937 random(5);
    for (int round = 0; round < 8; ++round) {
      std::shuffle(order.begin(), order.end(), random);
      Server server(entry, kPool, 20), alone(entry, kPool, 20);
      std::vector<Server::Row> rows;
      for (int64_t sequence = 0; sequence < kPool; ++sequence)
        rows.push_back({sequence, sequence % 13, 7, order[sequence]});
      std::vector<float> outputs = server.call(rows, 7, /*threads=*/1 + round % 4);
      for (auto [i, row] : llvm::enumerate(rows)) {
        EXPECT_EQ(bits(part(outputs, i, kPool)), bits(alone.call(row, 7, 1))) << entry;
        EXPECT_EQ(bits(server.stateOf(row.slot)), bits(alone.stateOf(row.slot))) << entry;
      }
    }
  }
}

// Few batches compute their features alone, many do so together.
TEST(Decode, OneTokenBesideAnyNumberOfOthers) {
  for (const char *entry : {"plain", "grouped", "projected", "gated", "gated_plain"})
    for (int64_t batches : {1, 2, 11, 12, 16, 17, 27, 28, 32}) {
      Server server(entry, batches, 4), alone(entry, batches, 4);
      std::vector<Server::Row> rows;
      for (int64_t sequence = 0; sequence < batches; ++sequence)
        rows.push_back({sequence, sequence % 4, 1, batches - 1 - sequence});
      std::vector<float> outputs = server.call(rows, 1);
      for (auto [i, row] : llvm::enumerate(rows)) {
        EXPECT_EQ(bits(part(outputs, i, batches)), bits(alone.call(row, 1))) << entry << batches;
        EXPECT_EQ(bits(server.stateOf(row.slot)), bits(alone.stateOf(row.slot))) << entry;
      }
    }
}

// A factor of 0 would let the NaN of an earlier request through.
TEST(Decode, ANewSequenceIsNotReadFromItsSlot) {
  for (const char *entry : {"grouped", "gated", "gated_plain"})
    for (int64_t length : {1, 3, 80}) {
      Server server(entry, 1, 80), clean(entry, 1, 80);
      server.poison(4);
      EXPECT_EQ(bits(server.run(0, 4, {length})), bits(clean.run(0, 4, {length}))) << entry;
      EXPECT_EQ(bits(server.stateOf(4)), bits(clean.stateOf(4))) << entry;
      for (float x : server.stateOf(4))
        ASSERT_TRUE(std::isfinite(x));
    }
}

// transformers #46190: the padding of a last chunk enters the state.
TEST(Decode, PaddingEntersNoState) {
  for (int64_t own : {0, 1, 17, 64, 65})
    for (int64_t length : {int64_t(65), int64_t(100)}) {
      Server padded("grouped", 2, 200), exact("grouped", 2, 200);
      std::vector<float> outputs = padded.call({{0, 0, own, 2}, {1, 5, length, 1}}, length);
      std::vector<float> expected = exact.call({{0, 0, own, 2}}, own);
      std::vector<float> first = part(outputs, 0, 2);
      expected.resize(first.size(), 0.0f);
      EXPECT_EQ(bits(first), bits(expected)) << own << " of " << length;
      EXPECT_EQ(bits(padded.stateOf(2)), bits(exact.stateOf(2))) << own << " of " << length;
    }
}

// transformers #46741: several tokens with a state take the way of one. FLA #92, #494: chunks and
// single steps disagree.
TEST(Decode, AnyNumberOfTokensAtATime) {
  for (const char *entry : {"grouped", "gated", "gated_plain"})
    for (int64_t tokens : {1, 2, 3, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65}) {
      Server whole(entry, 1, 130), steps(entry, 1, 130);
      std::vector<int64_t> lengths;
      for (int64_t left = 130; left > 0; left -= tokens)
        lengths.push_back(std::min(left, tokens));
      std::vector<float> expected = whole.run(0, 1, {130}), got = steps.run(0, 1, lengths);
      EXPECT_LT(relativeError(got, expected), 2e-6) << entry << ", " << tokens << " at a time";
      EXPECT_LT(relativeError(steps.stateOf(1), whole.stateOf(1)), 2e-6) << entry;
    }
}

// vLLM #55524: the bits of prefill and decode depend on the schedule.
TEST(Decode, BitsDoNotDependOnCutsBatchOrThreads) {
  for (const char *entry : {"grouped", "gated", "gated_plain"}) {
    Server whole(entry, 3, 330);
    std::vector<float> expected = whole.run(1, 2, {320});
    std::vector<float> state = whole.stateOf(2), next = whole.call({{1, 320, 1, 2}}, 1);
    for (int64_t cut : {64, 128, 192, 256})
      for (int threads : {1, 3}) {
        Server server(entry, 3, 330);
        EXPECT_EQ(bits(server.run(1, 5, {cut, 320 - cut}, threads)), bits(expected)) << entry;
        EXPECT_EQ(bits(server.stateOf(5)), bits(state)) << entry << ", cut at " << cut;
        std::vector<float> all =
            server.call({{0, 9, 1, 0}, {1, 320, 1, 5}, {2, 7, 1, 3}}, 1, threads);
        EXPECT_EQ(bits(part(all, 1, 3)), bits(next)) << entry;
      }
  }
}

TEST(Decode, RefusesHostileNumbers) {
  Server server("grouped", 3, 16);
  auto before = server.pools;
  auto refuse = [&](llvm::ArrayRef<Server::Row> rows, llvm::StringRef message) {
    std::string error;
    std::vector<float> outputs = server.call(rows, 4, 2, &error);
    EXPECT_EQ(error, message);
    EXPECT_TRUE(llvm::all_of(outputs, [](float x) { return std::isnan(x); }));
    EXPECT_EQ(server.pools, before);
  };
  refuse({{0, 1, 4, 2}, {1, 1, 4, kPool}},
         "grouped: argument 'slots': expected a slot below P = 32, got 32 for batch 1");
  refuse({{0, 1, 4, 2147483647}},
         "grouped: argument 'slots': expected a slot below P = 32, got 2147483647 for batch 0");
  refuse(
      {{0, 1, 4, 5}, {1, 1, 4, -1}, {2, 1, 4, 5}},
      "grouped: argument 'slots': expected another slot than that of batch 0, got 5 for batch 2");
  // Nobody asks where a batch without a slot begins.
  std::string error;
  server.call({{0, 1, 4, -1}}, 4, 2, &error);
  EXPECT_EQ(error, "");
  EXPECT_EQ(server.pools, before);
}

TEST(Decode, RefusesOtherPoolsAndOtherMemory) {
  const CompiledKernel &kernel = compileOnce("plain");
  std::vector<float> memory(1 << 16);
  int32_t slot = 0;
  auto run = [&](int64_t features, int64_t pool, float *final) {
    int64_t q[] = {1, 1, 4, 24}, v[] = {1, 1, 4, 20}, state[] = {pool, 4, features, 20}, one = 1;
    float *data = memory.data();
    polyattn_tensor tensors[] = {
        polyattn_dense(data, POLYATTN_F32, 4, q),
        polyattn_dense(data, POLYATTN_F32, 4, q),
        polyattn_dense(data, POLYATTN_F32, 4, v),
        polyattn_dense(data + 4096, POLYATTN_F32, 4, state),
        polyattn_dense(&slot, POLYATTN_I32, 1, &one),
        polyattn_dense(data + 1024, POLYATTN_F32, 4, v),
        polyattn_dense(final, POLYATTN_F32, 4, state),
    };
    return llvm::toString(kernel.run(tensors, 1));
  };
  EXPECT_EQ(run(24, 2, memory.data() + 4096), "");
  EXPECT_EQ(run(36, 2, memory.data() + 4096),
            "plain: argument 'state': expected shape [P, H, 24, 20], got [2, 4, 36, 20]");
  EXPECT_EQ(run(24, 2, memory.data() + 32768),
            "plain: result 'final': expected the memory of argument 'state', in which it lives");
  EXPECT_EQ(run(24, 0, memory.data() + 4096),
            "plain: argument 'slots': expected a slot below P = 0, got 0 for batch 0");
}
