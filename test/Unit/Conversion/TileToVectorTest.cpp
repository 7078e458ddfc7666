//===- TileToVectorTest.cpp - compiled tile kernels against loops -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
// Every op family is compiled for each vector width and compared with loops in f64. Inputs end
// at a page that must not be touched; outputs and scratch memory are poisoned.

#include "test/Support/KernelRunner.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace polyattn;
using namespace polyattn::test;

namespace {

std::mt19937 randomNumbers(20260101);

struct Argument {
  std::string name, type;
};

std::string tensorType(std::vector<int64_t> sizes, const char *element = "f32") {
  std::string shape, layout;
  for (size_t d = 0; d < sizes.size(); ++d) {
    shape += "?x";
    layout += d + 1 < sizes.size() ? "?, " : "1";
  }
  return "memref<" + shape + element + ", strided<[" + layout + "], offset: ?>>";
}

std::string tile(int64_t rows, int64_t columns, const char *element = "f32") {
  return "!tile.tile<" + std::to_string(rows) + "x" + std::to_string(columns) + "x" + element + ">";
}

std::string kernel(std::vector<Argument> arguments, const std::string &body) {
  std::string names, list;
  for (const Argument &a : arguments) {
    names += (names.empty() ? "\"" : ", \"") + a.name + "\"";
    list += (list.empty() ? "%" : ", %") + a.name + ": " + a.type;
  }
  return "tile.kernel @test attributes {arg_names = [" + names +
         "], num_inputs = " + std::to_string(arguments.size() - 1) + "} {\n^bb0(" + list +
         "):\n"
         "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n" +
         body + "}\n";
}

/// `%name = tile.load` of a whole matrix.
std::string load(const std::string &name, int64_t rows, int64_t columns, bool transposed = false,
                 const char *element = "f32", const std::string &valid = "") {
  return "  %" + name + "t = tile.load %" + name + "[%c0, %c0] " + valid +
         " {row_dim = 0, col_dim = 1" + (transposed ? ", transposed" : "") +
         "} : " + tensorType({rows, columns}, element) + " -> " +
         (transposed ? tile(columns, rows) : tile(rows, columns)) + "\n";
}

std::string store(const std::string &value, int64_t rows, int64_t columns,
                  const char *element = "f32", const std::string &valid = "") {
  return "  tile.store %" + value + ", %out[%c0, %c0] " + valid +
         " {row_dim = 0, col_dim = 1} : " + tile(rows, columns) + ", " +
         tensorType({rows, columns}, element) + "\n";
}

class TileToVector : public ::testing::TestWithParam<int64_t> {
protected:
  // Four lanes, and no instruction but the ones that all have.
  MachineDescription machine{GetParam(), GetParam() == 16 ? 32 : 16, 32768,
                             GetParam() == 4 ? Instructions::None
                                             : Instructions::Fma | Instructions::Round};

  /// Runs a kernel on its tensors, the last of which is the output.
  void run(const std::string &text, std::vector<TestTensor *> tensors, int64_t end = 1) {
    Kernel compiled(text, machine);
    ASSERT_TRUE(compiled.valid()) << compiled.error() << text;
    compiled.run(tensors, 0, end);
    EXPECT_EQ(compiled.error(), "") << text;
    EXPECT_TRUE(tensors.back()->paddingIsIntact()) << text;
  }

  template <typename F>
  void expect(const TestTensor &out, F expected, double tolerance = 1e-5,
              const std::string &what = "") {
    for (int64_t i = 0; i < out.size(0); ++i)
      for (int64_t j = 0; j < out.size(1); ++j) {
        double want = expected(i, j), got = out.get({i, j});
        if (want == got)
          continue;
        if (std::isnan(want) ? std::isnan(got)
                             : std::abs(got - want) <= tolerance * std::max(1.0, std::abs(want)))
          continue;
        FAIL() << what << " (" << i << ", " << j << ") of " << out.size(0) << "x" << out.size(1)
               << ": got " << got << ", expected " << want;
      }
  }

