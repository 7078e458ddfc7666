//===- ScoreForm.cpp - pairs of vectors with simpler scores ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreForm.h"
#include "dialects/PolyAttn/Factors.h"

using namespace mlir;
using namespace polyattn;

/// The largest degree that one power can have (power, C1).
constexpr int64_t kMaxDegree = 64;

/// Takes the factors off a vector.
static double peel(Value &vector) {
  double factor = 1;
  while (auto scale = vector.getDefiningOp<ScaleOp>()) {
    factor = multiplyFactors(factor, scale.getFactor().convertToDouble());
    vector = scale.getInput();
  }
  return factor;
}

/// Takes the factors off both.
static double peel(Value &query, Value &key) { return multiplyFactors(peel(query), peel(key)); }

static std::pair<const void *, const void *> pointersOf(Value query, Value key) {
  return {query.getAsOpaquePointer(), key.getAsOpaquePointer()};
}

/// Both sides come from the same kind of op, operand for operand of the same structure.
template <typename Op> static bool bothAre(Value query, Value key) {
  auto q = query.getDefiningOp<Op>(), k = key.getDefiningOp<Op>();
  return q && k && q->getOperandTypes() == k->getOperandTypes();
}

bool polyattn::needsScoresOnly(AttendOp op) {
  // States and decays of features list the features. `state_every` goes with states that are kept
  // or given after blocks.
  auto listsFeatures = [](AttendOp attend) {
    return attend.getInitialState() || attend.getFinalState() || attend.getStateEvery() ||
           attend.hasDecayOfFeatures();
  };
  if (listsFeatures(op))
    return false;
  auto isUsedByAttends = [&](Value vector) {
    return llvm::all_of(vector.getUses(), [&](OpOperand &use) {
      auto user = dyn_cast<AttendOp>(use.getOwner());
      return user && use.get() != user.getValue() && !listsFeatures(user);
    });
  };
  return isUsedByAttends(op.getQuery()) && isUsedByAttends(op.getKey()) &&
         (!op.getLocalQuery() ||
          (isUsedByAttends(op.getLocalQuery()) && isUsedByAttends(op.getLocalKey())));
}

/// True where the score is |s|^p with an odd p, which is no product of scores.
static bool isAbsolute(PowerOp power) { return power.getAbs() && power.getDegree() % 2 != 0; }

/// Both sides are powers of one degree, or of one |degree|.
static bool areEqualPowers(Value query, Value key, bool absolute) {
  if (!bothAre<PowerOp>(query, key))
    return false;
  auto q = query.getDefiningOp<PowerOp>(), k = key.getDefiningOp<PowerOp>();
  return q.getDegree() == k.getDegree() && isAbsolute(q) == absolute && isAbsolute(k) == absolute;
}

static bool isProduct(Value query, Value key) {
  return bothAre<TensorOp>(query, key) || areEqualPowers(query, key, /*absolute=*/false);
}

/// True where <query, key>^exponent is a product that may be taken apart: no degree grows beyond
/// what one power can have.
static bool isOpenProduct(Value query, Value key, int64_t exponent) {
  if (bothAre<TensorOp>(query, key))
    return true;
  return areEqualPowers(query, key, /*absolute=*/false) &&
         exponent * int64_t(query.getDefiningOp<PowerOp>().getDegree()) <= kMaxDegree;
}

/// The score where the vectors' constants alone decide it.
static std::optional<double> constantScore(Value query, Value key) {
  auto q = query.getDefiningOp<ConstantOp>(), k = key.getDefiningOp<ConstantOp>();
  for (ConstantOp side : {q, k})
    if (side && side.getValue().isZero())
      return 0.0;
  if (!q || !k)
    return std::nullopt;
  double product = multiplyFactors(q.getValue().convertToDouble(), k.getValue().convertToDouble());
  return q.getWidth() * product;
}

Scored ScoreForm::simplify(Value query, Value key) {
  std::pair<Value, Value> pair(query, key);
  if (auto it = known.find(pair); it != known.end())
    return it->second;
  double factor = peel(query, key);
  Scored result{query, key, 1};
  if (isProduct(query, key))
    result = simplifyProduct(query, key);
  else if (bothAre<ConcatOp>(query, key))
    result = simplifySum(query, key);
  else if (areEqualPowers(query, key, /*absolute=*/true))
    result = simplifyAbsolutePower(query.getDefiningOp<PowerOp>(), key.getDefiningOp<PowerOp>());
  else if (std::optional<double> constant = constantScore(query, key))
    result = {{}, {}, *constant};
  result.factor = multiplyFactors(result.factor, factor);
  if (!isRepresentable(result.factor)) // as it stands
    result = {pair.first, pair.second, 1};
  return known[pair] = result;
}

