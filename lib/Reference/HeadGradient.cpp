//===- HeadGradient.cpp - back through the sums of one head ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HeadGradient.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::reference;

void reference::addScoreSlopes(const FeatureValue<double> &a, const FeatureValue<double> &b,
                               RoundedSlope slope, FeatureValue<double> &aSlopes,
                               FeatureValue<double> &bSlopes) {
  slope = slope * (a.factor * b.factor);
  auto throughPart = [&](size_t i, RoundedSlope partSlope) {
    addScoreSlopes(a.parts[i], b.parts[i], partSlope, aSlopes.parts[i], bSlopes.parts[i]);
  };
  switch (a.structure.kind()) {
  case Structure::Kind::Vector:
    if (a.lags) {
      // The pair has one number, which the query's vector brings.
      if (auto place = placeOfLag(*a.lags, *b.lags, int64_t(a.numbers.size())))
        aSlopes.numbers[*place] += slope.sample();
      return;
    }
    for (size_t i = 0; i < a.numbers.size(); ++i) {
      aSlopes.numbers[i] += slope.sample() * b.numbers[i];
      bSlopes.numbers[i] += slope.sample() * a.numbers[i];
    }
    return;
  case Structure::Kind::TensorPower:
  case Structure::Kind::SymmetricPower: {
    double base = score(a.parts[0], b.parts[0]), power = 1;
    for (int64_t i = 1; i < a.structure.degree(); ++i)
      power *= base;
    bool isReflected = a.absolute && power * base < 0;
    return throughPart(0, slope * ((isReflected ? -power : power) * double(a.structure.degree())));
  }
  case Structure::Kind::TensorProduct:
    for (size_t i = 0; i < a.parts.size(); ++i) {
      double others = 1;
      for (size_t k = 0; k < a.parts.size(); ++k)
        others *= k == i ? 1 : score(a.parts[k], b.parts[k]);
      throughPart(i, slope * others);
    }
    return;
  case Structure::Kind::Concat:
    for (size_t i = 0; i < a.parts.size(); ++i)
      throughPart(i, slope);
    return;
  case Structure::Kind::Exponential:
    return throughPart(0, slope * std::exp(score(a.parts[0], b.parts[0])));
  }
}

static FeatureValue<double> zeroLike(FeatureValue<double> value) {
  llvm::fill(value.numbers, 0.0);
  for (FeatureValue<double> &part : value.parts)
    part = zeroLike(std::move(part));
  return value;
}

static std::vector<VectorSlopes> zeroLike(const std::vector<FeatureValue<double>> &vectors) {
  std::vector<VectorSlopes> slopes;
  slopes.reserve(vectors.size());
  for (const FeatureValue<double> &vector : vectors)
    slopes.push_back({zeroLike(vector), {}});
  return slopes;
}

HeadGradient::HeadGradient(AttendOp op, const HeadVectors &vectors, const State *initial,
                           const Rounding &rounding)
    : query(zeroLike(vectors.query)), key(zeroLike(vectors.key)),
      localQuery(zeroLike(vectors.localQuery)), localKey(zeroLike(vectors.localKey)),
      gates(vectors.gates.size(), 0.0), op(op), vectors(vectors), initial(initial),
      rounding(rounding) {
  for (const std::vector<double> &numbers : vectors.value)
    value.emplace_back(numbers.size(), 0.0);
  if (initial)
    initialState = State::zero(initial->sums.size(), initial->sums[0].size());
}

// Numerator and denominator of a row are the sum of weight (v_j, 1) over the keys that it sees,
// with weight = score_scale kappa(i, j) g_{j+1} ... g_i, or in a softmax the exponential of
// score_scale kappa(i, j) less the largest of these; the initial state is a key before the first.
// Under the anticausal mask i and j change places in the decay, and the initial state is a key
// after the last.

void HeadGradient::throughRow(int64_t i, const RowSlopes &row) {
  int64_t keys = vectors.key.size();
  if (op.getMask() == Mask::Anticausal)
    return throughLaterKeys(i, row);
  int64_t visible = op.getMask() == Mask::Causal ? i + 1 : keys;
  std::vector<double> decays = vectors.decaysTo(visible - 1);
  // A gate multiplies what every key before it has added.
  double earlier = initial ? throughInitialState(i, vectors.decay(0, visible - 1), row) : 0;
  VisibleKeys inWindow = VisibleKeys::of(op, i, keys);
  for (int64_t j = inWindow.first; j < visible; ++j) {
    gates[j] += earlier;
    if (j < inWindow.end)
      earlier += throughPair(i, j, decays[j], row);
  }
}

