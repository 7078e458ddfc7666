//===- ScoreExpression.h - a score computed from inner products -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The score <phi(q), phi(k)> of structured features is computed from the inner products of a few
// plain vectors, its leaves: a power of features has the power of their score, a tensor product the
// product of the scores, a concatenation the sum, `exp_score` the exponential. An expression says
// how, with leaves by their numbers. It is data: the same one is evaluated on numbers, emitted as
// operations, and differentiated, which gives what a change of each leaf does to the score.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_FEATURES_SCOREEXPRESSION_H
#define POLYATTN_FEATURES_SCOREEXPRESSION_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace polyattn {

class ScoreExpression {
public:
  enum class Kind {
    Leaf,        // the inner product of a pair of vectors
    Number,      // a constant
    Sum,         // of one or more parts
    Product,     // of one or more parts
    Power,       // x^n of the one part, n >= 0
    Magnitude,   // |x| of the one part
    Sign,        // -1, 0 or 1: what the magnitude's derivative multiplies
    Exponential, // exp(x) of the one part
  };

  static ScoreExpression leaf(int64_t index);
  static ScoreExpression constant(double value);
  /// A sum or a product of one part is that part.
  static ScoreExpression sum(std::vector<ScoreExpression> parts);
  static ScoreExpression product(std::vector<ScoreExpression> parts);
  /// An even power of a magnitude is that of the number itself.
  static ScoreExpression power(ScoreExpression base, int64_t exponent);
  static ScoreExpression magnitude(ScoreExpression x);
  static ScoreExpression sign(ScoreExpression x);
  static ScoreExpression exponential(ScoreExpression x);

  Kind kind() const { return kind_; }
  llvm::ArrayRef<ScoreExpression> parts() const { return parts_; }
  bool isNumber(double value) const { return kind_ == Kind::Number && value_ == value; }

  /// The value where leaf i is leaves[i].
  double evaluate(llvm::ArrayRef<double> leaves) const;
  /// Evaluates with the operations of `arithmetic`: constant(double), add, mul, power(T, int64_t),
  /// magnitude, sign and exponential. They are called in one order, from left to right, operands
  /// first.
  template <typename T, typename Arithmetic>
  T evaluate(Arithmetic &arithmetic, llvm::ArrayRef<T> leaves) const;

  /// The derivative with respect to one leaf. Terms that are zero and factors of one are left out.
  /// At zero a magnitude counts as flat.
  ScoreExpression differentiate(int64_t leaf) const;

  bool operator==(const ScoreExpression &other) const;
  bool operator!=(const ScoreExpression &other) const { return !(*this == other); }

  /// `s0^2 * 0.5 + s0 + 1`, where s0 is the first leaf.
  std::string str() const;

private:
  explicit ScoreExpression(Kind kind) : kind_(kind) {}
  static ScoreExpression of(Kind kind, ScoreExpression part);
  ScoreExpression derivativeOfProduct(int64_t leaf) const;

  Kind kind_;
  int64_t index_ = 0; // of a leaf
  double value_ = 0;  // of a number
  int64_t exponent_ = 1;
  std::vector<ScoreExpression> parts_;
};

template <typename T, typename Arithmetic>
T ScoreExpression::evaluate(Arithmetic &a, llvm::ArrayRef<T> leaves) const {
  auto part = [&](size_t i) { return parts_[i].evaluate<T>(a, leaves); };
  switch (kind_) {
  case Kind::Leaf:
    return leaves[index_];
  case Kind::Number:
    return a.constant(value_);
  case Kind::Sum:
  case Kind::Product: {
    std::vector<T> values;
    values.reserve(parts_.size());
    for (size_t i = 0; i < parts_.size(); ++i)
      values.push_back(part(i));
    T result = values[0];
    for (size_t i = 1; i < values.size(); ++i)
      result = kind_ == Kind::Sum ? a.add(result, values[i]) : a.mul(result, values[i]);
    return result;
  }
  case Kind::Power:
    return a.power(part(0), exponent_);
  case Kind::Magnitude:
    return a.magnitude(part(0));
  case Kind::Sign:
    return a.sign(part(0));
  case Kind::Exponential:
    return a.exponential(part(0));
  }
  return leaves[0];
}

} // namespace polyattn

#endif // POLYATTN_FEATURES_SCOREEXPRESSION_H
