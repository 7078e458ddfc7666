//===- MicroKernel.cpp - which micro-kernel multiplies what ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MicroKernel.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_vector;
using tile::Layout;
using tile::Precision;
using tile::TileType;

namespace {
/// One micro-kernel, what it multiplies, and what a machine must have for it.
struct Row {
  Precision precision;
  bool (*takes)(TileType lhs, bool lhsTransposed, TileType rhs);
  Instructions needed;
  const MicroKernel &(*kernel)();
};
} // namespace

static bool areF32(TileType lhs, bool, TileType rhs) {
  return lhs.getElementType().isF32() && rhs.getElementType().isF32();
}
static bool areF64(TileType lhs, bool, TileType rhs) {
  return lhs.getElementType().isF64() && rhs.getElementType().isF64();
}

/// Whether two terms of a sum lie side by side in both operands.
static bool arePairs(TileType lhs, bool lhsTransposed, TileType rhs) {
  Layout left = lhsTransposed ? Layout::RowPairs : Layout::Rows;
  return lhs.getElementType().isBF16() && rhs.getElementType().isBF16() &&
         lhs.getLayout() == left && rhs.getLayout() == Layout::RowPairs;
}

// The first that fits is taken: the fastest of a precision comes first. Without an instruction for
// it a multiply-add is two operations.
static const Row kRows[] = {
    {Precision::F32, areF32, Instructions::None, fmaKernel},
    {Precision::F64, areF64, Instructions::None, fmaKernel},
    {Precision::BF16, arePairs, Instructions::AVX512BF16, bf16PairsKernel},
};

const MicroKernel *tile_to_vector::findMicroKernel(Precision precision, TileType lhs,
                                                   bool lhsTransposed, TileType rhs,
                                                   const MachineDescription &machine) {
  for (const Row &row : kRows)
    if (row.precision == precision && row.takes(lhs, lhsTransposed, rhs) && machine.has(row.needed))
      return &row.kernel();
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Register tiles
//===----------------------------------------------------------------------===//

/// Whether pairs of vectors leave the multipliers waiting, and the registers hold three vectors
/// of each row, beside those of B and an element of A. Four vectors are two pairs either way.
/// Without an instruction for it a multiply-add needs a register of its own.
static bool fillsByThrees(const MachineDescription &machine, ProductGroup group, int64_t rows,
                          int64_t vectors) {
  int64_t sumsOfVector = rows * group.products;
  return machine.has(Instructions::Fma) && sumsOfVector * 2 < machine.fewestSums &&
         (sumsOfVector + group.rightOperands) * 3 + 1 <= machine.vectorRegisters && vectors > 2 &&
         vectors != 4;
}

// Rows times vectors times products are accumulators. Two vectors for each broadcast element
// keep the load ports below the multipliers, four leave them more room where such a panel of B,
// `depth` rows, stays in L1; about eight chains hide the latency of an FMA.
TileShape MicroKernel::chooseShape(const MachineDescription &machine, ProductGroup group,
                                   int64_t depth, int64_t rows, int64_t vectors) const {
  int64_t products = group.products;
  int64_t budget = machine.accumulators();
  // Tiles begin at whole steps of a triangle.
  TileShape shape{std::min(termsPerStep(), rows),
                  std::min<int64_t>(vectors, vectors % 4 ? 2 : panelVectors(machine, depth))};
  while (shape.rows > 1 && shape.vectors > 1 && shape.rows * shape.vectors * products > budget)
    shape.vectors /= 2;
  int64_t tallest = shape.vectors == 1 ? 16 : 8;
  while (shape.rows * 2 <= std::min(tallest, rows) &&
         shape.rows * 2 * shape.vectors * products <= budget)
    shape.rows *= 2;
  while (shape.vectors * 2 <= std::min<int64_t>(vectors, 8) &&
         shape.rows * shape.vectors * 2 * products <= std::min<int64_t>(budget, 16))
    shape.vectors *= 2;
  if (shape.vectors == 2 && fillsByThrees(machine, group, shape.rows, vectors))
    shape.vectors = 3;
  return shape;
}

OperandWalk MicroKernel::walkLhs(const Product &product, int64_t rows) const {
  const TileMemory &lhs = product.lhs;
  int64_t panel = lhs.panelWidth;
  OperandWalk walk{1, {}};
  if (product.lhsTransposed)
    walk.stride = panel ? Offset(panel) : lhs.rowStride;
  for (int64_t r = 0; r < rows; ++r) {
    if (!product.lhsTransposed)
      walk.displacements.push_back(r * lhs.rowStride.constant);
    else if (panel && rows > panel) // Such tiles start at whole panels.
      walk.displacements.push_back(r / panel * panel * lhs.panelRows + r % panel);
    else
      walk.displacements.push_back(r);
  }
  return walk;
}

OperandWalk MicroKernel::walkRhs(const Product &product, int64_t vectors, int64_t width) const {
  OperandWalk walk{product.rhs.rowStride, {}};
  for (int64_t v = 0; v < vectors; ++v)
    walk.displacements.push_back(v * width);
  return walk;
}

int64_t tile_to_vector::stepsPerIteration(const MachineDescription &machine, int64_t products,
                                          int64_t rows, int64_t vectors) {
  constexpr int64_t most = 4;
  int64_t steps = 1;
  // A load of the next step comes early. Where the sums, a row of B and an element of A are as many
  // as the registers, sums would move between registers for it.
  if (products * rows * vectors + vectors + 1 == machine.vectorRegisters)
    return steps;
  while (steps < most && steps * products * rows * vectors < machine.hidingInstructions)
    steps *= 2;
  return steps;
}

int64_t tile_to_vector::panelVectors(const MachineDescription &machine, int64_t depth) {
  bool four = machine.accumulators() >= 16 &&
              depth * 4 * machine.vectorWidth * int64_t(sizeof(float)) <= machine.l1Bytes / 2;
  return four ? 4 : 2;
}
