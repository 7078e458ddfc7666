//===- KernelFacts.cpp - the attends and results of a kernel op -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Schedule/KernelFacts.h"
#include "dialects/PolyAttn/Arguments.h"
#include "dialects/PolyAttn/Dependencies.h"
#include "dialects/PolyAttn/FeatureParts.h"
#include "dialects/PolyAttn/Sides.h"
#include "dialects/PolyAttn/StateTerms.h"
#include "polyattn/Schedule/FeaturePlan.h"

using namespace mlir;
using namespace polyattn;

OperandRange polyattn::returnedBy(AttentionOp attention) {
  return cast<ReturnOp>(attention.getBody().front().getTerminator()).getResults();
}

bool polyattn::hasScoresAlone(AttendOp attend, const Schedule &schedule) {
  return schedule.form == ScheduleForm::Quadratic && !attend.getFinalState() &&
         !attend.getStateEvery();
}

int64_t polyattn::blockOf(ArrayRef<AttendOp> attends) {
  int64_t length = attends.empty() ? Schedule().block : INT64_MAX;
  for (AttendOp attend : attends) {
    length = std::min(length, scheduleOf(attend).block);
    if (attend.getLocalQuery() && !attend.getSliding())
      length = std::min(length, int64_t(*attend.getBlock()));
  }
  return length;
}

/// The positions of a kernel's blocks. The rows of a position lie together for all heads: a sum
/// over heads reads few positions at a time, each as one stream of memory.
static int64_t blockOfRegion(Region &region, ArrayRef<AttendOp> attends) {
  constexpr int64_t kPositionsOfSums = 16;
  return region.getOps<SumHeadsOp>().empty() ? blockOf(attends) : kPositionsOfSums;
}

KernelFacts::KernelFacts(KernelOp kernel, Region &region)
    : attention(kernel->getParentOfType<AttentionOp>()), kernel(kernel),
      attends(region.getOps<AttendOp>()), blockLength(blockOfRegion(region, attends)) {
  if (!attends.empty())
    static_cast<AttendKind &>(*this) = AttendKind::of(attends[0]);
  for (AttendOp attend : attends) {
    schedules.push_back(scheduleOf(attend));
    if (attend.getLocalQuery() && !attend.getSliding())
      run = int64_t(*attend.getBlock());
    for (StateUpdateInterface state :
         attend.getState() ? statesIn(attend.getState()) : SmallVector<StateUpdateInterface>())
      if (!llvm::is_contained(states, state))
        states.push_back(state);
  }
  auto results = kernel.getResultsOf(region);
  for (auto [i, returned] : llvm::enumerate(returnedBy(attention)))
    if (llvm::is_contained(results, returned))
      outputs.push_back({unsigned(i), yieldedValue(returned)});
  for (Value result : results) {
    sumsWeights |= bool(definingOp<WeightGradientOp>(result));
    savesValues |= llvm::any_of(result.getUsers(), llvm::IsaPred<DecayGradientOp, AddGradientsOp>);
    hasRows |= !isa<RankedTensorType>(result.getType());
  }
  hasRows |= !llvm::all_of(attends, givesStatesAlone);
}

bool KernelFacts::hasStatePerQuery() const {
  return llvm::any_of(attends,
                      [](AttendOp attend) { return attend.getGateHeads() == GateHeads::Q; });
}

SmallVector<int64_t> KernelFacts::shortBlocks() const {
  if (kernel.hasBeside() || readsStates || isRowsAlone())
    return {};
  SmallVector<int64_t> lengths(schedules[0].shortBlocks.begin(), schedules[0].shortBlocks.end());
  for (const Schedule &schedule : schedules)
    llvm::erase_if(
        lengths, [&](int64_t length) { return !llvm::is_contained(schedule.shortBlocks, length); });
  return lengths;
}

int64_t KernelFacts::quadraticBelow() const {
  int64_t below = 0;
  for (const Schedule &schedule : schedules)
    if (schedule.form == ScheduleForm::Both)
      below = below ? std::min(below, schedule.quadraticBelow) : schedule.quadraticBelow;
  return below;
}

Schedule KernelFacts::chunks() const {
  for (const Schedule &schedule : schedules)
    if (schedule.segment)
      return schedule;
  return {};
}

//===----------------------------------------------------------------------===//
// Cuts
//===----------------------------------------------------------------------===//

