//===- PrecisionTest.cpp - what products round their operands to ----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of the tile interpreter against loops that round in another way: by scaling a number
// until its last digit is a whole number's.
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

constexpr int64_t kRows = 5, kTerms = 24, kColumns = 3;

struct Format {
  const char *name;
  int bits; // of the mantissa, the leading one included; 0 for all
  bool tiesAway, split;
};

double nearest(const Format &format, double x) {
  if (format.bits == 0 || x == 0)
    return x;
  int exponent;
  std::frexp(x, &exponent);
  double scaled = std::ldexp(x, format.bits - exponent);
  return std::ldexp(format.tiesAway ? std::round(scaled) : std::nearbyint(scaled),
                    exponent - format.bits);
}

/// The value that a product rounded to f32 has of two numbers.
double product(const Format &format, double x, double y) {
  double a = nearest(format, x), b = nearest(format, y);
  double low = nearest(format, x - a), rest = nearest(format, y - b);
  return format.split ? a * b + a * rest + low * b : a * b;
}

/// Runs `body`, which has the matrix %a and calls its result, `rows` x `columns`, %y; or gives
/// nothing.
std::vector<double> run(StringRef body, const Array &a, const Array &b, int64_t rows,
                        int64_t columns, bool round) {
  MLIRContext context;
  context.loadDialect<tile::TileDialect, arith::ArithDialect, memref::MemRefDialect>();
  auto type = [](StringRef kind, int64_t rows, int64_t columns) {
    std::string middle = kind == "memref" ? "x1x" : "x";
    return (kind == "memref" ? "memref<1x" : "!tile.tile<") + std::to_string(rows) + middle +
           std::to_string(columns) + "xf32>";
  };
  auto load = [&](std::string name, const Array &array) {
    int64_t rows = array.shape[1], columns = array.shape[3];
    return "%" + name + " = tile.load %in_" + name +
           "[%c0, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : " + type("memref", rows, columns) +
           " -> " + type("tile", rows, columns) + "\n";
  };
  std::string text = "tile.kernel @k attributes {arg_names = [\"a\", \"b\", \"o\"], num_inputs = "
                     "2} {\n^bb0(%in_a: " +
                     type("memref", a.shape[1], a.shape[3]) +
                     ", %in_b: " + type("memref", b.shape[1], b.shape[3]) +
                     ", %o: " + type("memref", rows, columns) +
                     "):\n"
                     "%c0 = arith.constant 0 : index\n" +
                     load("a", a) + load("b", b) + body.str() +
                     "\ntile.store %y, %o[%c0, %c0, %c0, %c0] {row_dim = 1, col_dim = 3} : " +
                     type("tile", rows, columns) + ", " + type("memref", rows, columns) + "\n}";
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  std::vector<Array> tensors = {a, b, Array({1, rows, 1, columns})};
  TileOptions options;
  options.round = round;
  if (!module || failed(evaluateTile(*module->getOps<tile::KernelOp>().begin(), tensors, options)))
    return {};
  return tensors[2].data;
}

Array randomArray(int64_t rows, int64_t columns, unsigned seed) {
  Array array({1, rows, 1, columns});
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (double &x : array.data)
    x = uniform(random);
  return array;
}

class Precision : public testing::TestWithParam<Format> {};

