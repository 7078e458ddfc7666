//===- AttendOp.cpp - syntax and verification of attend -------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/AttendRules.h"
#include "dialects/PolyAttn/AttributeSyntax.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "dialects/PolyAttn/Kernels.h"
#include "dialects/PolyAttn/Leaves.h"
#include "dialects/PolyAttn/PolyAttn.h"
#include "dialects/PolyAttn/StateTerms.h"
#include "dialects/PolyAttn/TypeSyntax.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace polyattn;

ParseResult polyattn::parseMask(OpAsmParser &parser, OperationState &result) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<Mask> mask = symbolizeMask(word);
  if (!mask)
    return parser.emitError(loc) << "expected the mask, `causal`, `anticausal` or `full`";
  result.addAttribute("mask", MaskAttr::get(parser.getContext(), *mask));
  return success();
}

/// query %q key %k value %v (local %lq, %lk)? (decay %g)? (initial %s)? (initial_normalizer %z)?
///   (block_states %b)? (products %x)? (state %s)? (`causal` | `anticausal` | `full`) `normalize`
///   `<...>` attr-dict `:` types
ParseResult AttendOp::parse(OpAsmParser &parser, OperationState &result) {
  OperandSegments segments{{}, {1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}, parser.getCurrentLocation()};
  auto &operands = segments.operands;
  auto localVectors = [&]() -> ParseResult {
    if (failed(parser.parseOptionalKeyword("local")))
      return success();
    segments.sizes[3] = segments.sizes[4] = 1;
    return failure(parser.parseOperand(operands.emplace_back()) || parser.parseComma() ||
                   parser.parseOperand(operands.emplace_back()));
  };
  auto optional = [&](StringRef keyword, size_t segment) {
    return segments.parseOptional(parser, keyword, segment);
  };
  if (parser.parseKeyword("query") || parser.parseOperand(operands.emplace_back()) ||
      parser.parseKeyword("key") || parser.parseOperand(operands.emplace_back()) ||
      parser.parseKeyword("value") || parser.parseOperand(operands.emplace_back()) ||
      localVectors() || optional("decay", 5) || optional("initial", 6) ||
      optional("initial_normalizer", 7) || optional("block_states", 8) || optional("products", 9) ||
      optional("state", 10))
    return failure();
  Attribute normalizer;
  if (parseMask(parser, result) || parser.parseKeyword("normalize") ||
      !(normalizer = NormalizerAttr::parse(parser, {})))
    return failure();
  result.addAttribute("normalizer", normalizer);
  ArrayRef<int32_t> sizes = segments.sizes;
  auto last = int64_t(operands.size()) - 1;
  auto kindOf = [&](int64_t i) {
    if (sizes[10] && i == last)
      return OperandKind::State;
    bool isProducts = sizes[9] && i == last - sizes[10];
    return i < 3 + sizes[3] + sizes[4] || isProducts ? OperandKind::Feature : OperandKind::Tensor;
  };
  if (parseEndOfSegments(parser, result, segments, getOperandSegmentSizesAttrName(result.name),
                         kindOf))
    return failure();
  return inferParsedTypes<AttendOp>(parser, result);
}

void AttendOp::print(OpAsmPrinter &printer) {
  printer << " query " << getQuery() << " key " << getKey() << " value " << getValue();
  if (getLocalQuery())
    printer << " local " << getLocalQuery() << ", " << getLocalKey();
  printOptionalOperand(printer, "decay", getDecay());
  printOptionalOperand(printer, "initial", getInitialState());
  printOptionalOperand(printer, "initial_normalizer", getInitialNormalizer());
  printOptionalOperand(printer, "block_states", getBlockStates());
  printOptionalOperand(printer, "products", getProducts());
  printOptionalOperand(printer, "state", getState());
  printer << " " << stringifyMask(getMask()) << " normalize ";
  getNormalizer().print(printer);
  printOptionalAttributes(
      printer, (*this)->getAttrs(),
      {getOperandSegmentSizesAttrName(), getMaskAttrName(), getNormalizerAttrName()});
  printer << " : ";
  printFeatureTypes(printer, *this, getOperandTypes());
}

/// The generic form may give an operand's segment any size.
static bool hasOneOfEach(ArrayRef<int32_t> segments) {
  return llvm::all_equal(segments.take_front(3)) && segments[0] == 1 &&
         llvm::all_of(segments.drop_front(3), [](int32_t size) { return size <= 1; });
}
static constexpr StringLiteral kOneOfEach =
    "expected one query, one key, one value and at most one of each other operand";

