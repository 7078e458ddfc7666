//===- ScorePolynomial.cpp - polynomials of one score ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Features/ScorePolynomial.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace polyattn;
using llvm::DynamicAPInt;

static DynamicAPInt powerOfTwo(int64_t exponent) {
  return DynamicAPInt(llvm::APInt::getOneBitSet(exponent + 2, exponent));
}

ScorePolynomial::ScorePolynomial(Numbers coefficients, int64_t exponent)
    : coefficients_(std::move(coefficients)), exponent_(exponent) {
  while (!coefficients_.empty() && coefficients_.back() == 0)
    coefficients_.pop_back();
}

std::optional<ScorePolynomial> ScorePolynomial::constant(double value) {
  if (!std::isfinite(value))
    return std::nullopt;
  int exponent = 0;
  // value = mantissa 2^exponent, the mantissa a whole number of at most 53 bits
  int64_t mantissa = static_cast<int64_t>(std::ldexp(std::frexp(value, &exponent), 53));
  exponent -= 53;
  if (mantissa != 0 && (exponent < -256 || exponent > 128))
    return std::nullopt;
  return ScorePolynomial({DynamicAPInt(mantissa)}, mantissa == 0 ? 0 : exponent);
}

ScorePolynomial ScorePolynomial::variable() {
  return ScorePolynomial({DynamicAPInt(0), DynamicAPInt(1)}, 0);
}

/// The coefficients in units of 2^exponent, which is at most exponent_.
ScorePolynomial::Numbers ScorePolynomial::atExponent(int64_t exponent) const {
  Numbers result = coefficients_;
  DynamicAPInt factor = powerOfTwo(exponent_ - exponent);
  for (DynamicAPInt &x : result)
    x *= factor;
  return result;
}

ScorePolynomial ScorePolynomial::operator+(const ScorePolynomial &other) const {
  int64_t exponent = std::min(exponent_, other.exponent_);
  Numbers sum = atExponent(exponent), more = other.atExponent(exponent);
  if (sum.size() < more.size())
    std::swap(sum, more);
  for (size_t i = 0; i < more.size(); ++i)
    sum[i] += more[i];
  return ScorePolynomial(std::move(sum), exponent);
}

std::optional<ScorePolynomial> ScorePolynomial::times(const ScorePolynomial &other) const {
  if (degree() < 0 || other.degree() < 0)
    return ScorePolynomial({}, 0);
  if (degree() + other.degree() > kMaxDegree || std::abs(exponent_ + other.exponent_) > 4096)
    return std::nullopt;
  Numbers product(degree() + other.degree() + 1, DynamicAPInt(0));
  for (size_t i = 0; i < coefficients_.size(); ++i)
    for (size_t j = 0; j < other.coefficients_.size(); ++j)
      product[i + j] += coefficients_[i] * other.coefficients_[j];
  return ScorePolynomial(std::move(product), exponent_ + other.exponent_);
}

std::optional<ScorePolynomial> ScorePolynomial::power(int64_t exponent) const {
  std::optional<ScorePolynomial> result = constant(1.0);
  for (int64_t i = 0; i < exponent && result; ++i)
    result = result->times(*this);
  return result;
}

/// Sturm's theorem: the number of distinct real roots is the difference of the numbers of sign
/// changes along the chain f, f', -rem(f, f'), ... at minus and at plus infinity. Remainders are
/// pseudo-remainders, scaled by positive numbers only, so that all stay whole.
bool ScorePolynomial::hasRealRoot(const Numbers &polynomial) {
  auto makePrimitive = [](Numbers &p) {
    DynamicAPInt content(0);
    for (const DynamicAPInt &x : p)
      content = gcd(content, abs(x));
    if (content > 1)
      for (DynamicAPInt &x : p)
        x /= content;
  };
  Numbers derivative;
  for (size_t i = 1; i < polynomial.size(); ++i)
    derivative.push_back(polynomial[i] * int64_t(i));
  llvm::SmallVector<Numbers> chain = {polynomial, derivative};
  while (chain.back().size() > 1) {
    Numbers remainder = chain[chain.size() - 2];
    const Numbers &divisor = chain.back();
    const DynamicAPInt &lead = divisor.back();
    while (remainder.size() >= divisor.size()) {
      // |lead| r - sign(lead) r_top s^shift d: the top coefficient vanishes.
      DynamicAPInt top = lead < 0 ? -remainder.back() : remainder.back();
      size_t shift = remainder.size() - divisor.size();
      for (DynamicAPInt &x : remainder)
        x *= abs(lead);
      for (size_t i = 0; i < divisor.size(); ++i)
        remainder[i + shift] -= top * divisor[i];
      while (!remainder.empty() && remainder.back() == 0)
        remainder.pop_back();
    }
    if (remainder.empty())
      break;
    for (DynamicAPInt &x : remainder)
      x = -x;
    makePrimitive(remainder);
    chain.push_back(std::move(remainder));
  }
  auto signChanges = [&](bool atMinusInfinity) {
    int changes = 0, previous = 0;
    for (const Numbers &p : chain) {
      int sign = p.back() < 0 ? -1 : 1;
      if (atMinusInfinity && p.size() % 2 == 0)
        sign = -sign;
      changes += previous != 0 && sign != previous;
      previous = sign;
    }
    return changes;
  };
  return signChanges(/*atMinusInfinity=*/true) != signChanges(/*atMinusInfinity=*/false);
}

bool ScorePolynomial::isNonNegative() const {
  Numbers p = coefficients_;
  // An even power of s is a factor that is never negative.
  while (p.size() > 2 && p[0] == 0 && p[1] == 0)
    p.erase(p.begin(), p.begin() + 2);
  if (p.empty())
    return true;
  if (p.size() % 2 == 0 || p.back() < 0 || p[0] < 0)
    return false;
  if (p.size() == 3)
    return p[1] * p[1] <= p[0] * p[2] * 4;
  return p.size() == 1 || !hasRealRoot(p);
}
