//===- EvaluateTileTest.cpp - the tile interpreter, op by op --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each program has one batch and one head; its input and its output are one tile, so that
// a body shows the op and little else.
//
//===----------------------------------------------------------------------===//

#include "polyattn/Reference/EvaluateTile.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace polyattn;

namespace {

using Numbers = std::vector<double>;
const double kNaN = std::nan("");

/// How a program ended and what it wrote.
struct Run {
  LogicalResult status = failure();
  Numbers numbers;
  std::string error;
};

/// Runs a body that finds the input of 2 x 3 numbers as %x: !tile.tile<2x3xf32> and calls its
/// result, of rows x columns numbers, %y.
Run run(StringRef body, int64_t rows, int64_t columns, Numbers input = {1, 2, 3, 4, 5, 6},
        TileOptions options = {}) {
  MLIRContext context;
  context.loadDialect<tile::TileDialect, arith::ArithDialect, math::MathDialect,
                      memref::MemRefDialect, scf::SCFDialect>();
  Run result;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    result.error += diagnostic.str();
    return success();
  });
  std::string shape = std::to_string(rows) + "x" + std::to_string(columns);
  std::string text = "tile.kernel @k attributes {arg_names = [\"x\", \"o\"], num_inputs = 1} {\n"
                     "^bb0(%in: memref<1x2x1x3xf32>, %o: memref<1x" +
                     std::to_string(rows) + "x1x" + std::to_string(columns) +
                     "xf32>):\n"
                     "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
                     "%c2 = arith.constant 2 : index\n%c3 = arith.constant 3 : index\n"
                     "%x = tile.load %in[%c0, %c0, %c0, %c0] {row_dim = 1, col_dim = 3}"
                     " : memref<1x2x1x3xf32> -> !tile.tile<2x3xf32>\n" +
                     body.str() +
                     "\ntile.store %y, %o[%c0, %c0, %c0, %c0] {row_dim = 1, col_dim = 3}"
                     " : !tile.tile<" +
                     shape + "xf32>, memref<1x" + std::to_string(rows) + "x1x" +
                     std::to_string(columns) + "xf32>\n}";
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return result;
  std::vector<Array> tensors = {Array({1, 2, 1, 3}), Array({1, rows, 1, columns})};
  tensors[0].data = std::move(input);
  result.status = evaluateTile(*module->getOps<tile::KernelOp>().begin(), tensors, options);
  result.numbers = tensors[1].data;
  return result;
}

void expectNumbers(const Run &run, const Numbers &expected) {
  ASSERT_TRUE(succeeded(run.status)) << run.error;
  ASSERT_EQ(run.numbers.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(run.numbers[i])) << "element " << i << " is " << run.numbers[i];
    else
      EXPECT_NEAR(run.numbers[i], expected[i], 1e-14) << "element " << i;
  }
}

void expectError(const Run &run, StringRef part) {
  EXPECT_TRUE(failed(run.status));
  EXPECT_NE(run.error.find(part.str()), std::string::npos) << run.error;
}

