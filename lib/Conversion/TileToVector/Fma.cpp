//===- Fma.cpp - products by fused multiply-adds --------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MicroKernel.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_vector;

namespace {

/// One element of A in all lanes times a vector of B, for each term. A lies by rows, or transposed,
/// by rows or in panels; B by rows.
class FmaKernel : public MicroKernel {
public:
  int64_t termsPerStep() const override { return 1; }

  // Rows times vectors times products are accumulators. Two vectors for each broadcast element
  // keep the load ports below the multipliers, four leave them more room where such a panel of B,
  // `depth` rows, stays in L1; about eight chains hide the latency of an FMA.
  TileShape chooseShape(const MachineDescription &machine, ProductGroup group, int64_t depth,
                        int64_t rows, int64_t vectors) const override {
    int64_t products = group.products;
    int64_t budget = machine.accumulators();
    TileShape shape{1, std::min<int64_t>(vectors, vectors % 4 ? 2 : panelVectors(machine, depth))};
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

  OperandWalk walkLhs(const Product &product, int64_t rows) const override {
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

  OperandWalk walkRhs(const Product &product, int64_t vectors, int64_t width) const override {
    OperandWalk walk{product.rhs.rowStride, {}};
    for (int64_t v = 0; v < vectors; ++v)
      walk.displacements.push_back(v * width);
    return walk;
  }

  Value loadLhs(Emitter &e, Type element, Value pointer, Offset offset) const override {
    return e.broadcast(e.load(element, pointer, offset));
  }
  Value loadRhs(Emitter &e, Type element, Value pointer, Offset offset) const override {
    return e.loadVector(element, pointer, offset);
  }
  Value multiplyAdd(Emitter &e, Value a, Value b, Value sum) const override {
    return e.fma(a, b, sum);
  }
};

} // namespace

const MicroKernel &tile_to_vector::fmaKernel() {
  static const FmaKernel kernel;
  return kernel;
}

int64_t tile_to_vector::panelVectors(const MachineDescription &machine, int64_t depth) {
  bool four = machine.accumulators() >= 16 &&
              depth * 4 * machine.vectorWidth * int64_t(sizeof(float)) <= machine.l1Bytes / 2;
  return four ? 4 : 2;
}
