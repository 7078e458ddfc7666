//===- FeatureFacts.cpp - what is known of a vector of features -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/FeatureFacts.h"
#include "dialects/PolyAttn/Kernels.h"
#include "polyattn/Features/ScorePolynomial.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace polyattn;

FeatureMapOp polyattn::appliedMap(Value value) {
  auto apply = value.getDefiningOp<ApplyOp>();
  if (!apply)
    return {};
  auto map = SymbolTable::lookupNearestSymbolFrom<FeatureMapOp>(apply, apply.getMapAttr());
  return map && map.getFeatures() ? map : FeatureMapOp();
}

/// What computes the vector, seen through `apply`: the yielded value of the map.
static Value throughApply(Value value) {
  FeatureMapOp map = appliedMap(value);
  return map ? map.getFeatures() : value;
}

//===----------------------------------------------------------------------===//
// Degree and bounds of the elements
//===----------------------------------------------------------------------===//

namespace {

/// Facts of every vector that a value depends on, found in the order of the program: it may be a
/// long chain, too long for recursion.
class ElementFacts {
public:
  /// With `signsOnly` a vector is known by the signs of its elements, not by how large they are:
  /// what follows holds for rounded elements, too.
  explicit ElementFacts(bool signsOnly = false) : signsOnly(signsOnly) {}

  FeatureFacts of(Value value) {
    Operation *op = value.getDefiningOp();
    if (op && !known.contains(value))
      visitUpTo(op);
    return lookup(value);
  }

  /// The facts that follow from the `limit` nearest ops that the value depends on.
  FeatureFacts nearby(Value value, size_t limit) {
    SmallVector<Operation *> ops;
    SmallVector<Value> pending = {value};
    llvm::DenseSet<Operation *> seen;
    for (size_t next = 0; next < pending.size() && ops.size() < limit; ++next) {
      Operation *op = pending[next].getDefiningOp();
      if (!op || op->getBlock() != value.getParentBlock() || !seen.insert(op).second)
        continue;
      ops.push_back(op);
      llvm::append_range(pending, op->getOperands());
    }
    llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    for (Operation *op : ops)
      visit(op);
    return lookup(value);
  }

private:
  /// Visits an op and those before it, of a kernel's region behind those before the kernel.
  void visitUpTo(Operation *op) {
    if (auto kernel = dyn_cast_or_null<KernelOp>(op->getParentOp()))
      visitUpTo(kernel);
    for (Operation &earlier : *op->getBlock()) {
      visit(&earlier);
      if (&earlier == op)
        break;
    }
  }
  void visit(Operation *op);
  void visitResults(KernelOp kernel);
  FeatureFacts compute(Operation *op);
  /// A function of constants is a constant, whichever function it is.
  bool isOfConstants(Operation *op) const {
    if (isa<AttendOp, AttendBackwardOp>(op) || op->hasTrait<DependsOnPosition>())
      return false;
    auto vectors = llvm::make_filter_range(
        op->getOperands(), [](Value operand) { return isa<FeatureType>(operand.getType()); });
    return !vectors.empty() &&
           llvm::all_of(vectors, [&](Value vector) { return lookup(vector).degree == 0; });
  }
  FeatureFacts ofApplied(FeatureMapOp map, ApplyOp apply);
  FeatureFacts lookup(Value value) const {
    auto it = known.find(value);
    return it == known.end() ? FeatureFacts{/*degree=*/1, Bounds()} : it->second;
  }

  bool signsOnly;
  llvm::DenseMap<Value, FeatureFacts> known;
};

} // namespace

/// What a kernel yields from before it is known, and what it computes itself is not.
void ElementFacts::visitResults(KernelOp kernel) {
  for (Value result : kernel.getResults())
    if (isa<FeatureType>(result.getType())) {
      auto yielded = known.find(yieldedValue(result));
      known[result] = yielded == known.end() ? FeatureFacts() : yielded->second;
    }
}

void ElementFacts::visit(Operation *op) {
  if (auto kernel = dyn_cast<KernelOp>(op))
    return visitResults(kernel);
  if (isa<ReadOp>(op) || op->getNumResults() == 0 || known.contains(op->getResult(0)) ||
      !isa<FeatureType>(op->getResult(0).getType()))
    return;
  FeatureMapOp map = appliedMap(op->getResult(0));
  FeatureFacts facts = map ? ofApplied(map, cast<ApplyOp>(op)) : compute(op);
  if (!map && isOfConstants(op))
    facts.degree = 0;
  if (signsOnly)
    facts.bounds = facts.bounds.ofSigns();
  known[op->getResult(0)] = facts;
}

