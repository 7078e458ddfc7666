//===- LocalDecodeTest.cpp - calls that cut local blocks ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DecodeServer.h"

using namespace polyattn;
using namespace polyattn::decoding;

namespace {
constexpr const char *kEntries[] = {"local_grouped", "local_gated", "local_turned"};
constexpr int64_t kAll = 110; // positions: several blocks of each entry, and a part of one

std::vector<float> inOneCall(const char *entry) { return Server(entry, 1, kAll).run(0, 1, {kAll}); }
} // namespace

TEST(LocalDecode, CutsAnywhere) {
  for (const char *entry : kEntries) {
    std::vector<float> whole = inOneCall(entry);
    for (int64_t cut = 0; cut <= 90; ++cut) {
      Server server(entry, 1, kAll);
      std::vector<float> got = server.run(0, 1, {cut, 90 - cut, kAll - 90});
      ASSERT_LT(relativeError(got, whole), 2e-6) << entry << ", cut at " << cut;
    }
  }
}

TEST(LocalDecode, AnyNumberOfTokensAtATime) {
  for (const char *entry : kEntries) {
    std::vector<float> whole = inOneCall(entry);
    for (int64_t tokens : {1, 2, 3, 4, 5, 6, 15, 16, 17, 33, 39, 40, 41, 64, 81}) {
      std::vector<int64_t> lengths;
      for (int64_t left = kAll; left > 0; left -= tokens)
        lengths.push_back(std::min(left, tokens));
      Server server(entry, 1, kAll);
      EXPECT_LT(relativeError(server.run(0, 1, lengths), whole), 2e-6)
          << entry << ", " << tokens << " at a time";
    }
  }
}

// What lies in the pools behind the block's rows is not read: a slot's earlier sequence may have
// left NaN there.
TEST(LocalDecode, ANewSequenceIsNotReadFromItsSlot) {
  for (const char *entry : kEntries)
    for (int64_t tokens : {1, 7, 52}) {
      Server server(entry, 1, kAll), clean(entry, 1, kAll);
      server.poison(4);
      std::vector<int64_t> lengths = {tokens, 1, 5, kAll - tokens - 6};
      EXPECT_EQ(bits(server.run(0, 4, lengths)), bits(clean.run(0, 4, lengths))) << entry;
    }
}

TEST(LocalDecode, CallsOfNoTokenChangeNothing) {
  for (const char *entry : kEntries) {
    Server server(entry, 1, kAll);
    server.run(0, 3, {23});
    std::vector<float> before = server.stateOf(3);
    server.call({{0, 23, 0, 3}}, 0);
    EXPECT_EQ(bits(server.stateOf(3)), bits(before)) << entry;
    server.call({{0, 23, 0, 3}}, 4); // of which no token counts
    EXPECT_EQ(bits(server.stateOf(3)), bits(before)) << entry;
  }
}

// Batches that stand at different places of their blocks, and finish other numbers of them.
TEST(LocalDecode, BitsDoNotDependOnBatchLengthsOrThreads) {
  for (const char *entry : kEntries) {
    Server server(entry, 4, kAll);
    const int64_t begins[] = {0, 13, 39, 40}, lengths[] = {50, 1, 0, 27};
    std::vector<Server::Row> rows;
    for (int64_t sequence = 0; sequence < 4; ++sequence) {
      server.run(sequence, 9 - sequence, {begins[sequence]});
      rows.push_back({sequence, begins[sequence], lengths[sequence], 9 - sequence});
    }
    std::vector<float> together = server.call(rows, 60, /*threads=*/3);
    for (auto [i, row] : llvm::enumerate(rows)) {
      Server alone(entry, 4, kAll);
      alone.run(row.sequence, row.slot, {row.begin});
      std::vector<float> own = part(together, i, 4), expected = alone.call(row, row.length, 1);
      expected.resize(own.size(), 0.0f);
      EXPECT_EQ(bits(own), bits(expected)) << entry << ", batch " << i;
      EXPECT_EQ(bits(server.stateOf(row.slot)), bits(alone.stateOf(row.slot))) << entry;
    }
  }
}

TEST(LocalDecode, BitsDoNotDependOnCutsBetweenBlocks) {
  for (const char *entry : kEntries) {
    Server whole(entry, 1, kAll), server(entry, 1, kAll);
    std::vector<float> expected = whole.run(0, 1, {kAll});
    EXPECT_EQ(bits(server.run(0, 1, {80, kAll - 80}, /*threads=*/3)), bits(expected)) << entry;
    EXPECT_EQ(bits(server.stateOf(1)), bits(whole.stateOf(1))) << entry;
  }
}