LogicalResult AttendOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                         Adaptor op, SmallVectorImpl<Type> &results) {
  if (!hasOneOfEach(op.getProperties().operandSegmentSizes))
    return emitOptionalError(loc, kOneOfEach);
  int64_t valueWidth = cast<FeatureType>(op.getValue().getType()).getWidth();
  results.push_back(FeatureType::vector(context, valueWidth));
  if (op.getFinalState()) {
    constexpr int64_t any = ShapedType::kDynamic;
    int64_t width = cast<FeatureType>(op.getKey().getType()).getWidth();
    if (width > kMaxStateWidth)
      return emitOptionalError(loc, "C9: a final state of ", width,
                               " features is too large to hold; this map has only the "
                               "quadratic form");
    Type f32 = Float32Type::get(context);
    results.push_back(RankedTensorType::get({any, any, width, valueWidth}, f32));
    if (op.getNormalizer().hasDenominator())
      results.push_back(RankedTensorType::get({any, any, width}, f32));
  }
  if (op.getFactors())
    results.push_back(FeatureType::vector(context, op.getNormalizer().countFactors()));
  if (op.getStateEvery() && !op.getBlockStates()) {
    int64_t width = cast<FeatureType>(op.getKey().getType()).getWidth();
    auto every = int64_t(*op.getStateEvery());
    if (width > kMaxStateWidth || every < 1 || every > BlockStates::kMaxLength)
      return emitOptionalError(loc, "C18: expected `state_every` of 1 to ", BlockStates::kMaxLength,
                               " positions and at most ", kMaxStateWidth, " features, got ", every,
                               " and ", width);
    BlockStates states{width, valueWidth, every, op.getNormalizer().hasDenominator()};
    results.push_back(FeatureType::vector(context, states.width()));
  }
  if (op.getProducts())
    results.push_back(FeatureType::vector(context, 1));
  return success();
}

/// [?, ?, sizes...] of f32.
bool polyattn::isStateTensor(Value value, ArrayRef<int64_t> sizes) {
  auto tensor = cast<RankedTensorType>(value.getType());
  return tensor.getElementType().isF32() && tensor.getRank() == int64_t(2 + sizes.size()) &&
         tensor.isDynamicDim(0) && tensor.isDynamicDim(1) &&
         tensor.getShape().drop_front(2) == sizes;
}

bool polyattn::isStateOrColumn(Value value, ArrayRef<int64_t> sizes) {
  return isStateTensor(value, sizes) ||
         (sizes.back() == 1 && isStateTensor(value, sizes.drop_back()));
}

static LogicalResult verifyStates(AttendOp op) {
  bool isGiven = op.getInitialState() || op.getInitialNormalizer();
  if ((isGiven || op.getFinalState()) && !op.isOrdered())
    return op.emitOpError(
        "C10: a state needs the mask causal or anticausal: it is what the keys on "
        "one side of a query say, and under the full mask a query sees all keys");
  int64_t width = cast<FeatureType>(op.getKey().getType()).getWidth();
  if (op.getInitialState() && width > AttendOp::kMaxStateWidth)
    return op.emitOpError("C9: a state of ") << width << " features is too large to hold; "
                                             << "this map has only the quadratic form";
  return verifyInitialState(op, op.getNormalizer().hasDenominator(), "C8");
}

GivenState AttendOp::getGivenState() {
  auto stateOp =
      getState() ? getState().getDefiningOp<StateUpdateInterface>() : StateUpdateInterface();
  if (stateOp)
    return {stateOp.getInitialState(), stateOp.getInitialNormalizer(),
            stateOp.getInitialTransposed()};
  return {getInitialState(), getInitialNormalizer(), getInitialTransposed()};
}

bool AttendOp::hasInitialState() {
  return getInitialState() ||
         (getState() && llvm::any_of(statesIn(getState()), [](StateUpdateInterface state) {
            return bool(state.getInitialState());
          }));
}