TEST(Tile, Values) {
  expectNumbers(run("%y = tile.constant 2.5 : !tile.tile<1x2xf32>", 1, 2), {2.5, 2.5});
  expectNumbers(
      run("%y = tile.constant_column {values = array<f64: 1.0, -2.0>} : !tile.tile<2x1xf32>", 2, 1),
      {1, -2});
  expectNumbers(run("%y = tile.iota %c3 : !tile.tile<1x2xf32>", 1, 2), {3, 4});
  expectNumbers(run("%y, %rest = tile.cumulative_sum %x : !tile.tile<2x3xf32>", 2, 3),
                {1, 3, 6, 4, 9, 15});
  expectNumbers(
      run("%y = tile.slice %x[%c0, %c1] : !tile.tile<2x3xf32> -> !tile.tile<2x2xf32>", 2, 2),
      {2, 3, 5, 6});
  expectNumbers(run("%y = tile.transpose %x : !tile.tile<2x3xf32> -> !tile.tile<3x2xf32>", 3, 2),
                {1, 4, 2, 5, 3, 6});
  std::string diagonals = "%d = tile.constant_column {values = array<f64: 1.0, 2.0, 3.0, 4.0>}"
                          " : !tile.tile<4x1xf32>\n%y = tile.toeplitz %d";
  std::string matrix = " : !tile.tile<4x1xf32> -> !tile.tile<2x3xf32>";
  expectNumbers(run(diagonals + matrix, 2, 3), {3, 2, 1, 4, 3, 2});
  expectNumbers(run(diagonals + " {transposed}" + matrix, 2, 3), {2, 3, 4, 1, 2, 3});
  std::string ofDiagonals = " : !tile.tile<2x3xf32> -> !tile.tile<4x1xf32>";
  expectNumbers(run("%y = tile.diagonal_sums %x" + ofDiagonals, 4, 1), {3, 8, 6, 4});
  expectNumbers(run("%y = tile.diagonal_sums %x {transposed}" + ofDiagonals, 4, 1), {4, 6, 8, 3});
  expectNumbers(run("%y = tile.select_rows %x {rows = array<i64: 1, 1>}"
                    " : !tile.tile<2x3xf32> -> !tile.tile<2x3xf32>",
                    2, 3),
                {4, 5, 6, 4, 5, 6});
  expectNumbers(run("%z = tile.constant 0.0 : !tile.tile<1x3xf32>\n"
                    "%y = tile.concat %z, %x : !tile.tile<1x3xf32>, !tile.tile<2x3xf32>"
                    " -> !tile.tile<3x3xf32>",
                    3, 3),
                {0, 0, 0, 1, 2, 3, 4, 5, 6});
}

TEST(Tile, ExpandIsAProductOfRows) {
  expectNumbers(
      run("%y = tile.monomials %x[%c1] {table = dense<[[0, 0], [0, 1], [1, 1]]> : tensor<3x2xi32>,"
          " weights = array<f64: 1.0, 2.0, 1.0>} : !tile.tile<2x3xf32> -> !tile.tile<2x3xf32>",
          2, 3),
      {8, 20, 36, 16, 25, 36});
  expectError(run("%y = tile.monomials %x[%c2] {table = dense<[[0], [1], [1]]> : tensor<3x1xi32>}"
                  " : !tile.tile<2x3xf32> -> !tile.tile<2x3xf32>",
                  2, 3),
              "the table has no rows 2 to 4");
}

// Of the product of rows 0 and 1, and of row 1 with itself.
TEST(Tile, ContractIsTheGradientOfProductsOfRows) {
  expectNumbers(run("%s = tile.constant 10.0 : !tile.tile<2x3xf32>\n"
                    "%y = tile.contract %x, %x[%c1] acc %s"
                    " {table = dense<[[0, 0], [0, 1], [1, 1]]> : tensor<3x2xi32>}"
                    " : !tile.tile<2x3xf32>, !tile.tile<2x3xf32>",
                    2, 3),
                {14, 20, 28, 43, 64, 91});
  expectNumbers(run("%s = tile.constant 0.0 : !tile.tile<2x3xf32>\n"
                    "%y = tile.contract %x, %x[%c1] acc %s"
                    " {table = dense<[[0, 0], [0, 1], [1, 1]]> : tensor<3x2xi32>,"
                    " weights = array<f64: 0.5, 2.0, 0.5>}"
                    " : !tile.tile<2x3xf32>, !tile.tile<2x3xf32>",
                    2, 3),
                {8, 20, 36, 18, 33, 54});
  expectError(run("%y = tile.contract %x, %x[%c2] acc %x {table = dense<[[0, 1], [1, 1]]> :"
                  " tensor<2x2xi32>} : !tile.tile<2x3xf32>, !tile.tile<2x3xf32>",
                  2, 3),
              "the table has no rows 2 to 4");
}

