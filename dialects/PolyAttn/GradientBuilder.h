//===- GradientBuilder.h - gradients as programs of feature ops -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Differentiation goes through a program from its last op to its first. Each op's rule
// (DifferentiableOpInterface) hands on the gradient of its result to its operands, in the dialect's
// own ops, so that what comes out is interpreted, simplified and lowered as any program is.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_GRADIENTBUILDER_H
#define POLYATTN_DIALECTS_GRADIENTBUILDER_H

#include "dialects/PolyAttn/PolyAttn.h"
#include "mlir/IR/Builders.h"
#include <functional>

namespace polyattn {

/// Gathers the gradients of a program's values, each the sum over the value's uses.
class GradientBuilder {
public:
  using Value = mlir::Value;
  using IsWanted = std::function<bool(Value)>;

  /// Builds at the builder's insertion point. `wants` says whose gradients lead anywhere.
  GradientBuilder(mlir::OpBuilder &builder, IsWanted wants)
      : builder(builder), wanted(std::move(wants)) {}

  //===--------------------------------------------------------------------===//
  // Gradients
  //===--------------------------------------------------------------------===//

  bool wants(Value value) const { return wanted(value); }
  /// Adds to the gradient of a vector. A gradient of many elements of an operand that has one is
  /// summed up, that of one element of an operand that has many stands for each. A null `gradient`
  /// is zero.
  void addTo(Value vector, Value gradient);
  /// Adds x dy^T, summed over positions, to the gradient of a matrix.
  void addToMatrix(Value weight, Value x, Value dy);
  /// Adds dy, summed over positions, to the gradient of a weight that is a vector.
  void addToWeight(Value weight, Value dy);
  /// Adds to the gradient of a convolution's filter that of its result.
  void addToFilter(ConvolveOp op, Value dy);
  /// Says that an op has no gradient, and why; gives null.
  Value refuse(mlir::Operation *op, const llvm::Twine &why);
  bool hasRefused() const { return refused; }

  /// The gradient of a vector, all of whose uses have been visited; null where it is zero.
  Value gradientOf(Value vector);
  /// The gradient of a weight, a `weight_gradient` or a `filter_gradient`; null where it is zero.
  Value weightGradientOf(Value weight);
  /// Applies an op's rule to the gradient of its result. What is computed from weights alone may be
  /// used by queries and by keys, of which there may be different numbers: its gradient is a sum
  /// over both, and the rule, which is linear in it, is applied to the terms of each side.
  void visit(mlir::Operation *op);

  //===--------------------------------------------------------------------===//
  // Words for rules
  //===--------------------------------------------------------------------===//

  void setLocation(mlir::Location newLocation) { location = newLocation; }
  template <typename Op, typename... Arguments> Op create(Arguments &&...arguments) {
    return Op::create(builder, *location, std::forward<Arguments>(arguments)...);
  }
  Value mul(mlir::ValueRange factors);
  Value add(mlir::ValueRange terms);
  Value sub(Value a, Value b) { return add({a, scale(b, -1)}); }
  Value scale(Value a, double factor);
  Value addConst(Value a, double value);
  Value oneMinus(Value a) { return addConst(scale(a, -1), 1); }
  Value power(Value a, double exponent);
  Value sum(Value a);
  /// <a, b>, a vector of width 1.
  Value dot(Value a, Value b) { return sum(mul({a, b})); }
  Value select(Value a, llvm::ArrayRef<int64_t> indices);
  Value slice(Value a, int64_t first, int64_t count);
  Value scatter(Value a, llvm::ArrayRef<int64_t> indices, int64_t width);
  /// `width` numbers of few different values.
  Value numbers(llvm::ArrayRef<double> values);
  /// `count` times the only element.
  Value repeat(Value a, int64_t count);
  /// A weight that is a vector, as a vector.
  Value vectorOf(Value weight);

private:
  struct WeightTerm {
    Value x; // null for a weight that is a vector
    Value dy;
  };

  /// A filter's uses in convolutions of one kind, which the first of them has.
  struct FilterTerms {
    ConvolveOp first;
    llvm::SmallVector<WeightTerm> pairs;
  };

  Value refuseFilter(ConvolveOp op);
  /// Whether a vector differs from position to position.
  bool hasPositions(Value vector);

  mlir::OpBuilder &builder;
  IsWanted wanted;
  std::optional<mlir::Location> location;
  llvm::DenseMap<Value, llvm::SmallVector<Value>> terms;
  llvm::DenseMap<Value, llvm::SmallVector<WeightTerm>> weightTerms;
  llvm::DenseMap<Value, FilterTerms> filterTerms;
  llvm::DenseMap<Value, bool> positions; // by vectors asked about
  bool refused = false;
};

} // namespace polyattn

#endif // POLYATTN_DIALECTS_GRADIENTBUILDER_H
