//===- RecurTest.cpp - steps of recurrences on a GPU ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedRun.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace polyattn;

namespace {

/// What happens to the rows: they are only read, updated, decayed too, and that after they have
/// been read.
enum class Kind { Read, Update, Decay, Before };

class RecurTest : public EmulatedRun, public ::testing::WithParamInterface<const char *> {
protected:
  static float numberOf(float value) { return value; }
  static float numberOf(uint16_t bits) { return ofBF16(bits); }
  static void set(float &place, float value) { place = value; }
  static void set(uint16_t &place, float value) { place = bf16(value); }

  /// A step of rows [m, n] behind zeros that the same kernel stores in the last row.
  std::string program(int64_t m, int64_t n, Kind kind, const char *element) const {
    bool updates = kind != Kind::Read, decays = kind >= Kind::Decay;
    auto tile = [](int64_t rows, int64_t columns) {
      return llvm::formatv("!tile.tile<{0}x{1}xf32>", rows, columns).str();
    };
    auto row = [&](const char *name, int64_t size) {
      return llvm::formatv("  %{0}t = tile.load %{0}[%c0, %c0] {{row_dim = 0, col_dim = 1} : "
                           "memref<1x{1}xf32> -> {2}\n",
                           name, size, tile(1, size))
          .str();
    };
    std::string state = llvm::formatv("memref<{0}x{1}x{2}>", m, n, element);
    std::string text =
        llvm::formatv("tile.kernel @kernel attributes {{arg_names = [\"q\", \"k\", \"v\", \"o\", "
                      "\"s\"], num_inputs = 3} {{\n^bb0(%q: memref<1x{0}xf32>, %k: "
                      "memref<1x{0}xf32>, %v: memref<1x{1}xf32>, %o: memref<1x{1}xf32>, %s: {2}):\n"
                      "  %c0 = arith.constant 0 : index\n  %last = arith.constant {3} : index\n",
                      m, n, state, m - 1);
    text += row("q", m) + row("k", m) + row("v", n);
    text +=
        llvm::formatv("  %z = tile.constant 0.0 : {0}\n  tile.store %z, %s[%last, %c0] {{row_dim "
                      "= 0, col_dim = 1} : {0}, {1}\n  %g = tile.constant 0.5 : {2}\n",
                      tile(1, n), state, tile(1, 1));
    text += "  %r = tile.recur %qt" + std::string(updates ? " key %kt value %vt" : "") +
            ", %s[%c0, %c0]" + (decays ? " factor %g acc %vt" : "") +
            (kind == Kind::Before ? " {before}" : "") + " : (" + tile(1, m) + ", " +
            (updates ? tile(1, m) + ", " + tile(1, n) + ", " : "") + state + ", index, index" +
            (decays ? ", " + tile(1, 1) + ", " + tile(1, n) : "") + ") -> " + tile(1, n) + "\n";
    text += llvm::formatv("  tile.store %r, %o[%c0, %c0] {{row_dim = 0, col_dim = 1} : {0}, "
                          "memref<1x{1}xf32>\n}\n",
                          tile(1, n), n);
    return text;
  }

