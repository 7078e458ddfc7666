//===- BackwardEntry.cpp - the entry that computes gradients ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Directions.h"
#include "ScoreSlopes.h"
#include "dialects/PolyAttn/Arguments.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "dialects/PolyAttn/GradientBuilder.h"
#include "dialects/PolyAttn/Leaves.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "polyattn/Transforms/NoGradient.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace polyattn;

namespace {

/// The arguments and the results of the new entry.
class Signature {
public:
  explicit Signature(AttentionOp entry) : entry(entry), body(entry.getBody().front()) {}

  Value addArgument(StringRef name, Type type) {
    argumentNames.push_back(name.str());
    return body.addArgument(type, entry.getLoc());
  }
  /// A new argument [B, T, H, d], read before anything else.
  Value addVector(StringRef name, RankedTensorType type) {
    Value tensor = addArgument(name, type);
    OpBuilder builder = OpBuilder::atBlockBegin(&body);
    auto vector = FeatureType::vector(entry.getContext(), type.getShape().back());
    return ReadOp::create(builder, entry.getLoc(), vector, tensor);
  }
  /// Says that the forward call has left an argument.
  void markSaved(StringRef name) { saved.push_back(name.str()); }
  StringRef nameOf(BlockArgument argument) {
    return cast<StringAttr>(entry.getArgNames()[argument.getArgNumber()]).getValue();
  }
  /// Says that an argument or a result is the gradient of another one.
  void markGradient(StringRef gradient, StringRef of) {
    Builder builder(entry.getContext());
    gradientOf.push_back(builder.getNamedAttr(gradient, builder.getStringAttr(of)));
  }
  void addResult(StringRef name, Value value, Type type) {
    resultNames.push_back(name.str());
    results.push_back(value);
    resultTypes.push_back(TypeAttr::get(type));
  }
  bool hasResults() const { return !results.empty(); }
  /// Writes them to the entry, in place of the results that it has.
  void write();

private:
  AttentionOp entry;
  Block &body;
  SmallVector<std::string> argumentNames, saved; // of new arguments
  SmallVector<NamedAttribute> gradientOf;
  SmallVector<std::string> resultNames;
  SmallVector<Value> results;
  SmallVector<Attribute> resultTypes;
};

class BackwardEntry {
public:
  BackwardEntry(AttentionOp attention, MutableArrayRef<Kept> kept, ArrayRef<unsigned> wanted)
      : entry(cloneAs(attention, "__backward")), body(entry.getBody().front()),
        builder(entry.getContext()), signature(entry), keptOfAttends(kept), wanted(wanted),
        gradients(builder, [this](Value value) { return active.contains(value); }) {}

  FailureOr<AttentionOp> build();

private:
  void mergeReads();
  void bindKept();
  void bindResultGradients();
  void markActive();
  LogicalResult visitAttends(ArrayRef<Operation *> program);
  LogicalResult visit(AttendOp attend);
  bool wantsDenominator(AttendOp attend);
  /// Two vectors and a number whose scores say what a pair's value is multiplied by in a row.
  struct Weighting {
    Value query, key;
    FloatAttr scoreScale;
  };
  Weighting weightingOf(AttendOp attend);
  Value foldNormalizer(AttendOp attend, const Kept &kept, Value dO, Value &dZ);
  LogicalResult collectResults();
  Value sumOf(ArrayRef<Value> terms);
  void collectResult(BlockArgument argument, StringRef name);
  void removeForward();
  /// The gradient of a final state, all results that it is taken together; null where it is none.
  Value finalGradientOf(Value state);
  bool wantsLags(Value vector);
  /// Adds the gradients of tables of lags.
  LogicalResult addLags(AttendOp attend, const Weighting &pairs, Value dN, Value dZ);
  void addLags(AttendOp attend, const Weighting &pairs, bool isLocal, Value rows, Value columns);
  /// Notes the gradient of a decay or a state.
  LogicalResult addDecay(AttendOp attend, AttendBackwardOp op);
  LogicalResult addState(AttendOp attend, Value state, Value gradient);
  LogicalResult refuseSum(AttendOp attend, StringRef kind, Value argument, StringRef difference);

