//===- AttendBackwardOp.cpp - syntax and verification of attend_backward --===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/AttendRules.h"
#include "dialects/PolyAttn/AttributeSyntax.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "dialects/PolyAttn/Leaves.h"
#include "dialects/PolyAttn/TypeSyntax.h"
#include "mlir/IR/Builders.h"
#include <numeric>

using namespace mlir;
using namespace polyattn;

namespace {

/// The operands' groups, in the order of the definition.
enum Segment {
  Query,
  QueryLeaves,
  Key,
  KeyLeaves,
  ValueVector,
  LocalQuery,
  LocalQueryLeaves,
  LocalKey,
  LocalKeyLeaves,
  Numerator,
  Denominator,
  Decay,
  InitialState,
  InitialNormalizer,
  FinalGradient,
  FinalNormalizerGradient,
  KeptStates,
  kSegments
};

using Operand = OpAsmParser::UnresolvedOperand;

/// Parses operands into their groups.
struct OperandParser {
  OpAsmParser &parser;
  std::array<SmallVector<Operand>, kSegments> groups;

  ParseResult one(Segment segment) { return parser.parseOperand(groups[segment].emplace_back()); }
  ParseResult leaves(Segment segment) {
    return failure(parser.parseKeyword("leaves") ||
                   parser.parseOperandList(groups[segment], OpAsmParser::Delimiter::Paren));
  }
  ParseResult structured(StringRef keyword, Segment vector, Segment leavesOfIt) {
    return failure(parser.parseKeyword(keyword) || one(vector) || leaves(leavesOfIt));
  }
  ParseResult optional(StringRef keyword, Segment segment) {
    return succeeded(parser.parseOptionalKeyword(keyword)) ? one(segment) : success();
  }
};

} // namespace

/// query %q leaves (...) key %k leaves (...) value %v
///   (local_query %lq leaves (...) local_key %lk leaves (...))? gradient %dn (, %dz)?
///   (decay %g)? (initial %s)? (initial_normalizer %z)? (final_gradient %ds)?
///   (final_normalizer_gradient %dz)? (block_states %b)? mask attr-dict `:` types
ParseResult AttendBackwardOp::parse(OpAsmParser &parser, OperationState &result) {
  OperandParser operands{parser, {}};
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (operands.structured("query", Query, QueryLeaves) ||
      operands.structured("key", Key, KeyLeaves) || parser.parseKeyword("value") ||
      operands.one(ValueVector))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("local_query")) &&
      (operands.one(LocalQuery) || operands.leaves(LocalQueryLeaves) ||
       operands.structured("local_key", LocalKey, LocalKeyLeaves)))
    return failure();
  if (parser.parseKeyword("gradient") || operands.one(Numerator))
    return failure();
  if (succeeded(parser.parseOptionalComma()) && operands.one(Denominator))
    return failure();
  if (operands.optional("decay", Decay) || operands.optional("initial", InitialState) ||
      operands.optional("initial_normalizer", InitialNormalizer) ||
      operands.optional("final_gradient", FinalGradient) ||
      operands.optional("final_normalizer_gradient", FinalNormalizerGradient) ||
      operands.optional("block_states", KeptStates))
    return failure();
  if (parseMask(parser, result))
    return failure();
  OperandSegments segments{{}, {}, loc};
  for (ArrayRef<Operand> group : operands.groups) {
    segments.sizes.push_back(group.size());
    llvm::append_range(segments.operands, group);
  }
  int64_t features = std::accumulate(segments.sizes.begin(), segments.sizes.begin() + Decay, 0);
  if (parseEndOfSegments(
          parser, result, segments, getOperandSegmentSizesAttrName(result.name),
          [&](int64_t i) { return i < features ? OperandKind::Feature : OperandKind::Tensor; }))
    return failure();
  return inferParsedTypes<AttendBackwardOp>(parser, result);
}