/// What the state that an attend reads has to be.
static LogicalResult verifyStateThatIsRead(AttendOp op) {
  if (!op.getState())
    return success();
  if (op.getInitialState() || op.getInitialNormalizer() || op.getBlockStates())
    return op.emitOpError("C19: an attend that reads a state has no initial state of its own, and "
                          "no `block_states`");
  auto type =
      StateType::get(op.getContext(), op.getKey().getType().getWidth(),
                     op.getValue().getType().getWidth(), op.getNormalizer().hasDenominator());
  if (op.getState().getType() != type)
    return op.emitOpError("C19: expected a state ") << type << ", got " << op.getState().getType();
  return success();
}

/// Given states are of an attend whose features are the value here, and whose values are the key,
/// followed by the 1 of its normalizer if the rows have elements for it.
BlockStates AttendOp::getStatesLayout() {
  auto every = int64_t(*getStateEvery());
  int64_t keyWidth = getKey().getType().getWidth(), valueWidth = getValue().getType().getWidth();
  if (!getBlockStates())
    return {keyWidth, valueWidth, every, getNormalizer().hasDenominator()};
  BlockStates bare{valueWidth, keyWidth, every, /*hasNormalizer=*/false};
  BlockStates normalized{valueWidth, keyWidth - 1, every, /*hasNormalizer=*/true};
  auto tensor = cast<RankedTensorType>(getBlockStates().getType());
  bool isBare = keyWidth == 1 || tensor.getShape().back() == bare.width();
  return isBare ? bare : normalized;
}

static LogicalResult verifyBlockStates(AttendOp op) {
  if (!op.getStateEvery())
    return op.getBlockStates()
               ? op.emitOpError("C18: `block_states` need `state_every`, the positions of a block")
               : success();
  auto every = int64_t(*op.getStateEvery());
  if (every < 1 || every > BlockStates::kMaxLength)
    return op.emitOpError("C18: `state_every` has 1 to ")
           << BlockStates::kMaxLength << " positions, got " << every;
  if (op.getMask() != Mask::Causal || op.getLocalQuery() || !op.getNormalizer().allowsState())
    return op.emitOpError("C18: states after blocks need the causal mask, no local vectors, and a "
                          "normalizer that has a state");
  auto attention = op->getParentOfType<AttentionOp>();
  if (attention && (attention.getSlots() || attention.getLengths()))
    return op.emitOpError("C18: states after blocks are for calls all of whose positions count, "
                          "without slots or lengths");
  if (attention && !attention.hasLocalBlocksOf(every))
    return op.emitOpError("C18: the local blocks of attends beside this one are multiples of "
                          "`state_every`, whose blocks they would cut");
  if (op.keepsStates()) {
    for (Operation *user : usersOf(op.getKeptStates()))
      if (!isa<ReturnOp>(user))
        return op.emitOpError("C18: states after blocks are for a call's results, but ")
               << user->getName() << " uses them";
    return success();
  }
  bool divides = op.getNormalizer().hasDenominator() || op.getNormalizer().isMean();
  bool isPlain = hasFeaturesOfLeaves(op.getKey().getType().getStructure());
  if (divides || op.getInitialState() || op.getFinalState() || !isPlain)
    return op.emitOpError("C18: `block_states` need `normalize <none>`, plain vectors as key and "
                          "no initial or final state");
  auto tensor = dyn_cast<RankedTensorType>(op.getBlockStates().getType());
  int64_t width = op.getStatesLayout().width();
  bool fits = tensor && tensor.getElementType().isF32() && tensor.getRank() == 4 &&
              tensor.getShape().back() == width &&
              llvm::all_of(tensor.getShape().drop_back(), ShapedType::isDynamic);
  if (!fits || !isa<BlockArgument>(op.getBlockStates()))
    return op.emitOpError("C18: expected `block_states` to be an argument tensor<?x?x?x")
           << width << "xf32>, got " << op.getBlockStates().getType();
  return success();
}

static LogicalResult verifyProducts(AttendOp op) {
  if (!op.getProducts())
    return success();
  int64_t width = op.getProducts().getType().getWidth();
  if (width != op.getValue().getType().getWidth())
    return op.emitOpError("C17: expected products with a vector as wide as the value, ")
           << op.getValue().getType().getWidth() << ", got " << op.getProducts().getType();
  bool divides = op.getNormalizer().hasDenominator() || op.getNormalizer().isMean();
  if (divides || !op.isOrdered())
    return op.emitOpError(
        "C17: products need the mask causal or anticausal and `normalize <none>`");
  for (Operation *user : usersOf(op.getRowProducts()))
    if (!isa<DecayGradientOp>(user))
      return op.emitOpError("C17: products are for gradients of decays, but ")
             << user->getName() << " uses them";
  return success();
}

