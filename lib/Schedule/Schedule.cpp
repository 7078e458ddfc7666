//===- Schedule.cpp - how one attention is computed -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Schedule/Schedule.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "dialects/PolyAttn/FeatureParts.h"
#include "polyattn/Schedule/ContractedState.h"
#include "polyattn/Schedule/Cost.h"
#include "polyattn/Schedule/Invariant.h"
#include "polyattn/Target/GPUDescription.h"

using namespace mlir;
using namespace polyattn;

bool polyattn::isTakenInDifferences(AttendOp attend) {
  return attend.getProducts() || (attend.getFactors() && attend.getNormalizer().hasDenominator());
}

std::optional<ProductPrecision> polyattn::askedPrecision(Block &body) {
  bool isAny = false, isAll = true;
  WalkResult exact = body.walk([&](AttendOp attend) {
    bool rounds = attend.getPrecision() == ProductPrecision::BF16;
    isAny |= rounds;
    isAll &= rounds;
    bool isExact = isTakenInDifferences(attend) || attend.getPrecision() == ProductPrecision::F32;
    return isExact ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (exact.wasInterrupted())
    return ProductPrecision::F32;
  return isAny && isAll ? std::optional(ProductPrecision::BF16) : std::nullopt;
}

AttentionShape AttentionShape::of(AttendOp attend) {
  const Structure &structure = cast<FeatureType>(attend.getQuery().getType()).getStructure();
  AttentionShape shape;
  shape.features = structure.width();
  shape.valueWidth = attend.getLagSlope() ? 1 : attend.getValue().getType().getWidth();
  if (std::optional<ContractedState> state = ContractedState::of(attend)) {
    shape.contractedFeatures = state->features();
    shape.contractedWidth = state->width();
  }
  shape.scoreWidth = structure.scoreCost();
  shape.hasScoreForm = structure.hasScoreForm();
  shape.localAlone = hasLocalPairsAlone(attend);
  shape.hasFeatures = readsFeatures(attend);
  shape.needsState = attend.hasInitialState() || attend.getFinalState() || attend.getStateEvery();
  shape.isOrdered = attend.isOrdered();
  shape.decaysFeatures = attend.hasDecayOfFeatures();
  if (Value localQuery = attend.getLocalQuery()) {
    shape.localBlock = *attend.getBlock();
    shape.slides = attend.getSliding();
    shape.localScoreWidth = cast<FeatureType>(localQuery.getType()).getStructure().scoreCost();
  }
  auto entry = attend->getParentOfType<AttentionOp>();
  Block &body = entry ? entry.getBody().front() : *attend->getBlock();
  auto isStoredInBF16 = [](ReadOp read) {
    auto tensor = cast<RankedTensorType>(read.getTensor().getType());
    return tensor.getRank() != 4 || tensor.getElementType().isBF16();
  };
  std::optional<ProductPrecision> asked = askedPrecision(body);
  shape.isBF16 = asked ? *asked == ProductPrecision::BF16
                       : llvm::all_of(body.getOps<ReadOp>(), isStoredInBF16);
  shape.givesGradients = entry && entry.getGradientOf();
  shape.queryLeaves = programMultiplyAdds(attend.getQuery());
  shape.keyLeaves = programMultiplyAdds(attend.getKey());
  shape.errors = RowErrors::of(structure);
  return shape;
}

AttentionShape AttentionShape::contracted() const {
  AttentionShape shape = *this;
  shape.features = contractedFeatures;
  shape.isContracted = true;
  return shape;
}

AttentionShape AttentionShape::of(AttendOp attend, const Schedule &schedule) {
  AttentionShape shape = of(attend);
  return schedule.contracted ? shape.contracted() : shape;
}

/// What a block costs by itself: its loops, transpositions and sums over rows.
static constexpr double kBlockMultiplyAdds = 25000;

ScheduleCosts ScheduleCosts::of(const AttentionShape &shape, int64_t block) {
  double values = shape.valueWidth, features = shape.features;
  // Under an ordered mask half of the pairs count; without one the state has them all.
  double pairs = !shape.isOrdered ? 0 : (shape.localBlock ? shape.localBlock : block) / 2.0;
  if (shape.slides) // and a tile of pairs on the window's edge
    pairs = shape.localBlock + block / 2.0;
  double local = shape.localBlock ? shape.localScoreWidth : shape.scoreWidth;
  ScheduleCosts costs;
  costs.scorePair = shape.scoreWidth + values;
  costs.featurePair = features + values;
  costs.state = 2 * features * shape.stateWidth();
  costs.diagonalByScores = pairs * (local + values);
  costs.diagonalByFeatures = pairs * costs.featurePair;
  costs.quadraticPerPosition = costs.scorePair / (shape.isOrdered ? 2 : 1);
  // Measured with blocks of 32 and 64: a block takes the state through the caches, loads and
  // stores it, as long as 2.5 multiply-adds a number.
  costs.block = (2.5 * costs.state + kBlockMultiplyAdds) / block;
  return costs;
}

namespace {
/// What a machine takes for multiply-adds, in the time of those with a state.
struct FormRates {
  double pairs, leaves; // of the quadratic form
  double leavesBesideState;
  double block; // what a block takes by itself with a state

  static FormRates of(bool tensorCores) {
    // By the emulator's predicted clocks of powers and sketches in bf16. Vectors are formed element
    // by element between products, and these wait for them.
    if (tensorCores)
      return {1.1, 3.1, 3.1, 0};
    // Measured with five families at 64 to 8,192 positions: 0.81 and 0.88 of the peak.
    return {1.08, 1.08, 1, kBlockMultiplyAdds};
  }
};
} // namespace

/// Pairs (i, j), j <= i, of `count` things.
static double triangle(double count) { return count * (count + 1) / 2; }

FormTimes FormTimes::of(const AttentionShape &shape, const Schedule &schedule, int64_t positions,
                        bool tensorCores) {
  FormRates rates = FormRates::of(tensorCores);
  double length = schedule.block, run = shape.runOf(schedule.block);
  double blocks = std::ceil(positions / length), runs = std::ceil(positions / run);
  double product = double(shape.features) * shape.stateWidth();
  ScheduleCosts costs = ScheduleCosts::of(shape, schedule.block);
  bool byScores = schedule.diagonal == ScheduleDiagonal::Scores;
  double pairs = byScores ? costs.diagonalByScores : costs.diagonalByFeatures;
  FormTimes times;
  // The first run reads no state, the last one updates none.
  times.state =
      2 * (runs - 1) * run * product +
      blocks * length * (pairs + rates.leavesBesideState * (shape.queryLeaves + shape.keyLeaves)) +
      blocks * rates.block;
  // Keys are formed again for each block of queries. Pairs of a local kernel's run have other keys,
  // and take the same in both forms.
  double tiles = triangle(blocks), near = 0;
  double diagonal = (triangle(length) - length) * blocks; // what these tiles have above it
  if (shape.localBlock) {
    double perRun = std::ceil(run / length), whole = std::floor(blocks / perRun);
    if (shape.slides)
      tiles -= std::min(tiles, blocks * (shape.localBlock / length + 0.5));
    else
      tiles -= whole * triangle(perRun) + triangle(blocks - whole * perRun);
    near = blocks * length * pairs;
    diagonal = 0;
  }
  double needed = length * length * tiles - diagonal;
  times.quadratic =
      rates.pairs * (needed * costs.scorePair + near) +
      rates.leaves * (positions * shape.queryLeaves + length * tiles * shape.keyLeaves);
  return times;
}

PositionCosts PositionCosts::of(AttendOp attend, const Schedule &schedule) {
  AttentionShape shape = AttentionShape::of(attend, schedule);
  ScheduleCosts costs = ScheduleCosts::of(shape, schedule.block);
  bool byFeatures = schedule.diagonal == ScheduleDiagonal::Features && !shape.localBlock;
  auto multiplyAdds = [](Value vector) { return vector ? programFlops(vector) / 2 : 0; };
  double prefix = multiplyAdds(attend.getKey()) + multiplyAdds(attend.getValue()) + costs.state / 2;
  double others = multiplyAdds(attend.getQuery()) + multiplyAdds(attend.getLocalQuery()) +
                  multiplyAdds(attend.getLocalKey()) + costs.state / 2 +
                  (byFeatures ? costs.diagonalByFeatures : costs.diagonalByScores);
  return {prefix, prefix + others};
}

Schedule Schedule::of(ScheduleAttr attribute) {
  Schedule schedule{attribute.getForm(), attribute.getDiagonal(), attribute.getBlock(),
                    attribute.getFeatureBlock(), attribute.getQuadraticBelow()};
  if (DenseI64ArrayAttr lengths = attribute.getShortBlocks())
    llvm::append_range(schedule.shortBlocks, lengths.asArrayRef());
  schedule.contracted = attribute.getContracted();
  schedule.segment = attribute.getSegment();
  schedule.states = attribute.getStates();
  return schedule;
}

DenseI64ArrayAttr Schedule::shortBlocksAttribute(MLIRContext *context) const {
  return shortBlocks.empty() ? DenseI64ArrayAttr() : DenseI64ArrayAttr::get(context, shortBlocks);
}

ScheduleAttr Schedule::toAttribute(MLIRContext *context,
                                   function_ref<InFlightDiagnostic()> emitError) const {
  return ScheduleAttr::getChecked(emitError, context, form, diagonal, block, featureBlock,
                                  quadraticBelow, shortBlocksAttribute(context), contracted,
                                  segment, states);
}

ScheduleAttr Schedule::toAttribute(MLIRContext *context) const {
  return toAttribute(context, [&] { return mlir::emitError(UnknownLoc::get(context)); });
}

/// So few features that one block may have them all, and that scores are cheaper than they are.
static constexpr int64_t kFewFeatures = 160;

/// The number of rows in a block of features: such that a panel of the state, 64 columns wide,
/// takes half of L1, with little left over. A second pass over the sums is dearer than a panel
/// that is somewhat too large.
static int64_t featureBlockFor(int64_t features, int64_t l1Bytes) {
  int64_t limit = std::max<int64_t>(l1Bytes / 2 / (64 * sizeof(float)), 32);
  if (features <= limit * 5 / 2)
    return features;
  // Whole strips of 8 rows; without a remainder, whose code would be the same once more, where
  // a length near the limit allows it.
  for (int64_t size = limit / 8 * 8; size >= limit * 3 / 4; size -= 8)
    if (features % size == 0)
      return size;
  int64_t blocks = (features + limit - 1) / limit;
  int64_t size = (features + blocks - 1) / blocks;
  return (size + 7) / 8 * 8;
}

/// Whether the features of a position are products of a few values, and the state, with a copy for
/// products in 16 bits, more than two multiprocessors hold: it then comes from far away for each
/// block. Features that are projected would take the place of blocks that are longer for it.
static bool hasFarState(const AttentionShape &shape, const ScheduleMachine &machine) {
  return machine.tensorCores && shape.hasScoreForm && !shape.localBlock &&
         shape.features * shape.valueWidth * GPUDescription::bytesPerStateNumber >
             2 * machine.l1Bytes;
}

namespace {
/// What the form `chunkwise` takes on tensor cores, in the time of multiply-adds of pairs. Modelled
/// for an H200 with squares of 64 numbers in bf16, and with their gradients, whose products have
/// factors in two numbers.
struct ChunkwiseTimes {
  double numbers = 0; // of the states
  double pair = 0;    // multiply-adds
  /// A product with a state waits for what it forms its features of.
  double state = kState;

  static constexpr double kState = 1.14, kStateOfGradients = 3.2;
  /// A number of a state between segments is stored, added up and read.
  static constexpr double kBetweenSegments = 450;

  /// The segments for which states between them and pairs inside take the same: a power of two
  /// times a block.
  int64_t segment(int64_t block) const {
    constexpr int64_t most = 8192;
    double best = std::sqrt(2 * kBetweenSegments * numbers / pair), length = block;
    while (length < most && length * std::sqrt(2) < best)
      length *= 2;
    return length;
  }
  double quadratic(double positions) const { return positions / 2 * pair; }
  double perPosition(double positions, double segment) const {
    double read = 1 - segment / positions;
    return read * numbers * (2 * state + kBetweenSegments / segment) + quadratic(segment);
  }
  /// From how many positions on segments are faster than all pairs.
  int64_t segmentsFrom(int64_t segment) const {
    constexpr int64_t most = 256;
    for (int64_t count = 2; count < most; ++count)
      if (perPosition(count * segment, segment) < quadratic(count * segment))
        return count * segment;
    return most * segment;
  }
};
} // namespace

static int64_t quadraticBelow(const AttentionShape &shape, const Schedule &schedule,
                              const ScheduleMachine &machine);

/// Whether a state takes long to pass from block to block, and pairs cost less than it does.
/// Modelled for an H200 in bf16, B = 4, T = 8192, H = 16, in ms, with a state that passes and in
/// independent blocks: with values of 64 numbers 136 features take 0.28 and 0.30, 153 take 0.48 and
/// 0.35, 816 take 2.28 and 0.98. With values of 128 numbers 171 take 0.73 and 0.78, 210 take 1.08
/// and 0.89. With values of 32 numbers 171 take 0.38 and 0.44, 210 take 0.55 and 0.54.
static bool passesSlowly(const AttentionShape &shape) {
  return shape.hasScoreForm && shape.features > (shape.valueWidth == 64 ? 144 : 192);
}

/// Where the form with a state has one program for each head, features that are formed again may
/// take some times as long as products with the state.
static constexpr double kTimesOfFewPrograms = 8;

/// The positions of a block of queries in the form `chunkwise`, or half of them.
static constexpr int64_t kChunkBlock = 64;

/// The positions of a segment under the full mask, as much work as a program should have.
static constexpr int64_t kSegmentOfFullMask = 512;

StringRef polyattn::noChunks(AttendOp attend) {
  auto entry = attend->getParentOfType<AttentionOp>();
  if (!entry)
    return "the form `chunkwise` is that of attends in entries";
  if (entry.getPacked() || entry.getLengths() || entry.hasStatesInPlace())
    return "the form `chunkwise` is for sequences of one length, and not for states in arguments: "
           "leave the schedule out";
  bool hasStates = attend.hasInitialState() || attend.getFinalState();
  if (attend.getStateEvery() || attend.getBlockStates() || (attend.getOfKeys() && hasStates))
    return "the form `chunkwise` has no states after blocks, and no sums of states over heads: "
           "leave the schedule out";
  if (attend.hasDecayOfFeatures())
    return "the form `chunkwise` has pairs of a segment by scores, which a decay of each feature "
           "has "
           "not: leave the schedule out";
  if (featurePartsOf(entry) > 1)
    return "the form `chunkwise` has no clusters whose programs share features: leave the schedule "
           "out";
  if (isInvariant(entry->getParentOfType<ModuleOp>()))
    return "bits of the form `chunkwise` depend on where a call begins in its sequence, which "
           "those of an invariant kernel must not: leave the schedule out";
  return "";
}

/// Whether an entry has sums of products of rows or of states, or states after blocks, which
/// attends beside them are computed with.
static bool hasSavedValuesOrStatesInRows(AttentionOp entry) {
  return llvm::any_of(entry.getBody().front(), [](Operation &op) {
    auto attend = dyn_cast<AttendOp>(op);
    return isa<DecayGradientOp, AddGradientsOp>(op) ||
           (attend && (attend.getStateEvery() || attend.getBlockStates()));
  });
}

/// Whether half of a multiprocessor's memory holds the sums of weights' gradients, to which each
/// block adds. Larger sums lie in the L2 cache, and the few programs of the form with a state then
/// read less of them.
static bool keepsWeightSums(AttentionOp entry, const ScheduleMachine &machine) {
  int64_t numbers = 0;
  for (auto gradient : entry.getBody().getOps<WeightGradientOp>())
    numbers += ShapedType::getNumElements(gradient.getType().getShape());
  return numbers * int64_t(sizeof(float)) <= machine.l1Bytes / 2;
}

int64_t polyattn::carriedFeatures(int64_t valueWidth) {
  constexpr int64_t numbers =
      4 * GPUDescription::warpSize * GPUDescription::carriedNumbersPerThread;
  return numbers / valueWidth;
}

/// The features of a block of a state in the form `chunkwise`, a multiple of 64, in a kernel whose
/// products are all in bf16 or not.
static int64_t chunkFeatures(const AttentionShape &shape, bool isBF16) {
  // With more blocks, loading and forming keys for each of them takes longer than their sums.
  constexpr int64_t mostBlocks = 8;
  int64_t features = carriedFeatures(shape.valueWidth);
  bool isCostly = shape.givesGradients || shape.features > mostBlocks * features ||
                  shape.keyLeaves > shape.features * shape.valueWidth;
  // Eight warps with the sums of twice as many features load and form keys half as often.
  if (isBF16 && isCostly)
    features *= 2;
  // Two programs of a gradient have a multiprocessor's memory, of which blocks of states take most.
  // One or two blocks are not worth more of them.
  if (shape.givesGradients && shape.features > 2 * features)
    features /= 2;
  return std::clamp<int64_t>(features / 64 * 64, 64, kMostChunkFeatures);
}

std::optional<std::vector<Schedule>> polyattn::chooseChunkwise(ArrayRef<AttendOp> attends,
                                                               const ScheduleMachine &machine) {
  // Each state has two stages and up to five workspaces, of which a launch has so many.
  constexpr int64_t mostAttends = 6;
  int64_t numStates = llvm::count_if(attends, readsFeatures);
  if (!machine.tensorCores || !numStates || numStates > mostAttends)
    return std::nullopt;
  ChunkwiseTimes times;
  bool isSlow = false, isOrdered = true, isBF16 = true, givesGradients = false, needsState = false,
       slides = false, hasPairs = false;
  int64_t localBlock = 0;
  SmallVector<AttentionShape> shapes;
  for (AttendOp attend : attends) {
    AttentionShape &shape = shapes.emplace_back(AttentionShape::of(attend));
    bool hasScores = shape.hasScoreForm || shape.features <= kFewFeatures || !shape.isOrdered;
    // A segment has whole local blocks.
    bool fits = shape.fixedBlock() == 0 || (llvm::isPowerOf2_64(shape.localBlock) &&
                                            shape.localBlock <= ScheduleAttr::kLongestSegment);
    if (!noChunks(attend).empty() || !fits)
      return std::nullopt;
    localBlock = std::max(localBlock, shape.fixedBlock());
    slides |= shape.slides;
    isOrdered &= shape.isOrdered;
    isBF16 &= shape.isBF16;
    givesGradients |= shape.givesGradients;
    hasPairs |= !shape.hasFeatures && !shape.localAlone;
    if (!shape.hasFeatures)
      continue;
    if (!hasScores || shape.features > kMaxScheduledFeatures || shape.wantsScores())
      return std::nullopt;
    times.numbers += double(shape.features) * shape.valueWidth;
    // Each block of queries forms the keys again that it sees.
    times.pair += shape.scoreWidth + shape.valueWidth + double(shape.keyLeaves) / kChunkBlock;
    isSlow |= passesSlowly(shape);
    needsState |= shape.needsState;
  }
  // In the form with a state these have one program for each head, as have all pairs beside one.
  if (givesGradients)
    times.state = ChunkwiseTimes::kStateOfGradients;
  bool hasFewPrograms = givesGradients || !isOrdered || hasPairs || slides;
  auto entry = AttendOp(attends.front())->getParentOfType<AttentionOp>();
  if ((!isSlow && !hasFewPrograms) || hasSavedValuesOrStatesInRows(entry) ||
      !keepsWeightSums(entry, machine))
    return std::nullopt;
  std::vector<Schedule> schedules;
  double again = 0;
  for (const AttentionShape &shape : shapes) {
    Schedule &schedule = schedules.emplace_back();
    // A thread keeps the scores of a block of 64, on their way to the product with values.
    schedule.block = isBF16 && !hasPairs ? 2 * kChunkBlock : kChunkBlock;
    if (!shape.hasFeatures) {
      schedule.form = ScheduleForm::Quadratic;
      continue;
    }
    schedule.form = ScheduleForm::Chunkwise;
    schedule.featureBlock = chunkFeatures(shape, isBF16);
    schedule.segment = isOrdered ? times.segment(schedule.block) : kSegmentOfFullMask;
    schedule.segment = std::max(schedule.segment, localBlock);
    if (isOrdered && !needsState)
      schedule.quadraticBelow = times.segmentsFrom(schedule.segment);
    if (isBF16)
      schedule.states = BFloat16Type::get(attends.front()->getContext());
    // Keys are formed again for each block of features, and for each block of queries of a segment.
    again += shape.keyLeaves * double(shape.features) / schedule.featureBlock;
    if (isOrdered)
      again += shape.keyLeaves * schedule.segment / 2. / schedule.block;
  }
  if (!isOrdered) {
    int64_t below = std::numeric_limits<int64_t>::max();
    for (auto [shape, schedule] : llvm::zip(shapes, schedules))
      if (shape.hasFeatures)
        below = std::min(below, quadraticBelow(shape, schedule, machine));
    for (auto [shape, schedule] : llvm::zip(shapes, schedules))
      if (shape.hasFeatures)
        schedule.quadraticBelow = below;
  }
  if (again > times.numbers * (hasFewPrograms ? kTimesOfFewPrograms : 1))
    return std::nullopt;
  return schedules;
}

/// The feature block for tensor cores: the state gets what two blocks of features, of queries and
/// of keys, leave of shared memory. Wide blocks have a better ratio of products to what is read for
/// them.
static int64_t featureBlockOfFragments(const AttentionShape &shape,
                                       const ScheduleMachine &machine) {
  // What four warps cannot carry would take eight, which read each factor of a product more often
  // than blocks that are shorter cost: by predicted clocks these take four fifths.
  constexpr int64_t carried =
      4 * GPUDescription::warpSize * GPUDescription::carriedNumbersPerThread;
  bool isCarried = shape.features * shape.valueWidth <= carried;
  if (shape.features <= 128 || (shape.features <= kFewFeatures && isCarried))
    return shape.features;
  if (shape.isBF16 && hasFarState(shape, machine))
    return 256;
  return shape.isBF16 ? 128 : 64;
}

int64_t polyattn::blockOfSlidingWindow(int64_t positions) {
  return std::clamp<int64_t>(llvm::PowerOf2Ceil(positions), 16, 64);
}

/// The length of blocks that cut a local kernel's block without a remainder, if there is one.
static int64_t blockFor(const AttentionShape &shape) {
  int64_t localBlock = shape.localBlock;
  if (shape.slides)
    return blockOfSlidingWindow(localBlock);
  if (localBlock <= 64)
    return localBlock ? localBlock : 64;
  for (int64_t block = 64; block >= 16; --block)
    if (localBlock % block == 0)
      return block;
  return 64;
}

/// Short blocks have fewer pairs to compute, long ones handle the state less often.
static int64_t cheaperBlock(const AttentionShape &shape, const Schedule &schedule) {
  auto cost = [&](int64_t block) {
    ScheduleCosts costs = ScheduleCosts::of(shape, block);
    bool scores = schedule.diagonal == ScheduleDiagonal::Scores;
    return costs.block + (scores ? costs.diagonalByScores : costs.diagonalByFeatures);
  };
  return cost(schedule.block / 2) < cost(schedule.block) ? schedule.block / 2 : schedule.block;
}

StringRef polyattn::noShortBlock(const AttentionShape &shape, int64_t length) {
  if (!shape.isOrdered)
    return "short blocks are for causal and anticausal attends";
  if (shape.decaysFeatures)
    return "short blocks have pairs by scores, which a decay of each feature has not";
  if (shape.needsState)
    return "short blocks have no state, but one is given or asked for";
  // Positions of two local blocks would see each other in one.
  if (shape.fixedBlock() && length > shape.fixedBlock())
    return "a short block is no longer than the local kernel's block";
  return "";
}

/// Shorter blocks are not worth code of their own.
static constexpr int64_t kLeastShortBlock = 16;

/// The length of calls that are one block: neither loops over blocks nor a state. One is enough, as
/// what a short call has no positions for is not computed. Gradients have none: sequences to train
/// on are seldom that short, and it takes time to compile.
static SmallVector<int64_t, 2> shortBlocksFor(const AttentionShape &shape,
                                              const ScheduleMachine &machine) {
  int64_t length = machine.shortBlock;
  if (!length || shape.givesGradients)
    return {};
  if (shape.fixedBlock() && shape.fixedBlock() < length)
    length = shape.fixedBlock() >= kLeastShortBlock ? shape.fixedBlock() : 0;
  if (!length || !noShortBlock(shape, length).empty())
    return {};
  return {length};
}

/// How many times as long as the state scores may take where the state would be inaccurate: what
/// takes longer is called impossible.
static constexpr int64_t kTimesForAccuracy = 16;

/// Two forms are twice the code to compile: they are worth it where all pairs are this many times
/// as fast as the state at some length.
static constexpr double kLeastGain = 1.3;

/// The number of positions from which on the state is faster under a causal mask; 0 where the
/// quadratic form is not worth its code at any length.
static int64_t stateFrom(const AttentionShape &shape, const Schedule &schedule, bool tensorCores) {
  constexpr int64_t mostRuns = 1 << 20;
  // On tensor cores, where a call of few blocks waits for other things, two forms must be worth
  // their code at many lengths.
  constexpr int64_t leastRuns = 8;
  int64_t run = shape.runOf(schedule.block);
  double gain = 1;
  for (int64_t runs = 2; runs < mostRuns; ++runs) {
    FormTimes times = FormTimes::of(shape, schedule, runs * run, tensorCores);
    gain = std::max(gain, times.state / times.quadratic);
    if (times.quadratic <= times.state)
      continue;
    bool isWorthIt = gain >= kLeastGain && (!tensorCores || runs > leastRuns);
    return isWorthIt || shape.wantsScores() ? (runs - 1) * run + 1 : 0;
  }
  return mostRuns * run;
}

/// The sequence length below which the quadratic form is chosen; 0 where it is not worth its
/// code.
static int64_t quadraticBelow(const AttentionShape &shape, const Schedule &schedule,
                              const ScheduleMachine &machine) {
  // Where scores are more accurate, sequences may be this many times longer than where both forms
  // cost the same before the state is chosen.
  int64_t times = shape.wantsScores() ? kTimesForAccuracy : 1;
  if (shape.isOrdered)
    return times * stateFrom(shape, schedule, machine.tensorCores);
  // Where every query sees every key the state is worth its cost from the T on where all pairs cost
  // as much as the state.
  ScheduleCosts costs = ScheduleCosts::of(shape, schedule.block);
  bool scoresCheaper = shape.hasScoreForm && costs.scorePair < costs.featurePair;
  int64_t below = schedule.block + int64_t(costs.state / costs.quadraticPerPosition * 2 / 3);
  if (shape.wantsScores())
    return times * below;
  if (!scoresCheaper)
    return 0;
  // A call of a few positions pays for one block in both forms.
  double gain = costs.state / (schedule.block * costs.quadraticPerPosition);
  bool isWorthIt = machine.tensorCores ? below > 8 * schedule.block : gain >= kLeastGain;
  return isWorthIt ? below : 0;
}

/// Whether the contracted state has so many fewer numbers that contracting it costs less. On tensor
/// cores, where sums lie over many threads, it would go through memory.
static bool wantsContraction(const AttentionShape &shape, const ScheduleMachine &machine) {
  return !machine.tensorCores && shape.contractedFeatures && shape.hasScoreForm &&
         shape.contractedFeatures * shape.contractedWidth * 4 <=
             shape.features * shape.valueWidth * 3;
}

/// The positions of a block, of which each pair takes products of as many numbers as there are
/// features. With 64 of these blocks of 4, 8, 16 and 32 took 9.0, 6.8, 9.9 and 16.1 ms on a
/// processor; of 16, 32 and 64 6.9, 10.4 and 15.4 ms on an H200, modelled.
static constexpr int64_t kBlockOfFeatureDecays = 8, kFragmentBlockOfFeatureDecays = 16;

/// Pairs go by features, and so all forms but that with a state are none.
static Schedule scheduleOfFeatureDecays(const AttentionShape &shape,
                                        const ScheduleMachine &machine) {
  Schedule schedule;
  schedule.diagonal = ScheduleDiagonal::Features;
  schedule.block = machine.tensorCores ? kFragmentBlockOfFeatureDecays : kBlockOfFeatureDecays;
  schedule.featureBlock = machine.tensorCores ? featureBlockOfFragments(shape, machine)
                                              : featureBlockFor(shape.features, machine.l1Bytes);
  return schedule;
}

Schedule polyattn::chooseSchedule(const AttentionShape &given, const ScheduleMachine &machine) {
  if (given.decaysFeatures)
    return scheduleOfFeatureDecays(given, machine);
  Schedule schedule;
  schedule.contracted = wantsContraction(given, machine);
  AttentionShape shape = schedule.contracted ? given.contracted() : given;
  bool isFar = shape.isBF16 && hasFarState(shape, machine);
  schedule.block = isFar ? 128 : blockFor(shape);
  bool stateFits = shape.features <= kMaxScheduledFeatures || shape.needsState;
  if (!shape.hasFeatures || !stateFits)
    schedule.form = ScheduleForm::Quadratic;
  schedule.featureBlock = !stateFits            ? 128
                          : machine.tensorCores ? featureBlockOfFragments(shape, machine)
                                                : featureBlockFor(shape.features, machine.l1Bytes);
  ScheduleCosts costs = ScheduleCosts::of(shape, schedule.block);
  bool scoresCheaper = shape.hasScoreForm && costs.scorePair < costs.featurePair;
  bool fewFeatures = shape.features <= kFewFeatures;
  schedule.contracted &= schedule.form != ScheduleForm::Quadratic;
  bool scores = shape.localBlock || scoresCheaper || fewFeatures || shape.wantsScores() ||
                schedule.contracted || schedule.form == ScheduleForm::Quadratic;
  schedule.diagonal = scores ? ScheduleDiagonal::Scores : ScheduleDiagonal::Features;
  bool mayBeQuadratic = schedule.form == ScheduleForm::State && !shape.needsState;
  if (int64_t below = mayBeQuadratic ? quadraticBelow(shape, schedule, machine) : 0) {
    schedule.form = ScheduleForm::Both;
    schedule.quadraticBelow = below;
  }
  if (!machine.tensorCores && schedule.form == ScheduleForm::State && !shape.localBlock)
    schedule.block = cheaperBlock(shape, schedule);
  schedule.shortBlocks = shortBlocksFor(shape, machine);
  return schedule;
}

Schedule polyattn::scheduleOf(AttendOp attend, const ScheduleMachine &machine) {
  if (ScheduleAttr attribute = attend.getScheduleAttr())
    return Schedule::of(attribute);
  return chooseSchedule(AttentionShape::of(attend), machine);
}
