//===- StateOps.cpp - the states that attends read ------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/AttendRules.h"
#include "dialects/PolyAttn/AttributeSyntax.h"
#include "dialects/PolyAttn/StateTerms.h"
#include "dialects/PolyAttn/TypeSyntax.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace polyattn;

//===----------------------------------------------------------------------===//
// The type
//===----------------------------------------------------------------------===//

Type StateType::parse(AsmParser &parser) {
  SmallVector<int64_t, 2> sizes;
  bool normalizer = false;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseDimensionList(sizes, /*allowDynamic=*/false,
                                                      /*withTrailingX=*/false))
    return {};
  if (sizes.size() != 2) {
    parser.emitError(loc, "a state has features and the elements of a value, `2080x64`");
    return {};
  }
  if (succeeded(parser.parseOptionalComma())) {
    if (parser.parseKeyword("normalizer"))
      return {};
    normalizer = true;
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<StateType>(loc, parser.getContext(), sizes[0], sizes[1], normalizer);
}

void StateType::print(AsmPrinter &printer) const {
  printer << "<" << getFeatures() << "x" << getWidth() << (getNormalizer() ? ", normalizer>" : ">");
}

LogicalResult StateType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t features,
                                int64_t width, bool normalizer) {
  if (features < 1 || features > AttendOp::kMaxStateWidth || width < 1 ||
      width > FeatureType::kMaxVector)
    return emitError() << "a state has 1 to " << AttendOp::kMaxStateWidth
                       << " features and values of 1 to " << FeatureType::kMaxVector
                       << " elements, got " << features << " and " << width;
  return success();
}

//===----------------------------------------------------------------------===//
// state, channel_state
//===----------------------------------------------------------------------===//

/// key %k value %v (decay %g)? (initial %s)? (initial_normalizer %z)?
///   (`causal` | `anticausal` | `full`) attr-dict `:` types
ParseResult polyattn::parseStateUpdate(OpAsmParser &parser, OperationState &result,
                                       StringAttr sizesName) {
  OperandSegments segments{{}, {1, 1, 0, 0, 0}, parser.getCurrentLocation()};
  auto &operands = segments.operands;
  if (parser.parseKeyword("key") || parser.parseOperand(operands.emplace_back()) ||
      parser.parseKeyword("value") || parser.parseOperand(operands.emplace_back()) ||
      segments.parseOptional(parser, "decay", 2) || segments.parseOptional(parser, "initial", 3) ||
      segments.parseOptional(parser, "initial_normalizer", 4) || parseMask(parser, result))
    return failure();
  return parseEndOfSegments(parser, result, segments, sizesName, [](int64_t i) {
    return i < 2 ? OperandKind::Feature : OperandKind::Tensor;
  });
}

void polyattn::printStateUpdate(OpAsmPrinter &printer, StateUpdateInterface op,
                                StringAttr sizesName) {
  printer << " key " << op.getKey() << " value " << op.getValue();
  printOptionalOperand(printer, "decay", op.getDecay());
  printOptionalOperand(printer, "initial", op.getInitialState());
  printOptionalOperand(printer, "initial_normalizer", op.getInitialNormalizer());
  printer << " " << stringifyMask(op.getMask());
  printOptionalAttributes(printer, op->getAttrs(),
                          {sizesName, StringAttr::get(op.getContext(), "mask")});
  printer << " : ";
  printFeatureTypes(printer, op, op->getOperandTypes());
}

/// A state's type, or a diagnostic that begins with the constraint's name.
static LogicalResult addState(MLIRContext *context, std::optional<Location> loc,
                              StringRef constraint, int64_t features, int64_t width,
                              bool normalizer, SmallVectorImpl<Type> &results) {
  auto emitError = [&] {
    return mlir::emitError(loc.value_or(UnknownLoc::get(context))) << constraint << ": ";
  };
  auto type = StateType::getChecked(emitError, context, features, width, normalizer);
  if (!type)
    return failure();
  results.push_back(type);
  return success();
}

LogicalResult polyattn::inferState(MLIRContext *context, std::optional<Location> loc,
                                   ArrayRef<int32_t> sizes, ValueRange operands, bool normalizer,
                                   bool needsDecay, SmallVectorImpl<Type> &results) {
  if (sizes[0] != 1 || sizes[1] != 1 || (needsDecay && sizes[2] != 1) ||
      llvm::any_of(sizes.drop_front(2), [](int32_t size) { return size > 1; }))
    return emitOptionalError(loc,
                             "expected one key, one value and at most one of each other "
                             "operand",
                             needsDecay ? ", and a decay" : "");
  return addState(context, loc, "C3", cast<FeatureType>(operands[0].getType()).getWidth(),
                  cast<FeatureType>(operands[1].getType()).getWidth(), normalizer, results);
}

/// Whether two ops have the same recurrence but for the block, whose meaning is the op's.
template <typename Op> static bool haveEqualSteps(StateUpdateInterface state, Op other) {
  return state.getMask() == other.getMask() && state.getDecay() == other.getDecay() &&
         state.getDecayFactors() == other.getDecayFactors() &&
         state.getGateHeads() == other.getGateHeads() &&
         state.getGrouping() == other.getGrouping() && state.getOfKeys() == other.getOfKeys();
}

bool StateOp::hasRecurrenceOf(StateOp other) {
  return haveEqualSteps(*this, other) && getBlockAttr() == other.getBlockAttr() &&
         getSliding() == other.getSliding();
}