TEST(Tile, Reduce) {
  expectNumbers(
      run("%y = tile.reduce <add> <rows> %x : !tile.tile<2x3xf32> -> !tile.tile<1x3xf32>", 1, 3),
      {5, 7, 9});
  expectNumbers(run("%y = tile.reduce <max> <columns> %x bound %c2 : !tile.tile<2x3xf32> -> "
                    "!tile.tile<2x1xf32>",
                    2, 1),
                {2, 5});
  expectNumbers(run("%y = tile.reduce <add> <columns> %x {lower}"
                    " : !tile.tile<2x3xf32> -> !tile.tile<2x1xf32>",
                    2, 1),
                {1, 9});
  expectNumbers(run("%y = tile.reduce <add> <columns> %x {upper}"
                    " : !tile.tile<2x3xf32> -> !tile.tile<2x1xf32>",
                    2, 1),
                {6, 11});
  // What is unspecified goes through a maximum too.
  expectNumbers(
      run("%y = tile.reduce <max> <columns> %x : !tile.tile<2x3xf32> -> !tile.tile<2x1xf32>", 2, 1,
          {kNaN, 2, 3, 4, kNaN, 6}),
      {kNaN, kNaN});
}

TEST(Tile, Dot) {
  StringRef transpose = "%t = tile.transpose %x : !tile.tile<2x3xf32> -> !tile.tile<3x2xf32>\n";
  auto dot = [&](StringRef tail) {
    return run((transpose + "%y = tile.dot %x, %t " + tail +
                " : !tile.tile<2x3xf32>, !tile.tile<3x2xf32> -> !tile.tile<2x2xf32>")
                   .str(),
               2, 2);
  };
  expectNumbers(dot(""), {14, 32, 32, 77});
  expectNumbers(dot("bound %c1"), {1, 4, 4, 16});
  expectNumbers(dot("{lower}"), {14, kNaN, 32, 77});
  expectNumbers(dot("{upper}"), {14, 32, kNaN, 77});
  expectNumbers(
      run((transpose + "%a = tile.constant 1.0 : !tile.tile<2x2xf32>\n"
                       "%y = tile.dot %t, %t acc %a : !tile.tile<2x2xf32> {lhs_transposed}"
                       " : !tile.tile<3x2xf32>, !tile.tile<3x2xf32> -> !tile.tile<2x2xf32>")
              .str(),
          2, 2),
      {15, 33, 33, 78});
}

TEST(Tile, TrianglesOnTheLeftNeedZeros) {
  auto product = [](StringRef mask, StringRef triangle) {
    return run(("%s = tile.slice %x[%c0, %c0] : !tile.tile<2x3xf32> -> !tile.tile<2x2xf32>\n"
                "%a = " +
                mask +
                " : !tile.tile<2x2xf32> -> !tile.tile<2x2xf32>\n"
                "%y = tile.dot %a, %x {" +
                triangle +
                "} : !tile.tile<2x2xf32>, !tile.tile<2x3xf32>"
                " -> !tile.tile<2x3xf32>")
                   .str(),
               2, 3);
  };
  expectNumbers(product("tile.causal_mask %s", "lower_lhs"), {1, 2, 3, 24, 33, 42});
  expectError(product("tile.transpose %s", "lower_lhs"),
              "lower_lhs, but the entry in row 0, column 1 is 4");
  expectNumbers(product("tile.causal_mask %s {upper}", "upper_lhs"), {9, 12, 15, 20, 25, 30});
  expectError(product("tile.transpose %s", "upper_lhs"),
              "upper_lhs, but the entry in row 1, column 0 is 2");
}

