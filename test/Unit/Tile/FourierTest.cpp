//===- FourierTest.cpp - transforms in the tile interpreter ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "polyattn/Reference/EvaluateTile.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <complex>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace polyattn;

namespace {

using Complex = std::complex<double>;

/// Runs ops on tensors x and z of so many rows and columns, and returns x; or an error.
struct Columns {
  int64_t rows = 8, width = 1;
  Array x{{rows, 2 * width}}, z = x;
  std::string error;

  Columns(int64_t rows, int64_t width)
      : rows(rows), width(width), x({rows, 2 * width}), z({rows, 2 * width}) {}

  Complex at(const Array &tensor, int64_t row, int64_t column = 0) const {
    return {tensor.at({row, column}), tensor.at({row, width + column})};
  }
  void set(Array &tensor, int64_t row, Complex value, int64_t column = 0) const {
    tensor.at({row, column}) = value.real();
    tensor.at({row, width + column}) = value.imag();
  }
  void fill(Array &tensor) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (double &number : tensor.data)
      number = uniform(random);
  }

  void run(const std::string &body, int64_t transformed = 0) {
    MLIRContext context;
    context.loadDialect<tile::TileDialect, arith::ArithDialect, memref::MemRefDialect,
                        scf::SCFDialect>();
    error.clear();
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      error += diagnostic.str();
      return success();
    });
    std::string x = llvm::formatv("memref<?x{0}xf32>", 2 * width), roots = "memref<?x2xf32>";
    std::string text = llvm::formatv(
        "tile.kernel @k attributes {{arg_names = [\"x\", \"z\", \"r\"], num_inputs = 0} {{\n"
        "^bb0(%x: {0}, %z: {0}, %r: {1}):\n%n = arith.constant {2} : index\n"
        "%m = arith.constant 16 : index\n",
        x, roots, transformed ? transformed : rows);
    for (StringRef line : llvm::split(body, ';')) {
      line = line.trim();
      std::string types = line.starts_with("tile.fourier_roots")  ? roots
                          : line.starts_with("tile.fourier")      ? x + ", " + roots
                          : line.starts_with("tile.power_of_two") ? std::string("index")
                                                                  : x + ", " + x + ", " + x;
      text += (line + " : " + types + "\n").str();
    }
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text + "}", &context);
    ASSERT_TRUE(module) << error << text;
    std::vector<Array> tensors = {this->x, z, Array({std::max<int64_t>(rows, 16), 2})};
    if (failed(evaluateTile(*module->getOps<tile::KernelOp>().begin(), tensors)))
      EXPECT_NE(error, "");
    this->x = tensors[0];
    z = tensors[1];
  }

  std::mt19937 random{7};
};

const char *const kRoots = "tile.fourier_roots %r rows %n; ";

Complex root(double turns) { return std::polar(1.0, 2 * llvm::numbers::pi * turns); }

/// The number with its `bits` bits in reverse order.
int64_t reversed(int64_t number, int64_t rows) {
  int64_t result = 0;
  for (int64_t bit = 1; bit < rows; bit *= 2)
    result = 2 * result + ((number & bit) != 0);
  return result;
}

} // namespace

TEST(Fourier, OfOneRowAndOfEqualRows) {
  Columns delta(8, 1);
  delta.set(delta.x, 0, {2, -1});
  delta.run(std::string(kRoots) + "tile.fourier %x[] rows %n roots %r");
  for (int64_t f = 0; f < 8; ++f)
    EXPECT_LT(std::abs(delta.at(delta.x, f) - Complex(2, -1)), 1e-14) << f;
  delta.run(std::string(kRoots) + "tile.fourier %x[] rows %n roots %r");
  EXPECT_LT(std::abs(delta.at(delta.x, 0) - Complex(16, -8)), 1e-14);
  for (int64_t f = 1; f < 8; ++f)
    EXPECT_LT(std::abs(delta.at(delta.x, f)), 1e-14) << f;
}

