//===- KernelInfo.cpp - a kernel op, read for its lowering ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelInfo.h"
#include "dialects/PolyAttn/Arguments.h"
#include "dialects/PolyAttn/Dependencies.h"
#include "dialects/PolyAttn/Sides.h"
#include "dialects/PolyAttn/StateTerms.h"
#include "polyattn/Entry/Signature.h"
#include "polyattn/Schedule/ContractedState.h"
#include "polyattn/Schedule/FeaturePlan.h"

using namespace mlir;
using namespace polyattn;

/// The first tensor [B, T, H, d] that a vector is read from.
static Value sequenceTensor(Value vector) {
  Value tensor;
  walkDependencies(vector, [&](Value value) {
    auto read = value.getDefiningOp<ReadOp>();
    if (!read)
      return WalkResult::advance();
    if (cast<RankedTensorType>(read.getTensor().getType()).getRank() != 4)
      return WalkResult::skip();
    tensor = read.getTensor();
    return WalkResult::interrupt();
  });
  return tensor;
}

/// Whether a value is computed from an attend, not only by way of another one.
static bool isNextTo(Value vector, AttendOp attend) {
  return walkDependencies(vector, [&](Value value) {
    auto other = value.getDefiningOp<AttendOp>();
    if (!other)
      return WalkResult::advance();
    return other == attend ? WalkResult::interrupt() : WalkResult::skip();
  });
}

/// The number of that tensor among an attention's arguments.
static std::optional<int64_t> sequenceNumber(Value vector) {
  Value tensor = sequenceTensor(vector);
  return tensor ? std::optional(cast<BlockArgument>(tensor).getArgNumber()) : std::nullopt;
}

/// Finds the tensor that gives positions and heads where there is no attend: a result, a tensor
/// that a sum is over, or one from which rows for other kernels are computed. Convolutions keep
/// positions and heads, so that any sequence serves.
LogicalResult KernelInfo::findRowsAlone() {
  std::optional<int64_t> rows;
  bool convolves = llvm::any_of(attention.getBody().getOps<KernelOp>(), convolutionIn);
  for (const Output &output : outputs)
    if (isa<FeatureType>(output.value.getType())) {
      tensors.goBy(tensors.inputs + output.number);
      return success();
    }
  for (const WeightSum &sum : sums)
    for (Value vector : sum.gradient->getOperands())
      if (!rows && isa<FeatureType>(vector.getType()))
        rows = sequenceNumber(vector);
  for (Value result : kernel.getResults())
    if (!rows && !convolves && isa<FeatureType>(result.getType()))
      rows = sequenceNumber(result);
  for (auto [i, result] : llvm::enumerate(returnedBy(attention)))
    if (!rows && convolves && isa<FeatureType>(result.getType()))
      rows = tensors.inputs + i;
  // One that nothing reads has sizes of its own.
  for (BlockArgument argument : attention.getBody().getArguments())
    if (!rows && convolves && !argument.use_empty() &&
        cast<RankedTensorType>(argument.getType()).getRank() == 4)
      rows = argument.getArgNumber();
  if (!rows)
    return attention.emitError("no tensor [B, T, H, d], read or returned, says how many positions "
                               "and heads there are");
  tensors.queryTensor = tensors.keyTensor = *rows;
  return findHeads();
}

/// The tensors that give positions and heads.
LogicalResult KernelInfo::findSequences() {
  // A query that is read from no tensor has the positions and heads of its results: others may be
  // those of keys, or of queries where these are. A kernel after this one may compute them.
  std::optional<int64_t> query = sequenceNumber(first().getQuery()),
                         key = sequenceNumber(first().getValue());
  for (auto [i, result] : llvm::enumerate(returnedBy(attention)))
    if (!query && isa<FeatureType>(result.getType()) &&
        yieldedValue(result) != first().getKeptStates() && isNextTo(result, first()))
      query = tensors.inputs + i;
  if (!key)
    key = sequenceNumber(first().getKey());
  // Where others are constants, as in the gradient of a table, local vectors say it.
  if (first().getLocalQuery() && !query)
    query = sequenceNumber(first().getLocalQuery());
  if (first().getLocalKey() && !key)
    key = sequenceNumber(first().getLocalKey());
  if (hasEqualSides() && !key)
    key = query;
  if (hasEqualSides() && !query)
    query = key;
  if (!query)
    return first().emitError("no tensor [B, T, H, d], read for the query or returned, says how "
                             "many positions and heads of queries there are");
  if (!key)
    return first().emitError("neither key nor value is read from a tensor [B, T, H, d], which "
                             "would say how many positions and heads of keys there are");
  tensors.queryTensor = *query;
  tensors.keyTensor = *key;
  return findHeads();
}

