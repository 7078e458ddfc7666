//===- Attend.cpp - rows and states of one attend -------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "Kept.h"
#include "RunningState.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "polyattn/Tasks/Cancelled.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::reference;

template <typename Op> int64_t Evaluator::kvHeadOf(Op op, int64_t head) const {
  if (op.getGrouping() == Grouping::Interleaved)
    return head % sizes.kvHeads;
  return head / (sizes.heads / sizes.kvHeads);
}

template <typename Op> int64_t Evaluator::gateHeadOf(Op op, int64_t head) const {
  return op.getGateHeads() == GateHeads::Q ? head : kvHeadOf(op, head);
}

/// The first of the query heads that a key head serves.
template <typename Op> int64_t Evaluator::firstHeadOf(Op op, int64_t kvHead) const {
  return op.getGrouping() == Grouping::Interleaved ? kvHead
                                                   : kvHead * (sizes.heads / sizes.kvHeads);
}
template int64_t Evaluator::firstHeadOf(DecayGradientOp op, int64_t kvHead) const;

/// Whether a state, which belongs to a key head, is the sum over the query heads that it serves.
static bool isSumOfHeads(AttendOp op) {
  return op.getOfKeys() && op.getGateHeads() != GateHeads::Q;
}

static bool hasRowsOfKeys(AttendOp op) { return op.getOfKeys(); }
static bool hasRowsOfKeys(StateUpdateInterface op) { return op.getOfKeys(); }
static Value localKeyOf(StateUpdateInterface) { return {}; }
template <typename Op> static Value localKeyOf(Op op) { return op.getLocalKey(); }
static bool hasRowsOfKeys(AttendBackwardOp) { return false; }

template <typename Op> int64_t Evaluator::rowsOf(Op op) const {
  return hasRowsOfKeys(op) ? sizes.keys : sizes.queries;
}

template <typename Op> int64_t Evaluator::columnsOf(Op op) const {
  return hasRowsOfKeys(op) ? sizes.queries : sizes.keys;
}

template <typename Op>
void Evaluator::gatherGates(Op op, int64_t batch, int64_t head, HeadVectors &vectors) {
  int64_t gate = gateHeadOf(op, head), columns = columnsOf(op);
  vectors.gates.assign(columns, 0.0);
  for (int64_t i = 0; i < columns && op.hasDecay(); ++i) {
    if (op.getDecayFactors()) {
      vectors.gates[i] = std::log((*op.getDecayFactors())[gate]);
      continue;
    }
    const Array &decay = tensors[op.getDecay()];
    if (decay.rank() == 4) {
      ArrayRef<double> gates = decay.row({batch, i, gate}, op.getKey().getType().getWidth());
      vectors.featureGates.emplace_back(gates.begin(), gates.end());
    } else {
      vectors.gates[i] = decay.rank() == 1 ? decay.at({gate}) : decay.at({batch, i, gate});
    }
  }
}

