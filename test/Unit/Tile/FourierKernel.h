//===- FourierKernel.h - transforms and products in one kernel --*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel with each form of the ops, in slots of its own of a tensor. Tests run it on a target and
// compare all slots with the interpreter.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_UNIT_TILE_FOURIERKERNEL_H
#define POLYATTN_TEST_UNIT_TILE_FOURIERKERNEL_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "polyattn/Reference/EvaluateTile.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>

namespace polyattn {

/// Tensors of the kernel: x [slots, rows, 2 w], z [rows, 2 w], the roots, and a tensor of the size
/// from which the number of rows follows.
struct FourierKernel {
  static constexpr int64_t kSlots = 15;
  /// The argument that the roots are.
  static constexpr size_t kRoots = 2;

  static std::string text(int64_t width) {
    std::string x = llvm::formatv("memref<?x?x{0}xf32, strided<[?, ?, 1], offset: ?>>", 2 * width);
    std::string z = llvm::formatv("memref<?x{0}xf32, strided<[?, 1], offset: ?>>", 2 * width);
    std::string roots = "memref<?x2xf32, strided<[?, 1], offset: ?>>";
    std::string body, values;
    auto transform = [&](int slot, const char *form) {
      body += llvm::formatv("  tile.fourier %x[%i{0}] rows %n roots %r {1} : {2}, {3}\n", slot,
                            form, x, roots);
    };
    // The tensor z for a slot of -1.
    auto multiply = [&](int a, int b, int to, const char *form) {
      std::string names[3], types[3];
      for (int i = 0; i < 3; ++i) {
        int slot = i == 0 ? a : i == 1 ? b : to;
        names[i] = slot < 0 ? "%z[]" : llvm::formatv("%x[%i{0}]", slot).str();
        types[i] = slot < 0 ? z : x;
      }
      body += llvm::formatv("  tile.multiply_spectra {0}, {1} to {2} rows %n {3} : {4}, {5}, {6}\n",
                            names[0], names[1], names[2], form, types[0], types[1], types[2]);
    };
    for (int i = 0; i < kSlots; ++i)
      values += llvm::formatv("  %i{0} = arith.constant {0} : index\n", i);
    transform(0, "");
    transform(1, "{half}");
    transform(2, "{inverse}");
    transform(3, "{half, inverse}");
    multiply(4, -1, 5, "");
    multiply(4, -1, 6, "{conjugate}");
    multiply(4, -1, 7, "{accumulate}");
    multiply(4, -1, 8, "{accumulate, conjugate}");
    multiply(9, -1, 9, "");
    multiply(4, 10, 10, "{accumulate, conjugate}");
    multiply(11, 11, 11, "{accumulate}");
    // A convolution.
    transform(12, "{half}");
    transform(13, "{half}");
    multiply(12, 13, 14, "");
    transform(14, "{half, inverse}");
    return llvm::formatv("tile.kernel @kernel attributes {{arg_names = [\"x\", \"z\", \"r\", "
                         "\"t\"], num_inputs = 0} {{\n^bb0(%x: {0}, %z: {1}, %r: {2}, %t: "
                         "memref<?x4xf32, strided<[?, 1], offset: ?>>):\n{3}"
                         "  %length = memref.dim %t, %i0 : memref<?x4xf32, strided<[?, 1], "
                         "offset: ?>>\n"
                         "  %n = tile.power_of_two %length : index\n"
                         "  tile.fourier_roots %r rows %n : {2}\n{4}}\n",
                         x, z, roots, values, body);
  }