TEST(Tile, CausalMaskRemovesWhatIsUnspecified) {
  expectNumbers(run("%y = tile.causal_mask %x : !tile.tile<2x3xf32> -> !tile.tile<2x3xf32>", 2, 3,
                    {1, kNaN, kNaN, 4, 5, kNaN}),
                {1, 0, 0, 4, 5, 0});
  expectNumbers(run("%y = tile.causal_mask %x {upper} : !tile.tile<2x3xf32> -> !tile.tile<2x3xf32>",
                    2, 3, {1, 2, 3, kNaN, 5, 6}),
                {1, 2, 3, 0, 5, 6});
}

TEST(Tile, MapRepeatsRowsAndColumns) {
  expectNumbers(
      run("%r = tile.iota %c1 : !tile.tile<1x3xf32>\n"
          "%c = tile.constant_column {values = array<f64: 10.0, 20.0>} : !tile.tile<2x1xf32>\n"
          "%s = tile.constant 0.5 : !tile.tile<1x1xf32>\n"
          "%y = tile.map %x, %r, %c, %s : !tile.tile<2x3xf32>, !tile.tile<1x3xf32>,"
          " !tile.tile<2x1xf32>, !tile.tile<1x1xf32> -> !tile.tile<2x3xf32> {\n"
          "^bb0(%a: f32, %b: f32, %d: f32, %e: f32):\n"
          "%0 = arith.mulf %a, %b : f32\n%1 = arith.addf %0, %d : f32\n"
          "%2 = arith.addf %1, %e : f32\ntile.yield %2 : f32\n}",
          2, 3),
      {11.5, 14.5, 19.5, 24.5, 30.5, 38.5});
}

struct Function {
  const char *name, *ops; // from %a to %r
  double (*formula)(double);
};
class TileFunctions : public testing::TestWithParam<Function> {};

TEST_P(TileFunctions, IsItsFormula) {
  Numbers input = {-1.5, -0.25, 0.5, 1.5, 2.5, 3}, expected;
  for (double x : input)
    expected.push_back(GetParam().formula(x));
  expectNumbers(run(std::string("%y = tile.map %x : !tile.tile<2x3xf32> -> !tile.tile<2x3xf32> {\n"
                                "^bb0(%a: f32):\n%one = arith.constant 1.0 : f32\n") +
                        GetParam().ops + "\ntile.yield %r : f32\n}",
                    2, 3, input),
                expected);
}

INSTANTIATE_TEST_SUITE_P(
    Map, TileFunctions,
    testing::Values(
        Function{"negf", "%r = arith.negf %a : f32", [](double x) { return -x; }},
        Function{"subf", "%r = arith.subf %one, %a : f32", [](double x) { return 1 - x; }},
        Function{"divf", "%r = arith.divf %one, %a : f32", [](double x) { return 1 / x; }},
        Function{"maximumf", "%r = arith.maximumf %a, %one : f32",
                 [](double x) { return std::fmax(x, 1); }},
        Function{"minimumf", "%r = arith.minimumf %a, %one : f32",
                 [](double x) { return std::fmin(x, 1); }},
        Function{"exp", "%r = math.exp %a : f32", [](double x) { return std::exp(x); }},
        Function{"log", "%b = math.absf %a : f32\n%r = math.log %b : f32",
                 [](double x) { return std::log(std::fabs(x)); }},
        Function{"log1p", "%b = math.absf %a : f32\n%r = math.log1p %b : f32",
                 [](double x) { return std::log1p(std::fabs(x)); }},
        Function{"sin", "%r = math.sin %a : f32", [](double x) { return std::sin(x); }},
        Function{"cos", "%r = math.cos %a : f32", [](double x) { return std::cos(x); }},
        Function{"tanh", "%r = math.tanh %a : f32", [](double x) { return std::tanh(x); }},
        Function{"erf", "%r = math.erf %a : f32", [](double x) { return std::erf(x); }},
        Function{"sqrt", "%b = math.absf %a : f32\n%r = math.sqrt %b : f32",
                 [](double x) { return std::sqrt(std::fabs(x)); }},
        Function{"powf", "%b = math.absf %a : f32\n%r = math.powf %b, %a : f32",
                 [](double x) { return std::pow(std::fabs(x), x); }},
        Function{"roundeven", "%r = math.roundeven %a : f32",
                 [](double x) { return std::nearbyint(x); }},
        Function{"extf", "%b = arith.extf %a : f32 to f64\n%r = arith.truncf %b : f64 to f32",
                 [](double x) { return x; }},
        Function{"select",
                 "%b = arith.cmpf ogt, %a, %one : f32\n%r = arith.select %b, %a, %one : f32",
                 [](double x) { return x > 1 ? x : 1; }}),
    [](const testing::TestParamInfo<Function> &info) { return info.param.name; });