/// Only rows of queries are selected.
template <typename Op> std::vector<int64_t> Evaluator::selectedRows(Op op) const {
  if (!hasRowsOfKeys(op))
    return rows;
  std::vector<int64_t> all(rowsOf(op));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Some are missing where the work has been cancelled.
template <typename Op>
void Evaluator::gatherColumns(Op op, int64_t batch, int64_t head, HeadVectors &vectors) {
  int64_t columnHead = hasRowsOfKeys(op) ? head : kvHeadOf(op, head);
  for (int64_t j = 0; j < columnsOf(op); ++j) {
    if (isCancelled())
      return;
    Site site{batch, j, columnHead};
    vectors.key.push_back(at(op.getKey(), site));
    FeatureValue<double> value = at(op.getValue(), site);
    if (value.lags)
      vectors.lags.push_back(*value.lags);
    vectors.value.push_back(expand(value));
    if (Value localKey = localKeyOf(op))
      vectors.localKey.push_back(at(localKey, site));
  }
  gatherGates(op, batch, head, vectors);
}
template void Evaluator::gatherColumns(StateUpdateInterface op, int64_t batch, int64_t head,
                                       HeadVectors &);

template <typename Op> HeadVectors Evaluator::gather(Op op, int64_t batch, int64_t head) {
  HeadVectors vectors;
  int64_t rowHead = hasRowsOfKeys(op) ? kvHeadOf(op, head) : head;
  vectors.query.resize(rowsOf(op));
  vectors.localQuery.resize(op.getLocalQuery() ? rowsOf(op) : 0);
  for (int64_t i : selectedRows(op)) {
    if (isCancelled())
      return vectors;
    vectors.query[i] = at(op.getQuery(), {batch, i, rowHead});
    if (op.getLocalQuery())
      vectors.localQuery[i] = at(op.getLocalQuery(), {batch, i, rowHead});
  }
  gatherColumns(op, batch, head, vectors);
  return vectors;
}

template HeadVectors Evaluator::gather(AttendOp op, int64_t batch, int64_t head);
template HeadVectors Evaluator::gather(AttendBackwardOp op, int64_t batch, int64_t head);
template int64_t Evaluator::kvHeadOf(AttendOp op, int64_t head) const;
template int64_t Evaluator::kvHeadOf(AttendBackwardOp op, int64_t head) const;
template int64_t Evaluator::gateHeadOf(AttendOp op, int64_t head) const;
template int64_t Evaluator::gateHeadOf(AttendBackwardOp op, int64_t head) const;
template int64_t Evaluator::gateHeadOf(DecayGradientOp op, int64_t head) const;

template <typename Op> State Evaluator::initialState(Op op, int64_t batch, int64_t head) {
  int64_t width = cast<FeatureType>(op.getKey().getType()).getWidth();
  int64_t valueWidth = cast<FeatureType>(op.getValue().getType()).getWidth();
  State state = State::zero(width, valueWidth);
  if (!op.getInitialState() || !tensors.isContinued(batch))
    return state;
  int64_t slot = tensors.slot(batch);
  // The last dimension may have been left out where it is 1.
  ArrayRef<double> given = tensors[op.getInitialState()].row({slot, head}, width * valueWidth);
  for (int64_t f = 0; f < width; ++f) {
    for (int64_t v = 0; v < valueWidth; ++v)
      state.sums[f][v] = given[op.getInitialTransposed() ? v * width + f : f * valueWidth + v];
    if (op.getInitialNormalizer())
      state.normalizer[f] = tensors[op.getInitialNormalizer()].at({slot, head, f});
  }
  return state;
}
template State Evaluator::initialState(AttendOp op, int64_t batch, int64_t head);
template State Evaluator::initialState(StateUpdateInterface op, int64_t batch, int64_t head);

/// score_scale times the score of a pair, from the local vectors or the others. The score is a
/// number of its own, which may leave the range where the product does not.
double Evaluator::scaledScore(AttendOp op, const HeadVectors &vectors, int64_t i, int64_t j,
                              bool local) {
  const FeatureValue<double> &row = local ? vectors.localQuery[i] : vectors.query[i];
  const FeatureValue<double> &column = local ? vectors.localKey[j] : vectors.key[j];
  double kappa = op.getOfKeys() ? score(column, row) : score(row, column);
  if (op.scoreScale() != 1)
    kappa = op.scoreScale() * reference::rounded(kappa, terms);
  return reference::rounded(kappa, terms);
}

int64_t Evaluator::rowsInState(AttendOp op) const {
  SmallVector<KeepOp> kept = keptRowsOf(tensors.attention);
  if (kept.empty() || !kept[0].isRing() || op.getWindow())
    return 0;
  // The window of the position before the call slides: its keys are no part of the state.
  int64_t window = op.getSliding() ? int64_t(*op.getBlock()) : 0;
  return std::max<int64_t>(tensors.rowsBefore - window, 0);
}

/// Row i where each feature decays by itself (GLA, equation 3): the score of a pair is a sum over
/// features of query, key and the gates between.
Row Evaluator::scoreRowOfFeatures(AttendOp op, const HeadVectors &vectors, const State *initial,
                                  int64_t i) {
  Row row;
  row.numerator.assign(op.getValue().getType().getWidth(), 0.0);
  std::vector<double> query = expand(vectors.query[i]), between(query.size(), 0.0);
  auto decayed = [&](size_t f) { return query[f] * std::exp(between[f]); };
  for (int64_t j = i; j >= rowsInState(op); --j) {
    std::vector<double> key = expand(vectors.key[j]);
    double score = 0;
    for (size_t f = 0; f < query.size(); ++f) {
      score += reference::rounded(decayed(f) * key[f], terms);
      between[f] += vectors.featureGates[j][f];
    }
    row.add(op.scoreScale() * reference::rounded(score, terms), vectors.value[j], terms);
  }
  if (initial) {
    for (size_t f = 0; f < query.size(); ++f)
      query[f] = decayed(f);
    initial->read(query, op.scoreScale(), row, terms);
  }
  return row;
}

/// The value of a pair that is the slope of its score in a table (relative_slope).
static std::vector<double> valueOfLag(const HeadVectors &vectors, int64_t i, int64_t j) {
  std::vector<double> value(vectors.value[j].size(), 0.0);
  // Queries and keys have the same positions.
  LagPlace row = vectors.lags[j];
  row.position += i - j;
  if (auto place = placeOfLag(row, vectors.lags[j], int64_t(value.size())))
    value[*place] = vectors.value[j][*place];
  return value;
}

/// Row i of a softmax.
Row Evaluator::softmaxRow(AttendOp op, const HeadVectors &vectors, int64_t i) {
  Row row;
  row.numerator.assign(op.getValue().getType().getWidth(), 0.0);
  VisibleKeys keys = VisibleKeys::of(op, i, columnsOf(op));
  std::vector<double> scores;
  for (int64_t j = keys.first; j < keys.end; ++j)
    scores.push_back(scaledScore(op, vectors, i, j, /*local=*/false));
  double largest = scores.empty() ? 0 : *llvm::max_element(scores);
  for (int64_t j = keys.first; j < keys.end; ++j)
    row.add(std::exp(scores[j - keys.first] - largest), vectors.value[j], terms);
  row.largest = largest;
  return row;
}

/// Row i by its definition: a sum over the keys that the mask and the window leave.
Row Evaluator::scoreRow(AttendOp op, const HeadVectors &vectors, const State *initial, int64_t i) {
  if (op.hasDecayOfFeatures())
    return scoreRowOfFeatures(op, vectors, initial, i);
  if (op.getNormalizer().isSoftmax())
    return softmaxRow(op, vectors, i);
  Row row;
  row.numerator.assign(cast<FeatureType>(op.getValue().getType()).getWidth(), 0.0);
  bool anticausal = op.getMask() == Mask::Anticausal;
  int64_t last = op.getMask() == Mask::Causal ? i : columnsOf(op) - 1;
  std::vector<double> decays = anticausal ? vectors.decaysFrom(i) : vectors.decaysTo(last);
  VisibleKeys keys = VisibleKeys::of(op, i, columnsOf(op));
  // Rows in front have results that nobody sees.
  int64_t inState = std::min(rowsInState(op), last + 1);
  for (int64_t j = std::max(keys.first, inState); j < keys.end; ++j) {
    // A call begins at a multiple of the block.
    bool local = isLocalPair(op, i, j);
    double weight = scaledScore(op, vectors, i, j, local) * decays[j];
    row.add(weight, vectors.lags.empty() ? vectors.value[j] : valueOfLag(vectors, i, j), terms);
  }
  // The state before the first key, or after the last one.
  if (initial)
    initial->read(expand(vectors.query[i]),
                  op.scoreScale() * vectors.decay(anticausal ? i + 1 : inState, last), row, terms);
  return row;
}

/// All rows where local pairs are those of a sliding window: a key comes into the state when it
/// leaves the window.
void Evaluator::slidingRows(AttendOp op, const HeadVectors &vectors, RunningState state,
                            std::vector<Row> &rows) {
  bool causal = op.getMask() == Mask::Causal;
  auto window = int64_t(*op.getBlock());
  int64_t count = rowsOf(op), inState = rowsInState(op);
  rows.resize(count);
  for (int64_t step = 0; step < count && !isCancelled(); ++step) {
    int64_t i = causal ? step : count - 1 - step, leaving = causal ? i - window : i + window;
    if (leaving >= inState && leaving < count)
      state.add(leaving, terms);
    Row &row = rows[i];
    row.numerator.assign(cast<FeatureType>(op.getValue().getType()).getWidth(), 0.0);
    int64_t first = causal ? std::max<int64_t>(leaving + 1, 0) : i,
            end = causal ? i + 1 : std::min(leaving, count);
    for (int64_t j = first; j < end; ++j)
      row.add(scaledScore(op, vectors, i, j, /*local=*/true), vectors.value[j], terms);
    state.get().read(expand(vectors.query[i]), op.scoreScale(), row, terms);
    row.count = causal ? i + 1 - inState : sizes.keys - i;
  }
}

/// All rows from a running state; `local` blocks take their own pairs from the local vectors.
void Evaluator::recurrentRows(AttendOp op, const HeadVectors &vectors, RunningState state,
                              std::vector<Row> &rows) {
  bool causal = op.getMask() == Mask::Causal;
  size_t valueWidth = cast<FeatureType>(op.getValue().getType()).getWidth();
  if (!causal)
    for (int64_t j = 0; j < columnsOf(op) && !isCancelled(); ++j)
      state.add(j, terms);
  State blockStart = state.get();
  int64_t block = 0; // where the local block began
  // Rows in front, which the state has, have results that nobody sees.
  int64_t inState = causal ? rowsInState(op) : 0;
  rows.resize(inState);
  for (Row &row : rows)
    row.numerator.assign(valueWidth, 0.0);
  for (int64_t i = inState; i < rowsOf(op) && !isCancelled(); ++i) {
    Row row;
    row.numerator.assign(valueWidth, 0.0);
    std::vector<double> query = expand(vectors.query[i]);
    if (!causal) {
      row.count = columnsOf(op);
      blockStart.read(query, op.scoreScale(), row, terms);
      rows.push_back(std::move(row));
      continue;
    }
    if (op.getLocalQuery() && i % *op.getBlock() == 0) {
      blockStart = state.get();
      block = i;
    }
    if (op.hasDecay())
      state.applyTransition(i);
    state.add(i, terms);
    if (op.getLocalQuery()) {
      std::vector<double> decays = vectors.decaysTo(i);
      for (int64_t j = block; j <= i; ++j)
        row.add(scaledScore(op, vectors, i, j, /*local=*/true) * decays[j], vectors.value[j],
                terms);
      blockStart.read(query, op.scoreScale() * vectors.decay(block, i), row, terms);
    } else {
      state.get().read(query, op.scoreScale(), row, terms);
    }
    row.count = i + 1 - inState;
    rows.push_back(std::move(row));
  }
}

/// The rows of a head under the anticausal mask, from the last to the first. `state` is what
/// reaches row i from the keys after it.
void Evaluator::reversedRows(AttendOp op, const HeadVectors &vectors, RunningState state,
                             std::vector<Row> &rows) {
  rows.resize(sizes.queries);
  State blockEnd = state.get();
  int64_t last = 0; // where the local block ends
  for (int64_t i = sizes.queries - 1; i >= 0 && !isCancelled(); --i) {
    Row &row = rows[i];
    row.numerator.assign(cast<FeatureType>(op.getValue().getType()).getWidth(), 0.0);
    std::vector<double> query = expand(vectors.query[i]);
    if (op.getLocalQuery() && (i == sizes.queries - 1 || (i + 1) % *op.getBlock() == 0)) {
      blockEnd = state.get();
      last = i;
    }
    state.add(i, terms);
    if (op.getLocalQuery()) {
      std::vector<double> decays = vectors.decaysFrom(i);
      for (int64_t j = i; j <= last; ++j)
        row.add(scaledScore(op, vectors, i, j, /*local=*/true) * decays[j], vectors.value[j],
                terms);
      blockEnd.read(query, op.scoreScale() * vectors.decay(i + 1, last), row, terms);
    } else {
      state.get().read(query, op.scoreScale(), row, terms);
    }
    if (op.hasDecay())
      state.applyTransition(i);
    row.count = sizes.keys - i;
  }
}

int64_t Evaluator::keysBefore(AttendOp op, int64_t batch) const {
  return op.getMask() == Mask::Causal ? tensors.firstPosition(batch) + rowsInState(op) : 0;
}

/// Rows of keys are sums over the heads for which this is called.
void Evaluator::store(AttendOp op, int64_t batch, int64_t head, std::vector<Row> &computedRows) {
  Array &output = tensors.computed[op.getOutput()];
  for (auto [i, row] : llvm::zip(selectedRows(op), computedRows)) {
    int64_t keys = keysBefore(op, batch) + row.count;
    double factor =
        normalizingFactor(op.getNormalizer(), row.denominator, row.largest, keys, terms);
    if (op.getFactors() && op.getNormalizer().isSoftmax()) {
      tensors.computed[op.getRowFactors()].at({batch, i, head, 0}) =
          row.largest + std::log(row.denominator);
    } else if (op.getFactors()) {
      double slope = denominatorSlope(op.getNormalizer(), row.denominator, row.largest, keys);
      Array &factors = tensors.computed[op.getRowFactors()];
      factors.at({batch, i, head, 0}) = factor;
      factors.at({batch, i, head, 1}) = slope == 0 ? 0 : slope * factor;
    }
    for (auto [v, x] : llvm::enumerate(row.numerator))
      output.at({batch, i, head, int64_t(v)}) += x * factor;
  }
}

/// What each row has from its pairs but that with itself, times its vector of `products`.
void Evaluator::storeProducts(AttendOp op, const HeadVectors &vectors, int64_t batch, int64_t head,
                              const std::vector<Row> &computedRows) {
  Array &products = tensors.computed[op.getRowProducts()];
  int64_t rowHead = op.getOfKeys() ? kvHeadOf(op, head) : head;
  for (auto [i, row] : llvm::zip(selectedRows(op), computedRows)) {
    std::vector<double> x = expand(at(op.getProducts(), {batch, i, rowHead}));
    auto with = [&](const std::vector<double> &sums) {
      return std::inner_product(sums.begin(), sums.end(), x.begin(), 0.0);
    };
    double own = scaledScore(op, vectors, i, i, /*local=*/bool(op.getLocalQuery()));
    // Where the pair with itself is most of the row, nothing but roundings may be left.
    products.at({batch, i, head, 0}) = reference::rounded(with(row.numerator), terms) -
                                       reference::rounded(own * with(vectors.value[i]), terms);
  }
}

void Evaluator::storeFinalState(AttendOp op, const HeadVectors &vectors, RunningState running,
                                int64_t batch, int64_t head) {
  bool anticausal = op.getMask() == Mask::Anticausal;
  int64_t keys = tensors.length(batch, sizes.keys), slot = tensors.slot(batch);
  if (slot < 0)
    return;
  // What the last local block, or window, has so far is kept, and no part of the state yet.
  if (op.getLocalQuery() && !keptRowsOf(tensors.attention).empty())
    keys -= op.getSliding() ? int64_t(*op.getBlock()) : keys % int64_t(*op.getBlock());
  for (int64_t n = rowsInState(op); n < keys && !isCancelled(); ++n) {
    int64_t j = anticausal ? sizes.keys - 1 - n : n;
    // A causal key is added after its own decay, which only takes what came before it.
    if (op.hasDecay() && !anticausal)
      running.applyTransition(j);
    running.add(j, terms);
    if (op.hasDecay() && anticausal)
      running.applyTransition(j);
  }
  State state = running.get();
  for (auto [f, row] : llvm::enumerate(state.sums))
    for (auto [v, x] : llvm::enumerate(row)) {
      double &result =
          tensors.computed[op.getFinalStates()[0]].at({slot, head, int64_t(f), int64_t(v)});
      result = isSumOfHeads(op) ? result + x : x;
    }
  if (op.getFinalStates().size() > 1)
    for (auto [f, x] : llvm::enumerate(state.normalizer))
      tensors.computed[op.getFinalStates()[1]].at({slot, head, int64_t(f)}) = x;
}

/// The state after each block of `state_every` positions, as BlockStates lays it out.
void Evaluator::storeKeptStates(AttendOp op, const HeadVectors &vectors, RunningState running,
                                int64_t batch, int64_t head) {
  Array &kept = tensors.computed[op.getKeptStates()];
  BlockStates layout = op.getStatesLayout();
  int64_t positions = sizes.keys, next = 0;
  State state;
  auto storeRow = [&](int64_t row, int64_t place) {
    auto value = [&](int64_t element) -> double {
      int64_t piece = element / layout.features, f = element % layout.features;
      if (piece < layout.valuePieces())
        return place < layout.valueRows(piece) ? state.sums[f][piece * layout.length + place] : 0;
      piece = element - layout.normalizerColumn(0);
      return place < layout.normalizerRows(piece) ? state.normalizer[piece * layout.length + place]
                                                  : 0;
    };
    for (int64_t element = 0; element < layout.width(); ++element)
      kept.at({batch, row, head, element}) = value(element);
  };
  for (int64_t begin = 0; begin < positions && !isCancelled(); begin += layout.length) {
    int64_t end = std::min(begin + layout.length, positions);
    for (; next < end; ++next) {
      if (op.hasDecay())
        running.applyTransition(next);
      running.add(next, terms);
    }
    state = running.get();
    for (int64_t row = begin; row < end; ++row)
      storeRow(row, row - begin);
  }
}

LogicalResult Evaluator::attend(AttendOp op) {
  int64_t width = cast<FeatureType>(op.getKey().getType()).getWidth();
  bool hasInitial = op.hasInitialState();
  bool needsState =
      reading == Reading::Recurrent || hasInitial || op.getFinalState() || op.keepsStates();
  if (reading == Reading::Recurrent) {
    if (width > AttendOp::kMaxStateWidth)
      return op.emitError("a running state of ") << width << " features is too large to hold";
    if (std::string reason = noStateOf(op); !reason.empty())
      return op.emitError("has no running state: ") << reason;
  }
  int64_t valueWidth = cast<FeatureType>(op.getValue().getType()).getWidth();
  bool statePerQuery = op.getGateHeads() == GateHeads::Q;
  int64_t stateHeads = statePerQuery ? sizes.heads : sizes.kvHeads;
  bool ofKeys = op.getOfKeys();
  tensors.computed[op.getOutput()] =
      Array({sizes.batch, rowsOf(op), ofKeys ? sizes.kvHeads : sizes.heads, valueWidth});
  if (op.getFactors())
    tensors.computed[op.getRowFactors()] =
        Array({sizes.batch, sizes.queries, sizes.heads, op.getNormalizer().countFactors()});
  if (op.keepsStates())
    tensors.computed[op.getKeptStates()] =
        Array({sizes.batch, sizes.keys, stateHeads, op.getStatesLayout().width()});
  if (op.getProducts())
    tensors.computed[op.getRowProducts()] = Array({sizes.batch, rowsOf(op), sizes.heads, 1});
  if (op.getFinalState()) {
    GivenState given = op.getGivenState();
    Value initial[] = {given.state, given.normalizer};
    for (auto [i, state] : llvm::enumerate(op.getFinalStates())) {
      SmallVector<int64_t> shape = {sizes.batch, stateHeads, width};
      if (i == 0)
        shape.push_back(valueWidth);
      Array &array = tensors.computed[state] =
          tensors.attention.getSlots() ? tensors[initial[i]] : Array(shape);
      // What no selected head gives; sums of heads begin with zeros.
      for (int64_t b = 0; b < sizes.batch; ++b)
        if (int64_t slot = tensors.slot(b); slot >= 0)
          llvm::fill(array.slice(slot), isSumOfHeads(op) ? 0 : std::nan(""));
    }
  }
  for (auto [b, h] : heads) {
    int64_t stateHead = gateHeadOf(op, h);
    HeadVectors vectors = gather(op, b, h);
    if (isCancelled())
      return failure();
    // A sum has the initial state once.
    bool begins = !isSumOfHeads(op) || h == firstHeadOf(op, stateHead);
    std::optional<RunningState> running;
    State initial;
    if (needsState)
      running.emplace(*this, op, vectors, b, h, begins);
    if (hasInitial)
      initial = running->get();
    std::vector<Row> results;
    if (reading == Reading::Recurrent && op.getSliding())
      slidingRows(op, vectors, *running, results);
    else if (reading == Reading::Recurrent && op.getMask() == Mask::Anticausal)
      reversedRows(op, vectors, *running, results);
    else if (reading == Reading::Recurrent)
      recurrentRows(op, vectors, *running, results);
    else
      for (int64_t i : selectedRows(op)) {
        if (isCancelled())
          return failure();
        results.push_back(scoreRow(op, vectors, hasInitial ? &initial : nullptr, i));
      }
    store(op, b, ofKeys ? kvHeadOf(op, h) : h, results);
    if (op.getProducts())
      storeProducts(op, vectors, b, h, results);
    if (op.keepsStates())
      storeKeptStates(op, vectors, *running, b, stateHead);
    if (op.getFinalState())
      storeFinalState(op, vectors, *running, b, stateHead);
  }
  return success();
}