  AttentionOp entry;
  Block &body;
  OpBuilder builder;
  Signature signature;
  MutableArrayRef<Kept> keptOfAttends;
  ArrayRef<unsigned> wanted;
  GradientBuilder gradients;
  llvm::DenseSet<Value> active;                    // what the wanted arguments reach
  llvm::DenseMap<Operation *, size_t> attendIndex; // in the order of the body
  llvm::DenseMap<Operation *, Value> outputs;      // by which an attend's output is known
  llvm::DenseMap<Operation *, Value> factors, blockStates;
  llvm::DenseMap<Value, SmallVector<Value>> finalGradients;  // of final states, in their results
  llvm::DenseMap<Value, SmallVector<Value>> tensorGradients; // of decays and initial states
};

} // namespace

void Signature::write() {
  Builder builder(entry.getContext());
  cast<ReturnOp>(body.getTerminator()).getResultsMutable().assign(results);
  entry.setArgNamesAttr(withStrings(entry.getArgNames(), argumentNames));
  entry.setResultNamesAttr(withStrings(builder.getArrayAttr({}), resultNames));
  entry.setResultTypesAttr(builder.getArrayAttr(resultTypes));
  entry.setGradientOfAttr(builder.getDictionaryAttr(gradientOf));
  entry.setSavedAttr(withStrings(builder.getArrayAttr({}), saved));
}

/// One read for each tensor, so that its gradient is that of one value.
void BackwardEntry::mergeReads() {
  llvm::DenseMap<std::pair<Value, Type>, ReadOp> reads;
  for (auto read : llvm::make_early_inc_range(body.getOps<ReadOp>())) {
    auto [it, isNew] = reads.try_emplace({read.getTensor(), read.getType()}, read);
    if (isNew)
      continue;
    read.replaceAllUsesWith(it->second.getResult());
    read.erase();
  }
}

/// Takes what the forward kept in place of what an attend computes.
void BackwardEntry::bindKept() {
  for (auto [index, attend] : llvm::enumerate(llvm::to_vector(body.getOps<AttendOp>()))) {
    Kept &kept = keptOfAttends[index];
    attendIndex[attend] = index;
    outputs[attend] = attend.getOutput();
    if (!kept.output.empty()) {
      outputs[attend] = signature.addVector(kept.output, kept.outputType);
      attend.getOutput().replaceAllUsesWith(outputs[attend]);
      signature.markSaved(kept.output);
    }
    if (!kept.factors.empty()) {
      factors[attend] = signature.addVector(
          kept.factors, rowsType(entry.getContext(), attend.getNormalizer().countFactors()));
      signature.markSaved(kept.factors);
    }
    // Nothing else of an attend asks for them than the gradient of its query.
    if (!active.contains(attend.getQuery()))
      kept.states.clear();
    if (!kept.states.empty()) {
      blockStates[attend] = signature.addArgument(
          kept.states, rowsType(entry.getContext(), kept.statesLayout->width()));
      signature.markSaved(kept.states);
    }
  }
}

/// The gradients of the results, which the caller has.
void BackwardEntry::bindResultGradients() {
  auto ret = cast<ReturnOp>(body.getTerminator());
  for (auto [value, name, type] :
       llvm::zip(ret.getResults(), entry.getResultNames(), entry.getResultTypes())) {
    StringRef of = cast<StringAttr>(name).getValue();
    std::string gradient = ("d_" + of).str();
    auto tensor = cast<RankedTensorType>(cast<TypeAttr>(type).getValue());
    if (!active.contains(value))
      continue;
    signature.markGradient(gradient, of);
    if (isa<FeatureType>(value.getType()))
      gradients.addTo(value, signature.addVector(gradient, tensor));
    else
      finalGradients[value].push_back(signature.addArgument(gradient, tensor));
  }
}

void BackwardEntry::markActive() {
  for (unsigned index : wanted)
    active.insert(body.getArgument(index));
  for (Operation &op : body) {
    if (llvm::none_of(op.getOperands(), [&](Value operand) { return active.contains(operand); }))
      continue;
    active.insert(op.result_begin(), op.result_end());
    if (Value output = outputs.lookup(&op))
      active.insert(output);
  }
}

/// Whether anything that is wanted reaches the denominator. Values and initial states do not, so
/// that their gradients need no output of the forward call.
bool BackwardEntry::wantsDenominator(AttendOp attend) {
  return attend.getNormalizer().hasDenominator() &&
         llvm::any_of(ValueRange{attend.getQuery(), attend.getKey(), attend.getLocalQuery(),
                                 attend.getLocalKey(), attend.getDecay(),
                                 attend.getInitialNormalizer()},
                      [&](Value value) { return active.contains(value); });
}