void AttendBackwardOp::print(OpAsmPrinter &printer) {
  auto structured = [&](StringRef keyword, Value vector, OperandRange leaves) {
    printer << " " << keyword << " " << vector << " leaves (" << leaves << ")";
  };
  auto optional = [&](StringRef keyword, Value operand) {
    printOptionalOperand(printer, keyword, operand);
  };
  structured("query", getQuery(), getQueryLeaves());
  structured("key", getKey(), getKeyLeaves());
  printer << " value " << getValue();
  if (getLocalQuery()) {
    structured("local_query", getLocalQuery(), getLocalQueryLeaves());
    structured("local_key", getLocalKey(), getLocalKeyLeaves());
  }
  printer << " gradient " << getNumeratorGradient();
  if (getDenominatorGradient())
    printer << ", " << getDenominatorGradient();
  optional("decay", getDecay());
  optional("initial", getInitialState());
  optional("initial_normalizer", getInitialNormalizer());
  optional("final_gradient", getFinalGradient());
  optional("final_normalizer_gradient", getFinalNormalizerGradient());
  optional("block_states", getBlockStates());
  printer << " " << stringifyMask(getMask());
  printOptionalAttributes(printer, (*this)->getAttrs(),
                          {getOperandSegmentSizesAttrName(), getMaskAttrName()});
  printer << " : ";
  printFeatureTypes(printer, *this, getOperandTypes());
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// The generic form may give an operand's segment any size.
static bool hasOneOfEach(ArrayRef<int32_t> sizes) {
  for (int segment : {Query, Key, ValueVector, Numerator})
    if (sizes[segment] != 1)
      return false;
  for (int segment : {LocalQuery, LocalKey, Denominator, Decay, InitialState, InitialNormalizer,
                      FinalGradient, FinalNormalizerGradient, KeptStates})
    if (sizes[segment] > 1)
      return false;
  return true;
}
static constexpr StringLiteral kOneOfEach =
    "expected one query, one key, one value, one gradient and at most one of each other operand "
    "that is no leaf";

LogicalResult AttendBackwardOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                 Adaptor op, SmallVectorImpl<Type> &results) {
  if (!hasOneOfEach(op.getProperties().operandSegmentSizes))
    return emitOptionalError(loc, kOneOfEach);
  SmallVector<Value> vectors;
  for (ValueRange leaves :
       {op.getQueryLeaves(), op.getKeyLeaves(), op.getLocalQueryLeaves(), op.getLocalKeyLeaves()})
    llvm::append_range(vectors, leaves);
  vectors.push_back(op.getValue());
  for (Value vector : vectors)
    results.push_back(
        FeatureType::vector(vector.getContext(), cast<FeatureType>(vector.getType()).getWidth()));
  for (Value tensor : {op.getDecay(), op.getInitialState(), op.getInitialNormalizer()})
    if (tensor)
      results.push_back(tensor.getType());
  return success();
}

ResultRange AttendBackwardOp::getQueryLeafGradients() {
  return getGradients().take_front(getQueryLeaves().size());
}
ResultRange AttendBackwardOp::getKeyLeafGradients() {
  return getGradients().slice(getQueryLeaves().size(), getKeyLeaves().size());
}
ResultRange AttendBackwardOp::getLocalQueryLeafGradients() {
  return getGradients().slice(getQueryLeaves().size() + getKeyLeaves().size(),
                              getLocalQueryLeaves().size());
}
ResultRange AttendBackwardOp::getLocalKeyLeafGradients() {
  return getGradients().slice(getQueryLeaves().size() + getKeyLeaves().size() +
                                  getLocalQueryLeaves().size(),
                              getLocalKeyLeaves().size());
}
/// The index of the value's gradient, after all leaves.
static size_t valueIndex(AttendBackwardOp op) {
  return op.getQueryLeaves().size() + op.getKeyLeaves().size() + op.getLocalQueryLeaves().size() +
         op.getLocalKeyLeaves().size();
}
Value AttendBackwardOp::getValueGradient() { return getGradients()[valueIndex(*this)]; }
Value AttendBackwardOp::getDecayGradient() {
  return getDecay() ? getGradients()[valueIndex(*this) + 1] : Value();
}
Value AttendBackwardOp::getInitialStateGradient() {
  return getInitialState() ? getGradients()[valueIndex(*this) + (getDecay() ? 2 : 1)] : Value();
}
Value AttendBackwardOp::getInitialNormalizerGradient() {
  return getInitialNormalizer() ? getGradients().back() : Value();
}