/// Whether one program of an entry has to have a whole head: a launch finds one number of parts,
/// which would have to fit all kernels, and it knows of no batch or packed sequence that is shorter
/// than the others. Segments follow from the threads, which bits of gradients must not. Rows that
/// heads share are in parts as it is.
static bool needsWholeHeads(const KernelFacts &facts) {
  AttentionOp attention = facts.attention;
  auto kernels = attention.getBody().getOps<KernelOp>();
  return llvm::hasNItemsOrMore(kernels, 2) || facts.kernel.hasBeside() || facts.sumsWeights ||
         facts.savesValues || facts.readsStates || facts.ofKeys || facts.isRowsAlone() ||
         attention.hasStatesInPlace() || attention.getLengths() || attention.getPacked();
}

/// Whether calls may be long enough for a state: launches cut no others.
static bool mayHaveState(const KernelFacts &facts) {
  constexpr int64_t kMostPositions = int64_t(1) << 31;
  return facts.quadraticBelow() <= kMostPositions &&
         llvm::none_of(facts.schedules, [](const Schedule &schedule) {
           return schedule.form == ScheduleForm::Quadratic;
         });
}

/// States are whole where they are kept, or seen by way of views.
static bool needsWholeStates(const KernelFacts &facts) {
  return llvm::any_of(facts.attends, [](AttendOp attend) {
    bool readsView = attend.getState() &&
                     !attend.getState().getDefiningOp<StateUpdateInterface>() &&
                     !pairsOf(attend.getState());
    // A launch that goes on behind another one would have to see keys of that.
    return attend.getStateEvery() || attend.getSliding() || readsView;
  });
}

int64_t KernelFacts::mostSplits() const {
  // A long call is cut into launches that follow each other forwards.
  if (needsWholeHeads(*this) || needsWholeStates(*this) || segment() || !mayHaveState(*this) ||
      mask != Mask::Causal)
    return 1;
  int64_t most = CutAttr::kMostPrograms;
  for (auto [attend, schedule] : llvm::zip(attends, schedules))
    most = std::min(most, AttentionShape::of(attend, schedule).features / schedule.featureBlock);
  return std::max<int64_t>(most, 1);
}

bool KernelFacts::canCutPositions() const {
  return !needsWholeHeads(*this) && !segment() && mask != Mask::Full && mayHaveState(*this) &&
         llvm::all_of(states, [](StateUpdateInterface state) {
           return state.getSums().getType().getWidth() > int64_t(state.getLastApart());
         });
}

int64_t KernelFacts::mostInCluster() const {
  if (int64_t parts = featurePartsOf(attention); parts > 1)
    return parts;
  // States after blocks are those of all features.
  bool hasStates =
      llvm::any_of(attends, [](AttendOp attend) { return attend.getStateEvery().has_value(); });
  if (hasStates || kernel.hasBeside() || isRowsAlone() || sumsWeights || savesValues)
    return 1;
  int64_t most = CutAttr::kLargestCluster;
  for (auto [attend, schedule] : llvm::zip(attends, schedules)) {
    if (schedule.form != ScheduleForm::State)
      return 1;
    int64_t features = AttendOp(attend).getKey().getType().getWidth();
    while (most > 1 && features % (schedule.featureBlock * most))
      most /= 2;
  }
  return most;
}