/// The tensors that count the heads: those above, or where heads share these any other sequence.
LogicalResult KernelInfo::findHeads() {
  auto counts = [&](int64_t tensor) { return !hasSharedHeads(tensors.types[tensor]); };
  SmallVector<int64_t> candidates = {tensors.queryTensor, tensors.keyTensor};
  for (BlockArgument argument : attention.getBody().getArguments())
    if (llvm::any_of(argument.getUsers(), llvm::IsaPred<ReadOp>) &&
        cast<RankedTensorType>(argument.getType()).getRank() == 4)
      candidates.push_back(argument.getArgNumber());
  for (auto [i, result] : llvm::enumerate(returnedBy(attention)))
    if (isa<FeatureType>(result.getType()))
      candidates.push_back(tensors.inputs + i);
  auto heads = llvm::find_if(candidates, counts);
  if (heads == candidates.end())
    return attention.emitError("heads share all sequences [B, T, Hkv, d], so that no tensor says "
                               "how many heads there are");
  tensors.queryHeads = counts(tensors.queryTensor) ? tensors.queryTensor : *heads;
  tensors.keyHeads = counts(tensors.keyTensor) ? tensors.keyTensor : *heads;
  return success();
}

/// Whether programs can read what an attend names: its features one after another, each from all
/// elements of a state's values, or from all features of it where that is transposed; of a
/// contraction pairs, and what stands apart from them.
static LogicalResult checkReadings(AttendOp attend, const Schedule &schedule) {
  Value pairs = pairsOf(attend.getState());
  if (bool(pairs) != schedule.contracted || (pairs && !ContractedState::of(attend)))
    return attend.emitError("the schedule contracts a state where the attend reads unfolded pairs, "
                            "and only there");
  int64_t row = 0;
  for (const StateTerm &term : termsOf(pairs ? pairs : Value(attend.getState()))) {
    StateUpdateInterface state = term.state;
    bool isWhole = term.values == state.getValue().getType().getWidth();
    bool follows = pairs ? term.row == 0 && !term.isTransposed : term.row == row && !term.column;
    if (!isWhole || !follows || !hasRecurrenceOfAttend(state, attend))
      return attend.emitError("no program reads such a view of a state: expected rows of states, "
                              "or of transposed ones, one after another");
    row += term.rows();
  }
  // The features that a loop over a state forms are those of the state's keys.
  auto own = attend.getState().getDefiningOp<StateUpdateInterface>();
  bool hasOwnFeatures = own && own.getKey() == attend.getKey();
  if (schedule.diagonal == ScheduleDiagonal::Features && !schedule.contracted &&
      !attend.getLocalQuery() && attend.isOrdered() && !hasOwnFeatures)
    return attend.emitError("a schedule whose diagonal is computed from features needs the state "
                            "of the attend's own keys, not a view: write `diagonal = scores`");
  return success();
}