bool AttendBackwardOp::isOfKeys(Value gradient) {
  return gradient == getValueGradient() || llvm::is_contained(getKeyLeafGradients(), gradient) ||
         llvm::is_contained(getLocalKeyLeafGradients(), gradient);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static LogicalResult verifyBlockStates(AttendBackwardOp op) {
  if (!op.getBlockStates() && !op.getStateEvery())
    return success();
  auto every = int64_t(op.getStateEvery().value_or(0));
  if (!op.getBlockStates() || every < 1 || every > BlockStates::kMaxLength ||
      op.getMask() != Mask::Causal || op.getLocalQuery() || op.getInitialState())
    return op.emitOpError(
        "C7: `block_states` come with `state_every` of 1 to 1024 positions and the "
        "causal mask, without local vectors or an initial state");
  BlockStates states{op.getKey().getType().getWidth(), op.getValue().getType().getWidth(), every,
                     bool(op.getDenominatorGradient())};
  constexpr int64_t any = ShapedType::kDynamic;
  auto expected =
      RankedTensorType::get({any, any, any, states.width()}, Float32Type::get(op.getContext()));
  if (op.getBlockStates().getType() != expected || !isa<BlockArgument>(op.getBlockStates()))
    return op.emitOpError("C7: expected `block_states` to be an argument ")
           << expected << ", got " << op.getBlockStates().getType();
  return success();
}

LogicalResult AttendBackwardOp::verify() {
  if (!hasOneOfEach(getProperties().operandSegmentSizes))
    return emitOpError(kOneOfEach);
  if (getQuery().getType() != getKey().getType())
    return emitOpError("C1: query and key have different structures, ")
           << getQuery().getType() << " and " << getKey().getType();
  int64_t valueWidth = cast<FeatureType>(getValue().getType()).getWidth();
  int64_t width = cast<FeatureType>(getKey().getType()).getWidth();
  if (cast<FeatureType>(getNumeratorGradient().getType()).getWidth() != valueWidth)
    return emitOpError("C1: expected a gradient as wide as the value, ")
           << valueWidth << ", got " << getNumeratorGradient().getType();
  if (getDenominatorGradient() &&
      cast<FeatureType>(getDenominatorGradient().getType()).getWidth() != 1)
    return emitOpError("C1: expected one number as gradient of the denominator, got ")
           << getDenominatorGradient().getType();
  if (bool(getLocalQuery()) != bool(getLocalKey()))
    return emitOpError("C3: local vectors come as a pair");
  if (getLocalQuery() && (getLocalQuery().getType() != getLocalKey().getType() ||
                          getMask() == Mask::Full || !getBlock() || int64_t(*getBlock()) < 1))
    return emitOpError("C3: local vectors have equal structures, the mask causal or anticausal and "
                       "a block");
  if (isDecayOfFeatures(getDecay()))
    return emitOpError("C4: a decay of each feature has no gradient yet");
  if (failed(verifyDecay(*this, "C4", "C4")) || failed(verifyBlockStates(*this)))
    return failure();
  bool hasStates = getInitialState() || getFinalGradient();
  if (getWindow() && (int64_t(*getWindow()) < 1 || int64_t(*getWindow()) > AttendOp::kMaxWindow ||
                      hasStates || getBlockStates() || getLocalQuery()))
    return emitOpError("C8: a window has 1 to 2^31 - 1 positions, without states or local vectors");
  if (getSliding() && (!getLocalQuery() || hasDecay() || hasStates))
    return emitOpError("C9: `sliding` needs local vectors, without decays or states");
  if ((hasStates || getInitialNormalizer() || getFinalNormalizerGradient()) &&
      getMask() == Mask::Full)
    return emitOpError("C5: states need the mask causal or anticausal");
  for (auto [state, normalizer] : {std::pair{getInitialState(), getInitialNormalizer()},
                                   {getFinalGradient(), getFinalNormalizerGradient()}}) {
    bool fits = !state || isStateOrColumn(state, {width, valueWidth});
    if (!fits || (normalizer && !isStateTensor(normalizer, {width})))
      return emitOpError("C5: expected states tensor<?x?x")
             << width << "x" << valueWidth << "xf32> and normalizers tensor<?x?x" << width
             << "xf32>";
  }
  if (bool(getInitialNormalizer()) != (getInitialState() && getDenominatorGradient()))
    return emitOpError("C5: an initial normalizer is given where, and only where, an initial state "
                       "and the gradient of the denominator are");
  if (getFinalNormalizerGradient() && !getDenominatorGradient())
    return emitOpError("C5: a final normalizer has a gradient only where the denominator has one");
  if (!areGiven(getDecay(), {getInitialState(), getInitialNormalizer(), getFinalGradient(),
                             getFinalNormalizerGradient()}))
    return emitOpError("C6: decays, states and their gradients are arguments of the attention");
  return success();
}

/// The constraints on what computes the vectors.
LogicalResult AttendBackwardOp::verifySymbolUses(SymbolTableCollection &) {
  for (auto [vector, leaves] : {std::pair{getQuery(), getQueryLeaves()},
                                {getKey(), getKeyLeaves()},
                                {getLocalQuery(), getLocalQueryLeaves()},
                                {getLocalKey(), getLocalKeyLeaves()}}) {
    if (!vector)
      continue;
    SmallVector<Value> expected = leavesOf(vector);
    if (!llvm::equal(leaves, expected))
      return emitOpError("C2: expected the leaves of ")
             << vector.getType() << ", " << expected.size() << " vectors, in their order, got "
             << leaves.size() << " that are not these";
  }
  return success();
}
