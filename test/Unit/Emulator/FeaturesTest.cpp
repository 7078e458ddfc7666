//===- FeaturesTest.cpp - features that products form in registers --------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile kernel reads a state through features and updates another by them, with the sums over
// features that a normalizer needs. Its kernel must give the sums of the bf16 products, whichever
// way a tile lies, and whether a table has runs (lib/Conversion/TileToWarp/FeatureRuns.h) or not.
//
//===----------------------------------------------------------------------===//

#include "EmulatedRun.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <random>

using namespace mlir;
using namespace polyattn;

namespace {

constexpr int kNumbers = 32, kPositions = 64, kWidth = 32;

using Table = std::vector<std::array<int, 2>>;

/// Features in blocks of `leftCount` x 8 products.
Table runs(int leftCount) {
  Table table;
  for (int left = 0; left < kNumbers; left += leftCount)
    for (int right = left / 8 * 8; right < kNumbers; right += 8)
      for (int i = 0; i < leftCount; ++i)
        for (int j = 0; j < 8; ++j)
          table.push_back({left + i, right + j});
  return table;
}

/// The sorted ones.
Table triangle() {
  Table table;
  for (int i = 0; i < kNumbers; ++i)
    for (int j = i; j < kNumbers; ++j)
      table.push_back({i, j});
  return table;
}

struct Case {
  const char *name;
  Table table;
  int atOnce;       // features of a block, which divides the table
  bool byPositions; // how the numbers lie in the tensor, and in memory
  /// So many features that read the state have one weight, 1, 2 or 3; 0 where all have 1.
  int weightsFrom;
  int warps;
  bool inRegisters; // what is expected
};

class FeaturesTest : public EmulatedRun, public ::testing::WithParamInterface<Case> {
protected:
  static float rounded(double value) { return ofBF16(bf16(float(value))); }

  double weightOf(int feature) const {
    const Case &test = GetParam();
    if (!test.weightsFrom)
      return 1;
    return 1 + (feature / test.weightsFrom) % 3;
  }