bool KernelFacts::canCutBlocks() const {
  AttentionOp entry = attention;
  // Blocks of packed sequences and of pools begin elsewhere in each batch.
  if (entry.hasStatesInPlace() || entry.getLengths() || entry.getPacked())
    return false;
  if (!hasRows || readsStates || savesValues || kernel.hasBeside())
    return false;
  // Blocks begin with each local block.
  if (run % block())
    return false;
  return llvm::all_of(llvm::zip(attends, schedules), [](auto pair) {
    return hasScoresAlone(std::get<0>(pair), std::get<1>(pair));
  });
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Whether a vector is the same program at every position, over what is read there.
static bool knowsNoPosition(Value vector) {
  return !walkDependencies(vector, [](Value value) {
    if (value.getDefiningOp<RopeOp>())
      return WalkResult::interrupt();
    auto read = value.getDefiningOp<ReadOp>();
    if (!read)
      return WalkResult::advance();
    bool isTable = isa<FeatureType>(read.getType()) &&
                   cast<RankedTensorType>(read.getTensor().getType()).getRank() == 3;
    return isTable ? WalkResult::interrupt() : WalkResult::skip();
  });
}

/// Whether the rows of an attend come from a window alone, without a state.
static bool hasWindowAlone(AttendOp attend) { return attend.getWindow().has_value(); }

bool KernelFacts::hasWindows() const { return llvm::any_of(attends, hasWindowAlone); }

bool KernelFacts::readsStatesFirst() const {
  return llvm::any_of(attends, [](AttendOp attend) {
    if (hasWindowAlone(attend) || attend.getSliding())
      return false;
    bool isListed = attend.getKey().getType().getWidth() <= kMaxMonomials;
    return attend.getLocalQuery() || !isListed || !planFeatures(attend.getKey()).isDirect();
  });
}

/// Whether some states are those of a query head, which has a program, and others are shared, so
/// that several programs would update them where they live.
static bool hasStatesOfBothHeads(const KernelFacts &facts) {
  return facts.hasStatePerQuery() && llvm::any_of(facts.attends, [](AttendOp attend) {
           return attend.getGateHeads() != GateHeads::Q && !hasWindowAlone(attend);
         });
}

/// The pools of an entry; there are rings or local blocks.
static SmallVector<KeepOp> poolsOf(const KernelFacts &facts) {
  return llvm::to_vector(AttentionOp(facts.attention).getBody().getOps<KeepOp>());
}

bool KernelFacts::canStep(bool sameHeads) const {
  // Packed sequences have no rows that lie at one place of every batch.
  AttentionOp entry = attention;
  if (!entry.hasStatesInPlace() || entry.getPacked() || ofKeys || isRowsAlone() || segment())
    return false;
  // A state that is another result, too, is stored twice.
  auto isPlaced = [&](Value state) {
    auto places = llvm::to_vector(llvm::make_filter_range(
        outputs, [&](const Output &output) { return output.value == state; }));
    return places.size() == 1 && entry.getArgumentOfResult(places.front().number);
  };
  // Elements of a row lie together; a column may have no dimension for them.
  auto isTensorOfRows = [](Value initial) {
    return initial && cast<RankedTensorType>(initial.getType()).getRank() == 4;
  };
  if (!sameHeads && hasStatesOfBothHeads(*this))
    return false;
  // Pools are those of all attends: of their local blocks, or rings.
  SmallVector<KeepOp> pools = poolsOf(*this);
  bool hasRings = !pools.empty() && pools[0].isRing(), hasBlocks = !pools.empty() && !hasRings;
  return llvm::all_of(attends, [&](AttendOp attend) {
    if (attend.getMask() != Mask::Causal)
      return false;
    if (hasWindowAlone(attend))
      return hasRings;
    bool hasOwnBlock = attend.getLocalQuery() && !attend.getSliding();
    return hasOwnBlock == hasBlocks && attend.getFinalState() &&
           isTensorOfRows(attend.getGivenState().state) &&
           llvm::all_of(attend.getFinalStates(), isPlaced);
  });
}

/// Programs of query heads with states of their own share rows in pools, and so do those of heads
/// that share a sequence. One of them may write these rows only when the others have read them.
static bool shareRows(const KernelFacts &facts) {
  return llvm::any_of(poolsOf(facts), [&](KeepOp keep) {
    return facts.hasStatePerQuery() || hasSharedHeads(keep.getTensor().getType());
  });
}

/// A token reads what the one before it has left in pools. Heads of a window alone have programs
/// that know nothing of each other.
bool KernelFacts::canStepOneByOne() const {
  return poolsOf(*this).empty() || (!shareRows(*this) && !states.empty());
}

bool KernelFacts::canStepFew(int64_t few) const {
  return few > 1 && few < block() && hasRows && !shareRows(*this);
}

/// Whether what batches have of the weights is worth a kernel in which they share these.
static bool readsWeights(const KernelFacts &facts) {
  auto reads = [](Value vector) {
    return walkDependencies(vector, [](Value value) {
      bool isMatrix = value.getDefiningOp<ReadOp>() && isa<WeightType>(value.getType());
      return isMatrix ? WalkResult::interrupt() : WalkResult::advance();
    });
  };
  return llvm::any_of(facts.attends, [&](AttendOp attend) {
    return !hasWindowAlone(attend) &&
           llvm::any_of(ArrayRef<Value>{attend.getQuery(), attend.getKey(), attend.getValue()},
                        reads);
  });
}

bool KernelFacts::sharesVectors() const {
  auto knowNoPosition = [](AttendOp attend) {
    return hasWindowAlone(attend) ||
           llvm::all_of(ArrayRef<Value>{attend.getQuery(), attend.getKey(), attend.getValue()},
                        knowsNoPosition);
  };
  // Keys that leave a window are those of other tokens.
  bool slides = llvm::any_of(attends, [](AttendOp attend) { return attend.getSliding(); });
  return readsWeights(*this) && !readsStatesFirst() && !slides &&
         llvm::all_of(attends, knowNoPosition);
}