/// A pair's weight in a softmax is exp(score_scale score - l), l the logarithm that the forward
/// call has kept of the row's denominator: the exponential of a score that has -l as a part, beside
/// a 1 of the key.
BackwardEntry::Weighting BackwardEntry::weightingOf(AttendOp attend) {
  if (!attend.getNormalizer().isSoftmax())
    return {attend.getQuery(), attend.getKey(), attend.getScoreScaleAttr()};
  Value one = gradients.create<ConstantOp>(APFloat(1.0), /*width=*/1);
  double scale = attend.scoreScale();
  // The factor stands before both parts: the leaves stay those of the attend.
  Value ofRow = gradients.scale(factors[attend], scale == 0 ? -1 : -1 / scale);
  Value query = ofRow, key = one;
  if (scale != 0) {
    query = gradients.create<ConcatOp>(ValueRange{attend.getQuery(), ofRow});
    key = gradients.create<ConcatOp>(ValueRange{attend.getKey(), one});
    if (scale != 1)
      query = gradients.scale(query, scale);
  }
  return {gradients.create<ExpScoreOp>(query), gradients.create<ExpScoreOp>(key), FloatAttr()};
}

/// dN = dO f0 and dZ = -<dO, o> f1: no branch of the normalizer is taken again, as another order of
/// sums might fall on its other side.
Value BackwardEntry::foldNormalizer(AttendOp attend, const Kept &kept, Value dO, Value &dZ) {
  if (kept.factors.empty())
    return dO;
  if (attend.getNormalizer().isSoftmax()) {
    if (wantsDenominator(attend))
      dZ = gradients.scale(gradients.dot(dO, outputs[attend]), -1);
    return dO;
  }
  Value ofN = gradients.slice(factors[attend], 0, 1), ofZ = gradients.slice(factors[attend], 1, 1);
  if (wantsDenominator(attend))
    dZ = gradients.scale(gradients.mul({gradients.dot(dO, outputs[attend]), ofZ}), -1);
  return gradients.mul({dO, ofN});
}

Value BackwardEntry::finalGradientOf(Value state) {
  SmallVector<Value> terms = finalGradients.lookup(state);
  if (terms.size() < 2)
    return terms.empty() ? Value() : terms.front();
  return gradients.create<AddStatesOp>(state.getType(), terms);
}

LogicalResult BackwardEntry::addDecay(AttendOp attend, AttendBackwardOp op) {
  Value decay = attend.getDecay();
  if (!decay || !active.contains(decay))
    return success();
  SmallVector<Value> &terms = tensorGradients[decay];
  terms.push_back(op.getDecayGradient());
  auto first = terms.front().getDefiningOp<AttendBackwardOp>();
  if (op.getGateHeads() == first.getGateHeads() && op.getGrouping() == first.getGrouping())
    return success();
  return refuseSum(attend, "decay", decay, "another `grouping` or other `gate_heads`");
}

LogicalResult BackwardEntry::addState(AttendOp attend, Value state, Value gradient) {
  if (!state || !gradient || !active.contains(state))
    return success();
  SmallVector<Value> &terms = tensorGradients[state];
  terms.push_back(gradient);
  auto first = terms.front().getDefiningOp<AttendBackwardOp>();
  if ((attend.getGateHeads() == GateHeads::Q) == (first.getGateHeads() == GateHeads::Q))
    return success();
  return refuseSum(attend, "state", state, "other `gate_heads`");
}

LogicalResult BackwardEntry::refuseSum(AttendOp attend, StringRef kind, Value argument,
                                       StringRef difference) {
  StringRef name = signature.nameOf(cast<BlockArgument>(argument));
  return attend.emitOpError("takes the ")
         << kind << " '" << name << "' with " << difference
         << " than another attend, and sums of such gradients are not supported: give each attend "
         << "an argument of its own and add their gradients, or do not differentiate by '" << name
         << "'";
}

/// Whether the gradient of a table is wanted of which a vector's score is made.
bool BackwardEntry::wantsLags(Value vector) {
  return vector && findInScore(vector, [&](Operation *op) {
           auto relative = dyn_cast<RelativeOp>(op);
           return relative && active.contains(relative.getTable());
         });
}

