//===- ProgramTest.cpp - a whole tile kernel against plain loops ----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "polyattn/Reference/EvaluateTile.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace polyattn;

namespace {

constexpr int64_t kWidth = 64, kFeatures = 256;

Array randomArray(ArrayRef<int64_t> shape, unsigned seed) {
  Array array(shape);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (double &x : array.data)
    x = uniform(random);
  return array;
}

/// (x W1) * (x W2)
std::vector<double> llops(const Array &x, const Array &w1, const Array &w2, int64_t position,
                          int64_t head) {
  std::vector<double> features(kFeatures);
  for (int64_t f = 0; f < kFeatures; ++f) {
    double a = 0, b = 0;
    for (int64_t i = 0; i < kWidth; ++i) {
      a += x.at({0, position, head, i}) * w1.at({i, f});
      b += x.at({0, position, head, i}) * w2.at({i, f});
    }
    features[f] = a * b;
  }
  return features;
}

/// o_i = sum over j <= i of <phi_q(q_i), phi_k(k_j)> v_j, with a running state.
void attend(std::vector<Array> &t) {
  int64_t heads = t[0].shape[2], kvHeads = t[1].shape[2];
  for (int64_t h = 0; h < heads; ++h) {
    int64_t kv = h / (heads / kvHeads);
    Array state({kFeatures, kWidth});
    for (int64_t i = 0; i < t[0].shape[1]; ++i) {
      std::vector<double> key = llops(t[1], t[5], t[6], i, kv);
      std::vector<double> query = llops(t[0], t[3], t[4], i, h);
      for (int64_t f = 0; f < kFeatures; ++f)
        for (int64_t v = 0; v < kWidth; ++v) {
          state.at({f, v}) += key[f] * t[2].at({0, i, kv, v});
          t[7].at({0, i, h, v}) += query[f] * state.at({f, v});
        }
    }
  }
}

class LlopsProgram : public testing::TestWithParam<int64_t> {};

TEST_P(LlopsProgram, IsTheRecurrence) {
  MLIRContext context;
  context.loadDialect<tile::TileDialect, arith::ArithDialect, memref::MemRefDialect,
                      scf::SCFDialect>();
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(POLYATTN_TEST_DIR "/Tile/llops.mlir", &context);
  ASSERT_TRUE(module);
  int64_t tokens = GetParam();
  std::vector<Array> tensors = {randomArray({1, tokens, 2, kWidth}, 1),
                                randomArray({1, tokens, 1, kWidth}, 2),
                                randomArray({1, tokens, 1, kWidth}, 3)};
  for (unsigned seed = 4; seed < 8; ++seed)
    tensors.push_back(randomArray({kWidth, kFeatures}, seed));
  tensors.push_back(Array({1, tokens, 2, kWidth}));
  std::vector<Array> expected = tensors;
  // Every element must be written.
  for (double &x : tensors.back().data)
    x = std::nan("");
  int64_t programs = 0;
  TileOptions options;
  options.onProgram = [&](ArrayRef<int64_t>) { ++programs; };
  ASSERT_TRUE(succeeded(evaluateTile(*module->getOps<tile::KernelOp>().begin(), tensors, options)));
  EXPECT_EQ(programs, 2);
  attend(expected);
  double difference = 0, size = 0;
  for (size_t i = 0; i < expected[7].data.size(); ++i) {
    difference += std::pow(tensors[7].data[i] - expected[7].data[i], 2);
    size += std::pow(expected[7].data[i], 2);
  }
  EXPECT_LE(std::sqrt(difference), 1e-12 * std::sqrt(size));
}

INSTANTIATE_TEST_SUITE_P(Lengths, LlopsProgram, testing::Values(0, 1, 65, 200));

/// What the programs of a grid of 2 x 3 x 4 store where their coordinates say, for a kernel whose
/// first axis is what a launch chooses.
TEST(TilePrograms, CoordinatesCoverTheGridWithTheLastAxisFastest) {
  MLIRContext context;
  context.loadDialect<tile::TileDialect, arith::ArithDialect, memref::MemRefDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(R"(
tile.kernel @k programs [2 * (segments - 1), dim(0, 1), 4] attributes {arg_names = ["x", "o"], num_inputs = 1} {
^bb0(%x: memref<?x?xf32>, %o: memref<?x?x?xf32>):
  %a = tile.program_id 0 : index
  %b = tile.program_id 1 : index
  %c = tile.program_id 2 : index
  %c100 = arith.constant 100 : index
  %c10 = arith.constant 10 : index
  %hundreds = arith.muli %a, %c100 : index
  %tens = arith.muli %b, %c10 : index
  %both = arith.addi %hundreds, %tens : index
  %number = arith.addi %both, %c : index
  %t = tile.iota %number : !tile.tile<1x1xf32>
  tile.store %t, %o[%a, %b, %c] {row_dim = -1, col_dim = -1} : !tile.tile<1x1xf32>, memref<?x?x?xf32>
})",
                                                             &context);
  ASSERT_TRUE(module);
  std::vector<Array> tensors = {Array({5, 3}), Array({2, 3, 4})};
  std::vector<int64_t> order;
  TileOptions options;
  options.segments = 2;
  options.onProgram = [&](ArrayRef<int64_t> at) {
    order.push_back(100 * at[0] + 10 * at[1] + at[2]);
  };
  ASSERT_TRUE(succeeded(evaluateTile(*module->getOps<tile::KernelOp>().begin(), tensors, options)));
  ASSERT_EQ(order.size(), 24u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  for (int64_t a = 0; a < 2; ++a)
    for (int64_t b = 0; b < 3; ++b)
      for (int64_t c = 0; c < 4; ++c)
        EXPECT_EQ(tensors[1].at({a, b, c}), double(100 * a + 10 * b + c));
}

TEST(TilePrograms, GridWithAnEmptyAxisHasNone) {
  MLIRContext context;
  context.loadDialect<tile::TileDialect, arith::ArithDialect, memref::MemRefDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      "tile.kernel @k programs [segments - 1, dim(0, 0)] attributes {arg_names = [\"o\"], "
      "num_inputs = 0} {\n^bb0(%o: memref<?xf32>):\n}",
      &context);
  ASSERT_TRUE(module);
  auto count = [&](int64_t size, int64_t segments) {
    std::vector<Array> tensors = {Array({size})};
    int64_t programs = 0;
    TileOptions options;
    options.segments = segments;
    options.onProgram = [&](ArrayRef<int64_t>) { ++programs; };
    EXPECT_TRUE(
        succeeded(evaluateTile(*module->getOps<tile::KernelOp>().begin(), tensors, options)));
    return programs;
  };
  EXPECT_EQ(count(3, 1), 0);
  EXPECT_EQ(count(0, 2), 0);
  EXPECT_EQ(count(3, 3), 6);
}

} // namespace
