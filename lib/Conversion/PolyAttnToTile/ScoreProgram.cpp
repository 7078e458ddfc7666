//===- ScoreProgram.cpp - scores of a pair of blocks ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreProgram.h"
#include "FeaturePlan.h"

using namespace mlir;
using namespace polyattn;

namespace {

/// The score polynomial: first the leaf pairs are collected, then the polynomial of
/// their inner products is built inside one map.
class ScorePolynomial {
public:
  SmallVector<std::pair<Value, Value>> pairs;

  void collect(Value query, Value key) {
    walk<int>(
        query, key, [](int, double) { return 0; }, [](ArrayRef<int>, bool) { return 0; },
        [](int, PowerOp) { return 0; },
        [&](Value q, Value k) {
          if (!llvm::is_contained(pairs, std::pair(q, k)))
            pairs.push_back({q, k});
          return 0;
        },
        [](double) { return 0; });
  }

  Value build(ElementBuilder &e, Value query, Value key, ValueRange dots) {
    return walk<Value>(
        query, key,
        [&](Value x, double factor) { return factor == 1 ? x : e.mul(x, e.number(factor)); },
        [&](ArrayRef<Value> parts, bool product) {
          Value result = parts[0];
          for (Value part : parts.drop_front())
            result = product ? e.mul(result, part) : e.add(result, part);
          return result;
        },
        [&](Value x, PowerOp power) -> Value {
          if (power.getAbs() && power.getDegree() % 2)
            x = math::AbsFOp::create(e, x);
          return e.power(x, power.getDegree());
        },
        [&](Value q, Value k) { return dots[llvm::find(pairs, std::pair(q, k)) - pairs.begin()]; },
        [&](double number) { return e.number(number); });
  }

private:
  /// Both sides have one structure, so they are walked together.
  template <typename T, typename Scale, typename Combine, typename Power, typename Leaf,
            typename Number>
  T walk(Value query, Value key, Scale scale, Combine combine, Power power, Leaf leaf,
         Number number) {
    double factor = 1;
    query = peelScales(query, factor);
    key = peelScales(key, factor);
    auto recurse = [&](Value q, Value k) {
      return walk<T>(q, k, scale, combine, power, leaf, number);
    };
    Operation *q = query.getDefiningOp(), *k = key.getDefiningOp();
    auto constantQ = dyn_cast<ConstantOp>(q), constantK = dyn_cast<ConstantOp>(k);
    if (constantQ && constantK)
      return number(factor * constantQ.getWidth() * constantQ.getValue().convertToDouble() *
                    constantK.getValue().convertToDouble());
    if (auto powerQ = dyn_cast<PowerOp>(q))
      if (auto powerK = dyn_cast<PowerOp>(k))
        return scale(power(recurse(powerQ.getInput(), powerK.getInput()), powerQ), factor);
    bool products = isa<TensorOp>(q) && isa<TensorOp>(k);
    if (products || (isa<ConcatOp>(q) && isa<ConcatOp>(k) && concatsMatch(q, k))) {
      SmallVector<T> parts;
      for (auto [a, b] : llvm::zip(q->getOperands(), k->getOperands()))
        parts.push_back(recurse(a, b));
      return scale(combine(parts, products), factor);
    }
    return scale(leaf(query, key), factor);
  }

  static bool concatsMatch(Operation *q, Operation *k) {
    return llvm::equal(q->getOperandTypes(), k->getOperandTypes());
  }
};

} // namespace

Value polyattn::decayAndMask(TileBuilder &b, Value scores, bool diagonal, const PairDecay &decay) {
  if (decay)
    scores = decay.apply(b, scores);
  // The mask chooses, it does not multiply: above the diagonal exp may be infinite.
  if (diagonal)
    scores = tile::CausalMaskOp::create(b, scores.getType(), scores);
  return scores;
}

void polyattn::prepareScores(Value query, Value key, VectorProgram &queries) {
  ScorePolynomial polynomial;
  polynomial.collect(query, key);
  for (auto [q, k] : polynomial.pairs)
    queries.lhs(q);
}

Value polyattn::buildScores(TileBuilder &b, Value query, Value key, VectorProgram &queries,
                            VectorProgram &keys, double factor, bool diagonal,
                            const PairDecay &decay) {
  ScorePolynomial polynomial;
  polynomial.collect(query, key);
  SmallVector<Value> inputs;
  for (auto [q, k] : polynomial.pairs) {
    LhsTile lhs = queries.lhs(q);
    inputs.push_back(b.dot(lhs.tile, keys.full(k), Value(), lhs.transposed, /*lower=*/diagonal));
  }
  if (inputs.empty()) // a constant score
    inputs.push_back(b.constant(queries.getColumns(), keys.getColumns(), 0));
  Value scores = b.map(inputs, [&](ElementBuilder &e, ValueRange in) {
    Value score = polynomial.build(e, query, key, in);
    return factor == 1 ? score : e.mul(score, e.number(factor));
  });
  return decayAndMask(b, scores, diagonal, decay);
}