  /// Scores, mask, product, with NaN and infinity in the last term that a row has: nothing outside
  /// of the triangle may reach the result.
  void checkTriangle(int64_t n, int64_t d, bool upper) {
    std::string word = upper ? "upper" : "lower";
    for (bool squared : {false, true})
      for (bool bounded : {false, true}) {
        int64_t k = 7, bound = bounded ? n - n / 3 : n, last = upper ? 0 : n - 1;
        TestTensor a({k, n}), b({k, n}), v({n, d}), out({n, d});
        a.fill(randomNumbers), b.fill(randomNumbers), v.fill(randomNumbers);
        b.set({0, last}, NAN);
        v.set({last, 0}, INFINITY);
        std::string square = tile(n, n);
        std::string body =
            "  %n = arith.constant " + std::to_string(bound) + " : index\n" + load("a", k, n) +
            load("b", k, n) + load("v", n, d) + "  %s = tile.dot %at, %bt {lhs_transposed, " +
            word + "} : " + tile(k, n) + ", " + tile(k, n) + " -> " + square + "\n" +
            (squared ? "  %p = tile.map %s : " + square + " -> " + square +
                           " {\n^bb0(%x: f32):\n %y = arith.mulf %x, %x : f32\n"
                           " tile.yield %y : f32\n }\n"
                     : "") +
            "  %m = tile.causal_mask %" + (squared ? "p" : "s") + (upper ? " {upper}" : "") +
            " : " + square + " -> " + square + "\n  %r = tile.dot %m, %vt " +
            (bounded ? "bound %n" : "") + " {" + word + "_lhs} : " + square + ", " + tile(n, d) +
            " -> " + tile(n, d) + "\n" + store("r", n, d);
        std::string type = tensorType({1, 1});
        run(kernel({{"a", type}, {"b", type}, {"v", type}, {"out", type}}, body),
            {&a, &b, &v, &out});
        expect(
            out,
            [&](int64_t i, int64_t j) {
              double sum = 0;
              for (int64_t t = upper ? i : 0; t < (upper ? n : i + 1) && t < bound; ++t) {
                double s = 0;
                for (int64_t f = 0; f < k; ++f)
                  s += a.get({f, i}) * b.get({f, t});
                sum += (squared ? s * s : s) * v.get({t, j});
              }
              return sum;
            },
            1e-5, "causal");
      }
  }
};

const std::vector<int64_t> kRows{1, 3, 17, 100}, kColumns{5, 16, 40, 64};

INSTANTIATE_TEST_SUITE_P(Widths, TileToVector, ::testing::Values(16, 8, 4),
                         [](const auto &info) { return "W" + std::to_string(info.param); });

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TEST_P(TileToVector, LoadAndStore) {
  for (int64_t rows : kRows)
    for (int64_t columns : kColumns)
      for (bool transposed : {false, true})
        for (int64_t valid : {int64_t(-1), int64_t(0), rows / 2, rows + 5}) {
          if (valid >= 0 && transposed && columns == 1)
            continue;
          TestTensor in({valid < 0 ? rows : std::min(valid, rows), columns});
          in.fill(randomNumbers);
          TestTensor out({transposed ? columns : rows, transposed ? rows : columns});
          std::string limit = valid < 0 ? "" : "valid %n";
          std::string body = "  %n = arith.constant " + std::to_string(valid) + " : index\n" +
                             load("in", rows, columns, transposed, "f32", limit) +
                             store("int", out.size(0), out.size(1));
          run(kernel({{"in", tensorType({1, 1})}, {"out", tensorType({1, 1})}}, body), {&in, &out});
          expect(out, [&](int64_t i, int64_t j) {
            if (transposed)
              std::swap(i, j);
            return i < in.size(0) ? in.get({i, j}) : 0.0;
          });
        }
}

TEST_P(TileToVector, StoresValidRowsOnly) {
  for (int64_t rows : kRows)
    for (int64_t valid : {int64_t(0), rows / 2, rows, rows + 5}) {
      TestTensor in({rows, 40}), out({rows, 40});
      in.fill(randomNumbers);
      std::string body = "  %n = arith.constant " + std::to_string(valid) + " : index\n" +
                         load("in", rows, 40) + store("int", rows, 40, "f32", "valid %n");
      run(kernel({{"in", tensorType({1, 1})}, {"out", tensorType({1, 1})}}, body), {&in, &out});
      expect(out, [&](int64_t i, int64_t j) { return i < valid ? in.get({i, j}) : NAN; });
    }
}

TEST_P(TileToVector, SixteenBitTensors) {
  using Element = TestTensor::Element;
  for (auto [name, element] : {std::pair{"f16", Element::F16}, {"bf16", Element::BF16}})
    for (int64_t columns : kColumns)
      for (bool transposed : {false, true}) {
        int64_t rows = 17;
        TestTensor in({rows, columns}, element);
        in.fill(randomNumbers);
        in.set({0, 0}, INFINITY);
        in.set({0, 1}, NAN);
        int64_t m = transposed ? columns : rows, n = transposed ? rows : columns;
        TestTensor out({m, n}, element), expected({m, n}, element);
        std::string scaled = "  %y = tile.map %int : " + tile(m, n) + " -> " + tile(m, n) +
                             " {\n^bb0(%x: f32):\n %c = arith.constant 1.7 : f32\n"
                             " %r = arith.mulf %x, %c : f32\n tile.yield %r : f32\n }\n";
        run(kernel({{"in", tensorType({1, 1}, name)}, {"out", tensorType({1, 1}, name)}},
                   load("in", rows, columns, transposed, name) + scaled + store("y", m, n, name)),
            {&in, &out});
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j)
            expected.set({i, j}, float(in.get(transposed ? std::vector<int64_t>{j, i}
                                                         : std::vector<int64_t>{i, j})) *
                                     1.7f);
        expect(out, [&](int64_t i, int64_t j) { return expected.get({i, j}); }, 0, name);
      }
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

TEST_P(TileToVector, Dot) {
  for (int64_t m : kRows)
    for (int64_t n : {int64_t(1), int64_t(5), int64_t(16), int64_t(40), int64_t(64)})
      for (int64_t k : {1, 3, 17})
        for (bool transposed : {false, true})
          for (int64_t bound : {int64_t(-1), k / 2, k + 2}) {
            TestTensor a({transposed ? k : m, transposed ? m : k}), b({k, n}), c({m, n}),
                out({m, n});
            a.fill(randomNumbers), b.fill(randomNumbers), c.fill(randomNumbers);
            std::string body = "  %n = arith.constant " + std::to_string(bound) + " : index\n" +
                               load("a", a.size(0), a.size(1)) + load("b", k, n) + load("c", m, n) +
                               "  %r = tile.dot %at, %bt acc %ct : " + tile(m, n) +
                               (bound >= 0 ? " bound %n " : " ") +
                               (transposed ? "{lhs_transposed} : " : ": ") +
                               tile(a.size(0), a.size(1)) + ", " + tile(k, n) + " -> " +
                               tile(m, n) + "\n" + store("r", m, n);
            std::string type = tensorType({1, 1});
            run(kernel({{"a", type}, {"b", type}, {"c", type}, {"out", type}}, body),
                {&a, &b, &c, &out});
            expect(out, [&](int64_t i, int64_t j) {
              double sum = c.get({i, j});
              for (int64_t t = 0; t < (bound < 0 ? k : std::min(bound, k)); ++t)
                sum += (transposed ? a.get({t, i}) : a.get({i, t})) * b.get({t, j});
              return sum;
            });
          }
}

TEST_P(TileToVector, ProductOfTwoProjections) {
  for (int64_t m : {1, 3, 24, 100})
    for (int64_t n : kColumns) {
      int64_t k = 17;
      TestTensor a({k, m}), b({k, m}), x({k, n}), out({m, n});
      a.fill(randomNumbers), b.fill(randomNumbers), x.fill(randomNumbers);
      std::string dot =
          " {lhs_transposed} : " + tile(k, m) + ", " + tile(k, n) + " -> " + tile(m, n) + "\n";
      std::string body = load("a", k, m) + load("b", k, m) + load("x", k, n) +
                         "  %u = tile.dot %at, %xt" + dot + "  %v = tile.dot %bt, %xt" + dot +
                         "  %r = tile.map %u, %v : " + tile(m, n) + ", " + tile(m, n) + " -> " +
                         tile(m, n) +
                         " {\n^bb0(%p: f32, %q: f32):\n %y = arith.mulf %p, %q : f32\n"
                         " tile.yield %y : f32\n }\n" +
                         store("r", m, n);
      std::string type = tensorType({1, 1});
      run(kernel({{"a", type}, {"b", type}, {"x", type}, {"out", type}}, body), {&a, &b, &x, &out});
      expect(out, [&](int64_t i, int64_t j) {
        double u = 0, v = 0;
        for (int64_t t = 0; t < k; ++t) {
          u += a.get({t, i}) * x.get({t, j});
          v += b.get({t, i}) * x.get({t, j});
        }
        return u * v;
      });
    }
}

TEST_P(TileToVector, CausalProducts) {
  std::vector<std::tuple<bool, int64_t>> cases = {{false, 21}, {true, 21}, {false, 1}, {true, 1}};
  for (auto [upper, width] : cases)
    for (int64_t n : {1, 3, 16, 17, 40, 64, 100})
      checkTriangle(n, width, upper);
}

TEST_P(TileToVector, MaskWritesZeros) {
  for (int64_t n : {1, 3, 16, 40})
    for (bool upper : {false, true}) {
      TestTensor a({n, n}), out({n, n});
      a.fill(randomNumbers);
      if (n > 1)
        a.set({upper ? n - 1 : 0, upper ? 0 : n - 1}, NAN);
      std::string body = load("a", n, n) + "  %m = tile.causal_mask %at" +
                         (upper ? " {upper}" : "") + " : " + tile(n, n) + " -> " + tile(n, n) +
                         "\n" + store("m", n, n);
      run(kernel({{"a", tensorType({1, 1})}, {"out", tensorType({1, 1})}}, body), {&a, &out});
      auto isKept = [&](int64_t i, int64_t j) { return upper ? j >= i : j <= i; };
      expect(out, [&](int64_t i, int64_t j) { return isKept(i, j) ? a.get({i, j}) : 0.0; }, 0);
    }
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

// A state of several blocks, with decay, read back.
TEST_P(TileToVector, AccumulateAndRead) {
  for (int64_t m : {1, 3, 8, 40})
    for (int64_t n : {1, 5, 16, 40})
      for (bool mapped : {false, true}) {
        int64_t k = 17, bound = 11;
        TestTensor a({m, k}), b({k, n}), out({m, n});
        a.fill(randomNumbers), b.fill(randomNumbers);
        std::string buffer =
            "!tile.buffer<" + std::to_string(3 * m) + "x" + std::to_string(n) + ">";
        std::string lhs = mapped ? "  %l = tile.map %at : " + tile(m, k) + " -> " + tile(m, k) +
                                       " {\n^bb0(%x: f32):\n %y = arith.addf %x, %x : f32\n"
                                       " tile.yield %y : f32\n }\n"
                                 : "";
        std::string body = load("a", m, k) + load("b", k, n) + "  %s = tile.buffer : " + buffer +
                           "\n  %n = arith.constant " + std::to_string(bound) +
                           " : index\n  %at2 = arith.constant " + std::to_string(m) +
                           " : index\n  %c3 = arith.constant 3 : index\n"
                           "  %g = tile.constant 0.5 : " +
                           tile(1, 1) + "\n" + "  scf.for %i = %c0 to %c3 step %c1 {\n" + lhs +
                           "  tile.accumulate " + (mapped ? "%l" : "%at") +
                           ", %bt, %s[%at2] bound %n factor %g : " + tile(1, 1) + " : " +
                           tile(m, k) + ", " + tile(k, n) + ", " + buffer +
                           "\n  }\n  %r = tile.read %s[%at2] : " + buffer + " -> " + tile(m, n) +
                           "\n" + store("r", m, n);
        std::string type = tensorType({1, 1});
        run(kernel({{"a", type}, {"b", type}, {"out", type}}, body), {&a, &b, &out});
        expect(
            out,
            [&](int64_t i, int64_t j) {
              double sum = 0;
              for (int64_t t = 0; t < bound; ++t)
                sum += a.get({i, t}) * b.get({t, j}) * (mapped ? 2 : 1);
              return sum * 1.75;
            },
            1e-5, "accumulate");
      }
}

// A step of a state of any size: rows behind each other, with sums of several at a time.
TEST_P(TileToVector, RecurUpdatesRowsWhereTheyLie) {
  for (int64_t m : {1, 2, 7, 40})
    for (int64_t n : {1, 3, 8, 16, 40, 72, 150, 256, 428, 1100})
      // Read only, updated, decayed, decayed after they have been read.
      for (int kind : {0, 1, 2, 3}) {
        TestTensor q({1, m}), k({1, m}), v({1, n}), s({m, n}), out({m + 1, n});
        for (TestTensor *tensor : {&q, &k, &v, &s})
          tensor->fill(randomNumbers);
        std::string place = tensorType({m + 1, n}) + ", index, index";
        std::string body =
            load("q", 1, m) + load("k", 1, m) + load("v", 1, n) + load("s", m, n) +
            store("st", m, n) + "  %m = arith.constant " + std::to_string(m) +
            " : index\n  %g = tile.constant 0.5 : " + tile(1, 1) + "\n  %o = tile.recur %qt" +
            (kind ? " key %kt value %vt" : "") + ", %out[%c0, %c0]" +
            (kind >= 2 ? " factor %g acc %vt" : "") + (kind == 3 ? " {before}" : "") + " : (" +
            tile(1, m) + ", " + (kind ? tile(1, m) + ", " + tile(1, n) + ", " : "") + place +
            (kind >= 2 ? ", " + tile(1, 1) + ", " + tile(1, n) : "") + ") -> " + tile(1, n) +
            "\n  tile.store %o, %out[%m, %c0] {row_dim = 0, col_dim = 1} : " + tile(1, n) + ", " +
            tensorType({m + 1, n}) + "\n";
        std::string type = tensorType({1, 1});
        run(kernel({{"q", type}, {"k", type}, {"v", type}, {"s", type}, {"out", type}}, body),
            {&q, &k, &v, &s, &out});
        auto state = [&](int64_t i, int64_t j) {
          double pair = kind ? k.get({0, i}) * v.get({0, j}) : 0;
          return s.get({i, j}) * (kind >= 2 ? 0.5 : 1) + pair;
        };
        expect(
            out,
            [&](int64_t i, int64_t j) {
              double sum = kind >= 2 ? v.get({0, j}) : 0;
              for (int64_t r = 0; r < m; ++r)
                sum += q.get({0, r}) * (kind == 3 ? s.get({r, j}) : state(r, j));
              return i < m ? state(i, j) : sum;
            },
            1e-5, "recur");
      }
}

TEST_P(TileToVector, WriteNeighboursOfAColumn) {
  TestTensor a({1, 1}), out({3, 1});
  a.fill(randomNumbers);
  std::string body = load("a", 1, 1) +
                     "  %s = tile.buffer : !tile.buffer<3x1>\n"
                     "  tile.write %at, %s[%c1] : " +
                     tile(1, 1) +
                     ", !tile.buffer<3x1>\n"
                     "  tile.write %at, %s[%c0] : " +
                     tile(1, 1) +
                     ", !tile.buffer<3x1>\n"
                     "  %r = tile.read %s[%c0] : !tile.buffer<3x1> -> " +
                     tile(3, 1) + "\n" + store("r", 3, 1);
  run(kernel({{"a", tensorType({1, 1})}, {"out", tensorType({1, 1})}}, body), {&a, &out});
  expect(out, [&](int64_t i, int64_t) { return i < 2 ? a.get({0, 0}) : 0.0; }, 0);
}

// Loops that carry tiles: in place, and by way of each other.
TEST_P(TileToVector, CarriedTiles) {
  for (int64_t n : {1, 5, 16, 40}) {
    TestTensor a({n, n}), b({n, n}), out({n, n});
    a.fill(randomNumbers), b.fill(randomNumbers);
    std::string t = tile(n, n);
    std::string body =
        load("a", n, n) + load("b", n, n) +
        "  %c3 = arith.constant 3 : index\n"
        "  %x, %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%u = %at, %v = %bt) -> (" +
        t + ", " + t + ") {\n  %w = tile.map %u, %v : " + t + ", " + t + " -> " + t +
        " {\n^bb0(%p: f32, %q: f32):\n %z = arith.addf %p, %q : f32\n tile.yield %z : f32\n }\n"
        "  scf.yield %v, %w : " +
        t + ", " + t +
        "\n  }\n"
        "  %r = tile.map %x, %y : " +
        t + ", " + t + " -> " + t +
        " {\n^bb0(%p: f32, %q: f32):\n %z = arith.subf %p, %q : f32\n tile.yield %z : f32\n }\n" +
        store("r", n, n);
    std::string type = tensorType({1, 1});
    run(kernel({{"a", type}, {"b", type}, {"out", type}}, body), {&a, &b, &out});
    expect(out, [&](int64_t i, int64_t j) {
      double u = a.get({i, j}), v = b.get({i, j});
      for (int s = 0; s < 3; ++s) {
        double w = u + v;
        u = v;
        v = w;
      }
      return u - v;
    });
  }
}

//===----------------------------------------------------------------------===//
// Elements, reductions, rearrangements
//===----------------------------------------------------------------------===//

TEST_P(TileToVector, ExpIsAccurateOverItsWholeRange) {
  int64_t rows = 64, columns = 177;
  TestTensor a({rows, columns}), out({rows, columns});
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      a.set({i, j}, -86.98 + 175.7 * double(i * columns + j) / double(rows * columns - 1));
  const double special[] = {0, -INFINITY, INFINITY, NAN, -200, 100, -3e38, 3e38, 1e-30, 88.72};
  for (auto [j, x] : llvm::enumerate(special))
    a.set({0, int64_t(j)}, x);
  std::string t = tile(rows, columns);
  std::string body = load("a", rows, columns) + "  %r = tile.map %at : " + t + " -> " + t +
                     " {\n^bb0(%x: f32):\n %y = math.exp %x : f32\n tile.yield %y : f32\n }\n" +
                     store("r", rows, columns);
  run(kernel({{"a", tensorType({1, 1})}, {"out", tensorType({1, 1})}}, body), {&a, &out});
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      double x = a.get({i, j}), want = float(std::exp(x)), got = out.get({i, j});
      if (std::isnan(x)) {
        EXPECT_TRUE(std::isnan(got));
      } else if (std::isinf(want) || want < std::numeric_limits<float>::min()) {
        EXPECT_EQ(got, std::isinf(want) ? want : 0) << "exp " << x;
      } else {
        // Two units in the last place: machines without a fused multiply-add round more often.
        EXPECT_NEAR(got, want, 2 * std::ldexp(1.0, std::ilogb(want) - 23)) << "exp " << x;
      }
    }
}

TEST_P(TileToVector, Functions) {
  struct Case {
    std::string op;
    double (*function)(double);
    bool positive;
  };
  for (const Case &c :
       std::vector<Case>{{"math.exp", [](double x) { return std::exp(x); }, false},
                         {"math.exp2", [](double x) { return std::exp2(x); }, false},
                         {"math.tanh", [](double x) { return std::tanh(x); }, false},
                         {"math.erf", [](double x) { return std::erf(x); }, false},
                         {"math.erfc", [](double x) { return std::erfc(x); }, false},
                         {"math.sin", [](double x) { return std::sin(x); }, false},
                         {"math.cos", [](double x) { return std::cos(x); }, false},
                         {"math.sqrt", [](double x) { return std::sqrt(x); }, true},
                         {"math.rsqrt", [](double x) { return 1 / std::sqrt(x); }, true},
                         {"math.log", [](double x) { return std::log(x); }, true},
                         {"math.log1p", [](double x) { return std::log1p(x); }, true},
                         {"math.absf", [](double x) { return std::fabs(x); }, false}}) {
    int64_t rows = 3, columns = 21;
    TestTensor a({rows, columns}), out({rows, columns});
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        a.set({i, j}, (c.positive ? 0.1 : -5.0) + 0.15 * double(i * columns + j));
    std::string t = tile(rows, columns);
    std::string body = load("a", rows, columns) + "  %r = tile.map %at : " + t + " -> " + t +
                       " {\n^bb0(%x: f32):\n %y = " + c.op +
                       " %x : f32\n tile.yield %y : f32\n }\n" + store("r", rows, columns);
    run(kernel({{"a", tensorType({1, 1})}, {"out", tensorType({1, 1})}}, body), {&a, &out});
    expect(out, [&](int64_t i, int64_t j) { return c.function(a.get({i, j})); }, 3e-6, c.op);
  }
}

TEST_P(TileToVector, MapRepeatsOperands) {
  for (int64_t m : kRows)
    for (int64_t n : {int64_t(1), int64_t(5), int64_t(40)}) {
      TestTensor a({m, n}), r({1, n}), c({m, 1}), s({1, 1}), out({m, n});
      for (TestTensor *tensor : {&a, &r, &c, &s})
        tensor->fill(randomNumbers);
      std::string body =
          load("a", m, n) + load("r", 1, n) + load("c", m, 1) + load("s", 1, 1) +
          "  %y = tile.map %at, %rt, %ct, %st : " + tile(m, n) + ", " + tile(1, n) + ", " +
          tile(m, 1) + ", " + tile(1, 1) + " -> " + tile(m, n) +
          " {\n^bb0(%p: f32, %q: f32, %u: f32, %v: f32):\n %1 = arith.mulf %p, %q : f32\n"
          " %2 = arith.divf %u, %v : f32\n %3 = arith.addf %1, %2 : f32\n tile.yield %3 : f32\n "
          "}\n" +
          store("y", m, n);
      std::string type = tensorType({1, 1});
      run(kernel({{"a", type}, {"r", type}, {"c", type}, {"s", type}, {"out", type}}, body),
          {&a, &r, &c, &s, &out});
      expect(
          out,
          [&](int64_t i, int64_t j) {
            return a.get({i, j}) * r.get({0, j}) + c.get({i, 0}) / s.get({0, 0});
          },
          1e-4);
    }
}

TEST_P(TileToVector, Reduce) {
  for (int64_t m : kRows)
    for (int64_t n : {int64_t(1), int64_t(5), int64_t(17), int64_t(64)})
      for (bool rows : {false, true})
        for (bool sum : {false, true})
          for (int64_t bound : {int64_t(-1), (rows ? m : n) / 2 + 1})
            for (std::string triangle : {"", "lower", "upper"}) {
              bool lower = triangle == "lower", upper = triangle == "upper";
              if ((lower || upper) && m != n && m != 17)
                continue;
              int64_t columns = lower || upper ? m : n, om = rows ? 1 : m, on = rows ? columns : 1;
              if (lower && bound >= 0)
                continue;
              TestTensor a({m, columns}), out({om, on});
              a.fill(randomNumbers);
              std::string body =
                  "  %n = arith.constant " + std::to_string(bound) + " : index\n" +
                  load("a", m, columns) + "  %r = tile.reduce " + (sum ? "<add>" : "<max>") +
                  (rows ? " <rows>" : " <columns>") + " %at " + (bound >= 0 ? "bound %n " : "") +
                  (triangle.empty() ? "" : "{" + triangle + "}") + " : " + tile(m, columns) +
                  " -> " + tile(om, on) + "\n" + store("r", om, on);
              run(kernel({{"a", tensorType({1, 1})}, {"out", tensorType({1, 1})}}, body),
                  {&a, &out});
              expect(
                  out,
                  [&](int64_t i, int64_t j) {
                    double result = sum ? 0 : -INFINITY;
                    int64_t count = rows ? m : columns;
                    for (int64_t t = 0; t < (bound < 0 ? count : std::min(bound, count)); ++t) {
                      int64_t r = rows ? t : i, c = rows ? j : t;
                      if ((lower && c > r) || (upper && c < r))
                        continue;
                      double x = a.get({r, c});
                      result = sum ? result + x : std::max(result, x);
                    }
                    return result;
                  },
                  1e-5, "reduce");
            }
}

TEST_P(TileToVector, Rearrangements) {
  for (int64_t m : {1, 3, 17, 40})
    for (int64_t n : {1, 5, 16, 40}) {
      TestTensor a({m, n}), turned({n, m}), stacked({2 * m, n}), picked({3, n}), sums({1, n});
      a.fill(randomNumbers);
      std::string type = tensorType({1, 1});
      std::vector<Argument> arguments{{"a", type}, {"out", type}};
      run(kernel(arguments, load("a", m, n) + "  %r = tile.transpose %at : " + tile(m, n) + " -> " +
                                tile(n, m) + "\n" + store("r", n, m)),
          {&a, &turned});
      expect(turned, [&](int64_t i, int64_t j) { return a.get({j, i}); }, 0, "transpose");
      run(kernel(arguments, load("a", m, n) + "  %z = tile.constant 2.5 : " + tile(m, n) +
                                "\n  %r = tile.concat %at, %z : " + tile(m, n) + ", " + tile(m, n) +
                                " -> " + tile(2 * m, n) + "\n" + store("r", 2 * m, n)),
          {&a, &stacked});
      expect(
          stacked, [&](int64_t i, int64_t j) { return i < m ? a.get({i, j}) : 2.5; }, 0, "concat");
      std::string last = std::to_string(m - 1), middle = std::to_string(m / 2);
      run(kernel(arguments, load("a", m, n) + "  %r = tile.select_rows %at {rows = array<i64: " +
                                last + ", 0, " + middle + ">} : " + tile(m, n) + " -> " +
                                tile(3, n) + "\n" + store("r", 3, n)),
          {&a, &picked});
      expect(
          picked,
          [&](int64_t i, int64_t j) {
            return a.get({i == 0 ? m - 1 : i == 1 ? 0 : m / 2, j});
          },
          0, "select_rows");
      if (m > 2) {
        TestTensor window({m - 2, (n + 1) / 2});
        run(kernel(arguments, load("a", m, n) + "  %o = arith.constant " + std::to_string(n / 2) +
                                  " : index\n  %r = tile.slice %at[%c1, %o] : " + tile(m, n) +
                                  " -> " + tile(m - 2, (n + 1) / 2) + "\n" +
                                  store("r", m - 2, (n + 1) / 2)),
            {&a, &window});
        expect(window, [&](int64_t i, int64_t j) { return a.get({i + 1, j + n / 2}); }, 0, "slice");
      }
      for (bool transposed : {false, true}) {
        TestTensor diagonals({m + n - 1, 1}), toeplitz({m, n});
        diagonals.fill(randomNumbers);
        run(kernel(arguments, load("a", m + n - 1, 1) + "  %r = tile.toeplitz %at" +
                                  (transposed ? " {transposed}" : "") + " : " + tile(m + n - 1, 1) +
                                  " -> " + tile(m, n) + "\n" + store("r", m, n)),
            {&diagonals, &toeplitz});
        expect(
            toeplitz,
            [&](int64_t i, int64_t j) {
              return diagonals.get({transposed ? j - i + m - 1 : i - j + n - 1, 0});
            },
            0, "toeplitz");
      }
      for (bool transposed : {false, true}) {
        TestTensor diagonals({m + n - 1, 1});
        run(kernel(arguments, load("a", m, n) + "  %r = tile.diagonal_sums %at" +
                                  (transposed ? " {transposed}" : "") + " : " + tile(m, n) +
                                  " -> " + tile(m + n - 1, 1) + "\n" + store("r", m + n - 1, 1)),
            {&a, &diagonals});
        expect(
            diagonals,
            [&](int64_t d, int64_t) {
              double sum = 0;
              for (int64_t i = 0; i < m; ++i)
                for (int64_t j = 0; j < n; ++j)
                  if ((transposed ? j - i + m - 1 : i - j + n - 1) == d)
                    sum += a.get({i, j});
              return sum;
            },
            1e-5, "diagonal_sums");
      }
      TestTensor first({1, n});
      run(kernel(arguments, load("a", m, n) + "  %f = tile.slice %at[%c0, %c0] : " + tile(m, n) +
                                " -> " + tile(1, n) + "\n  %r, %low = tile.cumulative_sum %f : " +
                                tile(1, n) + "\n" + store("r", 1, n)),
          {&a, &first});
      expect(
          first,
          [&](int64_t, int64_t j) {
            double sum = 0;
            for (int64_t t = 0; t <= j; ++t)
              sum += a.get({0, t});
            return sum;
          },
          1e-5, "cumulative_sum");
    }
}

// After numbers of -256 a sum in f32 would be off by 1e-3; both numbers together have it all.
TEST_P(TileToVector, RunningSumsInTwoNumbers) {
  for (int64_t n : {1, 5, 16, 40, 128}) {
    TestTensor a({1, n}), out({2, n});
    for (int64_t j = 0; j < n; ++j)
      a.set({0, j}, float(j % 3 == 1 ? -256 + 1e-4 * j : -1e-4 * j));
    std::string type = tensorType({1, 1}), row = tile(1, n);
    run(kernel({{"a", type}, {"out", type}},
               load("a", 1, n) + "  %high, %low = tile.cumulative_sum %at : " + row +
                   "\n  %r = tile.concat %high, %low : " + row + ", " + row + " -> " + tile(2, n) +
                   "\n" + store("r", 2, n)),
        {&a, &out});
    double sum = 0;
    for (int64_t j = 0; j < n; ++j) {
      sum += a.get({0, j});
      EXPECT_EQ(out.get({0, j}), float(sum)) << j << " of " << n;
      EXPECT_NEAR(out.get({0, j}) + out.get({1, j}), sum, 1e-9) << j << " of " << n;
    }
  }
}

TEST_P(TileToVector, Expand) {
  for (int64_t n : {1, 5, 16, 40, 64})
    for (bool weighted : {false, true}) {
      TestTensor a({5, n}), out({8, n});
      a.fill(randomNumbers);
      std::vector<std::array<int64_t, 3>> table;
      std::string rows, weights;
      for (int64_t i = 0; i < 11; ++i) {
        table.push_back({i % 5, (i * 3 + 1) % 5, (i * 2) % 5});
        rows += std::string(i ? ", " : "") + "[" + std::to_string(table[i][0]) + ", " +
                std::to_string(table[i][1]) + ", " + std::to_string(table[i][2]) + "]";
        weights += std::string(i ? ", " : "") + std::to_string(i + 1) + ".0";
      }
      std::string body = load("a", 5, n) + "  %f = arith.constant 2 : index\n" +
                         "  %r = tile.monomials %at[%f] {table = dense<[" + rows +
                         "]> : tensor<11x3xi32>" +
                         (weighted ? ", weights = array<f64: " + weights + ">" : "") +
                         "} : " + tile(5, n) + " -> " + tile(8, n) + "\n" + store("r", 8, n);
      run(kernel({{"a", tensorType({1, 1})}, {"out", tensorType({1, 1})}}, body), {&a, &out});
      expect(
          out,
          [&](int64_t i, int64_t j) {
            double product = weighted ? double(i + 3) : 1.0;
            for (int64_t row : table[i + 2])
              product *= a.get({row, j});
            return product;
          },
          1e-5, "expand");
    }
}

// Runs of a table that a block begins and ends within, and columns that fill no vector, or that are
// one, whose rows lie side by side.
TEST_P(TileToVector, Contract) {
  constexpr int64_t width = 7, features = width * (width + 1) / 2, count = 12, first = 5;
  for (int64_t n : {1, 3, 16, 64, 130})
    for (bool weighted : {false, true}) {
      TestTensor g({count, n}), x({width, n}), out({width, n});
      g.fill(randomNumbers);
      x.fill(randomNumbers);
      std::vector<std::array<int64_t, 2>> table;
      std::string rows, weights;
      for (int64_t a = 0; a < width; ++a)
        for (int64_t b = a; b < width; ++b) {
          std::string comma = table.empty() ? "" : ", ";
          rows += comma + "[" + std::to_string(a) + ", " + std::to_string(b) + "]";
          weights += comma + (a == b ? "0.5" : "2.0");
          table.push_back({a, b});
        }
      std::string body = load("g", count, n) + load("x", width, n) + "  %f = arith.constant " +
                         std::to_string(first) +
                         " : index\n  %r = tile.contract %gt, %xt[%f] acc %xt {table = dense<[" +
                         rows + "]> : tensor<" + std::to_string(features) + "x2xi32>" +
                         (weighted ? ", weights = array<f64: " + weights + ">" : "") +
                         "} : " + tile(count, n) + ", " + tile(width, n) + "\n" +
                         store("r", width, n);
      run(kernel(
              {{"g", tensorType({1, 1})}, {"x", tensorType({1, 1})}, {"out", tensorType({1, 1})}},
              body),
          {&g, &x, &out});
      expect(
          out,
          [&](int64_t i, int64_t j) {
            double sum = x.get({i, j});
            for (int64_t f = 0; f < count; ++f) {
              auto [a, b] = table[first + f];
              double gradient = g.get({f, j}) * (!weighted ? 1 : a == b ? 0.5 : 2);
              sum +=
                  (a == i ? gradient * x.get({b, j}) : 0) + (b == i ? gradient * x.get({a, j}) : 0);
            }
            return sum;
          },
          1e-5, "contract");
    }
}

// Angles of a rotary embedding: positions and their products in f64.
TEST_P(TileToVector, DoubleTiles) {
  for (int64_t n : {5, 16, 40}) {
    TestTensor out({3, n});
    std::string body = "  %start = arith.constant 1000000 : index\n  %p = tile.iota %start : " +
                       tile(1, n, "f64") +
                       "\n  %w = tile.constant_column {values = array<f64: 1.0, 0.25, 0.001>} : " +
                       tile(3, 1, "f64") + "\n  %r = tile.map %w, %p : " + tile(3, 1, "f64") +
                       ", " + tile(1, n, "f64") + " -> " + tile(3, n) +
                       " {\n^bb0(%x: f64, %y: f64):\n %m = arith.mulf %x, %y : f64\n"
                       " %o = arith.constant 1000000.0 : f64\n %s = arith.mulf %x, %o : f64\n"
                       " %d = arith.subf %m, %s : f64\n %f = arith.truncf %d : f64 to f32\n"
                       " tile.yield %f : f32\n }\n" +
                       store("r", 3, n);
    run(kernel({{"out", tensorType({1, 1})}}, body), {&out});
    const double w[] = {1.0, 0.25, 0.001};
    expect(out, [&](int64_t i, int64_t j) { return w[i] * double(j); }, 1e-6, "positions");
  }
}

} // namespace