TEST_P(Precision, ProductsRoundTheirOperands) {
  const Format &format = GetParam();
  Array a = randomArray(kRows, kTerms, 1), b = randomArray(kTerms, kColumns, 2);
  std::string dot = "%y = tile.dot %a, %b precision <" + std::string(format.name) +
                    "> : !tile.tile<5x24xf32>, !tile.tile<24x3xf32> -> !tile.tile<5x3xf32>";
  std::string update = "%s = tile.buffer : !tile.buffer<5x3>\n"
                       "tile.accumulate %a, %b, %s[%c0] precision <" +
                       std::string(format.name) +
                       "> : !tile.tile<5x24xf32>, !tile.tile<24x3xf32>, !tile.buffer<5x3>\n"
                       "%y = tile.read %s[%c0] : !tile.buffer<5x3> -> !tile.tile<5x3xf32>";
  const Format exact = {"f64", 0, false, false};
  for (const std::string &body : {dot, update})
    for (bool round : {false, true}) {
      std::vector<double> results = run(body, a, b, kRows, kColumns, round);
      ASSERT_EQ(results.size(), size_t(kRows * kColumns));
      for (int64_t r = 0; r < kRows; ++r)
        for (int64_t c = 0; c < kColumns; ++c) {
          double sum = 0;
          for (int64_t k = 0; k < kTerms; ++k)
            sum += product(round ? format : exact, a.at({0, r, 0, k}), b.at({0, k, 0, c}));
          // The result alone is rounded to f32.
          EXPECT_NEAR(results[r * kColumns + c], sum, round ? 1e-7 * (1 + std::fabs(sum)) : 1e-14)
              << body;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Formats, Precision,
    testing::Values(Format{"f32", 0, false, false}, Format{"tf32", 11, true, false},
                    Format{"split_tf32", 11, true, true}, Format{"bf16", 8, false, false},
                    Format{"split_bf16", 8, false, true}, Format{"f16", 11, false, false}),
    [](const auto &info) { return std::string(info.param.name); });

/// What a product with 1 makes of a number.
double operand(StringRef precision, double x) {
  Array a({1, 1, 1, 1}), one({1, 1, 1, 1});
  a.data = {x};
  one.data = {1};
  std::string body = "%y = tile.dot %a, %b precision <" + precision.str() +
                     "> : !tile.tile<1x1xf32>, !tile.tile<1x1xf32> -> !tile.tile<1x1xf32>";
  std::vector<double> result = run(body, a, one, 1, 1, /*round=*/true);
  return result.empty() ? std::nan("") : result[0];
}

TEST(PrecisionOfNumbers, TiesAndTheEndsOfTheRange) {
  // Half a unit above 1: to the even neighbour, but away from zero in tf32.
  EXPECT_EQ(operand("bf16", 1 + 0x1p-8), 1);
  EXPECT_EQ(operand("bf16", 1 + 3 * 0x1p-8), 1 + 0x1p-6);
  EXPECT_EQ(operand("f16", 1 + 0x1p-11), 1);
  EXPECT_EQ(operand("tf32", 1 + 0x1p-11), 1 + 0x1p-10);
  EXPECT_EQ(operand("tf32", -1 - 0x1p-11), -1 - 0x1p-10);
  // What is left over has as many digits again.
  EXPECT_EQ(operand("split_bf16", 1 + 0x1p-9 + 0x1p-15), 1 + 0x1p-9 + 0x1p-15);
  EXPECT_EQ(operand("split_tf32", 1 + 0x1p-12 + 0x1p-20), 1 + 0x1p-12 + 0x1p-20);
  // f16 ends at 65504, and its smallest number is 2^-24.
  EXPECT_EQ(operand("f16", 65519), 65504);
  EXPECT_EQ(operand("f16", 65520), std::numeric_limits<double>::infinity());
  EXPECT_EQ(operand("f16", 0x1p-26), 0);
  EXPECT_EQ(operand("bf16", 0x1p-100), 0x1p-100);
  // An infinity leaves over what is no number, here as on machines.
  EXPECT_TRUE(std::isnan(operand("split_bf16", std::numeric_limits<double>::infinity())));
}

TEST(PrecisionOfNumbers, TilesHoldWhatTheirElementsCan) {
  Array a({1, 1, 1, 3}), none({1, 1, 1, 1});
  a.data = {1 + 0x1p-8, 1 + 0x1p-11, 65520};
  auto cast = [&](StringRef element) {
    return run("%h = tile.map %a : !tile.tile<1x3xf32> -> !tile.tile<1x3x" + element.str() +
                   "> {\n^bb0(%x: f32):\n%r = arith.truncf %x : f32 to " + element.str() +
                   "\ntile.yield %r : " + element.str() +
                   "\n}\n%y = tile.map %h : !tile.tile<1x3x" + element.str() +
                   "> -> !tile.tile<1x3xf32> {\n^bb0(%x: " + element.str() +
                   "):\n%r = arith.extf %x : " + element.str() + " to f32\ntile.yield %r : f32\n}",
               a, none, 1, 3, /*round=*/true);
  };
  double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(cast("bf16"), std::vector<double>({1, 1, 65536}));
  EXPECT_EQ(cast("f16"), std::vector<double>({1 + 0x1p-8, 1, inf}));
}

} // namespace