TEST(Fourier, IsItsDefinition) {
  for (int64_t rows : {2, 4, 8, 32})
    for (bool inverse : {false, true})
      for (bool half : {false, true}) {
        SCOPED_TRACE(llvm::formatv("{0} rows, inverse {1}, half {2}", rows, inverse, half).str());
        Columns run(rows, 3);
        run.fill(run.x);
        Array before = run.x;
        if (half && !inverse)
          for (int64_t r = rows / 2; r < rows; ++r)
            for (int64_t c = 0; c < 3; ++c) {
              run.set(run.x, r, {NAN, NAN}, c);
              run.set(before, r, 0, c);
            }
        std::string form = std::string(inverse ? "inverse" : "") + (half && inverse ? ", " : "") +
                           (half ? "half" : "");
        run.run(std::string(kRoots) + "tile.fourier %x[] rows %n roots %r {" + form + "}");
        ASSERT_EQ(run.error, "");
        for (int64_t c = 0; c < 3; ++c)
          for (int64_t i = 0; i < rows; ++i) {
            Complex sum = 0;
            for (int64_t j = 0; j < rows; ++j) {
              Complex turned = root(double(i * j) / double(rows));
              sum += inverse ? run.at(before, reversed(j, rows), c) * turned
                             : run.at(before, j, c) * std::conj(turned);
            }
            Complex found = run.at(run.x, inverse ? i : reversed(i, rows), c);
            if (half && inverse && i >= rows / 2)
              EXPECT_TRUE(std::isnan(found.real()) && std::isnan(found.imag())) << i;
            else
              EXPECT_LT(std::abs(found - sum), 1e-13) << i << ", column " << c;
          }
      }
}

// Both sequences of a column, each with its own of the other factor.
TEST(Fourier, ProductsAreConvolutions) {
  const int64_t rows = 16, width = 2;
  for (bool conjugate : {false, true})
    for (bool accumulate : {false, true}) {
      Columns run(rows, width);
      run.fill(run.x);
      run.fill(run.z);
      Array x = run.x, z = run.z;
      std::string form = std::string(conjugate ? "conjugate" : "") +
                         (conjugate && accumulate ? ", " : "") + (accumulate ? "accumulate" : "");
      run.run(std::string(kRoots) +
              "tile.fourier %x[] rows %n roots %r; tile.fourier %z[] rows %n roots %r;"
              "tile.multiply_spectra %x[], %z[] to %z[] rows %n {" +
              form + "}; tile.fourier %z[] rows %n roots %r {inverse}");
      ASSERT_EQ(run.error, "");
      for (int64_t c = 0; c < 2 * width; ++c)
        for (int64_t i = 0; i < rows; ++i) {
          // An inverse transform of a transform has `rows` times as much.
          double sum = accumulate ? double(rows) * z.at({i, c}) : 0;
          for (int64_t j = 0; j < rows; ++j) {
            int64_t other = conjugate ? (i + j) % rows : (i - j + rows) % rows;
            sum += z.at({j, c}) * x.at({other, c});
          }
          EXPECT_NEAR(run.z.at({i, c}), sum, 1e-13) << i << ", " << c;
        }
    }
}

TEST(Fourier, ErrorsOfRows) {
  auto errorOf = [](const std::string &body, int64_t transformed) {
    Columns run(8, 1);
    run.run(body, transformed);
    return run.error;
  };
  for (std::string body :
       {"tile.fourier_roots %r rows %n", "tile.multiply_spectra %x[], %z[] to %x[] rows %n",
        "tile.fourier %x[] rows %n roots %r"})
    for (int64_t rows : {0, 1, 6})
      EXPECT_NE(errorOf(body, rows ? rows : -4)
                    .find("transforms are of a power of two of rows, from 2 on, not of"),
                std::string::npos)
          << body;
  EXPECT_NE(errorOf(std::string(kRoots) + "tile.fourier %x[] rows %n roots %r", 16)
                .find("there are 8 rows, and not 16"),
            std::string::npos);
  // Roots of another number of rows.
  EXPECT_NE(errorOf("tile.fourier_roots %r rows %m; tile.fourier %x[] rows %n roots %r", 8)
                .find("the table does not have the roots for 8 rows"),
            std::string::npos);
}