/// A number of a table is the slope of what its pairs add up: the gradient of their scores,
/// weighted by the slope of the score in `relative`. An attend adds these up by lag.
LogicalResult BackwardEntry::addLags(AttendOp attend, const Weighting &pairs, Value dN, Value dZ) {
  Weighting local{attend.getLocalQuery(), attend.getLocalKey(), attend.getScoreScaleAttr()};
  SmallVector<const Weighting *> wanted;
  for (const Weighting *some : {&pairs, &std::as_const(local)})
    if (wantsLags(some->query))
      wanted.push_back(some);
  for (const Weighting *some : wanted)
    if (!hasScoreSlopes(some->query))
      return attend.emitOpError("has no gradient for a table of distances: the slope of |score| is "
                                "the sign of the score, which is no score itself");
  if (wanted.empty())
    return success();
  Value rows = dN, columns = attend.getValue();
  int64_t width = attend.getValue().getType().getWidth();
  if (attend.getValue().getType().getStructure().kind() != Structure::Kind::Vector)
    columns = gradients.slice(columns, 0, width); // a plain vector of all features
  if (dZ) {
    rows = gradients.create<ConcatOp>(ValueRange{dN, dZ});
    columns = gradients.create<ConcatOp>(
        ValueRange{columns, gradients.create<ConstantOp>(APFloat(1.0), /*width=*/1)});
  }
  for (const Weighting *some : wanted)
    addLags(attend, *some, /*isLocal=*/some == &local, rows, columns);
  return success();
}

/// The same of the pairs that have one kind of scores, as sums of <rows, columns>.
void BackwardEntry::addLags(AttendOp attend, const Weighting &pairs, bool isLocal, Value rows,
                            Value columns) {
  auto times = [&](Value slope, Value vector, double factor) -> Value {
    if (slope)
      vector = gradients.create<TensorOp>(ValueRange{slope, vector});
    return factor == 1 ? vector : gradients.scale(vector, factor);
  };
  for (const ScoreSlope &slope : scoreSlopes(builder, attend.getLoc(), pairs.query, pairs.key)) {
    auto relative = slope.query.getDefiningOp<RelativeOp>();
    if (!relative || !active.contains(relative.getTable()))
      continue;
    auto value =
        gradients.create<RelativeSlopeOp>(relative.getTable(), relative.getBeyondAttr(),
                                          relative.getLogAttr(), relative.getTwoSidedAttr());
    Value query = times(slope.slopeQuery, rows, slope.factor);
    Value key = times(slope.slopeKey, columns, 1), localQuery, localKey;
    bool isWindow = isLocal && attend.getSliding(); // which leaves the other pairs out
    if (attend.getLocalQuery() && !isWindow) {      // pairs of the other kind have the score 0
      localQuery = localKey = gradients.create<ConstantOp>(APFloat(0.0), /*width=*/1);
      if (isLocal) {
        std::swap(query, localQuery);
        std::swap(key, localKey);
      }
    }
    auto byLag = gradients.create<AttendOp>(
        query, key, value, localQuery, localKey, attend.getDecay(),
        /*initial_state=*/Value(), /*initial_normalizer=*/Value(), /*block_states=*/Value(),
        /*products=*/Value(), /*state=*/Value(), attend.getMaskAttr(),
        NormalizerAttr::getNone(entry.getContext()), pairs.scoreScale, attend.getDecayFactorsAttr(),
        attend.getGateHeadsAttr(), attend.getGroupingAttr(),
        localQuery ? attend.getBlockAttr() : IntegerAttr(),
        /*signed_scores=*/UnitAttr(), /*initial_transposed=*/UnitAttr(),
        /*final_state=*/UnitAttr(), /*factors=*/UnitAttr(), /*schedule=*/ScheduleAttr(),
        /*of_keys=*/UnitAttr(), /*state_every=*/IntegerAttr(),
        isWindow ? attend.getBlockAttr() : attend.getWindowAttr(),
        localQuery ? attend.getSlidingAttr() : UnitAttr(), attend.getPrecisionAttr());
    gradients.addToWeight(relative.getTable(), byLag.getOutput());
  }
}