TEST(LocalDecode, BitsDoNotDependOnAShortLastCall) {
  for (const char *entry : kEntries)
    for (int64_t rest : {13, 16, 21}) {
      Server whole(entry, 1, kAll), server(entry, 1, kAll);
      std::vector<float> expected = whole.run(0, 1, {80 + rest});
      EXPECT_EQ(bits(server.run(0, 1, {80, rest})), bits(expected)) << entry << ", " << rest;
      EXPECT_EQ(bits(server.stateOf(1)), bits(whole.stateOf(1))) << entry << ", " << rest;
    }
}

// The entry that nobody continues computes the same.
TEST(LocalDecode, AWholeSequenceIsThatOfTheAttentionItself) {
  JITOptions options;
  options.entry = "local_grouped";
  options.cacheDirectory = "";
  auto kernel = llvm::cantFail(compileKernelFromFile(
      POLYATTN_TEST_DIR "/Integration/Kernels/Inputs/local-decode.mlir", options));
  Server server("local_grouped", 1, kAll);
  std::vector<float> expected = server.run(0, 1, {kAll}), got(expected.size());
  std::vector<polyattn_tensor> views;
  int64_t q[] = {1, kAll, 4, 8}, k[] = {1, kAll, 2, 8}, v[] = {1, kAll, 2, 12},
          o[] = {1, kAll, 4, 12};
  views.push_back(polyattn_dense(server.tokensOf("q").data(), POLYATTN_F32, 4, q));
  views.push_back(polyattn_dense(server.tokensOf("k").data(), POLYATTN_F32, 4, k));
  views.push_back(polyattn_dense(server.tokensOf("v").data(), POLYATTN_F32, 4, v));
  views.push_back(polyattn_dense(got.data(), POLYATTN_F32, 4, o));
  ASSERT_EQ(llvm::toString(kernel->run(views, 1)), "");
  EXPECT_LT(relativeError(got, expected), 2e-6);
}

TEST(LocalDecode, RefusesHostilePositionsAndPools) {
  Server server("local_grouped", 1, 16);
  auto before = server.pools;
  std::string error;
  server.call({{0, -3, 0, 2}}, 4, 2, &error);
  EXPECT_EQ(error, "local_grouped__decode: argument 'first_position': expected a position of at "
                   "least 0, got -3 for batch 0");
  auto refuse = [&](auto edit, llvm::StringRef message) {
    server.edit = [&](std::vector<polyattn_tensor> &views) { edit(views); };
    std::vector<float> outputs = server.call({{0, 3, 4, 2}}, 4, 2, &error);
    EXPECT_EQ(error, message);
    EXPECT_TRUE(llvm::all_of(outputs, [](float x) { return std::isnan(x); }));
    EXPECT_EQ(server.pools, before);
  };
  size_t keys = server.numberOf("local_keys"), values = server.numberOf("local_values");
  size_t finalKeys = server.numberOf("final_local_keys");
  auto ofOtherBlock = [&](auto &views) { views[keys].sizes[2] = views[finalKeys].sizes[2] = 8; };
  refuse(ofOtherBlock, "local_grouped__decode: argument 'local_keys': expected shape [P, Hkv, 16, "
                       "8], got [32, 2, 8, 8]");
  auto ofOtherSlots = [&](auto &views) { views[keys].sizes[0] = views[finalKeys].sizes[0] = 8; };
  refuse(ofOtherSlots, "local_grouped__decode: argument 'local_keys': expected shape [P, Hkv, 16, "
                       "8] with P = 32 as in 'state', got [8, 2, 16, 8]");
  auto elsewhere = [&](auto &views) { views[finalKeys].data = views[values].data; };
  refuse(elsewhere, "local_grouped__decode: result 'final_local_keys': expected the memory of "
                    "argument 'local_keys', in which it lives");
  auto overlapping = [&](auto &views) {
    views[keys].data = views[finalKeys].data = static_cast<float *>(views[values].data) + 100;
  };
  refuse(overlapping, "local_grouped__decode: result 'final_local_keys': expected memory of its "
                      "own, got that of argument 'local_values'");
}