  template <typename Element>
  void check(int64_t m, int64_t n, int64_t stride, Kind kind, const char *element, int warps) {
    SCOPED_TRACE(llvm::formatv("{0} x {1}, {2} apart, kind {3}, {4}, {5} warps", m, n, stride,
                               int(kind), element, warps)
                     .str());
    text = program(m, n, kind, element);
    lowerTiles(warps);
    TestTensor<float> q({1, m}), k({1, m}), v({1, n}), o({1, n}, true);
    TestTensor<Element> s({m, stride}, true, /*isUpdated=*/true);
    s.sizes = {m, n};
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (auto *tensor : {&q, &k, &v})
      for (float &number : tensor->data)
        number = uniform(random);
    for (Element &number : s.data)
      set(number, uniform(random));
    std::vector<float> before;
    for (Element number : s.data)
      before.push_back(numberOf(number));
    auto report = run("kernel", {q, k, v, o, s});
    ASSERT_TRUE(bool(report)) << toString(report.takeError());

    // What is summed up is what the tensor has then.
    for (int64_t j = 0; j < n; ++j) {
      double sum = kind >= Kind::Decay ? v.data[j] : 0;
      for (int64_t i = 0; i < m; ++i) {
        double old = i == m - 1 ? 0 : before[i * stride + j];
        double pair = kind == Kind::Read ? 0 : double(k.data[i]) * v.data[j];
        double state = old * (kind >= Kind::Decay ? 0.5 : 1) + pair;
        double found = numberOf(s.data[i * stride + j]);
        EXPECT_NEAR(found, state, sizeof(Element) == 2 ? 1e-2 : 1e-6) << i << ", " << j;
        sum += q.data[i] * (kind == Kind::Before ? old : found);
      }
      EXPECT_NEAR(o.data[j], sum, 1e-5 * (1 + std::sqrt(double(m)))) << j;
    }
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = n; j < stride; ++j)
        EXPECT_EQ(numberOf(s.data[i * stride + j]), before[i * stride + j])
            << "outside of the rows";
  }

  std::mt19937 random{std::random_device{}()};
};

// Of any size: with whole pieces for all threads or not, several rows at a time or one, columns
// that threads take in turns, and rows of tensors that begin at multiples of 16 bytes or not.
TEST_P(RecurTest, UpdatesRowsWhereTheyLie) {
  bool isNarrow = StringRef(GetParam()) == "bf16";
  for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1},
                      {2, 8},
                      {7, 64},
                      {40, 24},
                      {64, 64},
                      {150, 3},
                      {33, 128},
                      {21, 428},
                      {3, 1100}})
    for (Kind kind : {Kind::Read, Kind::Update, Kind::Decay, Kind::Before})
      for (int64_t stride : {n, n + 1, n + 8}) {
        int warps = random() % 2 ? 4 : 8;
        isNarrow ? check<uint16_t>(m, n, stride, kind, "bf16", warps)
                 : check<float>(m, n, stride, kind, "f32", warps);
      }
}

INSTANTIATE_TEST_SUITE_P(Elements, RecurTest, ::testing::Values("f32", "bf16"));

// What the zeros' threads have stored others read.
TEST_F(EmulatedRun, RecurWaitsForWhatWasStored) {
  text = R"(
tile.kernel @kernel attributes {arg_names = ["q", "o", "s"], num_inputs = 1} {
^bb0(%q: memref<1x16xf32>, %o: memref<1x16xf32>, %s: memref<16x16xf32>):
  %c0 = arith.constant 0 : index
  %row = tile.load %q[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<1x16xf32> -> !tile.tile<1x16xf32>
  %zeros = tile.constant 0.0 : !tile.tile<16x16xf32>
  tile.store %zeros, %s[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<16x16xf32>, memref<16x16xf32>
  %sums = tile.recur %row, %s[%c0, %c0] : (!tile.tile<1x16xf32>, memref<16x16xf32>, index, index) -> !tile.tile<1x16xf32>
  tile.store %sums, %o[%c0, %c0] {row_dim = 0, col_dim = 1} : !tile.tile<1x16xf32>, memref<1x16xf32>
}
)";
  lowerTiles(4);
  size_t store = text.find("warp.store_global"), load = text.find("warp.load_global", store);
  size_t barrier = text.find("warp.barrier", store);
  ASSERT_LT(barrier, load);
  text.insert(text.find('\n', load), " // here");
  TestTensor<float> q({1, 16}), o({1, 16}, true), s({16, 16}, true, /*isUpdated=*/true);
  auto report = run("kernel", {q, o, s});
  ASSERT_TRUE(bool(report)) << toString(report.takeError());
  text.erase(barrier, StringRef("warp.barrier").size());
  expectProblem(run("kernel", {q, o, s}), emulator::Problem::ReadAfterWriteRace, "// here");
}

} // namespace