LogicalResult BackwardEntry::visit(AttendOp attend) {
  if (!active.contains(attend.getOutput()))
    return success();
  gradients.setLocation(attend.getLoc());
  Value dO = gradients.gradientOf(outputs[attend]), ofState, ofNormalizer;
  if (attend.getFinalState()) {
    ofState = finalGradientOf(attend.getFinalStates()[0]);
    if (attend.getFinalStates().size() > 1)
      ofNormalizer = finalGradientOf(attend.getFinalStates()[1]);
  }
  if (!dO && !ofState && !ofNormalizer)
    return success();
  if (!dO)
    dO = gradients.create<ConstantOp>(APFloat(0.0), attend.getOutput().getType().getWidth());
  Value dZ, dN = foldNormalizer(attend, keptOfAttends[attendIndex[attend]], dO, dZ);
  Weighting pairs = weightingOf(attend);
  SmallVector<Value> queryLeaves = leavesOf(pairs.query), keyLeaves = leavesOf(pairs.key),
                     localQueryLeaves, localKeyLeaves;
  if (attend.getLocalQuery()) {
    localQueryLeaves = leavesOf(attend.getLocalQuery());
    localKeyLeaves = leavesOf(attend.getLocalKey());
  }
  auto op = gradients.create<AttendBackwardOp>(
      pairs.query, queryLeaves, pairs.key, keyLeaves, attend.getValue(), attend.getLocalQuery(),
      localQueryLeaves, attend.getLocalKey(), localKeyLeaves, dN, dZ, attend.getDecay(),
      attend.getInitialState(), dZ ? attend.getInitialNormalizer() : Value(), ofState,
      dZ ? ofNormalizer : Value(), blockStates.lookup(attend), attend.getMaskAttr(),
      pairs.scoreScale, attend.getDecayFactorsAttr(), attend.getGateHeadsAttr(),
      attend.getGroupingAttr(), attend.getBlockAttr(), attend.getScheduleAttr(),
      blockStates.contains(attend)
          ? builder.getI64IntegerAttr(keptOfAttends[attendIndex[attend]].statesLayout->length)
          : IntegerAttr(),
      attend.getWindowAttr(), attend.getSlidingAttr(), attend.getPrecisionAttr());
  auto addLeaves = [&](ArrayRef<Value> leaves, ResultRange results) {
    for (auto [leaf, gradient] : llvm::zip(leaves, results))
      gradients.addTo(leaf, gradient);
  };
  if (failed(addLags(attend, pairs, dN, dZ)))
    return failure();
  addLeaves(queryLeaves, op.getQueryLeafGradients());
  addLeaves(keyLeaves, op.getKeyLeafGradients());
  addLeaves(localQueryLeaves, op.getLocalQueryLeafGradients());
  addLeaves(localKeyLeaves, op.getLocalKeyLeafGradients());
  gradients.addTo(attend.getValue(), op.getValueGradient());
  return success(
      succeeded(addDecay(attend, op)) &&
      succeeded(addState(attend, attend.getInitialState(), op.getInitialStateGradient())) &&
      succeeded(
          addState(attend, attend.getInitialNormalizer(), op.getInitialNormalizerGradient())));
}