/// Checks one attend beside the others.
LogicalResult KernelInfo::check(AttendOp attend, const Schedule &schedule) const {
  if (attend.getGrouping() != first().getGrouping())
    return attend.emitError("attends of one mask must have the same grouping: one program reads "
                            "the keys of one head, for all of them");
  bool needsName = schedule.form != ScheduleForm::Quadratic && !attend.getBlockStates();
  if (needsName && !attend.getState())
    return attend.emitError("states must be named first (--polyattn-name-states)");
  if (attend.getState() && failed(checkReadings(attend, schedule)))
    return failure();
  AttentionShape shape = AttentionShape::of(attend, schedule);
  if (schedule.form != ScheduleForm::Quadratic) {
    if (shape.features > kMaxMonomials)
      return attend.emitError("a state of ")
             << shape.features << " features is too large to compute with, the limit is "
             << kMaxMonomials;
  }
  if (shape.fixedBlock() && shape.fixedBlock() != run)
    return attend.emitError("local kernels of one attention must have the same block");
  if (shape.slides && run % block())
    return attend.emitError("a local window that slides has tile kernels beside local blocks of a "
                            "multiple of ")
           << block() << " positions only, got one of " << run;
  for (int64_t length : schedule.shortBlocks)
    if (StringRef reason = noShortBlock(shape, length); !reason.empty())
      return attend.emitError(reason);
  return success();
}

/// The entry's tensors, and the arguments that programs read: slots, lengths, offsets, positions.
void KernelInfo::describeTensors(const Signature &signature) {
  llvm::append_range(tensors.names, attention.getArgNames());
  llvm::append_range(tensors.names, attention.getResultNames());
  llvm::append_range(tensors.types, attention.getBody().getArgumentTypes());
  tensors.inputs = tensors.types.size();
  for (auto type : attention.getResultTypes().getAsValueRange<TypeAttr>())
    tensors.types.push_back(type);
  tensors.interleaved = !isRowsAlone() && first().getGrouping() == Grouping::Interleaved;
  tensors.sameHeads = signature.sameHeads || isRowsAlone();
  tensors.rowsOfKeys = ofKeys;
  tensors.firstPosition = signature.firstPosition;
  tensors.slots = signature.slots;
  tensors.lengths = signature.lengths;
  tensors.offsets = signature.offsets;
  for (KeepOp keep : attention.getBody().getOps<KeepOp>()) {
    tensors.hasRings = keep.isRing();
    tensors.cachedBlock = keep.isRing() ? 0 : keep.getRows();
  }
}

/// Finds the tensors that the attends share, and checks that one program can compute them.
LogicalResult KernelInfo::complete(const Signature &signature) {
  describeTensors(signature);
  if (failed(isRowsAlone() ? findRowsAlone() : findSequences()))
    return failure();
  for (auto [attend, schedule] : llvm::zip(attends, schedules))
    if (failed(check(attend, schedule)))
      return failure();
  for (AttendOp attend : attends)
    if (attend.getStateEvery() && int64_t(*attend.getStateEvery()) != block())
      return attend.emitError("states after every ")
             << int64_t(*attend.getStateEvery())
             << " positions are those after blocks of as many, but the schedules' block has "
             << block();
  return success();
}

/// Whether the kernels of the form `chunkwise` can compute these attends (ChunkwiseKernels.h).
LogicalResult KernelInfo::checkSegments() const {
  for (auto [attend, schedule] : llvm::zip(attends, schedules)) {
    AttendOp op = attend;
    auto error = [&](const Twine &message) -> LogicalResult { return op.emitError(message); };
    if (!segment())
      continue;
    const Schedule other = chunks();
    if (!hasScoresAlone(op, schedule) &&
        std::tie(schedule.segment, schedule.states, schedule.quadraticBelow) !=
            std::tie(other.segment, other.states, other.quadraticBelow))
      return error("attends of one mask must have the same segments and states between them");
    if (segment() % block() || (run && segment() % run))
      return error("a segment of " + Twine(segment()) + " positions is no multiple of " +
                   Twine(run ? run : block()) + ", the block of the entry's kernels");
    if (schedule.quadraticBelow && schedule.diagonal == ScheduleDiagonal::Features)
      return error(
          "short calls of the form `chunkwise` have no features: write `diagonal = scores`");
    bool readsViews = llvm::any_of(attends, [](AttendOp other) {
      return other.getState() && !other.getState().getDefiningOp<StateUpdateInterface>();
    });
    if (savesValues || beside || readsViews)
      return error("the form `chunkwise` has no gradients of decays or states after blocks beside "
                   "its rows, and no views of states: leave the schedule out");
    if (StringRef reason = noChunks(op); !reason.empty())
      return error(reason);
  }
  return success();
}

