//===- DecayGradientOp.cpp - running sums over positions for decays -------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/AttendRules.h"
#include "dialects/PolyAttn/AttributeSyntax.h"
#include "dialects/PolyAttn/Kernels.h"
#include "dialects/PolyAttn/TypeSyntax.h"

using namespace mlir;
using namespace polyattn;

static constexpr StringRef kPlus = "plus";

/// %g queries %a, ... keys %b, ... (states %s, ... gradients %ds, ...)? (plus %sum)? attr-dict `:`
/// types
ParseResult DecayGradientOp::parse(OpAsmParser &parser, OperationState &result) {
  OperandSegments segments{{}, {1}, parser.getCurrentLocation()};
  auto list = [&]() -> ParseResult {
    size_t before = segments.operands.size();
    if (parser.parseOperandList(segments.operands))
      return failure();
    segments.sizes.push_back(segments.operands.size() - before);
    return success();
  };
  if (parser.parseOperand(segments.operands.emplace_back()) || parser.parseKeyword("queries") ||
      list() || parser.parseKeyword("keys") || list())
    return failure();
  if (succeeded(parser.parseOptionalKeyword("states")) &&
      (list() || parser.parseKeyword("gradients") || list()))
    return failure();
  segments.sizes.resize(5, 0);
  if (succeeded(parser.parseOptionalKeyword(kPlus)) && list())
    return failure();
  segments.sizes.resize(6, 0);
  auto kindOf = [&](int64_t i) {
    bool isProducts = i > 0 && i <= segments.sizes[1] + segments.sizes[2];
    return isProducts ? OperandKind::Feature : OperandKind::Tensor;
  };
  if (parseEndOfSegments(parser, result, segments, getOperandSegmentSizesAttrName(result.name),
                         kindOf))
    return failure();
  return inferParsedTypes<DecayGradientOp>(parser, result);
}

void DecayGradientOp::print(OpAsmPrinter &printer) {
  printer << " " << getDecay() << " queries " << getQueries() << " keys " << getKeys();
  if (!getStates().empty())
    printer << " states " << getStates() << " gradients " << getStateGradients();
  printOptionalOperand(printer, kPlus, getPlus());
  printOptionalAttributes(printer, (*this)->getAttrs(), {getOperandSegmentSizesAttrName()});
  printer << " : ";
  printFeatureTypes(printer, *this, getOperandTypes());
}

LogicalResult DecayGradientOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor op,
                                                SmallVectorImpl<Type> &results) {
  results.push_back(op.getDecay().getType());
  return success();
}

/// Whether all are products of attends with this mask.
static bool areProducts(ValueRange products, Mask mask) {
  return !products.empty() && llvm::all_of(products, [&](Value product) {
    auto attend = definingOp<AttendOp>(product);
    return attend && attend.getRowProducts() == yieldedValue(product) && attend.getMask() == mask;
  });
}

namespace {
/// What a gradient is of. Those of a sum agree in it.
struct GradientSource {
  /// The decay or state; null for a final state, which does not say whose gradient it is.
  Value argument;
  std::optional<GateHeads> gateHeads; // of a state none or Q
  GroupingAttr grouping;              // of a decay
  bool operator==(const GradientSource &other) const {
    return std::tie(argument, gateHeads, grouping) ==
           std::tie(other.argument, other.gateHeads, other.grouping);
  }
};
} // namespace

static std::optional<GradientSource> sourceOf(Value gradient) {
  auto ofState = [](Value state, std::optional<GateHeads> gateHeads) {
    return GradientSource{state, gateHeads == GateHeads::Q ? gateHeads : std::nullopt, {}};
  };
  if (auto attend = definingOp<AttendOp>(gradient)) {
    if (llvm::is_contained(attend.getFinalStates(), yieldedValue(gradient)))
      return ofState({}, attend.getGateHeads());
    return std::nullopt;
  }
  auto op = gradient.getDefiningOp<AttendBackwardOp>();
  if (!op)
    return std::nullopt;
  if (gradient == op.getDecayGradient())
    return GradientSource{op.getDecay(), op.getGateHeads(), op.getGroupingAttr()};
  if (gradient == op.getInitialStateGradient())
    return ofState(op.getInitialState(), op.getGateHeads());
  if (gradient == op.getInitialNormalizerGradient())
    return ofState(op.getInitialNormalizer(), op.getGateHeads());
  return std::nullopt;
}

LogicalResult AddGradientsOp::verify() {
  auto first = getGradients().size() < 2 ? std::nullopt : sourceOf(getGradients()[0]);
  if (!first ||
      !llvm::all_of(getGradients(), [&](Value gradient) { return sourceOf(gradient) == first; }))
    return emitOpError("C1: expected two or more gradients of one decay, of attends with equal "
                       "`gate_heads` and `grouping`, or of one state, of attends with equal "
                       "`gate_heads`");
  for (Operation *user : getResult().getUsers())
    if (!isa<ReturnOp>(user))
      return emitOpError("C2: a sum of gradients can only be returned, but ")
             << user->getName() << " uses it";
  return success();
}

LogicalResult DecayGradientOp::verify() {
  if (!areProducts(getQueries(), Mask::Causal) || !areProducts(getKeys(), Mask::Anticausal))
    return emitOpError("C1: expected `products` of causal attends as queries and of anticausal "
                       "ones as keys");
  if (getStates().size() != getStateGradients().size())
    return emitOpError("C2: expected a gradient for each state, got ")
           << getStates().size() << " states and " << getStateGradients().size() << " gradients";
  for (auto [state, gradient] : llvm::zip(getStates(), getStateGradients())) {
    auto attend = definingOp<AttendOp>(gradient);
    bool isFinal = attend && llvm::is_contained(attend.getFinalStates(), yieldedValue(gradient));
    auto type = cast<RankedTensorType>(gradient.getType());
    if (!isFinal || !isStateOrColumn(state, type.getShape().drop_front(2)))
      return emitOpError("C2: expected the final state of an attend as gradient of ")
             << state.getType() << ", got " << type;
  }
  auto decay = cast<RankedTensorType>(getDecay().getType());
  bool fits = decay.getElementType().isF32() && (decay.getRank() == 3 || decay.getRank() == 1) &&
              llvm::all_of(decay.getShape(), ShapedType::isDynamic);
  if (!fits || !isa<BlockArgument>(getDecay()) || !llvm::all_of(getStates(), AddStatesOp::isGiven))
    return emitOpError("C3: expected a decay, tensor<?x?x?xf32> or tensor<?xf32>, and states that "
                       "are arguments of the attention");
  for (Operation *user : getResult().getUsers())
    if (!isa<ReturnOp>(user))
      return emitOpError("C4: the gradient of a decay can only be returned, but ")
             << user->getName() << " uses it";
  return success();
}
