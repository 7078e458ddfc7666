//===- TileBuilder.h - shorthands for building tile kernels -----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_TILEBUILDER_H
#define POLYATTN_CONVERSION_TILEBUILDER_H

#include "ElementBuilder.h"
#include "dialects/Tile/Tile.h"

namespace polyattn {

/// Tiles, and the loops and branches around them. Inside of a loop or a branch the same builder
/// stands there until its body is built, so that nobody who holds the builder can build elsewhere.
class TileBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;
  using Value = mlir::Value;
  using Values = llvm::SmallVector<Value>;
  using Elements = llvm::function_ref<Value(ElementBuilder &, mlir::ValueRange)>;
  using LoopBody = llvm::function_ref<void(Value)>;
  using CarryingBody = llvm::function_ref<Values(Value, mlir::ValueRange)>;
  using Branch = llvm::function_ref<void()>;

  Value index(int64_t value) { return mlir::arith::ConstantIndexOp::create(*this, value); }
  Value addIndex(Value a, Value b) { return mlir::arith::AddIOp::create(*this, a, b); }

  static tile::TileType typeOf(Value tile) { return mlir::cast<tile::TileType>(tile.getType()); }
  tile::TileType tileType(int64_t rows, int64_t columns) {
    return tile::TileType::f32(getContext(), rows, columns);
  }

  Value constant(int64_t rows, int64_t columns, double value) {
    return tile::ConstantOp::create(*this, tileType(rows, columns), getF64FloatAttr(value));
  }
  Value column(llvm::ArrayRef<double> values) {
    return tile::ConstantColumnOp::create(*this, tileType(values.size(), 1), values);
  }
  /// A map whose shape is the largest of its inputs'.
  Value map(mlir::ValueRange inputs, Elements body);
  using Triangle = tile::Triangle;
  /// The precision of later products; without one, targets choose. bf16 is for products of two
  /// matrices, the others get none.
  void setPrecision(std::optional<tile::Precision> later) { precision = later; }
  /// The products of `body` get the precision f32.
  void inFullPrecision(llvm::function_ref<void()> body) {
    std::optional<tile::Precision> others = precision;
    precision = tile::Precision::F32;
    body();
    precision = others;
  }
  Value dot(Value lhs, Value rhs, Value acc, bool lhsTransposed, Triangle triangle = Triangle::None,
            Triangle lhsTriangle = Triangle::None, Value bound = {});
  /// `buffer` <- `factor` `buffer` + lhs rhs, from `row` on. `factor` may be null.
  void accumulate(Value lhs, Value rhs, Value buffer, Value row, Value bound, Value factor);
  Value reduceRows(Value input, tile::ReduceKind kind = tile::ReduceKind::Add);
  Value reduceColumns(Value input, Value bound = {}, Triangle triangle = Triangle::None,
                      tile::ReduceKind kind = tile::ReduceKind::Add);
  Value slice(Value source, Value row, int64_t rows);
  Value sliceColumns(Value source, Value column, int64_t columns);
  Value transpose(Value source);
  Value concat(mlir::ValueRange inputs);
  /// Products of rows of `source` (FeaturePlan::table), times `weights` where there are any.
  Value monomials(Value source, Value first, int64_t count, mlir::DenseIntElementsAttr table,
                  llvm::ArrayRef<double> weights);
  /// What the gradient of such products adds to that of `source`.
  Value contract(Value gradient, Value source, Value first, Value acc,
                 mlir::DenseIntElementsAttr table, llvm::ArrayRef<double> weights);
  Value scaled(Value tile, double factor);
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);

  /// For every `step`-th number from `from` to before `to`.
  void loop(Value from, Value to, Value step, LoopBody body);
  /// A loop that carries values from iteration to iteration; returns those of the last one.
  Values loop(Value from, Value to, Value step, mlir::ValueRange carried, CarryingBody body);
  void branch(Value condition, Branch then);
  void branch(Value condition, Branch then, Branch otherwise);
  Value compare(mlir::arith::CmpIPredicate predicate, Value a, Value b) {
    return mlir::arith::CmpIOp::create(*this, predicate, a, b);
  }
  Value isEqual(Value a, Value b) { return compare(mlir::arith::CmpIPredicate::eq, a, b); }
  Value subIndex(Value a, Value b) { return mlir::arith::SubIOp::create(*this, a, b); }
  Value mulIndex(Value a, Value b) { return mlir::arith::MulIOp::create(*this, a, b); }
  Value divIndex(Value a, Value b) { return mlir::arith::DivUIOp::create(*this, a, b); }
  Value minIndex(Value a, Value b) { return mlir::arith::MinSIOp::create(*this, a, b); }
  Value select(Value condition, Value a, Value b) {
    return mlir::arith::SelectOp::create(*this, condition, a, b);
  }

private:
  /// The attribute of a product, of two matrices or with a vector; may be null.
  tile::PrecisionAttr precisionOf(bool ofMatrices);

  std::optional<tile::Precision> precision;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_TILEBUILDER_H
