//===- Evaluate.cpp - the oracle ------------------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Reference/Evaluate.h"
#include "FeatureProgram.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "llvm/ADT/DenseSet.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::reference;

namespace {

/// One batch, position and head (of queries or of keys, whichever reads it).
struct Site {
  int64_t batch, position, head;
};

/// What one query or key head brings to an attention.
struct HeadVectors {
  std::vector<FeatureValue> query, key, localQuery, localKey;
  std::vector<std::vector<double>> value;
  std::vector<double> cumulativeDecay; // c_i = log g_0 + ... + log g_i
};

/// Numerator, denominator and largest score of one row.
struct Row {
  std::vector<double> numerator;
  double denominator = 0, largest = 0;
  int64_t count = 0;

  void add(double weight, const std::vector<double> &value) {
    for (size_t v = 0; v < value.size(); ++v)
      numerator[v] += weight * value[v];
    denominator += weight;
    largest = count++ ? std::fmax(largest, weight) : weight;
  }
};

/// S and z of one batch and head.
struct State {
  std::vector<std::vector<double>> sums; // D x dv
  std::vector<double> normalizer;        // D

  void decay(double factor) {
    for (auto &row : sums)
      for (double &x : row)
        x *= factor;
    for (double &x : normalizer)
      x *= factor;
  }
  void add(const std::vector<double> &features, const std::vector<double> &value) {
    for (size_t f = 0; f < features.size(); ++f) {
      for (size_t v = 0; v < value.size(); ++v)
        sums[f][v] += features[f] * value[v];
      normalizer[f] += features[f];
    }
  }
  /// Adds `weight` phi^T S and `weight` phi^T z to a row.
  void read(const std::vector<double> &features, double weight, Row &row) const {
    for (size_t f = 0; f < features.size(); ++f) {
      for (size_t v = 0; v < row.numerator.size(); ++v)
        row.numerator[v] += weight * features[f] * sums[f][v];
      row.denominator += weight * features[f] * normalizer[f];
    }
  }
};

/// o = N over the denominator that the normalizer builds (NormalizerAttr).
void normalize(Row &row, NormalizerAttr normalizer) {
  double denominator = row.denominator, unit = 1;
  if (normalizer.getReduce() == Reduce::Mean)
    unit = 1.0 / row.count;
  if (normalizer.getKind() == NormalizerKind::None) {
    for (double &x : row.numerator)
      x *= unit;
    return;
  }
  denominator *= unit;
  double eps = normalizer.getEps().convertToDouble();
  if (normalizer.getEpsMode() == EpsMode::RowMax)
    eps *= row.largest * unit;
  double total = denominator + normalizer.getBias().convertToDouble() + eps;
  if (std::fabs(denominator) <= normalizer.getGuardBelow().convertToDouble())
    total += normalizer.getGuardAdd().convertToDouble();
  double floor = normalizer.getMinDenom().convertToDouble();
  if (std::fabs(total) < floor)
    total = std::signbit(total) && total != 0 ? -floor : floor;
  for (double &x : row.numerator)
    x *= unit / total;
}

class Evaluator {
public:
  Evaluator(AttentionOp attention, ArrayRef<Array> arguments, const CallSizes &sizes,
            Reading reading, const Selection &selection)
      : attention(attention), arguments(arguments), sizes(sizes), reading(reading),
        heads(selection.heads), rows(selection.rows) {
    if (heads.empty())
      for (int64_t b = 0; b < sizes.batch; ++b)
        for (int64_t h = 0; h < sizes.heads; ++h)
          heads.push_back({b, h});
    if (rows.empty() || reading == Reading::Recurrent) {
      rows.resize(sizes.queries);
      std::iota(rows.begin(), rows.end(), 0);
    }
  }

  FailureOr<std::vector<Array>> run();

private:
  FeatureValue at(Value value, const Site &site);
  void bindRead(Value tensor, Value result, Type type, const Site &site, Environment &environment);
  FeatureValue applyMap(ApplyOp apply, const Site &site, Environment &outer);
  ArrayRef<Operation *> sliceOf(Value value);