/// The map's result with the facts of what it is applied to.
FeatureFacts ElementFacts::ofApplied(FeatureMapOp map, ApplyOp apply) {
  ElementFacts inside(signsOnly);
  for (auto [argument, input] : llvm::zip(map.getBody().getArguments(), apply.getInputs()))
    if (isa<FeatureType>(input.getType()))
      inside.known[argument] = lookup(input);
  return inside.of(map.getFeatures());
}

FeatureFacts ElementFacts::compute(Operation *op) {
  auto feature = dyn_cast<FeatureOpInterface>(op);
  if (!feature)
    return {};
  SmallVector<FeatureFacts> vectors;
  for (Value operand : op->getOperands())
    if (isa<FeatureType>(operand.getType()))
      vectors.push_back(lookup(operand));
  return feature.getFacts(vectors);
}

FeatureFacts polyattn::factsOf(Value value) { return ElementFacts().of(value); }

bool polyattn::isNonNegativeNearby(Value value) {
  constexpr size_t kNearby = 32;
  return ElementFacts(/*signsOnly=*/true).nearby(value, kNearby).bounds.isNonNegative();
}

//===----------------------------------------------------------------------===//
// Sign of the scores
//===----------------------------------------------------------------------===//

namespace {

/// A score as a polynomial of another score, that of `base`, a query and a key vector; constants
/// have no base.
struct PolynomialOfBase {
  std::optional<ScorePolynomial> polynomial; // none where there is no such form
  std::pair<Value, Value> base;
};

/// What is known of <query, key> for pairs of vectors, one on each side.
class ScoreFacts {
public:
  bool nonNegative(Value query, Value key) {
    auto [it, inserted] = signs.try_emplace({query, key}, false);
    Nesting nesting(depth);
    if (!inserted || depth > kMaxDepth)
      return it->second;
    bool result = computeNonNegative(query, key);
    return signs[{query, key}] = result;
  }

private:
  bool computeNonNegative(Value query, Value key);
  bool partsNonNegative(Value query, Value key);
  PolynomialOfBase polynomial(Value query, Value key) {
    if (auto it = polynomials.find({query, key}); it != polynomials.end())
      return it->second;
    Nesting nesting(depth);
    if (depth > kMaxDepth)
      return {};
    PolynomialOfBase result = computePolynomial(query, key);
    return polynomials[{query, key}] = result;
  }
  /// What lies deeper is not looked at: nothing is known of it.
  static constexpr int kMaxDepth = 256;
  struct Nesting {
    int &depth;
    explicit Nesting(int &depth) : depth(depth) { ++depth; }
    ~Nesting() { --depth; }
  };
  PolynomialOfBase computePolynomial(Value query, Value key);
  PolynomialOfBase unscaledPolynomial(Value query, Value key);
  PolynomialOfBase combineParts(Operation *query, Operation *key, bool product);

  int depth = 0;
  ElementFacts elements;
  llvm::DenseMap<std::pair<Value, Value>, bool> signs;
  llvm::DenseMap<std::pair<Value, Value>, PolynomialOfBase> polynomials;
};

} // namespace

/// The sum or the product of the parts' polynomials, where all have one base; else the whole is a
/// score of which no more is known, and itself the base of what is built from it.
PolynomialOfBase ScoreFacts::combineParts(Operation *query, Operation *key, bool product) {
  PolynomialOfBase itself{ScorePolynomial::variable(), {query->getResult(0), key->getResult(0)}};
  PolynomialOfBase result{ScorePolynomial::constant(product ? 1.0 : 0.0), {}};
  for (auto [a, b] : llvm::zip(query->getOperands(), key->getOperands())) {
    PolynomialOfBase part = polynomial(a, b);
    if (!part.polynomial || (part.base.first && result.base.first && part.base != result.base))
      return itself;
    if (part.base.first)
      result.base = part.base;
    result.polynomial = product ? result.polynomial->times(*part.polynomial)
                                : *result.polynomial + *part.polynomial;
    if (!result.polynomial)
      return itself;
  }
  return result;
}

PolynomialOfBase ScoreFacts::computePolynomial(Value query, Value key) {
  // Maps are entered at the root only (computeNonNegative): inside one application a value names
  // one vector, across several it does not.
  // A factor may stand on one side alone.
  std::optional<ScorePolynomial> factor = ScorePolynomial::constant(1);
  for (Value *side : {&query, &key}) {
    while (auto scale = side->getDefiningOp<ScaleOp>()) {
      auto number = ScorePolynomial::constant(scale.getFactor().convertToDouble());
      factor = factor && number ? factor->times(*number) : std::nullopt;
      *side = scale.getInput();
    }
  }
  PolynomialOfBase result = unscaledPolynomial(query, key);
  result.polynomial =
      result.polynomial && factor ? result.polynomial->times(*factor) : std::nullopt;
  return result;
}