static bool isSumTransposed(WeightGradientOp gradient) {
  return !gradient.getInputs().empty() && VectorProgram::isRowMajor(gradient.getInputs()[0]) &&
         !VectorProgram::isRowMajor(gradient.getGradients()[0]);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

HiddenArgument StoredResult::workspaceOfRows(Builder &b) const {
  constexpr int64_t any = ShapedType::kDynamic;
  int64_t width = cast<FeatureType>(result.getType()).getWidth();
  Type type = result.getDefiningOp<KernelOp>().getRowType().value_or(b.getF32Type());
  return {name, RankedTensorType::get({any, any, any, width}, type)};
}

KernelInfo::KernelInfo(KernelOp kernel, Region &region) : KernelFacts(kernel, region) {
  for (Value result : kernel.getResultsOf(region))
    if (auto gradient = definingOp<WeightGradientOp>(result))
      sums.push_back({gradient, result, isSumTransposed(gradient)});
}

CutAttr KernelInfo::cut() const {
  CutAttr cut = kernel.getCutAttr();
  return cut ? cut : CutAttr::get(kernel.getContext(), 1, 0, 0, 1, 0, 0, 1, false, 0);
}

KernelPrograms KernelInfo::blockPrograms(Builder &b) const {
  if (!sums.empty())
    return programs();
  auto blocks = tile::ExtentAttr::get(b.getContext(), tile::ExtentBase::Dimension,
                                      tensors.queryTensor, /*dimension=*/1, /*plus=*/0, block(),
                                      /*times=*/1);
  return {blocks, /*keyHeads=*/ofKeys};
}

StepsAttr KernelInfo::steps() const {
  StepsAttr steps = kernel.getStepsAttr();
  return steps ? steps : StepsAttr::get(kernel.getContext(), 0, 1, 0, 0);
}

/// Whether the kernel can be cut, and continue from states, as its attributes say.
LogicalResult KernelInfo::checkCuts() const {
  if (Operation *convolution = convolutionIn(kernel)) {
    int64_t width = cast<FeatureType>(convolution->getOperand(0).getType()).getWidth();
    if (!cut().getChannels() || width % cut().getChannels())
      return kernel.emitError("a convolution of ")
             << width << " channels needs `cut` with `channels` that divide them "
             << "(--polyattn-cut-kernels)";
    return success();
  }
  if (cut().getSplits() > mostSplits())
    return kernel.emitError("`cut` asks for ")
           << cut().getSplits() << " splits, but the features can be cut into " << mostSplits();
  if (cut().getSubsegments() && !canCutPositions())
    return kernel.emitError("`cut` asks for segments, but the positions cannot be cut");
  if (cut().getCluster() > mostInCluster())
    return kernel.emitError("`cut` asks for a cluster of ")
           << cut().getCluster() << " programs, but " << mostInCluster()
           << " can share the features";
  if (cut().getBlocks() && !canCutBlocks())
    return kernel.emitError("`cut` asks for blocks, but the kernel has states, packed sequences, "
                            "what is computed beside its rows, or local blocks that its blocks "
                            "do not cut evenly");
  if (cut().getPrefixFeatures() && !segment())
    return kernel.emitError(
        "`cut` asks for features of a prefix, but the schedule is not chunkwise");
  if (sumsWeights != (cut().getParts() > 0))
    return kernel.emitError(sumsWeights
                                ? "has terms of gradients of weights, and `cut` no `parts` for "
                                  "their sums (--polyattn-cut-kernels)"
                                : "`cut` asks for parts, but there is no gradient of a weight");
  if (steps().getTokens() && !canStep(tensors.sameHeads))
    return kernel.emitError("`steps` asks for tokens, but no step can update these states");
  if (steps().getOneByOne() > 1 && !canStepOneByOne())
    return kernel.emitError("`steps` asks for tokens one by one, but programs of several heads "
                            "would read what one of them leaves for the next token");
  if (steps().getTokens() > steps().getOneByOne() && !canStepFew(steps().getFew()))
    return kernel.emitError("`steps` asks for several tokens, but no block of them can update "
                            "these states");
  if (steps().getFew() && (!attention.hasStatesInPlace() || steps().getFew() >= block()))
    return kernel.emitError("`steps` asks for a block of few tokens, which is for states in "
                            "arguments and shorter than the kernel's block");
  if (steps().getBatches() && !sharesVectors())
    return kernel.emitError("`steps` asks for features of many batches, but these are no products "
                            "with weights alone");
  return success();
}

namespace {
/// Names the workspaces of an entry's kernels, in the order in which these write them.
class WorkspaceNames {
public:
  explicit WorkspaceNames(std::vector<KernelInfo> &kernels) : kernels(kernels) {}

  void name() {
    size_t numSums = 0;
    for (KernelInfo &kernel : kernels) {
      kernel.firstSum = numSums;
      numSums += kernel.countSums() + (kernel.stages().size() - 1) * kernel.sums.size();
    }
    for (KernelInfo &kernel : kernels)
      for (Value result : kernel.kernel.getResults())
        pass(kernel, result);
    for (KernelInfo &kernel : kernels)
      for (AttendOp attend : kernel.attends) {
        save(kernel, attend.getRowProducts());
        for (Value state : attend.getFinalStates())
          save(kernel, state);
      }
  }

private:
  /// A vector that later kernels read.
  void pass(KernelInfo &kernel, Value result) {
    StoredResult stored{result, "rows" + std::to_string(numPassed)};
    bool isRead = false;
    for (KernelInfo &other : kernels)
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return other.kernel->isProperAncestor(user); })) {
        other.imported.push_back(stored);
        isRead = true;
      }
    if (isRead)
      kernel.exported.push_back(stored);
    numPassed += isRead;
  }

  /// A result that an op outside of kernels sums up.
  void save(KernelInfo &kernel, Value value) {
    for (Value result : kernel.kernel.getResults()) {
      if (!value || yieldedValue(result) != value ||
          llvm::none_of(result.getUsers(), llvm::IsaPred<DecayGradientOp, AddGradientsOp>))
        continue;
      bool isSum = isa<RankedTensorType>(value.getType()) &&
                   llvm::is_contained(kernel.groupAttends(), value.getDefiningOp<AttendOp>());
      (isSum ? kernel.savedSums : kernel.saved)
          .push_back({result, "saved" + std::to_string(numSaved++)});
    }
  }

  std::vector<KernelInfo> &kernels;
  size_t numPassed = 0, numSaved = 0;
};
} // namespace