/// The program from its last op to its first.
LogicalResult BackwardEntry::visitAttends(ArrayRef<Operation *> program) {
  for (Operation *op : llvm::reverse(program)) {
    if (auto attend = dyn_cast<AttendOp>(op)) {
      if (failed(visit(attend)))
        return failure();
    } else if (isa<DifferentiableOpInterface>(op)) {
      gradients.visit(op);
    }
  }
  return failure(gradients.hasRefused());
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// The gradient of a decay or a state from those that attends give; null where none does.
Value BackwardEntry::sumOf(ArrayRef<Value> terms) {
  if (terms.size() < 2)
    return terms.empty() ? Value() : terms.front();
  return gradients.create<AddGradientsOp>(terms.front().getType(), terms);
}

/// The gradient of an argument: of a sequence as it is stored, of all else in f32.
void BackwardEntry::collectResult(BlockArgument argument, StringRef name) {
  auto type = cast<RankedTensorType>(argument.getType());
  Value gradient = sumOf(tensorGradients.lookup(argument));
  for (Operation *user : argument.getUsers()) {
    auto read = dyn_cast<ReadOp>(user);
    if (!read)
      continue;
    gradients.setLocation(read.getLoc());
    if (isa<FeatureType>(read.getType())) {
      gradient = gradients.gradientOf(read.getResult());
      if (gradient && hasSharedHeads(type))
        gradient = gradients.create<SumHeadsOp>(gradient);
    } else {
      gradient = gradients.weightGradientOf(read.getResult());
      type = RankedTensorType::get(type.getShape(), builder.getF32Type());
    }
  }
  if (!gradient)
    return;
  std::string resultName = ("d_" + name).str();
  signature.markGradient(resultName, name);
  signature.addResult(resultName, gradient, type);
}

static constexpr llvm::StringLiteral kNoGradient = "no gradient";

InFlightDiagnostic polyattn::emitNoGradient(Operation *entry) {
  InFlightDiagnostic diagnostic =
      entry->emitOpError("has no gradient: no result depends on what it is differentiated by");
  if (Diagnostic *told = diagnostic.getUnderlyingDiagnostic())
    told->getMetadata().emplace_back(kNoGradient);
  return diagnostic;
}

bool polyattn::saysNoGradient(Diagnostic &diagnostic) {
  return llvm::any_of(diagnostic.getMetadata(), [](const DiagnosticArgument &mark) {
    return mark.getKind() == DiagnosticArgument::DiagnosticArgumentKind::String &&
           mark.getAsString() == kNoGradient;
  });
}

LogicalResult BackwardEntry::collectResults() {
  for (unsigned index : wanted) {
    BlockArgument argument = body.getArgument(index);
    collectResult(argument, signature.nameOf(argument));
  }
  if (!signature.hasResults())
    return emitNoGradient(entry);
  return success();
}

/// Leaves of the forward program what gradients are computed from.
void BackwardEntry::removeForward() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

FailureOr<AttentionOp> BackwardEntry::build() {
  mergeReads();
  SmallVector<Operation *> program;
  for (Operation &op : body.without_terminator())
    program.push_back(&op);
  builder.setInsertionPoint(body.getTerminator());
  markActive();
  bindKept();
  markActive(); // with the outputs that are kept
  bindResultGradients();
  if (failed(visitAttends(program)) || failed(collectResults())) {
    entry.erase();
    return failure();
  }
  signature.write();
  removeForward();
  return entry;
}

/// Folds what rules have built of constants, and computes equal vectors once.
static LogicalResult cleanUp(AttentionOp entry) {
  RewritePatternSet patterns(entry.getContext());
  entry->getDialect()->getCanonicalizationPatterns(patterns);
  IRRewriter rewriter(entry.getContext());
  DominanceInfo dominance(entry);
  eliminateCommonSubExpressions(rewriter, dominance, entry);
  return applyPatternsGreedily(entry.getBody(), std::move(patterns));
}

/// Erases what was saved and is read by no gradient, so that no forward call keeps it.
static void dropUnread(AttentionOp entry, MutableArrayRef<Kept> keptOfAttends) {
  Block &body = entry.getBody().front();
  auto names = llvm::to_vector(entry.getArgNames().getAsValueRange<StringAttr>());
  llvm::BitVector unread(names.size());
  auto drop = [&](std::string &name) {
    auto it = llvm::find(names, StringRef(name));
    if (name.empty() || it == names.end() || !body.getArgument(it - names.begin()).use_empty())
      return;
    unread.set(it - names.begin());
    name.clear();
  };
  for (Kept &kept : keptOfAttends)
    for (std::string *name : {&kept.output, &kept.factors, &kept.states})
      drop(*name);
  SmallVector<std::string> arguments, saved;
  for (auto [i, name] : llvm::enumerate(names))
    if (!unread.test(i))
      arguments.push_back(name.str());
  for (StringRef name : entry.getSavedAttr().getAsValueRange<StringAttr>())
    if (llvm::is_contained(arguments, name))
      saved.push_back(name.str());
  Builder builder(entry.getContext());
  entry.setArgNamesAttr(withStrings(builder.getArrayAttr({}), arguments));
  entry.setSavedAttr(withStrings(builder.getArrayAttr({}), saved));
  body.eraseArguments(unread);
}

FailureOr<AttentionOp> polyattn::buildBackward(AttentionOp attention, MutableArrayRef<Kept> kept,
                                               ArrayRef<unsigned> wanted) {
  FailureOr<AttentionOp> backward = BackwardEntry(attention, kept, wanted).build();
  if (failed(backward) || failed(cleanUp(*backward)))
    return failure();
  dropUnread(*backward, kept);
  return backward;
}
