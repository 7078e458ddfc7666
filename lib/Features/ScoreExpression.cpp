//===- ScoreExpression.cpp - a score computed from inner products ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Features/ScoreExpression.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cassert>
#include <cmath>

using namespace polyattn;

ScoreExpression ScoreExpression::leaf(int64_t index) {
  ScoreExpression result(Kind::Leaf);
  result.index_ = index;
  return result;
}

ScoreExpression ScoreExpression::constant(double value) {
  ScoreExpression result(Kind::Number);
  result.value_ = value;
  return result;
}

ScoreExpression ScoreExpression::sum(std::vector<ScoreExpression> parts) {
  assert(!parts.empty() && "a sum of nothing is a number");
  if (parts.size() == 1)
    return std::move(parts[0]);
  ScoreExpression result(Kind::Sum);
  result.parts_ = std::move(parts);
  return result;
}

ScoreExpression ScoreExpression::product(std::vector<ScoreExpression> parts) {
  assert(!parts.empty() && "a product of nothing is a number");
  if (parts.size() == 1)
    return std::move(parts[0]);
  ScoreExpression result(Kind::Product);
  result.parts_ = std::move(parts);
  return result;
}

ScoreExpression ScoreExpression::of(Kind kind, ScoreExpression part) {
  ScoreExpression result(kind);
  result.parts_.push_back(std::move(part));
  return result;
}

ScoreExpression ScoreExpression::power(ScoreExpression base, int64_t exponent) {
  assert(exponent >= 0 && "scores have no poles");
  if (base.kind_ == Kind::Magnitude && exponent % 2 == 0)
    return power(base.parts_[0], exponent);
  ScoreExpression result = of(Kind::Power, std::move(base));
  result.exponent_ = exponent;
  return result;
}

ScoreExpression ScoreExpression::magnitude(ScoreExpression x) {
  return of(Kind::Magnitude, std::move(x));
}

ScoreExpression ScoreExpression::sign(ScoreExpression x) { return of(Kind::Sign, std::move(x)); }

ScoreExpression ScoreExpression::exponential(ScoreExpression x) {
  return of(Kind::Exponential, std::move(x));
}

bool ScoreExpression::operator==(const ScoreExpression &other) const {
  return kind_ == other.kind_ && index_ == other.index_ && value_ == other.value_ &&
         exponent_ == other.exponent_ && parts_ == other.parts_;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

namespace {
struct RealArithmetic {
  double constant(double value) { return value; }
  double add(double a, double b) { return a + b; }
  double mul(double a, double b) { return a * b; }
  double magnitude(double x) { return std::abs(x); }
  double sign(double x) { return double(x > 0) - double(x < 0); }
  double exponential(double x) { return std::exp(x); }
  double power(double x, int64_t n) {
    double result = 1;
    for (; n > 0; n >>= 1, x *= x)
      if (n & 1)
        result *= x;
    return result;
  }
};
} // namespace

double ScoreExpression::evaluate(llvm::ArrayRef<double> leaves) const {
  RealArithmetic arithmetic;
  return evaluate<double>(arithmetic, leaves);
}

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

/// A product without factors of one; zero where one of them is.
static ScoreExpression simpleProduct(llvm::ArrayRef<ScoreExpression> factors) {
  std::vector<ScoreExpression> others;
  for (const ScoreExpression &factor : factors) {
    if (factor.isNumber(0))
      return factor;
    if (!factor.isNumber(1))
      others.push_back(factor);
  }
  return others.empty() ? ScoreExpression::constant(1)
                        : ScoreExpression::product(std::move(others));
}

/// A sum without terms of zero.
static ScoreExpression simpleSum(std::vector<ScoreExpression> terms) {
  llvm::erase_if(terms, [](const ScoreExpression &term) { return term.isNumber(0); });
  return terms.empty() ? ScoreExpression::constant(0) : ScoreExpression::sum(std::move(terms));
}

ScoreExpression ScoreExpression::derivativeOfProduct(int64_t leaf) const {
  std::vector<ScoreExpression> terms;
  for (size_t i = 0; i < parts_.size(); ++i) {
    std::vector<ScoreExpression> factors = parts_;
    factors[i] = parts_[i].differentiate(leaf);
    terms.push_back(simpleProduct(factors));
  }
  return simpleSum(std::move(terms));
}

ScoreExpression ScoreExpression::differentiate(int64_t leaf) const {
  switch (kind_) {
  case Kind::Leaf:
    return constant(index_ == leaf ? 1 : 0);
  case Kind::Number:
  case Kind::Sign:
    return constant(0);
  case Kind::Sum: {
    std::vector<ScoreExpression> terms;
    terms.reserve(parts_.size());
    for (const ScoreExpression &part : parts_)
      terms.push_back(part.differentiate(leaf));
    return simpleSum(std::move(terms));
  }
  case Kind::Product:
    return derivativeOfProduct(leaf);
  case Kind::Power: {
    ScoreExpression inner = parts_[0].differentiate(leaf);
    if (exponent_ == 0)
      return constant(0);
    if (exponent_ == 1)
      return inner;
    ScoreExpression lower = exponent_ == 2 ? parts_[0] : power(parts_[0], exponent_ - 1);
    return simpleProduct({constant(double(exponent_)), lower, inner});
  }
  case Kind::Magnitude:
    return simpleProduct({sign(parts_[0]), parts_[0].differentiate(leaf)});
  case Kind::Exponential:
    return simpleProduct({*this, parts_[0].differentiate(leaf)});
  }
  return constant(0);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string ScoreExpression::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto atom = [](const ScoreExpression &part) {
    bool isCompound =
        part.kind_ == Kind::Sum || part.kind_ == Kind::Product || part.kind_ == Kind::Power;
    return isCompound ? "(" + part.str() + ")" : part.str();
  };
  auto factor = [](const ScoreExpression &part) {
    return part.kind_ == Kind::Sum || part.kind_ == Kind::Product ? "(" + part.str() + ")"
                                                                  : part.str();
  };
  switch (kind_) {
  case Kind::Leaf:
    os << "s" << index_;
    break;
  case Kind::Number:
    os << llvm::format("%g", value_);
    break;
  case Kind::Sum:
    llvm::interleave(parts_, os, [&](const ScoreExpression &part) { os << part.str(); }, " + ");
    break;
  case Kind::Product:
    llvm::interleave(parts_, os, [&](const ScoreExpression &part) { os << factor(part); }, " * ");
    break;
  case Kind::Power:
    os << atom(parts_[0]) << "^" << exponent_;
    break;
  case Kind::Magnitude:
    os << "|" << parts_[0].str() << "|";
    break;
  case Kind::Sign:
    os << "sign(" << parts_[0].str() << ")";
    break;
  case Kind::Exponential:
    os << "exp(" << parts_[0].str() << ")";
    break;
  }
  return text;
}