void HeadGradient::throughLaterKeys(int64_t i, const RowSlopes &row) {
  int64_t last = int64_t(vectors.key.size()) - 1;
  std::vector<double> decays = vectors.decaysFrom(i);
  // A gate multiplies what its own key and every later one have added, where it stands behind i.
  double later = initial ? throughInitialState(i, vectors.decay(i + 1, last), row) : 0;
  VisibleKeys inWindow = VisibleKeys::of(op, i, last + 1);
  for (int64_t j = last; j >= i; --j) {
    if (j < inWindow.end)
      later += throughPair(i, j, decays[j], row);
    if (j > i)
      gates[j] += later;
  }
}

/// The slope of the weight of key j in a row.
RoundedSlope HeadGradient::slopeOfPair(int64_t j, const RowSlopes &row) const {
  double sum = row.denominator, squares = sum * sum;
  for (size_t v = 0; v < row.numerator.size(); ++v) {
    sum += row.numerator[v] * vectors.value[j][v];
    squares += sum * sum;
  }
  return {sum, std::sqrt(squares), rounding};
}

/// Gives the slope of the logarithm of the pair's decay.
double HeadGradient::throughPair(int64_t i, int64_t j, double decay, const RowSlopes &row) {
  bool local = isLocalPair(op, i, j);
  const FeatureValue<double> &a = local ? vectors.localQuery[i] : vectors.query[i];
  const FeatureValue<double> &b = local ? vectors.localKey[j] : vectors.key[j];
  double factor = op.scoreScale() * decay;
  double weight = factor * score(a, b);
  if (op.getNormalizer().isSoftmax()) {
    weight = std::exp(weight - row.largest);
    factor = op.scoreScale() * weight;
  }
  RoundedSlope slope = slopeOfPair(j, row);
  for (size_t v = 0; v < row.numerator.size(); ++v)
    value[j][v] += row.numerator[v] * weight;
  addScoreSlopes(a, b, slope * factor, (local ? localQuery : query)[i].numbers,
                 (local ? localKey : key)[j].numbers);
  return weight * slope.sample();
}

/// The part factor phi^T (S, z), with factor = score_scale times the decay between the state and
/// row i; gives the slope of the logarithm of that decay.
double HeadGradient::throughInitialState(int64_t i, double decay, const RowSlopes &row) {
  double factor = op.scoreScale() * decay, total = 0;
  std::vector<double> features = expand(vectors.query[i]);
  for (size_t f = 0; f < features.size(); ++f) {
    double slope = row.denominator * initial->normalizer[f];
    initialState.normalizer[f] += factor * features[f] * row.denominator;
    for (size_t v = 0; v < row.numerator.size(); ++v) {
      slope += row.numerator[v] * initial->sums[f][v];
      initialState.sums[f][v] += factor * features[f] * row.numerator[v];
    }
    query[i].features.push_back(factor * slope);
    total += factor * slope * features[f];
  }
  return total;
}

// The state after the last key is g_0 ... g_T-1 (S, z) of the initial one, and for each key
// g_{j+1} ... g_T-1 phi_j (v_j, 1). Under the anticausal mask it is the one before the first key,
// to which a key adds g_0 ... g_j phi_j (v_j, 1).

void HeadGradient::throughInitialPart(const State &state) {
  gatesSoFar = 0;
  if (!initial)
    return;
  double decay = vectors.decay(0, int64_t(vectors.key.size()) - 1);
  for (size_t f = 0; f < state.sums.size(); ++f) {
    initialState.normalizer[f] += decay * state.normalizer[f];
    gatesSoFar += decay * state.normalizer[f] * initial->normalizer[f];
    for (size_t v = 0; v < state.sums[f].size(); ++v) {
      initialState.sums[f][v] += decay * state.sums[f][v];
      gatesSoFar += decay * state.sums[f][v] * initial->sums[f][v];
    }
  }
}

void HeadGradient::throughKeyPart(int64_t j, const State &state) {
  bool anticausal = op.getMask() == Mask::Anticausal;
  if (!anticausal)
    gates[j] += gatesSoFar;
  double decay =
      anticausal ? vectors.decay(0, j) : vectors.decay(j + 1, int64_t(vectors.key.size()) - 1);
  std::vector<double> features = expand(vectors.key[j]);
  for (size_t f = 0; f < features.size(); ++f) {
    double slope = state.normalizer[f];
    for (size_t v = 0; v < state.sums[f].size(); ++v) {
      slope += state.sums[f][v] * vectors.value[j][v];
      value[j][v] += decay * features[f] * state.sums[f][v];
    }
    key[j].features.push_back(decay * slope);
    gatesSoFar += decay * slope * features[f];
  }
  if (anticausal)
    gates[j] += gatesSoFar;
}