PolynomialOfBase ScoreFacts::unscaledPolynomial(Value query, Value key) {
  PolynomialOfBase itself{ScorePolynomial::variable(), {query, key}};
  Operation *q = query.getDefiningOp(), *k = key.getDefiningOp();
  if (!q || !k || q->getName() != k->getName() || q->getNumOperands() != k->getNumOperands())
    return itself;
  return llvm::TypeSwitch<Operation *, PolynomialOfBase>(q)
      .Case([&](ConstantOp constant) {
        // width c c', whose factors are multiplied exactly
        std::optional<ScorePolynomial> result = ScorePolynomial::constant(constant.getWidth());
        for (const llvm::APFloat &factor : {constant.getValue(), cast<ConstantOp>(k).getValue()}) {
          auto number = ScorePolynomial::constant(factor.convertToDouble());
          result = result && number ? result->times(*number) : std::nullopt;
        }
        return PolynomialOfBase{result, {}};
      })
      .Case([&](PowerOp power) {
        auto other = cast<PowerOp>(k);
        if (power.getAbs() || other.getAbs() || power.getDegree() != other.getDegree())
          return itself;
        PolynomialOfBase result = polynomial(power.getInput(), other.getInput());
        if (result.polynomial)
          result.polynomial = result.polynomial->power(power.getDegree());
        return result;
      })
      .Case([&](TensorOp) { return combineParts(q, k, /*product=*/true); })
      .Case([&](ConcatOp) { return combineParts(q, k, /*product=*/false); })
      .Default([&](Operation *) { return itself; });
}

bool ScoreFacts::computeNonNegative(Value query, Value key) {
  if (elements.of(query).bounds.isNonNegative() && elements.of(key).bounds.isNonNegative())
    return true;
  // A factor may stand on one side alone.
  bool negated = false, scaled = false;
  for (Value *side : {&query, &key}) {
    *side = throughApply(*side);
    while (auto scale = side->getDefiningOp<ScaleOp>()) {
      negated ^= scale.getFactor().isNegative();
      *side = throughApply(scale.getInput());
      scaled = true;
    }
  }
  if (scaled)
    return !negated && nonNegative(query, key);
  if (partsNonNegative(query, key))
    return true;
  std::optional<ScorePolynomial> score = polynomial(query, key).polynomial;
  return score && score->isNonNegative();
}

/// Sums, products and even powers of scores that are not negative.
bool ScoreFacts::partsNonNegative(Value query, Value key) {
  Operation *q = query.getDefiningOp(), *k = key.getDefiningOp();
  if (!q || !k || q->getName() != k->getName() || q->getNumOperands() != k->getNumOperands())
    return false;
  if (auto power = dyn_cast<PowerOp>(q))
    return power.getAbs() || power.getDegree() % 2 == 0 ||
           nonNegative(power.getInput(), cast<PowerOp>(k).getInput());
  if (isa<ConcatOp, TensorOp>(q)) {
    // An even number of equal factors is a square: <a, a'>^2 >= 0.
    if (isa<TensorOp>(q) && q->getNumOperands() == 2 && q->getOperand(0) == q->getOperand(1) &&
        k->getOperand(0) == k->getOperand(1))
      return true;
    return llvm::all_of(llvm::zip(q->getOperands(), k->getOperands()), [&](auto pair) {
      return nonNegative(std::get<0>(pair), std::get<1>(pair));
    });
  }
  return false;
}

bool polyattn::scoresNonNegative(Value query, Value key, double scale) {
  return scale == 0 || (scale > 0 && ScoreFacts().nonNegative(query, key));
}

ProjectOp polyattn::mergeableInput(ProjectOp project) {
  auto widthOf = [](Value vector) { return cast<FeatureType>(vector.getType()).getWidth(); };
  auto inner = project.getInput().getDefiningOp<ProjectOp>();
  if (!inner || inner.getBias() || !inner->hasOneUse() || inner.getTransposed() ||
      project.getTransposed())
    return {};
  // Sizes are below 2^31, so that the sum of two products fits 64 bits without a sign.
  uint64_t in = widthOf(inner.getInput()), between = widthOf(inner), out = widthOf(project);
  return in * out <= in * between + between * out ? inner : ProjectOp();
}

WeightMeaning polyattn::meaningOf(OpOperand &weight) {
  auto op = dyn_cast<FeatureOpInterface>(weight.getOwner());
  if (!op || int64_t(weight.getOperandNumber()) != op.getOperandKinds().features)
    return WeightMeaning::Plain;
  return op.getOperandKinds().firstWeight;
}