FailureOr<std::vector<KernelInfo>> KernelInfo::allOf(AttentionOp attention) {
  llvm::Expected<Signature> signature = signatureOf(attention);
  if (!signature)
    return attention.emitError(llvm::toString(signature.takeError()));
  std::vector<KernelInfo> kernels;
  for (KernelOp kernel : attention.getBody().getOps<KernelOp>()) {
    KernelInfo &info = kernels.emplace_back(KernelInfo(kernel, kernel.getBody()));
    if (failed(info.complete(*signature)))
      return failure();
    if (!kernel.hasBeside())
      continue;
    KernelInfo beside(kernel, kernel.getBeside());
    if (failed(beside.complete(*signature)))
      return failure();
    if (beside.block() != info.block())
      return kernel.emitError("attends beside others have blocks of as many positions as these");
    info.beside = std::make_shared<const KernelInfo>(std::move(beside));
  }
  WorkspaceNames(kernels).name();
  if (kernels.size() > 1 && attention.hasStatesInPlace())
    return attention.emitError("states that live in arguments have no tile kernels where attends "
                               "have different masks or rows of different sides");
  for (const KernelInfo &kernel : kernels) {
    if (!kernel.sums.empty() && attention.hasStatesInPlace())
      return attention.emitError("states that live in arguments have no tile kernels beside "
                                 "gradients of weights");
    if (failed(kernel.checkSegments()) || failed(kernel.checkCuts()))
      return failure();
  }
  return kernels;
}