bool AttendOp::hasDecayOfFeatures() { return isDecayOfFeatures(getDecay()); }

static LogicalResult verifyDecayOfFeatures(AttendOp op) {
  if (!op.hasDecayOfFeatures())
    return success();
  if (op.getMask() != Mask::Causal || op.getLocalQuery() || op.getOfKeys() ||
      !op.getNormalizer().allowsState())
    return op.emitOpError("C20: a decay of each feature needs the mask causal and a state, and is "
                          "not for local vectors or `of_keys`");
  if (op.getProducts() || op.getStateEvery() || op.getInitialTransposed())
    return op.emitOpError("C20: attends with a decay of each feature have no gradients yet, nor "
                          "what gradients are made of");
  if (op.getState() && !op.getState().getDefiningOp<ChannelStateOp>())
    return op.emitOpError("C20: a decay of each feature is that of a `channel_state`, which is "
                          "read as it is");
  return success();
}

RelativeSlopeOp AttendOp::getLagSlope() { return getValue().getDefiningOp<RelativeSlopeOp>(); }

/// Whether an attend is given a state, asks for one or reads one.
static bool hasAnyState(AttendOp op) {
  return op.getInitialState() || op.getFinalState() || op.getStateEvery() || op.getState();
}

static LogicalResult verifyLagSlope(AttendOp op) {
  RelativeSlopeOp slope = op.getLagSlope();
  if (!slope)
    return success();
  if (slope.getTwoSided() && op.getMask() != Mask::Full)
    return op.emitOpError("C21: a two-sided table of lags is for the mask full");
  bool divides = op.getNormalizer().hasDenominator() || op.getNormalizer().isMean();
  if (divides || hasAnyState(op) || op.getProducts() || op.getOfKeys())
    return op.emitOpError("C22: a `relative_slope` as value needs `normalize <none>`, and no "
                          "state, `products` or `of_keys`");
  for (Operation *user : usersOf(op.getOutput()))
    if (!isa<WeightGradientOp>(user))
      return op.emitOpError("C22: only the gradient of a table takes its rows by lag, but ")
             << user->getName() << " uses them";
  return success();
}

static LogicalResult verifyWindow(AttendOp op) {
  if (!op.getWindow())
    return success();
  auto window = int64_t(*op.getWindow());
  if (window < 1 || window > AttendOp::kMaxWindow)
    return op.emitOpError("C23: a window has 1 to ")
           << AttendOp::kMaxWindow << " positions, got " << window;
  if (hasAnyState(op) || op.getLocalQuery() || op.hasDecayOfFeatures())
    return op.emitOpError("C23: a window leaves out keys, which a state has: it is not for states, "
                          "local vectors or a decay of each feature");
  if (op.getNormalizer().isMean())
    return op.emitOpError("C23: a mean is over all keys of the mask, not over those of a window");
  return success();
}

static LogicalResult verifySoftmax(AttendOp op) {
  if (!op.getNormalizer().isSoftmax())
    return success();
  if (hasAnyState(op) || op.getLocalQuery() || op.hasDecay())
    return op.emitOpError(
        "C24: a softmax has exponentials of scores, which have no features: it is "
        "not for states, local vectors or decays");
  return success();
}

static LogicalResult verifySliding(AttendOp op) {
  if (!op.getSliding())
    return success();
  if (!op.getLocalQuery())
    return op.emitOpError("C25: `sliding` says which pairs have local scores, and there are no "
                          "local vectors");
  if (op.hasDecay() || op.getStateEvery() || op.getProducts())
    return op.emitOpError("C25: `sliding` is not for decays, states after blocks and `products`");
  return success();
}