  LogicalResult attend(AttendOp op);
  HeadVectors gather(AttendOp op, int64_t batch, int64_t head);
  std::vector<double> cumulativeDecay(AttendOp op, int64_t batch, int64_t head, int64_t kvHead);
  int64_t kvHeadOf(AttendOp op, int64_t head) const;
  State initialState(AttendOp op, int64_t batch, int64_t head);
  Row scoreRow(AttendOp op, const HeadVectors &vectors, const State *initial, int64_t i);
  void recurrentRows(AttendOp op, const HeadVectors &vectors, State state, std::vector<Row> &rows);
  void store(AttendOp op, int64_t batch, int64_t head, std::vector<Row> &rows);
  void storeFinalState(AttendOp op, const HeadVectors &vectors, State state, int64_t batch,
                       int64_t head);

  const Array &argument(Value value) const {
    return arguments[cast<BlockArgument>(value).getArgNumber()];
  }

  AttentionOp attention;
  ArrayRef<Array> arguments;
  CallSizes sizes;
  Reading reading;
  std::vector<std::pair<int64_t, int64_t>> heads; // batch and query head
  std::vector<int64_t> rows;                      // query positions
  llvm::DenseMap<Value, Array> computed;          // results of attends
  llvm::DenseMap<Value, SmallVector<Operation *>> slices;
};

/// The ops of the body that a value needs, in order.
ArrayRef<Operation *> Evaluator::sliceOf(Value value) {
  auto [it, inserted] = slices.try_emplace(value);
  if (!inserted)
    return it->second;
  SmallVector<Operation *> ops;
  llvm::DenseSet<Value> needed = {value};
  Operation *last = value.getDefiningOp();
  for (Operation *op = last; op; op = op->getPrevNode()) {
    if (isa<AttendOp>(op) ||
        llvm::none_of(op->getResults(), [&](Value result) { return needed.contains(result); }))
      continue;
    needed.insert(op->operand_begin(), op->operand_end());
    ops.push_back(op);
  }
  std::reverse(ops.begin(), ops.end());
  return slices[value] = std::move(ops);
}

/// Binds the vector of this site, or the weight of its head.
void Evaluator::bindRead(Value tensor, Value result, Type type, const Site &site,
                         Environment &environment) {
  const Array &array = argument(tensor);
  if (auto feature = dyn_cast<FeatureType>(type)) {
    SmallVector<int64_t> index;
    if (array.rank() == 4)
      index = {site.batch, site.position, site.head};
    else
      index = {site.position, array.shape[1] == 1 ? 0 : site.head};
    ArrayRef<double> row = array.row(index, feature.getWidth());
    environment.features[result] = FeatureValue::vector({row.begin(), row.end()});
    return;
  }
  ArrayRef<int64_t> shape = cast<WeightType>(type).getShape();
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  bool perHead = array.rank() > int64_t(shape.size());
  int64_t start = perHead ? site.head * count : 0;
  environment.weights[result].numbers.assign(array.data.begin() + start,
                                             array.data.begin() + start + count);
}

FeatureValue Evaluator::applyMap(ApplyOp apply, const Site &site, Environment &outer) {
  auto map = SymbolTable::lookupNearestSymbolFrom<FeatureMapOp>(apply, apply.getMapAttr());
  Environment inner;
  inner.position = site.position;
  for (auto [input, parameter] : llvm::zip(apply.getInputs(), map.getBody().getArguments())) {
    if (isa<RankedTensorType>(input.getType()))
      bindRead(input, parameter, parameter.getType(), site, inner);
    else if (isa<FeatureType>(input.getType()))
      inner.features[parameter] = outer.features[input];
    else
      inner.weights[parameter] = outer.weights[input];
  }
  for (Operation &op : map.getBody().front().without_terminator())
    evaluateFeatureOp(&op, inner);
  return inner.features[map.getFeatures()];
}

FeatureValue Evaluator::at(Value value, const Site &site) {
  Environment environment;
  environment.position = site.position;
  auto bindComputed = [&](Value operand) {
    auto it = computed.find(operand);
    if (it == computed.end() || !isa<FeatureType>(operand.getType()))
      return;
    ArrayRef<double> row =
        it->second.row({site.batch, site.position, site.head}, it->second.shape.back());
    environment.features[operand] = FeatureValue::vector({row.begin(), row.end()});
  };
  bindComputed(value);
  for (Operation *op : sliceOf(value)) {
    llvm::for_each(op->getOperands(), bindComputed);
    if (auto read = dyn_cast<ReadOp>(op))
      bindRead(read.getTensor(), read.getResult(), read.getType(), site, environment);
    else if (auto apply = dyn_cast<ApplyOp>(op))
      environment.features[apply.getResult()] = applyMap(apply, site, environment);
    else
      evaluateFeatureOp(op, environment);
  }
  return environment.features[value];
}

int64_t Evaluator::kvHeadOf(AttendOp op, int64_t head) const {
  if (op.getGrouping() == Grouping::Interleaved)
    return head % sizes.kvHeads;
  return head / (sizes.heads / sizes.kvHeads);
}

std::vector<double> Evaluator::cumulativeDecay(AttendOp op, int64_t batch, int64_t head,
                                               int64_t kvHead) {
  int64_t gate = op.getGateHeads() == GateHeads::Q ? head : kvHead;
  std::vector<double> result(sizes.keys, 0.0);
  double sum = 0;
  for (int64_t i = 0; i < sizes.keys && op.hasDecay(); ++i) {
    if (op.getDecayFactors()) {
      ArrayRef<double> factors = *op.getDecayFactors();
      sum += std::log(factors[gate]);
    } else {
      const Array &decay = argument(op.getDecay());
      sum += decay.rank() == 1 ? decay.at({gate}) : decay.at({batch, i, gate});
    }
    result[i] = sum;
  }
  return result;
}

HeadVectors Evaluator::gather(AttendOp op, int64_t batch, int64_t head) {
  HeadVectors vectors;
  int64_t kvHead = kvHeadOf(op, head);
  vectors.query.resize(sizes.queries);
  vectors.localQuery.resize(op.getLocalQuery() ? sizes.queries : 0);
  for (int64_t i : rows) {
    vectors.query[i] = at(op.getQuery(), {batch, i, head});
    if (op.getLocalQuery())
      vectors.localQuery[i] = at(op.getLocalQuery(), {batch, i, head});
  }
  for (int64_t j = 0; j < sizes.keys; ++j) {
    Site site{batch, j, kvHead};
    vectors.key.push_back(at(op.getKey(), site));
    vectors.value.push_back(expand(at(op.getValue(), site)));
    if (op.getLocalKey())
      vectors.localKey.push_back(at(op.getLocalKey(), site));
  }
  vectors.cumulativeDecay = cumulativeDecay(op, batch, head, kvHead);
  return vectors;
}

State Evaluator::initialState(AttendOp op, int64_t batch, int64_t head) {
  int64_t width = cast<FeatureType>(op.getKey().getType()).getWidth();
  int64_t valueWidth = cast<FeatureType>(op.getValue().getType()).getWidth();
  State state{std::vector(width, std::vector<double>(valueWidth, 0.0)),
              std::vector<double>(width, 0.0)};
  if (!op.getInitialState())
    return state;
  for (int64_t f = 0; f < width; ++f) {
    ArrayRef<double> row = argument(op.getInitialState()).row({batch, head, f}, valueWidth);
    state.sums[f].assign(row.begin(), row.end());
    if (op.getInitialNormalizer())
      state.normalizer[f] = argument(op.getInitialNormalizer()).at({batch, head, f});
  }
  return state;
}

/// Row i by its definition: a sum over the keys that the mask leaves.
Row Evaluator::scoreRow(AttendOp op, const HeadVectors &vectors, const State *initial, int64_t i) {
  Row row;
  row.numerator.assign(cast<FeatureType>(op.getValue().getType()).getWidth(), 0.0);
  bool causal = op.getMask() == Mask::Causal;
  const std::vector<double> &decay = vectors.cumulativeDecay;
  int64_t visible = causal ? i + 1 : sizes.keys;
  for (int64_t j = 0; j < visible; ++j) {
    bool local = op.getLocalQuery() && i / *op.getBlock() == j / *op.getBlock();
    double kappa = local ? score(vectors.localQuery[i], vectors.localKey[j])
                         : score(vectors.query[i], vectors.key[j]);
    double decayed = causal && op.hasDecay() ? std::exp(decay[i] - decay[j]) : 1.0;
    row.add(op.scoreScale() * kappa * decayed, vectors.value[j]);
  }
  if (initial)
    initial->read(expand(vectors.query[i]), op.scoreScale() * std::exp(decay[i]), row);
  return row;
}

/// All rows from a running state; `local` blocks take their own pairs from the local vectors.
void Evaluator::recurrentRows(AttendOp op, const HeadVectors &vectors, State state,
                              std::vector<Row> &rows) {
  bool causal = op.getMask() == Mask::Causal;
  size_t valueWidth = cast<FeatureType>(op.getValue().getType()).getWidth();
  const std::vector<double> &decay = vectors.cumulativeDecay;
  if (!causal)
    for (int64_t j = 0; j < sizes.keys; ++j)
      state.add(expand(vectors.key[j]), vectors.value[j]);
  State blockStart = state;
  double blockDecay = 0;
  for (int64_t i = 0; i < sizes.queries; ++i) {
    Row row;
    row.numerator.assign(valueWidth, 0.0);
    std::vector<double> query = expand(vectors.query[i]);
    if (!causal) {
      row.count = sizes.keys;
      state.read(query, op.scoreScale(), row);
      rows.push_back(std::move(row));
      continue;
    }
    if (op.getLocalQuery() && i % *op.getBlock() == 0) {
      blockStart = state;
      blockDecay = i ? decay[i - 1] : 0;
    }
    double step = i ? decay[i] - decay[i - 1] : decay[i];
    if (op.hasDecay())
      state.decay(std::exp(step));
    state.add(expand(vectors.key[i]), vectors.value[i]);
    if (op.getLocalQuery()) {
      for (int64_t j = i / *op.getBlock() * *op.getBlock(); j <= i; ++j)
        row.add(op.scoreScale() * score(vectors.localQuery[i], vectors.localKey[j]) *
                    std::exp(decay[i] - decay[j]),
                vectors.value[j]);
      blockStart.read(query, op.scoreScale() * std::exp(decay[i] - blockDecay), row);
    } else {
      state.read(query, op.scoreScale(), row);
    }
    row.count = i + 1;
    rows.push_back(std::move(row));
  }
}

void Evaluator::store(AttendOp op, int64_t batch, int64_t head, std::vector<Row> &computedRows) {
  Array &output = computed[op.getOutput()];
  for (auto [i, row] : llvm::zip(rows, computedRows)) {
    normalize(row, op.getNormalizer());
    for (auto [v, x] : llvm::enumerate(row.numerator))
      output.at({batch, i, head, int64_t(v)}) = x;
  }
}

void Evaluator::storeFinalState(AttendOp op, const HeadVectors &vectors, State state, int64_t batch,
                                int64_t head) {
  double previous = 0;
  for (int64_t j = 0; j < sizes.keys; ++j) {
    if (op.hasDecay())
      state.decay(std::exp(vectors.cumulativeDecay[j] - previous));
    previous = vectors.cumulativeDecay[j];
    state.add(expand(vectors.key[j]), vectors.value[j]);
  }
  for (auto [f, row] : llvm::enumerate(state.sums))
    for (auto [v, x] : llvm::enumerate(row))
      computed[op.getFinalStates()[0]].at({batch, head, int64_t(f), int64_t(v)}) = x;
  if (op.getFinalStates().size() > 1)
    for (auto [f, x] : llvm::enumerate(state.normalizer))
      computed[op.getFinalStates()[1]].at({batch, head, int64_t(f)}) = x;
}

LogicalResult Evaluator::attend(AttendOp op) {
  int64_t width = cast<FeatureType>(op.getKey().getType()).getWidth();
  bool needsFeatures = reading == Reading::Recurrent || op.getInitialState();
  if (reading == Reading::Recurrent) {
    if (width > AttendOp::kMaxStateWidth)
      return op.emitError("a running state of ") << width << " features is too large to hold";
    if (hasAbsoluteScore(op.getQuery()))
      return op.emitError("an odd power of |score| has no features");
    if (op.getNormalizer().getEpsMode() == EpsMode::RowMax)
      return op.emitError("the row's largest score is not known from a running state");
  }
  int64_t valueWidth = cast<FeatureType>(op.getValue().getType()).getWidth();
  bool statePerQuery = op.getGateHeads() == GateHeads::Q;
  int64_t stateHeads = statePerQuery ? sizes.heads : sizes.kvHeads;
  computed[op.getOutput()] = Array({sizes.batch, sizes.queries, sizes.heads, valueWidth});
  if (op.getFinalState()) {
    computed[op.getFinalStates()[0]] = Array({sizes.batch, stateHeads, width, valueWidth});
    if (op.getFinalStates().size() > 1)
      computed[op.getFinalStates()[1]] = Array({sizes.batch, stateHeads, width});
    for (Value state : op.getFinalStates())
      llvm::fill(computed[state].data, std::nan("")); // what no selected head gives
  }
  for (auto [b, h] : heads) {
    int64_t stateHead = statePerQuery ? h : kvHeadOf(op, h);
    HeadVectors vectors = gather(op, b, h);
    State initial;
    if (needsFeatures || op.getFinalState())
      initial = initialState(op, b, stateHead);
    std::vector<Row> results;
    if (reading == Reading::Recurrent)
      recurrentRows(op, vectors, initial, results);
    else
      for (int64_t i : rows)
        results.push_back(scoreRow(op, vectors, op.getInitialState() ? &initial : nullptr, i));
    store(op, b, h, results);
    if (op.getFinalState())
      storeFinalState(op, vectors, initial, b, stateHead);
  }
  return success();
}

FailureOr<std::vector<Array>> Evaluator::run() {
  Block &body = attention.getBody().front();
  for (auto op : body.getOps<AttendOp>())
    if (failed(attend(op)))
      return failure();
  std::vector<Array> results;
  for (Value value : cast<ReturnOp>(body.getTerminator()).getResults()) {
    auto feature = dyn_cast<FeatureType>(value.getType());
    if (!feature) {
      results.push_back(computed[value]);
      continue;
    }
    Array &output = results.emplace_back(
        ArrayRef({sizes.batch, sizes.queries, sizes.heads, feature.getWidth()}));
    for (auto [b, h] : heads)
      for (int64_t i : rows)
        llvm::copy(expand(at(value, {b, i, h})), output.data.begin() + output.offset({b, i, h}));
  }
  return results;
}

} // namespace

bool polyattn::canSelect(AttentionOp attention) {
  return llvm::all_of(attention.getBody().getOps<AttendOp>(), [](AttendOp attend) {
    // Whatever an attend's output leads to, it must not be another attend.
    SmallVector<Value> pending = {attend.getOutput()};
    while (!pending.empty())
      for (Operation *user : pending.pop_back_val().getUsers()) {
        if (isa<AttendOp>(user))
          return false;
        llvm::append_range(pending, user->getResults());
      }
    return true;
  });
}

FailureOr<std::vector<Array>> polyattn::evaluate(AttentionOp attention, ArrayRef<Array> arguments,
                                                 const CallSizes &sizes, Reading reading,
                                                 const Selection &selection) {
  return Evaluator(attention, arguments, sizes, reading, selection).run();
}
