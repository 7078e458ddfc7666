//===- AttendBackward.cpp - gradients of one attend -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// By the definition of `attend_backward`: every pair of a query and a key hands its share on to the
// leaves of both, and so does what the initial state gives to a query and a key to the final one.
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "dialects/PolyAttn/Leaves.h"
#include "polyattn/Tasks/Cancelled.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::reference;

namespace {

using Numbers = std::vector<double>;
using LeafSink = llvm::function_ref<void(Value leaf, const Numbers &gradient)>;

double dot(ArrayRef<double> a, ArrayRef<double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

Numbers times(double factor, Numbers numbers) {
  for (double &x : numbers)
    x *= factor;
  return numbers;
}

/// The op that builds the value's structure; factors stand beside it in a FeatureValue.
Operation *structureOpOf(Value vector) {
  Operation *op = vector.getDefiningOp();
  while (isa<ScaleOp>(op) || (isa<TensorOp, ConcatOp>(op) && op->getNumOperands() == 1))
    op = op->getOperand(0).getDefiningOp();
  return op;
}

/// A pair of vectors from the side whose gradient is wanted.
struct Sides {
  const FeatureValue<double> &mine, &other;
  bool isQuery; // mine

  double score() const {
    return isQuery ? reference::score(mine, other) : reference::score(other, mine);
  }
  Sides part(size_t i) const { return {mine.parts[i], other.parts[i], isQuery}; }
};

/// What the leaves under `vector` get of `gradient`, that of the score.
void addScoreGradient(Value vector, const Sides &sides, double gradient, LeafSink add) {
  if (partsOf(vector).empty())
    return add(vector, times(gradient, expand(sides.other)));
  gradient *= sides.mine.factor * sides.other.factor;
  Operation *op = structureOpOf(vector);
  if (auto power = dyn_cast<PowerOp>(op)) {
    double base = sides.part(0).score(), slope = power.getDegree();
    for (int64_t i = 1; i < int64_t(power.getDegree()); ++i)
      slope *= base;
    bool isNegative = power.getAbs() && std::pow(base, power.getDegree()) < 0;
    return addScoreGradient(power.getInput(), sides.part(0),
                            (isNegative ? -slope : slope) * gradient, add);
  }
  if (auto exponential = dyn_cast<ExpScoreOp>(op))
    return addScoreGradient(exponential.getInput(), sides.part(0),
                            std::exp(sides.part(0).score()) * gradient, add);
  for (auto [i, part] : llvm::enumerate(op->getOperands())) {
    double others = gradient;
    for (size_t j = 0; isa<TensorOp>(op) && j < sides.mine.parts.size(); ++j)
      others *= j == i ? 1 : sides.part(j).score();
    addScoreGradient(part, sides.part(i), others, add);
  }
}

/// The gradient of the base of a power, from that of its features.
Numbers baseGradient(const Structure &power, const Numbers &base, const Numbers &gradient) {
  int64_t n = base.size(), degree = power.degree();
  std::vector<Monomial> monomials = power.kind() == Structure::Kind::TensorPower
                                        ? tensorMonomials(n, degree)
                                        : symmetricMonomials(n, degree, power.block());
  Numbers result(n, 0.0);
  for (auto [monomial, dy] : llvm::zip(monomials, gradient))
    for (int64_t slot = 0; slot < degree; ++slot) {
      double others = monomial.weight * dy;
      for (int64_t other = 0; other < degree; ++other)
        others *= other == slot ? 1 : base[monomial.indices[other]];
      result[monomial.indices[slot]] += others;
    }
  return result;
}

/// The gradient of one factor of a tensor product, from that of its features.
Numbers factorGradient(ArrayRef<Numbers> factors, size_t wanted, const Numbers &gradient) {
  Numbers result(factors[wanted].size(), 0.0);
  for (size_t feature = 0; feature < gradient.size(); ++feature) {
    size_t rest = feature, index = 0;
    double others = gradient[feature];
    for (size_t i = factors.size(); i-- > 0;) {
      size_t element = rest % factors[i].size();
      rest /= factors[i].size();
      if (i == wanted)
        index = element;
      else
        others *= factors[i][element];
    }
    result[index] += others;
  }
  return result;
}

/// What the leaves under `vector` get of the gradient of all its features.
void addFeatureGradient(Value vector, const FeatureValue<double> &mine, const Numbers &gradient,
                        LeafSink add) {
  if (partsOf(vector).empty())
    return add(vector, gradient);
  Numbers inner = times(mine.factor, gradient);
  Operation *op = structureOpOf(vector);
  if (auto power = dyn_cast<PowerOp>(op)) {
    Numbers base = expand(mine.parts[0]);
    return addFeatureGradient(power.getInput(), mine.parts[0],
                              baseGradient(mine.structure, base, inner), add);
  }
  std::vector<Numbers> factors;
  factors.reserve(mine.parts.size());
  for (const FeatureValue<double> &part : mine.parts)
    factors.push_back(expand(part));
  auto next = inner.begin();
  for (auto [i, part] : llvm::enumerate(op->getOperands())) {
    Numbers share;
    if (isa<TensorOp>(op)) {
      share = factorGradient(factors, i, inner);
    } else {
      share.assign(next, next + factors[i].size());
      next += factors[i].size();
    }
    addFeatureGradient(part, mine.parts[i], share, add);
  }
}

} // namespace

/// One batch and query head with the key head that serves it.
struct Evaluator::BackwardOfHead {
  Evaluator &evaluator;
  AttendBackwardOp op;
  int64_t batch, head, kvHead;
  HeadVectors vectors;
  std::vector<Numbers> numerators; // dN_i
  Numbers denominators;            // dZ_i
  /// What is added to the gradients of the logarithms from i on; a pair (i, j) adds to j+1 ... i.
  Numbers decaySteps;