  /// A kernel of x [16, 16], roots and o [3, 16, 16]: twice what it loads of x before a transform,
  /// then what it loads after it and after a product.
  static std::string textOfLoads() {
    std::string x = "memref<?x16xf32, strided<[?, 1], offset: ?>>";
    std::string roots = "memref<?x2xf32, strided<[?, 1], offset: ?>>";
    std::string o = "memref<?x?x16xf32, strided<[?, ?, 1], offset: ?>>";
    std::string tile = "!tile.tile<16x16xf32>", body;
    auto load = [&](const char *name) {
      body += llvm::formatv("  {0} = tile.load %x[%c0, %c0] {{row_dim = 0, col_dim = 1} : {1} -> "
                            "{2}\n",
                            name, x, tile);
    };
    auto store = [&](const char *name, const char *slot) {
      body += llvm::formatv("  tile.store {0}, %o[{1}, %c0, %c0] {{row_dim = 1, col_dim = 2} : "
                            "{2}, {3}\n",
                            name, slot, tile, o);
    };
    load("%before");
    body += llvm::formatv("  %twice = tile.map %before : {0} -> {0} {{\n  ^bb0(%a: f32):\n    %b = "
                          "arith.addf %a, %a : f32\n    tile.yield %b : f32\n  }\n",
                          tile);
    body += llvm::formatv("  tile.fourier %x[] rows %n roots %r : {0}, {1}\n", x, roots);
    load("%after");
    store("%twice", "%c0");
    body +=
        llvm::formatv("  tile.multiply_spectra %x[], %x[] to %x[] rows %n : {0}, {0}, {0}\n", x);
    load("%product");
    store("%after", "%c1");
    store("%product", "%c2");
    return llvm::formatv("tile.kernel @kernel attributes {{arg_names = [\"x\", \"r\", \"o\"], "
                         "num_inputs = 0} {{\n^bb0(%x: {0}, %r: {1}, %o: {2}):\n"
                         "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n"
                         "  %c2 = arith.constant 2 : index\n  %n = arith.constant 16 : index\n"
                         "  tile.fourier_roots %r rows %n : {1}\n{3}}\n",
                         x, roots, o, body);
  }
  static std::vector<Array> argumentsOfLoads() {
    std::vector<Array> tensors = {Array({16, 16}), Array({16, 2}), Array({3, 16, 16})};
    for (size_t i = 0; i < tensors[0].data.size(); ++i)
      tensors[0].data[i] = double(i % 7) - 3;
    return tensors;
  }

  /// Random arguments for so many rows. Each tensor has a row more, and rows that are taken as zero
  /// are no numbers.
  static std::vector<Array> arguments(int64_t width, int64_t rows, std::mt19937 &random) {
    std::vector<Array> tensors = {Array({kSlots, rows + 1, 2 * width}),
                                  Array({rows + 1, 2 * width}), Array({rows, 2}),
                                  Array({rows == 2 ? 1 : rows / 2 + 1, 4})};
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (int i = 0; i < 2; ++i)
      for (double &number : tensors[i].data)
        number = uniform(random);
    for (int64_t slot : {1, 12, 13})
      for (int64_t row = rows / 2; row < rows; ++row)
        for (int64_t c = 0; c < 2 * width; ++c)
          tensors[0].at({slot, row, c}) = std::nan("");
    return tensors;
  }

  static void interpret(const std::string &text, std::vector<Array> &tensors) {
    mlir::MLIRContext context;
    context.loadDialect<tile::TileDialect, mlir::arith::ArithDialect, mlir::memref::MemRefDialect,
                        mlir::scf::SCFDialect>();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    ASSERT_TRUE(succeeded(evaluateTile(*module->getOps<tile::KernelOp>().begin(), tensors)));
  }

  /// Compares a slot with the interpreter's. Elements that are unspecified there may be anything.
  static void expectSlot(const Array &found, const Array &expected, int64_t slot) {
    double error = 0, norm = 0, largest = 0;
    size_t size = found.data.size() / kSlots, compared = 0;
    for (size_t i = slot * size; i < (slot + 1) * size; ++i) {
      double difference = found.data[i] - expected.data[i];
      if (std::isnan(expected.data[i]))
        continue;
      ASSERT_FALSE(std::isnan(found.data[i])) << "slot " << slot << ", element " << i;
      ++compared;
      error += difference * difference;
      norm += expected.data[i] * expected.data[i];
      largest = std::max(largest, std::fabs(difference));
    }
    EXPECT_LE(std::sqrt(error), 4e-7 * std::sqrt(norm)) << "slot " << slot;
    EXPECT_LE(largest, 4e-6 * std::sqrt(norm / double(compared))) << "slot " << slot;
  }
};

} // namespace polyattn

#endif // POLYATTN_TEST_UNIT_TILE_FOURIERKERNEL_H