bool polyattn::hasRecurrenceOfAttend(StateUpdateInterface state, AttendOp attend) {
  std::optional<uint64_t> block =
      attend.getLocalQuery() ? attend.getBlock() : std::optional<uint64_t>();
  return haveEqualSteps(state, attend) && state.getBlock() == block &&
         state.getSliding() == attend.getSliding();
}

LogicalResult StateOp::verify() {
  if (!areGiven(getDecay(), {getInitialState(), getInitialNormalizer()}))
    return emitOpError("C2: a decay or an initial state must be an argument of the attention");
  if (getBlock() && (int64_t(*getBlock()) < 1 || !isOrdered()))
    return emitOpError("C4: a block is positive and needs the mask causal or anticausal");
  if (getSliding() && !getBlock())
    return emitOpError("C4: `sliding` needs a block, its number of positions");
  if (getLastApart() && (getNormalizer() || getValue().getType().getWidth() < 1))
    return emitOpError("C5: `last_apart` keeps the value's last element where a normalizer would "
                       "be, and there is one");
  if (isDecayOfFeatures(getDecay()))
    return emitOpError("C1: a decay of each feature is that of a `channel_state`");
  if (failed(verifyDecay(*this, "C1", "C1")))
    return failure();
  if (getInitialState() && !isOrdered())
    return emitOpError("C2: an initial state needs the mask causal or anticausal");
  return verifyInitialState(*this, getNormalizer(), "C2");
}

LogicalResult ChannelStateOp::verify() {
  if (!areGiven(getDecay(), {getInitialState(), getInitialNormalizer()}))
    return emitOpError("C2: a decay or an initial state must be an argument of the attention");
  if (getMask() != Mask::Causal)
    return emitOpError("C4: a decay of each feature needs the mask causal");
  if (!isDecayOfFeatures(getDecay()))
    return emitOpError("C1: expected a decay of each feature, [B, T, H, D]; that of heads is a "
                       "`state`'s");
  return failure(failed(verifyDecay(*this, "C1", "C1")) ||
                 failed(verifyInitialState(*this, getNormalizer(), "C2")));
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// The type of a state of which there may be a view; null, with a diagnostic, where it has a
/// normalizer.
static StateType viewed(std::optional<Location> loc, Value state) {
  auto type = cast<StateType>(state.getType());
  if (!type.getNormalizer())
    return type;
  (void)emitOptionalError(loc, "C1: a state with a normalizer is read as it is, got ", type);
  return {};
}

LogicalResult TransposeStateOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                                 Adaptor op, SmallVectorImpl<Type> &results) {
  StateType type = viewed(loc, op.getState());
  return failure(!type || failed(addState(context, loc, "C1", type.getWidth(), type.getFeatures(),
                                          /*normalizer=*/false, results)));
}

LogicalResult StateRowsOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                            Adaptor op, SmallVectorImpl<Type> &results) {
  StateType type = viewed(loc, op.getState());
  if (!type)
    return failure();
  int64_t first = op.getFirst(), rows = op.getRows();
  if (first < 0 || rows < 1 || first >= type.getFeatures() || rows > type.getFeatures() - first)
    return emitOptionalError(loc, "C1: rows ", first, " to ", first, " + ", rows,
                             " are not those of a state of ", type.getFeatures(), " features");
  return addState(context, loc, "C1", rows, type.getWidth(), /*normalizer=*/false, results);
}

LogicalResult ScaleStateOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                             Adaptor op, SmallVectorImpl<Type> &results) {
  StateType type = viewed(loc, op.getState());
  if (type)
    results.push_back(type);
  return success(bool(type));
}

LogicalResult ScaleStateOp::verify() {
  if (!getFactor().isFinite() || getFactor().isZero())
    return emitOpError("C2: expected a finite number that is not 0");
  return success();
}

/// One state after another: `added` is what adds up, `kept` what all have.
static LogicalResult inferSum(MLIRContext *context, std::optional<Location> loc, ValueRange states,
                              bool byRows, SmallVectorImpl<Type> &results) {
  int64_t added = 0, kept = 0;
  for (Value state : states) {
    StateType type = viewed(loc, state);
    if (!type)
      return failure();
    int64_t own = byRows ? type.getWidth() : type.getFeatures();
    if (added && own != kept)
      return emitOptionalError(loc, "C1: expected states of equally many ",
                               byRows ? "elements of a value" : "features", ", got ", kept, " and ",
                               own);
    kept = own;
    added += byRows ? type.getFeatures() : type.getWidth();
  }
  if (states.empty())
    return emitOptionalError(loc, "C1: expected one state or more");
  return addState(context, loc, "C1", byRows ? added : kept, byRows ? kept : added,
                  /*normalizer=*/false, results);
}

LogicalResult StackStatesOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                              Adaptor op, SmallVectorImpl<Type> &results) {
  return inferSum(context, loc, op.getStates(), /*byRows=*/true, results);
}

LogicalResult JoinStatesOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                             Adaptor op, SmallVectorImpl<Type> &results) {
  return inferSum(context, loc, op.getStates(), /*byRows=*/false, results);
}

int64_t UnfoldPairsOp::factorOf(int64_t pairs) {
  auto n = int64_t(std::sqrt(2.0 * double(pairs)));
  return n * (n + 1) / 2 == pairs ? n : 0;
}

LogicalResult UnfoldPairsOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                              Adaptor op, SmallVectorImpl<Type> &results) {
  StateType type = viewed(loc, op.getState());
  if (!type)
    return failure();
  int64_t n = factorOf(type.getFeatures());
  if (!n)
    return emitOptionalError(loc, "C1: expected the features of a symmetric square, got ",
                             type.getFeatures());
  return addState(context, loc, "C1", n * type.getWidth(), n, /*normalizer=*/false, results);
}