TEST(Tile, LoadsReadZeroPastTheEnd) {
  auto load = [](StringRef what, int64_t rows, int64_t columns) {
    std::string type = std::to_string(rows) + "x" + std::to_string(columns);
    return run(
        ("%y = tile.load %in" + what + " : memref<1x2x1x3xf32> -> !tile.tile<" + type + "xf32>")
            .str(),
        rows, columns);
  };
  expectNumbers(load("[%c0, %c1, %c0, %c0] valid %c1 {row_dim = 1, col_dim = 3}", 2, 3),
                {4, 5, 6, 0, 0, 0});
  expectNumbers(load("[%c0, %c1, %c0, %c0] valid %c1 {row_dim = 1, col_dim = 3, transposed}", 3, 2),
                {4, 0, 5, 0, 6, 0});
  expectNumbers(load("[%c0, %c1, %c0, %c1] valid %c2 {row_dim = -1, col_dim = 3}", 1, 3),
                {5, 6, 0});
  expectNumbers(
      load("[%c0, %c1, %c0, %c1] valid %c2 {row_dim = -1, col_dim = 3, transposed}", 3, 1),
      {5, 6, 0});
  expectError(load("[%c0, %c1, %c0, %c0] {row_dim = 1, col_dim = 3}", 2, 3),
              "elements 1 to 3 of dimension 1 are outside the tensor");
}

TEST(Tile, StoreLeavesRowsPastTheEndAlone) {
  expectNumbers(run("%z = tile.constant 7.0 : !tile.tile<2x3xf32>\n"
                    "tile.store %z, %o[%c0, %c0, %c0, %c0] {row_dim = 1, col_dim = 3}"
                    " : !tile.tile<2x3xf32>, memref<1x2x1x3xf32>\n"
                    "tile.store %x, %o[%c0, %c0, %c0, %c0] valid %c1 {row_dim = 1, col_dim = 3}"
                    " : !tile.tile<2x3xf32>, memref<1x2x1x3xf32>\n"
                    "%y = tile.load %o[%c0, %c0, %c0, %c0] {row_dim = 1, col_dim = 3}"
                    " : memref<1x2x1x3xf32> -> !tile.tile<2x3xf32>",
                    2, 3),
                {1, 2, 3, 7, 7, 7});
  expectError(run("tile.store %x, %in[%c0, %c0, %c0, %c0] {row_dim = 1, col_dim = 3}"
                  " : !tile.tile<2x3xf32>, memref<1x2x1x3xf32>\n"
                  "%y = tile.constant 7.0 : !tile.tile<2x3xf32>",
                  2, 3),
              "stores to an input");
}