std::pair<Value, Value> ScoreForm::vectorsOf(const Scored &score, bool withFactor) {
  Scored vectors = score;
  if (!vectors.query)
    vectors.query = vectors.key = ConstantOp::create(builder, loc, APFloat(1.0), /*width=*/1);
  // One side is enough, and the key's features stay what they are in the state.
  if (withFactor && score.factor != 1)
    vectors.query =
        ScaleOp::create(builder, vectors.query.getLoc(), vectors.query, APFloat(score.factor));
  return {vectors.query, vectors.key};
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Multiplies a product by <query, key>^exponent.
void ScoreForm::collectPowers(Value query, Value key, int64_t exponent, int64_t block,
                              SmallVectorImpl<Power> &powers, double &factor) {
  factor = multiplyFactors(factor, raiseFactor(peel(query, key), exponent));
  if (bothAre<TensorOp>(query, key)) {
    for (auto [q, k] :
         llvm::zip(query.getDefiningOp()->getOperands(), key.getDefiningOp()->getOperands()))
      collectPowers(q, k, exponent, /*block=*/1, powers, factor);
    return;
  }
  if (isOpenProduct(query, key, exponent)) {
    auto q = query.getDefiningOp<PowerOp>(), k = key.getDefiningOp<PowerOp>();
    collectPowers(q.getInput(), k.getInput(), exponent * int64_t(q.getDegree()),
                  q.getBlock().value_or(1), powers, factor);
    return;
  }
  Scored base = simplify(query, key);
  factor = multiplyFactors(factor, raiseFactor(base.factor, exponent));
  if (!base.query)
    return;
  bool isNew = base.query != query || base.key != key;
  if (isNew && isOpenProduct(base.query, base.key, exponent)) // a sum that shrank to one term
    return collectPowers(base.query, base.key, exponent, /*block=*/1, powers, factor);
  // A block was chosen for the width of the vector that stood here.
  if (base.query.getType() != query.getType())
    block = 1;
  for (Power &power : powers) {
    if (power.query != base.query || power.key != base.key)
      continue;
    power.exponent += exponent;
    power.block = std::max(power.block, block);
    return;
  }
  powers.push_back({base.query, base.key, exponent, block});
}

std::pair<Value, Value> ScoreForm::buildProduct(ArrayRef<Power> powers) {
  SmallVector<Value> queries, keys;
  auto powerOf = [&](Value base, int64_t degree, int64_t block) -> Value {
    if (degree == 1)
      return base;
    IntegerAttr blockAttr = block > 1 ? builder.getI64IntegerAttr(block) : IntegerAttr();
    return PowerOp::create(builder, base.getLoc(), base, degree, /*symmetric=*/true, blockAttr);
  };
  for (const Power &power : powers) {
    for (int64_t left = power.exponent; left > 0; left -= kMaxDegree) {
      int64_t degree = std::min(left, kMaxDegree);
      queries.push_back(powerOf(power.query, degree, power.block));
      keys.push_back(powerOf(power.key, degree, power.block));
    }
  }
  if (queries.empty())
    return {};
  if (queries.size() == 1)
    return {queries[0], keys[0]};
  return {TensorOp::create(builder, queries[0].getLoc(), queries),
          TensorOp::create(builder, keys[0].getLoc(), keys)};
}

Scored ScoreForm::simplifyProduct(Value query, Value key) {
  SmallVector<Power> powers;
  double factor = 1;
  collectPowers(query, key, /*exponent=*/1, /*block=*/1, powers, factor);
  decltype(products)::key_type parts;
  for (const Power &power : powers)
    parts.emplace_back(pointersOf(power.query, power.key), power.exponent, power.block);
  llvm::sort(parts);
  auto [it, isNew] = products.try_emplace(parts);
  if (isNew)
    it->second = buildProduct(powers);
  return {it->second.first, it->second.second, factor};
}

/// |<a, a'>|^p with an odd p: only factors move.
Scored ScoreForm::simplifyAbsolutePower(PowerOp query, PowerOp key) {
  Scored base = simplify(query.getInput(), key.getInput());
  double factor = raiseFactor(std::fabs(base.factor), query.getDegree());
  if (!base.query)
    return {{}, {}, factor};
  auto powerOf = [&](PowerOp power, Value input) -> Value {
    return PowerOp::create(builder, power.getLoc(), input, power.getDegree(),
                           /*symmetric=*/true, /*block=*/IntegerAttr(), /*abs=*/true);
  };
  return {powerOf(query, base.query), powerOf(key, base.key), factor};
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Notes the sums that a sum's terms are powers or products of: 1 + s + s^2 is a polynomial of s as
/// long as s, itself a sum, is one term.
void ScoreForm::collectBases(Value query, Value key) {
  SmallVector<std::pair<Value, Value>> worklist = {{query, key}};
  llvm::DenseSet<std::pair<Value, Value>> seen;
  while (!worklist.empty()) {
    std::pair<Value, Value> pair = worklist.pop_back_val();
    peel(pair.first, pair.second);
    if (!seen.insert(pair).second)
      continue;
    bool isSum = bothAre<ConcatOp>(pair.first, pair.second);
    if (!isSum && !isProduct(pair.first, pair.second))
      continue;
    for (auto [q, k] : llvm::zip(pair.first.getDefiningOp()->getOperands(),
                                 pair.second.getDefiningOp()->getOperands())) {
      std::pair<Value, Value> part(q, k);
      peel(part.first, part.second);
      if (!isSum && bothAre<ConcatOp>(part.first, part.second))
        bases.insert(part);
      worklist.push_back(part);
    }
  }
}

/// Adds factor <query, key> to a sum.
void ScoreForm::collectTerms(Value query, Value key, double factor,
                             SmallVectorImpl<Scored> &terms) {
  factor = multiplyFactors(factor, peel(query, key));
  bool isBase = bases.contains({query, key});
  if (bothAre<ConcatOp>(query, key) && !isBase) {
    for (auto [q, k] :
         llvm::zip(query.getDefiningOp()->getOperands(), key.getDefiningOp()->getOperands()))
      collectTerms(q, k, factor, terms);
    return;
  }
  Scored term = simplify(query, key);
  term.factor = multiplyFactors(term.factor, factor);
  if (!isBase && term.query && bothAre<ConcatOp>(term.query, term.key))
    return collectTerms(term.query, term.key, term.factor, terms);
  for (Scored &other : terms) {
    if (other.query != term.query || other.key != term.key)
      continue;
    other.factor += term.factor;
    return;
  }
  terms.push_back(term);
}

Scored ScoreForm::simplifySum(Value query, Value key) {
  SmallVector<Scored> terms;
  collectBases(query, key);
  for (auto [q, k] :
       llvm::zip(query.getDefiningOp()->getOperands(), key.getDefiningOp()->getOperands()))
    collectTerms(q, k, /*factor=*/1, terms);
  if (!llvm::all_of(terms, [](const Scored &term) { return isRepresentable(term.factor); }))
    return {query, key, 1};
  llvm::erase_if(terms, [](const Scored &term) { return term.factor == 0; });
  if (terms.empty())
    return {{}, {}, 0};
  if (terms.size() == 1)
    return terms[0];
  decltype(sums)::key_type parts;
  for (const Scored &term : terms)
    parts.emplace_back(pointersOf(term.query, term.key), term.factor);
  llvm::sort(parts);
  auto [it, isNew] = sums.try_emplace(parts);
  if (isNew)
    it->second = buildSum(query, key, terms);
  return it->second;
}

Scored ScoreForm::buildSum(Value query, Value key, ArrayRef<Scored> terms) {
  // A factor that all terms share goes on outwards.
  bool shared =
      llvm::all_of(terms, [&](const Scored &term) { return term.factor == terms[0].factor; });
  SmallVector<Value> queries, keys;
  for (const Scored &term : terms) {
    auto [q, k] = vectorsOf(term, /*withFactor=*/!shared);
    queries.push_back(q);
    keys.push_back(k);
  }
  return {ConcatOp::create(builder, query.getLoc(), queries),
          ConcatOp::create(builder, key.getLoc(), keys), shared ? terms[0].factor : 1};
}