  void run();

private:
  Array &of(Value result) { return evaluator.tensors.computed[result]; }
  const Array *argument(Value value) const { return value ? &evaluator.tensors[value] : nullptr; }
  int64_t stateHead() { return evaluator.gateHeadOf(op, head); }
  /// Whether this head is the one of those with its state that looks at it as a whole.
  bool ownsState();

  void addTo(Array &sums, int64_t position, int64_t headOfSide, ArrayRef<double> numbers) {
    double *row = &sums.at({batch, position, headOfSide});
    for (size_t i = 0; i < numbers.size(); ++i)
      row[i] += numbers[i];
  }
  /// Gives a leaf's share to its result.
  void addLeaf(OperandRange leaves, ResultRange results, Value leaf, int64_t position,
               int64_t headOfSide, const Numbers &gradient) {
    auto it = llvm::find(leaves, leaf);
    if (it != leaves.end())
      addTo(of(results[it - leaves.begin()]), position, headOfSide, gradient);
  }
  void addQuery(Value leaf, int64_t i, const Numbers &gradient) {
    addLeaf(op.getQueryLeaves(), op.getQueryLeafGradients(), leaf, i, head, gradient);
  }
  void addKey(Value leaf, int64_t j, const Numbers &gradient) {
    addLeaf(op.getKeyLeaves(), op.getKeyLeafGradients(), leaf, j, kvHead, gradient);
  }
  double rounded(double x) const { return reference::rounded(x, evaluator.terms); }
  void addDecay(int64_t first, int64_t last, double share) {
    share = rounded(share);
    decaySteps[first] += share;
    decaySteps[last + 1] -= share;
  }
  bool isAnticausal() { return op.getMask() == Mask::Anticausal; }
  void pair(int64_t i, int64_t j, double decay);
  void initialToQuery(int64_t i);
  void keyToFinal(int64_t j);
  void initialToFinal();
  void storeDecay();
};

void Evaluator::BackwardOfHead::pair(int64_t i, int64_t j, double decay) {
  bool local = isLocalPair(op, i, j);
  const FeatureValue<double> &query = local ? vectors.localQuery[i] : vectors.query[i];
  const FeatureValue<double> &key = local ? vectors.localKey[j] : vectors.key[j];
  double weight = rounded(op.scoreScale() * decay * score(query, key));
  // Where a row is normalized its two parts may cancel.
  double gradient = rounded(dot(numerators[i], vectors.value[j])) + rounded(denominators[i]);
  addTo(of(op.getValueGradient()), j, kvHead, times(weight, numerators[i]));
  addDecay(std::min(i, j) + 1, std::max(i, j), weight * gradient);
  double ofScore = rounded(op.scoreScale() * decay * gradient);
  auto toQuery = [&](Value leaf, const Numbers &share) {
    if (local)
      addLeaf(op.getLocalQueryLeaves(), op.getLocalQueryLeafGradients(), leaf, i, head, share);
    else
      addQuery(leaf, i, share);
  };
  auto toKey = [&](Value leaf, const Numbers &share) {
    if (local)
      addLeaf(op.getLocalKeyLeaves(), op.getLocalKeyLeafGradients(), leaf, j, kvHead, share);
    else
      addKey(leaf, j, share);
  };
  addScoreGradient(local ? op.getLocalQuery() : op.getQuery(), {query, key, true}, ofScore,
                   toQuery);
  addScoreGradient(local ? op.getLocalKey() : op.getKey(), {key, query, false}, ofScore, toKey);
}

/// N_i and Z_i have the initial state's share phi_i^T S g_0 ... g_i, with the anticausal mask
/// phi_i^T S g_{i+1} ... g_T.
void Evaluator::BackwardOfHead::initialToQuery(int64_t i) {
  int64_t first = isAnticausal() ? i + 1 : 0, last = isAnticausal() ? evaluator.sizes.keys - 1 : i;
  double factor = op.scoreScale() * vectors.decay(first, last);
  Numbers phi = expand(vectors.query[i]), ofPhi(phi.size());
  for (int64_t f = 0; f < int64_t(phi.size()); ++f) {
    ArrayRef<double> row =
        argument(op.getInitialState())->row({batch, stateHead(), f}, numerators[i].size());
    ofPhi[f] = dot(row, numerators[i]);
    double *gradient = &of(op.getInitialStateGradient()).at({batch, stateHead(), f});
    for (size_t v = 0; v < numerators[i].size(); ++v)
      gradient[v] += factor * phi[f] * numerators[i][v];
    if (const Array *z = argument(op.getInitialNormalizer())) {
      ofPhi[f] += z->at({batch, stateHead(), f}) * denominators[i];
      of(op.getInitialNormalizerGradient()).at({batch, stateHead(), f}) +=
          factor * phi[f] * denominators[i];
    }
  }
  addDecay(first, last, factor * dot(phi, ofPhi));
  addFeatureGradient(op.getQuery(), vectors.query[i], times(factor, ofPhi),
                     [&](Value leaf, const Numbers &share) { addQuery(leaf, i, share); });
}

/// The final state has the key's share phi_j v_j^T g_{j+1} ... g_T, with the anticausal mask
/// phi_j v_j^T g_0 ... g_j.
void Evaluator::BackwardOfHead::keyToFinal(int64_t j) {
  int64_t first = isAnticausal() ? 0 : j + 1, last = isAnticausal() ? j : evaluator.sizes.keys - 1;
  double factor = vectors.decay(first, last);
  const Array *states = argument(op.getFinalGradient());
  const Array *normalizers = argument(op.getFinalNormalizerGradient());
  Numbers phi = expand(vectors.key[j]), ofPhi(phi.size(), 0.0);
  for (int64_t f = 0; f < int64_t(phi.size()); ++f) {
    if (states) {
      ArrayRef<double> row = states->row({batch, stateHead(), f}, vectors.value[j].size());
      ofPhi[f] += dot(row, vectors.value[j]);
      addTo(of(op.getValueGradient()), j, kvHead,
            times(factor * phi[f], Numbers(row.begin(), row.end())));
    }
    if (normalizers)
      ofPhi[f] += normalizers->at({batch, stateHead(), f});
  }
  addDecay(first, last, factor * dot(phi, ofPhi));
  addFeatureGradient(op.getKey(), vectors.key[j], times(factor, ofPhi),
                     [&](Value leaf, const Numbers &share) { addKey(leaf, j, share); });
}

/// The final state has the initial one's share, g_0 ... g_T times as large.
void Evaluator::BackwardOfHead::initialToFinal() {
  int64_t last = evaluator.sizes.keys - 1;
  double factor = vectors.decay(0, last), share = 0;
  for (auto [initial, final, gradient] :
       {std::tuple{op.getInitialState(), op.getFinalGradient(), op.getInitialStateGradient()},
        {op.getInitialNormalizer(), op.getFinalNormalizerGradient(),
         op.getInitialNormalizerGradient()}}) {
    if (!initial || !final)
      continue;
    const Array &x = *argument(initial), &dy = *argument(final);
    int64_t count = x.data.size() / (x.shape[0] * x.shape[1]);
    int64_t start = x.offset({batch, stateHead()});
    for (int64_t i = start; i < start + count; ++i) {
      of(gradient).data[i] += factor * dy.data[i];
      share += factor * x.data[i] * dy.data[i];
    }
  }
  if (last >= 0)
    addDecay(0, last, share);
}

bool Evaluator::BackwardOfHead::ownsState() {
  for (int64_t h = 0; h < head; ++h)
    if (evaluator.kvHeadOf(op, h) == kvHead)
      return op.getGateHeads() == GateHeads::Q;
  return true;
}

void Evaluator::BackwardOfHead::storeDecay() {
  int64_t gate = stateHead();
  double sum = 0;
  Array &result = of(op.getDecayGradient());
  for (int64_t t = 0; t < evaluator.sizes.keys; ++t) {
    sum = rounded(sum + decaySteps[t]);
    (result.rank() == 1 ? result.at({gate}) : result.at({batch, t, gate})) += sum;
  }
}

void Evaluator::BackwardOfHead::run() {
  const CallSizes &sizes = evaluator.sizes;
  // Pairs of the full mask, which has no decay, may lie behind the last key.
  decaySteps.assign(std::max(sizes.queries, sizes.keys) + 1, 0.0);
  for (int64_t i = 0; i < sizes.queries && !isCancelled(); ++i) {
    Site site{batch, i, head};
    numerators.push_back(expand(evaluator.at(op.getNumeratorGradient(), site)));
    denominators.push_back(op.getDenominatorGradient()
                               ? expand(evaluator.at(op.getDenominatorGradient(), site))[0]
                               : 0.0);
  }
  for (int64_t i = 0; i < sizes.queries && !isCancelled(); ++i) {
    int64_t last = op.getMask() == Mask::Causal ? i : sizes.keys - 1;
    Numbers decays = isAnticausal() ? vectors.decaysFrom(i) : vectors.decaysTo(last);
    VisibleKeys keys = VisibleKeys::of(op, i, sizes.keys);
    for (int64_t j = keys.first; j < keys.end; ++j)
      pair(i, j, decays[j]);
    if (op.getInitialState())
      initialToQuery(i);
  }
  if (ownsState() && (op.getFinalGradient() || op.getFinalNormalizerGradient())) {
    for (int64_t j = 0; j < sizes.keys && !isCancelled(); ++j)
      keyToFinal(j);
    initialToFinal();
  }
  if (op.getDecayGradient())
    storeDecay();
}

void Evaluator::attendBackward(AttendBackwardOp op) {
  for (Value result : op.getGradients()) {
    if (auto feature = dyn_cast<FeatureType>(result.getType())) {
      bool ofKeys = op.isOfKeys(result);
      tensors.computed[result] = Array({sizes.batch, ofKeys ? sizes.keys : sizes.queries,
                                        ofKeys ? sizes.kvHeads : sizes.heads, feature.getWidth()});
      continue;
    }
    Value tensor = result == op.getDecayGradient()          ? op.getDecay()
                   : result == op.getInitialStateGradient() ? op.getInitialState()
                                                            : op.getInitialNormalizer();
    tensors.computed[result] = Array(tensors[tensor].shape);
  }
  for (int64_t b = 0; b < sizes.batch; ++b)
    for (int64_t h = 0; h < sizes.heads; ++h)
      BackwardOfHead{*this, op, b, h, kvHeadOf(op, h), gather(op, b, h), {}, {}, {}}.run();
}