TEST(Tile, Buffers) {
  StringRef start = "%b = tile.buffer : !tile.buffer<4x3>\n"
                    "tile.write %x, %b[%c1] : !tile.tile<2x3xf32>, !tile.buffer<4x3>\n"
                    "%s = tile.slice %x[%c0, %c0] : !tile.tile<2x3xf32> -> !tile.tile<2x2xf32>\n";
  StringRef all = "%y = tile.read %b[%c0] : !tile.buffer<4x3> -> !tile.tile<4x3xf32>";
  expectNumbers(run((start + all).str(), 4, 3), {0, 0, 0, 1, 2, 3, 4, 5, 6, 0, 0, 0});
  expectNumbers(run((start +
                     "%h = tile.constant 0.5 : !tile.tile<1x1xf32>\n"
                     "tile.accumulate %s, %x, %b[%c1] bound %c1 factor %h : !tile.tile<1x1xf32>"
                     " : !tile.tile<2x2xf32>, !tile.tile<2x3xf32>, !tile.buffer<4x3>\n" +
                     all)
                        .str(),
                    4, 3),
                {0, 0, 0, 1.5, 3, 4.5, 6, 10.5, 15, 0, 0, 0});
  expectError(
      run((start + "%y = tile.read %b[%c3] : !tile.buffer<4x3> -> !tile.tile<2x3xf32>").str(), 2,
          3),
      "rows 3 to 5 are outside a buffer of 4 rows");
  expectError(run((start + "%y = tile.read %b[%c0] : !tile.buffer<4x3> -> !tile.tile<2x3xf32>\n"
                           "tile.write %x, %b[%c1] : !tile.tile<2x3xf32>, !tile.buffer<4x3>")
                      .str(),
                  2, 3),
              "uses rows of a buffer that are written after they were read");
  expectNumbers(
      run((start + "%y = tile.read %b[%c1] : !tile.buffer<4x3> -> !tile.tile<2x3xf32>\n"
                   "%r = tile.slice %x[%c0, %c0] : !tile.tile<2x3xf32> -> !tile.tile<1x3xf32>\n"
                   "tile.write %r, %b[%c3] : !tile.tile<1x3xf32>, !tile.buffer<4x3>")
              .str(),
          2, 3),
      {1, 2, 3, 4, 5, 6});
}

TEST(Tile, RecurReadsRowsOnceTheyAreUpdated) {
  auto program = [](StringRef recur, StringRef types) {
    return ("tile.store %x, %o[%c0, %c0, %c0, %c0] {row_dim = 1, col_dim = 3}"
            " : !tile.tile<2x3xf32>, memref<1x2x1x3xf32>\n"
            "%v = tile.slice %x[%c0, %c0] : !tile.tile<2x3xf32> -> !tile.tile<1x3xf32>\n"
            "%q = tile.constant 3.0 : !tile.tile<1x1xf32>\n"
            "%k = tile.constant 2.0 : !tile.tile<1x1xf32>\n"
            "%g = tile.constant 0.5 : !tile.tile<1x1xf32>\n" +
            recur + " : (" + types +
            ") -> !tile.tile<1x3xf32>\n"
            "%s = tile.load %o[%c0, %c1, %c0, %c0] {row_dim = 1, col_dim = 3}"
            " : memref<1x2x1x3xf32> -> !tile.tile<1x3xf32>\n"
            "%y = tile.concat %r, %s : !tile.tile<1x3xf32>, !tile.tile<1x3xf32>"
            " -> !tile.tile<2x3xf32>")
        .str();
  };
  StringRef one = "!tile.tile<1x1xf32>", row = "!tile.tile<1x3xf32>",
            place = "memref<1x2x1x3xf32>, index, index, index, index";
  expectNumbers(
      run(program("%r = tile.recur %q key %k value %v, %o[%c0, %c1, %c0, %c0] factor %g"
                  " acc %v",
                  (one + ", " + one + ", " + row + ", " + place + ", " + one + ", " + row).str()),
          2, 3),
      {13, 21.5, 30, 4, 6.5, 9});
  expectNumbers(
      run(program("%r = tile.recur %q key %k value %v, %o[%c0, %c1, %c0, %c0] factor %g"
                  " acc %v {before}",
                  (one + ", " + one + ", " + row + ", " + place + ", " + one + ", " + row).str()),
          2, 3),
      {13, 17, 21, 4, 6.5, 9});
  expectNumbers(
      run(program("%r = tile.recur %q, %o[%c0, %c1, %c0, %c0]", (one + ", " + place).str()), 2, 3),
      {12, 15, 18, 4, 5, 6});
  expectError(
      run(program("%r = tile.recur %q, %o[%c0, %c2, %c0, %c0]", (one + ", " + place).str()), 2, 3),
      "elements 2 to 3 of dimension 1 are outside the tensor, whose size there is 2");
}

