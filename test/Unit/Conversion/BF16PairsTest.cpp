//===- BF16PairsTest.cpp - compiled products of bf16 pairs against loops --===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
// Operands are bf16 already, so that sums differ from loops in f64 by roundoff of f32 alone. Inputs
// end at a page that must not be touched; outputs and scratch memory are poisoned.

#include "polyattn/Target/CPU.h"
#include "test/Support/KernelRunner.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace polyattn;
using namespace polyattn::test;
using llvm::formatv;

namespace {

std::mt19937 randomNumbers(20261128);

std::string tile(int64_t rows, int64_t columns, const char *rest = "f32") {
  return formatv("!tile.tile<{0}x{1}x{2}>", rows, columns, rest).str();
}
const char *const kRows = "bf16", *const kPairs = "bf16, row_pairs";

std::string load(const std::string &name, int64_t rows, int64_t columns) {
  return formatv("  %{0} = tile.load %in_{0}[%c0, %c0] {{row_dim = 0, col_dim = 1} : "
                 "memref<?x?xbf16, strided<[?, 1], offset: ?>> -> {1}\n",
                 name, tile(rows, columns))
      .str();
}

/// A pack of `name` as %name_packed.
std::string pack(const std::string &name, int64_t rows, int64_t columns, const char *layout) {
  return formatv("  %{0}_packed = tile.pack %{0} : {1} -> {2}\n", name, tile(rows, columns),
                 tile(rows, columns, layout))
      .str();
}

class BF16Pairs : public testing::Test {
protected:
  void SetUp() override {
    MachineDescription host = llvm::cantFail(findMachine("native"));
    if (!host.has(Instructions::AVX512BF16))
      GTEST_SKIP() << "no products of bf16 pairs";
    machine.instructions = machine.instructions | Instructions::AVX512BF16;
    machine.features = "+avx512bf16";
  }

  /// Runs a kernel on inputs of bf16 and an output of f32, which is the tile `result`.
  void run(std::vector<std::pair<std::string, TestTensor *>> inputs, TestTensor &out,
           const std::string &body) {
    std::string names, arguments;
    std::vector<TestTensor *> tensors;
    for (auto &[name, tensor] : inputs) {
      names += "\"" + name + "\", ";
      arguments += "%in_" + name + ": memref<?x?xbf16, strided<[?, 1], offset: ?>>, ";
      tensors.push_back(tensor);
    }
    tensors.push_back(&out);
    std::string text =
        formatv("tile.kernel @test attributes {{arg_names = [{0}\"out\"], num_inputs = {1}} {{\n"
                "^bb0({2}%out: memref<?x?xf32, strided<[?, 1], offset: ?>>):\n"
                "  %c0 = arith.constant 0 : index\n{3}"
                "  tile.store %result, %out[%c0, %c0] {{row_dim = 0, col_dim = 1} : {4}, "
                "memref<?x?xf32, strided<[?, 1], offset: ?>>\n}\n",
                names, inputs.size(), arguments, body, tile(out.size(0), out.size(1)));
    Kernel compiled(text, machine);
    ASSERT_TRUE(compiled.valid()) << compiled.error() << text;
    compiled.run(tensors, 0, 1);
    EXPECT_EQ(compiled.error(), "") << text;
    EXPECT_TRUE(out.paddingIsIntact()) << text;
  }

  template <typename F> void expect(const TestTensor &out, const std::string &what, F expected) {
    for (int64_t i = 0; i < out.size(0); ++i)
      for (int64_t j = 0; j < out.size(1); ++j) {
        double want = expected(i, j), got = out.get({i, j});
        if (std::isnan(want) ? std::isnan(got) : want == got)
          continue;
        if (std::abs(got - want) > 1e-5 * std::max(1.0, std::abs(want)))
          FAIL() << what << " (" << i << ", " << j << "): got " << got << ", expected " << want;
      }
  }