LogicalResult AttendOp::verify() {
  if (!hasOneOfEach(getProperties().operandSegmentSizes))
    return emitOpError(kOneOfEach);
  if (getQuery().getType() != getKey().getType())
    return emitOpError("C1: query and key have different structures, ")
           << getQuery().getType() << " and " << getKey().getType();
  if (getScoreScale() && !getScoreScale()->isFinite())
    return emitOpError("C11: score_scale must be finite");
  if (!areGiven(getDecay(), {getInitialState(), getInitialNormalizer()}))
    return emitOpError("C12: a decay or an initial state must be an argument of the attention");
  if (getNormalizer().needsRowMax() && (getInitialState() || getFinalState()))
    return emitOpError("C13: `eps_mode = row_max` has no state, as the row's largest score is not "
                       "known from one");
  if (getBlock() && int64_t(*getBlock()) < 1)
    return emitOpError("C3: a block must be positive, got ") << int64_t(*getBlock());
  if (bool(getLocalQuery()) != bool(getLocalKey()))
    return emitOpError("C2: local vectors come as a pair");
  if (getLocalQuery()) {
    if (getLocalQuery().getType() != getLocalKey().getType())
      return emitOpError("C2: local query and key have different structures, ")
             << getLocalQuery().getType() << " and " << getLocalKey().getType();
    if (!isOrdered() || !getBlock())
      return emitOpError(
          "C2: a local kernel needs the mask causal or anticausal, and a block, which "
          "is part of its meaning");
  }
  bool divides = getNormalizer().hasDenominator() || getNormalizer().isMean();
  if (getFactors() && (!divides || getNormalizer().needsRowMax()))
    return emitOpError("C15: rows that are divided by nothing have no factors, and what follows "
                       "the row's largest score has more than two");
  if (getOfKeys() && divides)
    return emitOpError("C16: a sum over query heads has `normalize <none>`");
  if (failed(verifyDecay(*this, "C6", "C7")) || failed(verifyDecayOfFeatures(*this)) ||
      failed(verifyProducts(*this)) || failed(verifyBlockStates(*this)) ||
      failed(verifyLagSlope(*this)) || failed(verifyWindow(*this)) ||
      failed(verifySoftmax(*this)) || failed(verifySliding(*this)) ||
      failed(verifyStateThatIsRead(*this)))
    return failure();
  return verifyStates(*this);
}

/// Whether scores by lag have the sides that the mask leaves.
static LogicalResult verifyLags(AttendOp op) {
  auto isTwoSided = [](Operation *part) {
    auto relative = dyn_cast<RelativeOp>(part);
    return relative && relative.getTwoSided();
  };
  auto hasTwoSided = [&](Value vector) { return vector && findInScore(vector, isTwoSided); };
  if (op.getMask() == Mask::Full ||
      llvm::none_of(ValueRange{op.getQuery(), op.getLocalQuery()}, hasTwoSided))
    return success();
  return op.emitOpError("C21: a two-sided table of lags is for the mask full: under `")
         << stringifyMask(op.getMask()) << "` a query sees keys on one side only";
}

/// The constraints that look into the applied maps, which are known to be well-formed here.
LogicalResult AttendOp::verifySymbolUses(SymbolTableCollection &) {
  if (!featurelessScoresMatch(getQuery(), getKey()))
    return emitOpError(
        "C14: query and key must take |score|, `exp_score` and `relative` at the same "
        "places: they say something of a pair, not of one of them");
  bool scoresSigned = !scoresNonNegative(getQuery(), getKey(), scoreScale());
  if (getLocalQuery()) {
    if (!featurelessScoresMatch(getLocalQuery(), getLocalKey()))
      return emitOpError(
          "C14: local query and key must take |score|, `exp_score` and `relative` at "
          "the same places");
    for (auto [exact, other] :
         {std::pair{getLocalQuery(), getQuery()}, {getLocalKey(), getKey()}}) {
      std::optional<int64_t> local = factsOf(exact).degree, degree = factsOf(other).degree;
      // The score 0 has no degree.
      if (!isZeroVector(exact) && !isZeroVector(other) && local && degree && local != degree)
        return emitOpError("C4: the local scores have degree ")
               << *local << ", the scores degree " << *degree;
    }
    scoresSigned |= !scoresNonNegative(getLocalQuery(), getLocalKey(), scoreScale());
  }
  if (getNormalizer().hasDenominator() && !getNormalizer().isSoftmax() && scoresSigned &&
      !getSignedScores())
    return emitOpError("C5: the scores may be negative, so that the denominator may vanish; use a "
                       "non-negative map, or say `signed_scores` if that is meant");
  bool hasState = getInitialState() || getFinalState() || getStateEvery();
  if (std::string reason = noFeaturesOf(getQuery()); !reason.empty()) {
    if (hasState)
      return emitOpError("C9: ") << reason << " and so no state";
    if (hasDecayOfFeatures())
      return emitOpError("C20: ") << reason << " that decay";
  }
  return verifyLags(*this);
}
