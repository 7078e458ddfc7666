//===- MergeStates.cpp - let attends read one state that have the same sums ===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a key is a sum over later queries of their features times what comes back to
// them, as that of a value is. The attends that compute them have these sums in two shapes: rows of
// features, as the value's gradient reads them, and rows of what comes back, of which there is one
// more where there is a denominator; or, of a symmetric square beside powers of lower degree, rows
// of some of the features.
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/Factors.h"
#include "dialects/PolyAttn/Leaves.h"
#include "dialects/PolyAttn/StateTerms.h"
#include "polyattn/Schedule/Schedule.h"
#include "polyattn/Transforms/Passes.h"

namespace polyattn {
#define GEN_PASS_DEF_MERGESTATES
#include "lib/Transforms/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;

//===----------------------------------------------------------------------===//
// Vectors that are multiples of others
//===----------------------------------------------------------------------===//

static int64_t widthOf(Value vector) { return cast<FeatureType>(vector.getType()).getWidth(); }

namespace {
/// Finds by which number a vector is another one times. Pairs are visited once: a chain of products
/// of a vector with itself is a graph, and as a tree exponentially large.
class Ratios {
public:
  /// a = r b; none where that is not known, or r is no number that kernels multiply by.
  std::optional<double> of(Value a, Value b) {
    auto [it, isNew] = known.try_emplace({a, b});
    if (!isNew)
      return it->second;
    std::optional<double> ratio = find(a, b);
    if (ratio && (*ratio == 0 || !isRepresentable(*ratio) || !isRepresentable(1 / *ratio)))
      ratio = std::nullopt;
    return known[{a, b}] = ratio;
  }

private:
  std::optional<double> find(Value a, Value b) {
    double ofA = 1, ofB = 1;
    a = withoutScales(a, ofA), b = withoutScales(b, ofB);
    if (a == b)
      return ofA / ofB;
    Operation *own = a.getDefiningOp(), *other = b.getDefiningOp();
    if (!own || !other || own->getName() != other->getName() ||
        own->getAttrDictionary() != other->getAttrDictionary() ||
        own->getNumOperands() != other->getNumOperands() || !isa<PowerOp, TensorOp, ConcatOp>(own))
      return std::nullopt;
    double ratio = ofA / ofB;
    std::optional<double> common;
    for (auto [x, y] : llvm::zip(own->getOperands(), other->getOperands())) {
      std::optional<double> part = of(x, y);
      if (!part || (isa<ConcatOp>(own) && common && *part != *common))
        return std::nullopt;
      common = part;
      if (isa<TensorOp>(own))
        ratio *= *part;
    }
    if (isa<ConcatOp>(own))
      ratio *= *common;
    if (auto power = dyn_cast<PowerOp>(own))
      ratio *= std::pow(*common, double(power.getDegree()));
    return ratio;
  }

  llvm::DenseMap<std::pair<Value, Value>, std::optional<double>> known;
};

/// A vector that is stacked in another one.
struct Part {
  Value vector;
  int64_t first;     // element of the whole
  double factor = 1; // the whole has it times this
};
} // namespace

static void addParts(Value vector, double factor, SmallVectorImpl<Part> &parts) {
  int64_t first = parts.empty() ? 0 : parts.back().first + widthOf(parts.back().vector);
  vector = withoutScales(vector, factor);
  if (auto concat = vector.getDefiningOp<ConcatOp>())
    for (Value input : concat.getInputs())
      addParts(input, factor, parts);
  else
    parts.push_back({vector, first, factor});
}

/// The vectors that a concatenation stacks, or the vector itself.
static SmallVector<Part> stackedIn(Value vector) {
  SmallVector<Part> parts;
  addParts(vector, 1, parts);
  return parts;
}

//===----------------------------------------------------------------------===//
// States that may go
//===----------------------------------------------------------------------===//

/// Whether a state may become a view: blocks read it, and it is no result.
static bool isForBlocks(StateOp state) {
  SmallVector<AttendOp> readers = readersOf(state);
  return !state.getNormalizer() && !readers.empty() && llvm::none_of(readers, [](AttendOp attend) {
    return attend.getFinalState() || attend.keepsStates();
  });
}

/// Whether there may be views of a state. Under the full mask it is complete before it is read, and
/// its features may be those of several programs.
static bool canBeViewed(StateOp state) {
  return state.isOrdered() && !state.getNormalizer() && !readersOf(state).empty();
}

/// Whether `whole` is formed in all calls in which `part` is: the form of some attends depends on
/// the call's length.
static bool isFormedWith(StateOp whole, StateOp part) {
  auto formOf = [](AttendOp attend) { return scheduleOf(attend).form; };
  ScheduleForm form = formOf(readersOf(part)[0]);
  return llvm::all_of(readersOf(part), [&](AttendOp attend) { return formOf(attend) == form; }) &&
         llvm::all_of(readersOf(whole), [&](AttendOp attend) {
           return formOf(attend) == ScheduleForm::State || formOf(attend) == form;
         });
}

/// Whether attends can score the pairs of a block without the features of their keys, which a loop
/// over those of another state does not form.
static bool haveScores(StateOp state) {
  return llvm::all_of(readersOf(state), [](AttendOp attend) {
    Structure structure = attend.getKey().getType().getStructure();
    return scheduleOf(attend).diagonal == ScheduleDiagonal::Scores || structure.hasScoreForm() ||
           structure.kind() == Structure::Kind::Vector;
  });
}

static void scoreWithoutFeatures(StateOp state) {
  for (AttendOp attend : readersOf(state)) {
    Schedule schedule = scheduleOf(attend);
    schedule.diagonal = ScheduleDiagonal::Scores;
    attend.setScheduleAttr(schedule.toAttribute(attend.getContext()));
  }
}

namespace {
/// A state whose sums another one has, too: `part` becomes a view of `whole`.
class Merge {
public:
  Merge(StateOp part, StateOp whole, Ratios &ratios) : part(part), whole(whole), ratios(ratios) {}