  MachineDescription machine = llvm::cantFail(findMachine("x86-64-v4"));
};

TestTensor::Element bf16 = TestTensor::Element::BF16;

TEST_F(BF16Pairs, Dot) {
  for (int64_t m : {2, 3, 17, 70})
    for (int64_t n : {5, 16, 40, 100})
      for (int64_t k : {2, 6, 34})
        for (bool transposed : {false, true})
          for (int64_t bound : {int64_t(-1), int64_t(1), k / 2, k - 1, k + 3}) {
            int64_t rows = transposed ? k : m, columns = transposed ? m : k;
            TestTensor a({rows, columns}, bf16), b({k, n}, bf16), c({m, n}, bf16), out({m, n});
            a.fill(randomNumbers), b.fill(randomNumbers), c.fill(randomNumbers);
            // Terms behind the bound are not read.
            if (bound >= 0 && bound < k) {
              a.set({transposed ? bound : 0, transposed ? 0 : bound}, NAN);
              b.set({bound, 0}, INFINITY);
            }
            const char *layout = transposed ? kPairs : kRows;
            std::string body = formatv("  %n = arith.constant {0} : index\n", bound).str() +
                               load("a", rows, columns) + load("b", k, n) + load("c", m, n) +
                               pack("a", rows, columns, layout) + pack("b", k, n, kPairs) +
                               formatv("  %result = tile.dot %a_packed, %b_packed acc %c : {0} {1} "
                                       "precision <bf16> {2} : {3}, {4} -> {0}\n",
                                       tile(m, n), bound >= 0 ? "bound %n" : "",
                                       transposed ? "{lhs_transposed}" : "",
                                       tile(rows, columns, layout), tile(k, n, kPairs))
                                   .str();
            run({{"a", &a}, {"b", &b}, {"c", &c}}, out, body);
            expect(out, body, [&](int64_t i, int64_t j) {
              double sum = c.get({i, j});
              for (int64_t t = 0; t < (bound < 0 ? k : std::min(bound, k)); ++t)
                sum += (transposed ? a.get({t, i}) : a.get({i, t})) * b.get({t, j});
              return sum;
            });
          }
}

// The scores of a triangle and their product with values, with NaN and infinity in the last term
// that a row has: nothing outside of the triangle may reach the result, though a pair has a term
// on either side of the diagonal.
TEST_F(BF16Pairs, Triangles) {
  for (int64_t n : {2, 16, 18, 40, 64, 100})
    for (int64_t d : {8, 40})
      for (bool upper : {false, true})
        for (int64_t bound : {int64_t(-1), n - n / 3, n - 1}) {
          int64_t k = 18, last = upper ? 0 : n - 1;
          TestTensor a({k, n}, bf16), b({k, n}, bf16), v({n, d}, bf16), out({n, d});
          // Whole numbers, so that scores are bf16 exactly.
          for (TestTensor *tensor : {&a, &b})
            for (int64_t f = 0; f < k; ++f)
              for (int64_t i = 0; i < n; ++i)
                tensor->set({f, i}, double(randomNumbers() % 5) - 2);
          v.fill(randomNumbers);
          b.set({0, last}, NAN);
          v.set({last, 0}, INFINITY);
          std::string word = upper ? "upper" : "lower";
          std::string body =
              formatv("  %n = arith.constant {0} : index\n", bound).str() + load("a", k, n) +
              load("b", k, n) + load("v", n, d) + pack("a", k, n, kPairs) +
              pack("b", k, n, kPairs) + pack("v", n, d, kPairs) +
              formatv("  %s = tile.dot %a_packed, %b_packed precision <bf16> {{lhs_transposed, {0}}"
                      " : {1}, {1} -> {2}\n"
                      "  %m = tile.causal_mask %s {3} : {2} -> {2}\n",
                      word, tile(k, n, kPairs), tile(n, n), upper ? "{upper}" : "")
                  .str() +
              pack("m", n, n, kRows) +
              formatv("  %result = tile.dot %m_packed, %v_packed {0} precision <bf16> {{{1}_lhs} : "
                      "{2}, {3} -> {4}\n",
                      bound >= 0 ? "bound %n" : "", word, tile(n, n, kRows), tile(n, d, kPairs),
                      tile(n, d))
                  .str();
          run({{"a", &a}, {"b", &b}, {"v", &v}}, out, body);
          expect(out, body, [&](int64_t i, int64_t j) {
            double sum = 0;
            for (int64_t t = upper ? i : 0; t < (upper ? n : i + 1); ++t) {
              double s = 0;
              for (int64_t f = 0; f < k; ++f)
                s += a.get({f, i}) * b.get({f, t});
              if (bound < 0 || t < bound)
                sum += s * v.get({t, j});
            }
            return sum;
          });
        }
}

// One op writes both layouts of a value that is computed nowhere else, and a window of pairs is
// read.
TEST_F(BF16Pairs, PacksAFunctionInTwoLayouts) {
  for (int64_t m : {8, 34})
    for (int64_t n : {16, 24, 48, 80}) {
      int64_t first = 2, rows = m - 4;
      TestTensor x({m, n}, bf16), out({n, n});
      x.fill(randomNumbers);
      std::string body =
          load("x", m, n) +
          formatv("  %first = arith.constant {0} : index\n"
                  "  %half = arith.constant 5.0e-1 : f32\n"
                  "  %y = tile.map %x : {1} -> {1} {{\n"
                  "  ^bb0(%e: f32):\n    %h = arith.mulf %e, %half : f32\n"
                  "    tile.yield %h : f32\n  }\n"
                  "  %rows, %pairs = tile.pack %y : {1} -> {2}, {3}\n"
                  "  %window = tile.slice %pairs[%first, %c0] : {3} -> {4}\n"
                  "  %sum = tile.dot %window, %window precision <bf16> {{lhs_transposed} : "
                  "{4}, {4} -> {5}\n",
                  first, tile(m, n), tile(m, n, kRows), tile(m, n, kPairs), tile(rows, n, kPairs),
                  tile(n, n))
              .str() +
          load("w", n, n) + pack("w", n, n, kPairs) +
          formatv("  %buffer = tile.buffer : !tile.buffer<{0}x{1}>\n"
                  "  %two = tile.constant 2.0 : {2}\n"
                  "  tile.accumulate %rows, %w_packed, %buffer[%c0] factor %two : {2} precision "
                  "<bf16> : {3}, {4}, !tile.buffer<{0}x{1}>\n"
                  "  %state = tile.read %buffer[%c0] : !tile.buffer<{0}x{1}> -> {5}\n"
                  "  %result = tile.dot %state, %state acc %sum : {6} {{lhs_transposed} : {5}, {5} "
                  "-> {6}\n",
                  m, n, tile(1, 1), tile(m, n, kRows), tile(n, n, kPairs), tile(m, n), tile(n, n))
              .str();
      TestTensor w({n, n}, bf16);
      w.fill(randomNumbers);
      run({{"x", &x}, {"w", &w}}, out, body);
      auto state = [&](int64_t f, int64_t j) {
        double sum = 0;
        for (int64_t t = 0; t < n; ++t)
          sum += x.get({f, t}) / 2 * w.get({t, j});
        return sum;
      };
      std::vector<double> states;
      for (int64_t f = 0; f < m; ++f)
        for (int64_t j = 0; j < n; ++j)
          states.push_back(state(f, j));
      expect(out, body, [&](int64_t i, int64_t j) {
        double sum = 0;
        for (int64_t f = 0; f < m; ++f) {
          if (f >= first && f < first + rows)
            sum += x.get({f, i}) * x.get({f, j}) / 4;
          sum += states[f * n + i] * states[f * n + j];
        }
        return sum;
      });
    }
}

} // namespace
