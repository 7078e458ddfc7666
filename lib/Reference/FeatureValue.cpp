//===- FeatureValue.cpp - one vector of features, unexpanded --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FeatureValue.h"
#include "Tape.h"
#include <algorithm>
#include <cmath>

using namespace polyattn;
using namespace polyattn::reference;

std::optional<size_t> reference::placeOfLag(const LagPlace &query, const LagPlace &key,
                                            int64_t count) {
  int64_t lag = query.position - key.position;
  int64_t place = query.isTwoSided ? lag + count / 2 : std::abs(lag);
  if (query.repeatsLast)
    return std::clamp<int64_t>(place, 0, count - 1);
  return place >= 0 && place < count ? std::optional<size_t>(place) : std::nullopt;
}

double reference::score(const FeatureValue<double> &a, const FeatureValue<double> &b) {
  double scale = a.factor * b.factor;
  switch (a.structure.kind()) {
  case Structure::Kind::Vector: {
    if (a.lags) {
      std::optional<size_t> place = placeOfLag(*a.lags, *b.lags, int64_t(a.numbers.size()));
      return place ? scale * a.numbers[*place] : 0;
    }
    double sum = 0;
    for (size_t i = 0; i < a.numbers.size(); ++i)
      sum += a.numbers[i] * b.numbers[i];
    return scale * sum;
  }
  case Structure::Kind::TensorPower:
  case Structure::Kind::SymmetricPower: {
    double base = score(a.parts[0], b.parts[0]);
    double power = 1;
    for (int64_t i = 0; i < a.structure.degree(); ++i)
      power *= base;
    return scale * (a.absolute ? std::fabs(power) : power);
  }
  case Structure::Kind::TensorProduct: {
    double product = 1;
    for (size_t i = 0; i < a.parts.size(); ++i)
      product *= score(a.parts[i], b.parts[i]);
    return scale * product;
  }
  case Structure::Kind::Concat: {
    double sum = 0;
    for (size_t i = 0; i < a.parts.size(); ++i)
      sum += score(a.parts[i], b.parts[i]);
    return scale * sum;
  }
  case Structure::Kind::Exponential:
    return scale * std::exp(score(a.parts[0], b.parts[0]));
  }
  return 0;
}

template <typename Number>
std::vector<Number> reference::expand(const FeatureValue<Number> &value) {
  std::vector<Number> result;
  switch (value.structure.kind()) {
  case Structure::Kind::Vector:
    result = value.numbers;
    break;
  case Structure::Kind::TensorPower:
  case Structure::Kind::SymmetricPower: {
    std::vector<Number> base = expand(value.parts[0]);
    int64_t n = base.size(), degree = value.structure.degree();
    std::vector<Monomial> monomials = value.structure.kind() == Structure::Kind::TensorPower
                                          ? tensorMonomials(n, degree)
                                          : symmetricMonomials(n, degree, value.structure.block());
    for (const Monomial &monomial : monomials) {
      Number product = monomial.weight;
      for (int64_t index : monomial.indices)
        product *= base[index];
      result.push_back(product);
    }
    break;
  }
  case Structure::Kind::TensorProduct: {
    result.push_back(1);
    for (const FeatureValue<Number> &part : value.parts) {
      std::vector<Number> factors = expand(part), products;
      for (const Number &left : result)
        for (const Number &right : factors)
          products.push_back(left * right);
      result = std::move(products);
    }
    break;
  }
  case Structure::Kind::Concat:
    for (const FeatureValue<Number> &part : value.parts) {
      std::vector<Number> features = expand(part);
      result.insert(result.end(), features.begin(), features.end());
    }
    break;
  case Structure::Kind::Exponential: // has none
    break;
  }
  for (Number &feature : result)
    feature *= value.factor;
  return result;
}

template std::vector<double> reference::expand(const FeatureValue<double> &value);
template std::vector<Variable> reference::expand(const FeatureValue<Variable> &value);