  /// Whether the part's features are some of the whole's, over the same values. Nothing is changed.
  bool matchRows();
  /// Whether the first of the part's features are the whole's values, and its values some of the
  /// whole's features.
  bool matchTransposed();
  void apply();

private:
  bool matchRowsOf(Value value, bool lastApart);
  bool matchFeaturesOfWhole(double times);
  bool startsAlike(bool isAll, double times) const;
  void hoistWhole();
  Value viewOfWhole(OpBuilder &builder) const;
  Value rest(OpBuilder &builder) const;

  StateOp part, whole;
  Ratios &ratios;
  // What has matched.
  bool isTransposed = false;
  int64_t first = 0, count = 0;    // features of the whole
  double factor = 1;               // what the view is multiplied by
  SmallVector<Part> otherFeatures; // of the part, which the whole has not as values
  Value otherValue;                // of the part, which stands apart
};
} // namespace

/// Whether both begin with the same state, that of one being the transpose of the other's where the
/// sums are; `times` is the number between them.
bool Merge::startsAlike(bool isAll, double times) const {
  Value own = StateOp(part).getInitialState(), other = StateOp(whole).getInitialState();
  if (!own && !other)
    return true;
  bool differ = StateOp(part).getInitialTransposed() != StateOp(whole).getInitialTransposed();
  return own == other && differ == isTransposed && isAll && times == 1;
}

bool Merge::matchRows() {
  isTransposed = false;
  otherFeatures.clear();
  otherValue = {};
  if (matchRowsOf(part.getValue(), part.getLastApart()))
    return true;
  // Of a value whose last element stands apart the rest is enough: the last one keeps its sums.
  auto concat = part.getValue().getDefiningOp<ConcatOp>();
  if (!concat || !part.getLastApart() || concat.getInputs().size() != 2 ||
      widthOf(concat.getInputs().back()) != 1)
    return false;
  otherValue = concat.getInputs().back();
  return matchRowsOf(concat.getInputs().front(), /*lastApart=*/false);
}

/// Whether the whole has the part's features over the values `value`.
bool Merge::matchRowsOf(Value value, bool lastApart) {
  std::optional<double> ofValue = ratios.of(value, whole.getValue());
  if (!ofValue || whole.getLastApart() != lastApart)
    return false;
  SmallVector<Part> parts = {{whole.getKey(), 0}};
  llvm::append_range(parts, stackedIn(whole.getKey()));
  for (const Part &own : parts) {
    std::optional<double> ofKey = ratios.of(part.getKey(), own.vector);
    if (!ofKey)
      continue;
    first = own.first, count = widthOf(own.vector);
    factor = *ofKey * *ofValue / own.factor;
    bool isAll = count == widthOf(whole.getKey());
    // Of sums that stand apart readers take all features.
    if (startsAlike(isAll && !otherValue, factor) && (isAll || !lastApart))
      return true;
  }
  return false;
}

bool Merge::matchTransposed() {
  isTransposed = true;
  otherValue = {};
  if (part.getLastApart() || whole.getLastApart())
    return false;
  SmallVector<Part> features = stackedIn(part.getKey());
  bool areLeaves = llvm::all_of(
      features, [](const Part &own) { return isLeaf(own.vector) || widthOf(own.vector) == 1; });
  if (!areLeaves)
    return false;
  otherFeatures.clear();
  if (std::optional<double> ofKey = ratios.of(part.getKey(), whole.getValue()))
    return matchFeaturesOfWhole(*ofKey);
  std::optional<double> ofFirst = ratios.of(features[0].vector, whole.getValue());
  otherFeatures.assign(features.begin() + 1, features.end());
  return ofFirst && !otherFeatures.empty() && matchFeaturesOfWhole(features[0].factor * *ofFirst);
}

/// Whether the part's values are features of the whole, whose values are features of the part, each
/// `times` those.
bool Merge::matchFeaturesOfWhole(double times) {
  for (const Part &own : stackedIn(whole.getKey())) {
    std::optional<double> ofValue = ratios.of(part.getValue(), own.vector);
    if (!ofValue || !isLeaf(own.vector))
      continue;
    first = own.first, count = widthOf(own.vector);
    factor = times * *ofValue / own.factor;
    bool isAll = otherFeatures.empty() && count == widthOf(whole.getKey());
    if (isRepresentable(factor) && startsAlike(isAll, factor))
      return true;
  }
  return false;
}

/// Moves the whole, and what it is computed from, to where the part is.
void Merge::hoistWhole() {
  SmallVector<Operation *> moved = {whole};
  for (size_t next = 0; next < moved.size(); ++next)
    for (Value operand : moved[next]->getOperands())
      if (Operation *op = operand.getDefiningOp(); op && part->isBeforeInBlock(op))
        if (!llvm::is_contained(moved, op))
          moved.push_back(op);
  llvm::sort(moved, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : moved)
    if (part->isBeforeInBlock(op))
      op->moveBefore(part);
}

Value Merge::viewOfWhole(OpBuilder &builder) const {
  Location loc = StateOp(part).getLoc();
  Value view = StateOp(whole).getResult();
  if (count != widthOf(StateOp(whole).getKey()))
    view = StateRowsOp::create(builder, loc, view, first, count);
  if (isTransposed)
    view = TransposeStateOp::create(builder, loc, view);
  return factor == 1 ? view : ScaleStateOp::create(builder, loc, view, APFloat(factor)).getResult();
}

/// The state of what the whole has not; null where it has all.
Value Merge::rest(OpBuilder &builder) const {
  StateOp own = part;
  if (!otherValue && otherFeatures.empty())
    return {};
  SmallVector<Value> features;
  for (const Part &other : otherFeatures)
    features.push_back(other.factor == 1 ? other.vector
                                         : ScaleOp::create(builder, own.getLoc(), other.vector,
                                                           APFloat(other.factor))
                                               .getResult());
  auto rest = cast<StateOp>(builder.clone(*own));
  if (otherValue)
    rest.getValueMutable().assign(otherValue);
  else
    rest.getKeyMutable().assign(
        features.size() == 1 ? features[0]
                             : ConcatOp::create(builder, own.getLoc(), features).getResult());
  if (!otherValue)
    rest->moveBefore(own);
  rest.getResult().setType(StateType::get(own.getContext(), widthOf(rest.getKey()),
                                          widthOf(rest.getValue()), /*normalizer=*/false));
  return rest;
}

void Merge::apply() {
  hoistWhole();
  OpBuilder builder(part);
  Value view = viewOfWhole(builder), other = rest(builder);
  if (other && otherValue)
    view = JoinStatesOp::create(builder, part.getLoc(), ValueRange{view, other});
  else if (other)
    view = StackStatesOp::create(builder, part.getLoc(), ValueRange{view, other});
  // Features that a loop over the view's rows forms are those of the whole's keys.
  if (view != whole.getResult() || part.getKey() != whole.getKey())
    scoreWithoutFeatures(part);
  part.replaceAllUsesWith(view);
  part.erase();
}

/// Whether ops take the rows of all readers, as columns as well as rows, and no result does.
static bool areReadByOps(StateOp state) {
  return llvm::all_of(readersOf(state), [](AttendOp attend) {
    return llvm::none_of(attend.getOutput().getUsers(), llvm::IsaPred<ReturnOp>);
  });
}

namespace {
struct MergeStatesPass : polyattn::impl::MergeStatesBase<MergeStatesPass> {
  using Match = llvm::function_ref<bool(Merge &, StateOp part)>;

  static void merge(AttentionOp attention, Match match) {
    Ratios ratios;
    auto states = [&] { return llvm::to_vector(attention.getBody().getOps<StateOp>()); };
    for (StateOp part : states()) {
      if (!isForBlocks(part))
        continue;
      for (StateOp whole : states()) {
        Merge merge(part, whole, ratios);
        if (whole == part || !canBeViewed(whole) || !part.hasRecurrenceOf(whole) ||
            !isFormedWith(whole, part) || !haveScores(part) || !match(merge, part))
          continue;
        merge.apply();
        break;
      }
    }
  }

  void runOnOperation() override {
    for (auto attention : getOperation().getOps<AttentionOp>()) {
      // States in pools are as their callers see them.
      if (attention.hasStatesInPlace())
        continue;
      merge(attention, [](Merge &merge, StateOp) { return merge.matchRows(); });
      // A product with a transposed state gives rows transposed, as ops want them.
      merge(attention, [](Merge &merge, StateOp part) {
        return areReadByOps(part) && merge.matchTransposed();
      });
      merge(attention, [](Merge &merge, StateOp) { return merge.matchTransposed(); });
    }
  }
};
} // namespace
