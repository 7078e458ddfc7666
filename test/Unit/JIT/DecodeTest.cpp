//===- DecodeTest.cpp - states in pools, updated in place -----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DecodeServer.h"

using namespace polyattn;
using namespace polyattn::decoding;

// vLLM #55178, sglang #36885, vllm-gaudi #1431: rows of padding overwrite the slot of a request.
TEST(Decode, PaddingRowsTouchNoSlot) {
  for (const char *entry : {"plain", "grouped", "projected", "gated", "gated_plain", "powers",
                            "local_grouped", "local_gated", "local_turned"})
    for (const std::vector<int64_t> &slots :
         std::vector<std::vector<int64_t>>{{-1, 3, 0}, {5, 0, -1}, {-1, -1, -1}, {2, -1, -7}})
      for (int64_t length : {1, 5, 16}) {
        Server server(entry, 3, 24), alone(entry, 3, 24);
        std::vector<std::vector<float>> before;
        for (int64_t slot = -kBefore; slot < kPool; ++slot)
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
        for (int64_t slot = -kBefore; slot < kPool; ++slot) {
          bool isGiven = slot >= 0 && llvm::is_contained(slots, slot);
          EXPECT_EQ(bits(server.stateOf(slot)),
                    bits(isGiven ? alone.stateOf(slot) : before[kBefore + slot]))
              << entry << ", slot " << slot;
        }
      }
}

TEST(Decode, SlotsComeInAnyOrder) {
  for (const char *entry : {"plain", "grouped", "projected", "gated", "gated_plain", "powers",
                            "local_grouped", "local_gated", "local_turned"}) {
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
  for (const char *entry : {"plain", "grouped", "projected", "gated", "gated_plain", "powers",
                            "local_grouped", "local_gated", "local_turned", "rounded_projected"})
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

// The features of nearly orthogonal vectors cancel each other's digits, powers of their score do
// not.
TEST(Decode, TheOwnScoreOfAPowerKeepsItsDigits) {
  Server server("powers", 1, 1);
  std::vector<float> &q = server.tokensOf("q"), &k = server.tokensOf("k");
  std::vector<float> &v = server.tokensOf("v");
  for (int64_t i = 0; i < 16; ++i) // both query heads that share the first key head
    q[i] = i % 2 ? 1.0F : -1.0F;
  std::fill_n(k.begin(), 8, 1.0F);
  k[0] = 0.875F;
  std::vector<float> got = server.call({{0, 0, 1, 3}}, 1);
  double product = 0.125, score = std::pow(product, 2) + std::pow(product, 4);
  for (int64_t i = 0; i < 40; ++i) {
    double expected = score / (1 + score) * v[i % 20];
    EXPECT_NEAR(got[i], expected, 1e-6 * std::fabs(expected));
  }
}

// A factor of 0 would let the NaN of an earlier request through.
TEST(Decode, ANewSequenceIsNotReadFromItsSlot) {
  for (const char *entry : {"grouped", "gated", "gated_plain", "powers"})
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
  for (const char *entry : {"grouped", "gated", "gated_plain", "powers"})
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
  for (const char *entry : {"grouped", "gated", "gated_plain", "powers", "rounded_grouped",
                            "rounded_gated_plain", "rounded_powers"}) {
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

// What a prefill's last call has may be few tokens, whose blocks are shorter.
TEST(Decode, BitsDoNotDependOnAShortLastCall) {
  for (const char *entry : {"grouped", "gated", "gated_plain", "powers", "rounded_grouped",
                            "rounded_gated_plain", "rounded_powers"})
    for (int64_t rest : {9, 15, 16, 17}) {
      Server whole(entry, 1, 200), server(entry, 1, 200);
      std::vector<float> expected = whole.run(0, 1, {128 + rest});
      EXPECT_EQ(bits(server.run(0, 1, {128, rest})), bits(expected)) << entry << ", " << rest;
      EXPECT_EQ(bits(server.stateOf(1)), bits(whole.stateOf(1))) << entry << ", " << rest;
    }
}

// Drafted tokens that are checked in one call are as many steps.
TEST(Decode, SomeTokensHaveTheBitsOfOneAfterAnother) {
  for (const char *entry : {"grouped", "gated", "gated_plain", "powers", "rounded_grouped",
                            "rounded_gated_plain", "rounded_powers"})
    for (int64_t tokens : {2, 3, 7, 8}) {
      Server steps(entry, 1, 200), server(entry, 1, 200);
      std::vector<int64_t> lengths(tokens, 1);
      lengths.insert(lengths.begin(), 100);
      std::vector<float> expected = steps.run(0, 1, lengths);
      EXPECT_EQ(bits(server.run(0, 1, {100, tokens})), bits(expected)) << entry << ", " << tokens;
      EXPECT_EQ(bits(server.stateOf(1)), bits(steps.stateOf(1))) << entry << ", " << tokens;
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