TEST(Tile, LoopsCarryTilesAndIndices) {
  expectNumbers(run("%n = memref.dim %in, %c3 : memref<1x2x1x3xf32>\n"
                    "%z = tile.constant 0.0 : !tile.tile<1x1xf32>\n"
                    "%y, %i = scf.for %t = %c0 to %n step %c2 iter_args(%a = %z, %k = %c1)"
                    " -> (!tile.tile<1x1xf32>, index) {\n"
                    "%two = arith.muli %k, %c2 : index\n"
                    "%p = tile.iota %two : !tile.tile<1x1xf32>\n"
                    "%s = tile.map %a, %p : !tile.tile<1x1xf32>, !tile.tile<1x1xf32>"
                    " -> !tile.tile<1x1xf32> {\n^bb0(%u: f32, %v: f32):\n"
                    "%0 = arith.addf %u, %v : f32\ntile.yield %0 : f32\n}\n"
                    "scf.yield %s, %two : !tile.tile<1x1xf32>, index\n}",
                    1, 1),
                {6}); // 2 + 4
}

TEST(Tile, BranchesAndIndexArithmetic) {
  auto position = [](StringRef ops) {
    return run((ops + "\n%y = tile.iota %i : !tile.tile<1x1xf32>").str(), 1, 1);
  };
  expectNumbers(position("%i = arith.subi %c3, %c1 : index"), {2});
  expectNumbers(position("%i = arith.divui %c3, %c2 : index"), {1});
  expectNumbers(position("%i = arith.remui %c3, %c2 : index"), {1});
  expectNumbers(position("%i = arith.ceildivui %c3, %c2 : index"), {2});
  expectNumbers(position("%i = arith.minsi %c3, %c2 : index"), {2});
  expectNumbers(position("%i = arith.maxsi %c3, %c2 : index"), {3});
  expectNumbers(position("%c = arith.cmpi slt, %c3, %c2 : index\n"
                         "%i = arith.select %c, %c3, %c1 : index"),
                {1});
  for (StringRef compare : {"slt", "sge"})
    expectNumbers(position(("%c = arith.cmpi " + compare +
                            ", %c3, %c2 : index\n"
                            "%i = scf.if %c -> index {\nscf.yield %c3 : index\n} else {\n"
                            "scf.yield %c0 : index\n}")
                               .str()),
                  {compare == "slt" ? 0.0 : 3.0});
  expectError(position("%i = arith.divui %c3, %c0 : index"), "does not know this op");
}

TEST(Tile, UnknownOpsAreErrors) {
  expectError(run("%y = tile.map %x : !tile.tile<2x3xf32> -> !tile.tile<2x3xf32> {\n"
                  "^bb0(%a: f32):\n%r = math.cbrt %a : f32\ntile.yield %r : f32\n}",
                  2, 3),
              "does not know this op");
  expectError(
      run("%m = memref.alloc() : memref<2xf32>\n%y = tile.constant 0.0 : !tile.tile<1x1xf32>", 1,
          1),
      "does not know this op");
}

TEST(Tile, RoundsWhereAsked) {
  StringRef third = "%y = tile.map %x : !tile.tile<2x3xf32> -> !tile.tile<2x3xf32> {\n"
                    "^bb0(%a: f32):\n%c = arith.constant 3.0 : f32\n%r = arith.divf %a, %c : f32\n"
                    "tile.yield %r : f32\n}";
  EXPECT_EQ(run(third, 2, 3).numbers[0], 1.0 / 3.0);
  TileOptions options;
  options.round = true;
  EXPECT_EQ(run(third, 2, 3, {1, 2, 3, 4, 5, 6}, options).numbers[0], double(1.0f / 3.0f));
}

} // namespace