  /// x by positions [T, n], as sequences are, or by numbers [n, T].
  std::string program() const {
    const Case &test = GetParam();
    std::string rows, weights;
    for (auto [left, right] : test.table)
      rows += llvm::formatv("{0}[{1}, {2}]", rows.empty() ? "" : ", ", left, right);
    if (test.weightsFrom) {
      for (size_t f = 0; f < test.table.size(); ++f)
        weights += llvm::formatv("{0}{1:f1}", f ? ", " : "", weightOf(int(f)));
      weights = ", weights = array<f64: " + weights + ">";
    }
    std::string table =
        llvm::formatv("table = dense<[{0}]> : tensor<{1}x2xi32>", rows, test.table.size());
    std::string load =
        test.byPositions
            ? "tile.load %x[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3, transposed}"
            : "tile.load %x[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3}";
    int columns = test.byPositions ? kNumbers : kPositions;
    std::string body = R"(
tile.kernel @kernel programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["x", "v", "s", "z", "w", "o", "d", "u", "y", "yw"], num_inputs = 5} {
^bb0(%x: memref<?x?x?x$Cxbf16>, %v: memref<?x?x?x$Wxbf16>, %s: memref<$DxWxf32>, %z: memref<$Dxf32>, %w: memref<$Pxf32>,
     %o: memref<$PxWxf32>, %d: memref<$Pxf32>, %u: memref<$DxWxf32>, %y: memref<$Dxf32>, %yw: memref<$Dxf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %end = arith.constant $D : index
  %step = arith.constant $F : index
  %state = tile.buffer : !tile.buffer<$DxW>
  %norm = tile.buffer : !tile.buffer<$Dx1>
  %update = tile.buffer : !tile.buffer<$DxW>
  scf.for %f = %c0 to %end step %step {
    %part = tile.load %s[%f, %c0] {row_dim = 0, col_dim = 1} : memref<$DxWxf32> -> !tile.tile<$FxWxf32>
    tile.write %part, %state[%f] : !tile.tile<$FxWxf32>, !tile.buffer<$DxW>
    %column = tile.load %z[%f] {row_dim = 0, col_dim = -1} : memref<$Dxf32> -> !tile.tile<$Fx1xf32>
    tile.write %column, %norm[%f] : !tile.tile<$Fx1xf32>, !tile.buffer<$Dx1>
  }
  %numbers = $LOAD : memref<?x?x?x$Cxbf16> -> !tile.tile<$Nx$Pxf32>
  %values = tile.load %v[%batch, %c0, %head, %c0] {row_dim = 1, col_dim = 3} : memref<?x?x?x$Wxbf16> -> !tile.tile<$PxWxf32>
  %row = tile.load %w[%c0] {row_dim = -1, col_dim = 0} : memref<$Pxf32> -> !tile.tile<1x$Pxf32>
  %zeros = tile.constant 0.0 : !tile.tile<$PxWxf32>
  %zero = tile.constant 0.0 : !tile.tile<1x$Pxf32>
  %sums:2 = scf.for %f = %c0 to %end step %step iter_args(%n = %zeros, %m = %zero) -> (!tile.tile<$PxWxf32>, !tile.tile<1x$Pxf32>) {
    %phi = tile.monomials %numbers[%f] {$TABLE$WEIGHTS} : !tile.tile<$Nx$Pxf32> -> !tile.tile<$Fx$Pxf32>
    %part = tile.read %state[%f] : !tile.buffer<$DxW> -> !tile.tile<$FxWxf32>
    %next = tile.dot %phi, %part acc %n : !tile.tile<$PxWxf32> {lhs_transposed} : !tile.tile<$Fx$Pxf32>, !tile.tile<$FxWxf32> -> !tile.tile<$PxWxf32>
    %column = tile.read %norm[%f] : !tile.buffer<$Dx1> -> !tile.tile<$Fx1xf32>
    %rows = tile.dot %column, %phi acc %m : !tile.tile<1x$Pxf32> {lhs_transposed} : !tile.tile<$Fx1xf32>, !tile.tile<$Fx$Pxf32> -> !tile.tile<1x$Pxf32>
    %bare = tile.monomials %numbers[%f] {$TABLE} : !tile.tile<$Nx$Pxf32> -> !tile.tile<$Fx$Pxf32>
    %added = tile.reduce <add> <columns> %bare : !tile.tile<$Fx$Pxf32> -> !tile.tile<$Fx1xf32>
    tile.store %added, %y[%f] {row_dim = 0, col_dim = -1} : !tile.tile<$Fx1xf32>, memref<$Dxf32>
    tile.accumulate %bare, %values, %update[%f] : !tile.tile<$Fx$Pxf32>, !tile.tile<$PxWxf32>, !tile.buffer<$DxW>
    %weighted = tile.map %bare, %row : !tile.tile<$Fx$Pxf32>, !tile.tile<1x$Pxf32> -> !tile.tile<$Fx$Pxf32> {
    ^bb0(%a: f32, %b: f32):
      %c = arith.mulf %a, %b : f32
      tile.yield %c : f32
    }
    %weightedSum = tile.reduce <add> <columns> %weighted : !tile.tile<$Fx$Pxf32> -> !tile.tile<$Fx1xf32>
    tile.store %weightedSum, %yw[%f] {row_dim = 0, col_dim = -1} : !tile.tile<$Fx1xf32>, memref<$Dxf32>
    scf.yield %next, %rows : !tile.tile<$PxWxf32>, !tile.tile<1x$Pxf32>
  }
  tile.store %sums#0, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<$PxWxf32>, memref<$PxWxf32>
  tile.store %sums#1, %d[%c0] {row_dim = -1, col_dim = 0} : !tile.tile<1x$Pxf32>, memref<$Pxf32>
  scf.for %f = %c0 to %end step %step {
    %part = tile.read %update[%f] : !tile.buffer<$DxW> -> !tile.tile<$FxWxf32>
    tile.store %part, %u[%f, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<$FxWxf32>, memref<$DxWxf32>
  }
}
)";
    auto fill = [&](const std::string &name, const std::string &by) {
      for (size_t at; (at = body.find(name)) != std::string::npos;)
        body.replace(at, name.size(), by);
    };
    fill("$TABLE", table);
    fill("$WEIGHTS", weights);
    fill("$LOAD", load);
    fill("xW", "x" + std::to_string(kWidth));
    fill("$W", std::to_string(kWidth));
    fill("$C", std::to_string(columns));
    fill("$D", std::to_string(test.table.size()));
    fill("$P", std::to_string(kPositions));
    fill("$N", std::to_string(kNumbers));
    fill("$F", std::to_string(test.atOnce));
    return body;
  }
};

TEST_P(FeaturesTest, AreThoseOfTheTable) {
  const Case &test = GetParam();
  int features = int(test.table.size());
  text = program();
  lowerTiles(test.warps);
  EXPECT_EQ(text.find("warp.multiply_pairs") != std::string::npos, test.inRegisters);

  std::vector<int64_t> xShape = test.byPositions ? std::vector<int64_t>{1, kPositions, 1, kNumbers}
                                                 : std::vector<int64_t>{1, kNumbers, 1, kPositions};
  TestTensor<uint16_t> x(xShape), v({1, kPositions, 1, kWidth});
  TestTensor<float> s({features, kWidth}), z({features}), w({kPositions});
  TestTensor<float> o({kPositions, kWidth}, true), d({kPositions}, true),
      u({features, kWidth}, true), y({features}, true), yw({features}, true);
  std::mt19937 random(std::random_device{}());
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (auto *tensor : {&x, &v})
    for (uint16_t &number : tensor->data)
      number = bf16(uniform(random));
  // What fragments of 16 bits hold.
  for (auto *tensor : {&s, &z, &w})
    for (float &number : tensor->data)
      number = rounded(uniform(random));
  auto report = run("kernel", {x, v, s, z, w, o, d, u, y, yw});
  ASSERT_TRUE(bool(report)) << toString(report.takeError());

  auto at = [&](int position, int number) {
    return double(ofBF16(test.byPositions ? x.data[position * kNumbers + number]
                                          : x.data[number * kPositions + position]));
  };
  // Where the weights are no runs the features of the queries are in memory.
  bool readsInRegisters = test.inRegisters && test.weightsFrom % 16 == 0;
  auto feature = [&](int position, int f, double weight, bool inRegisters) {
    auto [left, right] = test.table[f];
    if (inRegisters)
      return double(rounded(rounded(at(position, left) * weight) * at(position, right)));
    return double(rounded(at(position, left) * at(position, right) * weight));
  };
  auto expectNear = [](float got, double expected, double size, const char *what, int i) {
    ASSERT_NEAR(got, expected, 2e-6 * size) << what << " " << i;
  };
  for (int t = 0; t < kPositions; ++t) {
    double denominator = 0, size = 0;
    std::vector<double> sums(kWidth);
    for (int f = 0; f < features; ++f) {
      double number = feature(t, f, weightOf(f), readsInRegisters);
      size += std::abs(number);
      denominator += number * z.data[f];
      for (int c = 0; c < kWidth; ++c)
        sums[c] += number * s.data[f * kWidth + c];
    }
    expectNear(d.data[t], denominator, size, "d", t);
    for (int c = 0; c < kWidth; ++c)
      expectNear(o.data[t * kWidth + c], sums[c], size, "o", t * kWidth + c);
  }
  for (int f = 0; f < features; ++f) {
    double sum = 0, weighted = 0;
    std::vector<double> sums(kWidth);
    for (int t = 0; t < kPositions; ++t) {
      double number = feature(t, f, 1, test.inRegisters);
      sum += number;
      weighted += number * w.data[t];
      for (int c = 0; c < kWidth; ++c)
        sums[c] += number * ofBF16(v.data[t * kWidth + c]);
    }
    expectNear(y.data[f], sum, kPositions, "y", f);
    expectNear(yw.data[f], weighted, kPositions, "yw", f);
    for (int c = 0; c < kWidth; ++c)
      expectNear(u.data[f * kWidth + c], sums[c], kPositions, "u", f * kWidth + c);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Tables, FeaturesTest,
    ::testing::Values(Case{"RunsOf8", runs(8), 128, true, 64, 4, true},
                      Case{"RunsOf8ByNumbers", runs(8), 128, false, 64, 4, true},
                      Case{"RunsOf8InEightWarps", runs(8), 320, true, 0, 8, true},
                      Case{"RunsOf8InOneWarp", runs(8), 64, true, 64, 1, true},
                      Case{"RunsOf4", runs(4), 64, true, 32, 4, true},
                      Case{"RunsOf4ByNumbers", runs(4), 160, false, 32, 4, true},
                      Case{"RunsOf2", runs(2), 128, true, 16, 2, true},
                      Case{"RunsOf2ByNumbers", runs(2), 16, false, 0, 4, true},
                      // Blocks that end inside a run of eight are of runs of four.
                      Case{"BlocksOf32", runs(8), 32, true, 64, 4, true},
                      // Weights that change inside a run cut it.
                      Case{"Weights", runs(8), 128, true, 16, 4, true},
                      Case{"OddWeights", runs(8), 128, true, 5, 4, true},
                      Case{"Triangle", triangle(), 176, true, 3, 4, false}),
    [](const auto &info) { return info.param.name; });

} // namespace
