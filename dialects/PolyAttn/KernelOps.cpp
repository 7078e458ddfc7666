//===- KernelOps.cpp - which attends one kernel computes ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/AttentionClauses.h"
#include "dialects/PolyAttn/Kernels.h"
#include "dialects/PolyAttn/TypeSyntax.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace polyattn;

//===----------------------------------------------------------------------===//
// kernel
//===----------------------------------------------------------------------===//

static constexpr StringRef kBeside = "beside", kCut = "cut", kSteps = "steps";

LogicalResult CutAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t splits,
                              int64_t subsegments, int64_t prefixCost, int64_t cluster,
                              int64_t parts, int64_t prefixFeatures, int64_t sumBlocks, bool blocks,
                              int64_t channels) {
  auto check = [&](StringRef name, int64_t number, int64_t least, int64_t most) -> LogicalResult {
    if (number >= least && number <= most)
      return success();
    return emitError() << name << " is " << least << " to " << most << ", got " << number;
  };
  if (failed(check("splits", splits, 1, kMostPrograms)) ||
      failed(check("subsegments", subsegments, 0, kMostSubsegments)) ||
      failed(check("prefix_cost", prefixCost, 0, 100)) ||
      failed(check("cluster", cluster, 1, kLargestCluster)) ||
      failed(check("parts", parts, 0, kMostPrograms)) ||
      failed(check("channels", channels, 0, kMostChannels)) ||
      failed(check("prefix_features", prefixFeatures, 0, AttendOp::kMaxStateWidth)) ||
      failed(check("sum_blocks", sumBlocks, 1, kMostPrograms)))
    return failure();
  if ((splits > 1) + (subsegments > 0) + (parts > 0) > 1)
    return emitError() << "a head is cut by features, by positions or into parts of the batches, "
                          "not by two of them";
  if (prefixCost && !subsegments)
    return emitError() << "prefix_cost is for `subsegments`, of which there are none";
  if (prefixFeatures && (splits > 1 || subsegments))
    return emitError() << "prefix_features are for kernels in the form chunkwise, whose heads are "
                          "not cut by features or by positions";
  if (sumBlocks > 1 && !prefixFeatures)
    return emitError() << "sum_blocks are for kernels in the form chunkwise, which have "
                          "prefix_features as well";
  if (blocks && (splits > 1 || subsegments || cluster > 1 || prefixFeatures))
    return emitError() << "blocks are for kernels without a state, which are not cut otherwise";
  if (channels && (splits > 1 || subsegments || parts || cluster > 1 || prefixFeatures || blocks))
    return emitError() << "channels are for kernels of convolutions, which are not cut otherwise";
  if (!llvm::isPowerOf2_64(cluster) || (cluster > 1 && splits > 1))
    return emitError() << "a cluster has a power of two of programs, and shares features that are "
                          "not cut otherwise";
  return success();
}

LogicalResult StepsAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t tokens,
                                int64_t oneByOne, int64_t few, int64_t batches) {
  if (tokens < 0 || few < 0 || few > kMostTokens || (tokens && tokens != oneByOne && tokens != few))
    return emitError() << "tokens are 0, or as many as `one_by_one` or `few`, which has 0 to "
                       << kMostTokens << " positions, got " << tokens << ", " << oneByOne << " and "
                       << few;
  if (oneByOne < 1 || oneByOne > std::max<int64_t>(tokens, 1))
    return emitError() << "one_by_one is 1 to as many as `tokens`, got " << oneByOne << " and "
                       << tokens;
  if (batches < 0 || batches > kBatchesPerProgram || (batches && !tokens))
    return emitError() << "batches are 0 to " << kBatchesPerProgram
                       << ", and 0 without tokens, got " << batches;
  return success();
}

/// `keyword <...>`?, as an attribute of that name.
template <typename Params>
static ParseResult parseOptionalParams(OpAsmParser &parser, OperationState &result,
                                       StringRef keyword) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  Attribute parsed = Params::parse(parser, Type());
  if (!parsed)
    return failure();
  result.addAttribute(keyword, parsed);
  return success();
}

/// @name (`cut` <...>)? (`steps` <...>)? region (`beside` region)? attr-dict-with-keyword: results
/// have the types of the values that the regions yield.
ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  if (parser.parseSymbolName(name, getKernelNameAttrName(result.name), result.attributes) ||
      parseOptionalParams<CutAttr>(parser, result, kCut) ||
      parseOptionalParams<StepsAttr>(parser, result, kSteps))
    return failure();
  Region *body = result.addRegion(), *beside = result.addRegion();
  if (parser.parseRegion(*body))
    return failure();
  if (succeeded(parser.parseOptionalKeyword(kBeside)) && parser.parseRegion(*beside))
    return failure();
  for (Region *region : {body, beside})
    if (!region->empty() && !region->front().empty())
      result.addTypes(region->front().back().getOperandTypes());
  return parser.parseOptionalAttrDictWithKeyword(result.attributes);
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printer.printSymbolName(getKernelName());
  auto printParams = [&](StringRef keyword, auto attribute) {
    if (!attribute)
      return;
    printer << " " << keyword << " ";
    attribute.print(printer);
  };
  printParams(kCut, getCutAttr());
  printParams(kSteps, getStepsAttr());
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  if (hasBeside()) {
    printer << " " << kBeside << " ";
    printer.printRegion(getBeside(), /*printEntryBlockArgs=*/false);
  }
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {getKernelNameAttrName(), getCutAttrName(), getStepsAttrName()});
}

OperandRange KernelOp::yieldOf(Region &region) {
  return cast<KernelYieldOp>(region.front().getTerminator()).getResults();
}

Value KernelOp::getYielded(OpResult result) {
  unsigned number = result.getResultNumber();
  OperandRange own = yieldOf(getBody());
  return number < own.size() ? own[number] : yieldOf(getBeside())[number - own.size()];
}

ResultRange KernelOp::getResultsOf(Region &region) {
  unsigned before = &region == &getBeside() ? yieldOf(getBody()).size() : 0;
  return getResults().slice(before, yieldOf(region).size());
}

OpResult KernelOp::getResultOf(OpOperand &yielded) {
  Region &region = *yielded.getOwner()->getParentRegion();
  return getResultsOf(region)[yielded.getOperandNumber()];
}

/// Whether one sweep over positions can compute the attends of a region.
static LogicalResult verifySweep(KernelOp op, Region &region) {
  auto attends = llvm::to_vector(region.getOps<AttendOp>());
  bool isBeside = &region == &op.getBeside();
  for (AttendOp attend : attends) {
    if (!(AttendKind::of(attend) == AttendKind::of(attends.front())))
      return attend.emitOpError("C2: attends of one kernel have one mask and rows of one side, and "
                                "all of them have `block_states` or none");
    if (isBeside && (!attend.getBlockStates() || attend.getOfKeys()))
      return attend.emitOpError("C4: attends beside others take their states from a tensor "
                                "(`block_states`) and have rows of queries");
    if (!isBeside && op.hasBeside() &&
        (attend.getBlockStates() || attend.getMask() != Mask::Anticausal))
      return attend.emitOpError("C4: attends that have others beside them have the mask anticausal "
                                "and no `block_states`");
  }
  if (isBeside && attends.empty())
    return op.emitOpError("C4: expected attends beside those of the kernel's body");
  return success();
}

Operation *polyattn::convolutionIn(KernelOp kernel) {
  for (Operation &op : kernel.getBody().front())
    if (isa<ConvolveOp, FilterGradientOp>(op))
      return &op;
  return nullptr;
}

static LogicalResult verifyConvolution(KernelOp kernel) {
  Operation *op = convolutionIn(kernel);
  auto mayBeBeside = [&](Operation &other) {
    return &other == op || isa<ElementwiseOpInterface, KernelYieldOp>(other);
  };
  if (op && (kernel.hasBeside() || !llvm::all_of(kernel.getBody().front(), mayBeBeside)))
    return op->emitOpError("C5: stands in a kernel of its own, with element-wise ops");
  if (!op && kernel.getCutAttr() && kernel.getCutAttr().getChannels())
    return kernel.emitOpError("C5: `cut` has channels, and the kernel no convolution");
  return success();
}

/// The ops of the regions ask for their users behind the kernel, so that this is checked first.
LogicalResult KernelOp::verify() {
  SmallVector<Type> types;
  for (Region &region : getOperation()->getRegions()) {
    if (region.empty())
      continue;
    if (region.front().empty() || !isa<KernelYieldOp>(region.front().back()))
      return emitOpError("C1: a region must end in `kernel_yield`");
    llvm::append_range(types, yieldOf(region).getTypes());
  }
  if (!llvm::equal(types, getResultTypes()))
    return emitOpError("C1: results have other types than what the regions yield");
  if (std::optional<Type> type = getRowType();
      type && !type->isF32() && !type->isBF16() && !type->isF16())
    return emitOpError("C6: row_type is f32, bf16 or f16, not ") << *type;
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  for (ApplyOp apply : (*this)->getBlock()->getOps<ApplyOp>())
    return emitOpError("C3: no map is applied where there are kernels (--polyattn-inline-maps), "
                       "but ")
           << apply.getMapAttr() << " is";
  for (Region &region : getOperation()->getRegions())
    if (!region.empty() && failed(verifySweep(*this, region)))
      return failure();
  return verifyConvolution(*this);
}

LogicalResult polyattn::verifyKernels(AttentionOp op, ReturnOp returned) {
  if (!hasKernels(op))
    return success();
  llvm::StringSet<> names;
  for (Operation &inside : op.getBody().front()) {
    if (isa<AttendOp, StateUpdateInterface, AttendBackwardOp, WeightGradientOp, SumHeadsOp,
            ConvolveOp, FilterGradientOp>(inside))
      return inside.emitOpError("C12: stands outside of the attention's kernels");
    auto kernel = dyn_cast<KernelOp>(inside);
    if (kernel && !names.insert(kernel.getKernelName()).second)
      return kernel.emitOpError("C12: another kernel is called ") << kernel.getKernelNameAttr();
  }
  for (auto [value, name] : llvm::zip(returned.getResults(), op.getResultNames()))
    if (!isa_and_nonnull<KernelOp, SumWeightsOp, DecayGradientOp, AddGradientsOp, KeepOp>(
            value.getDefiningOp()))
      return op.emitOpError("C12: result ") << name << " is not what a kernel yields";
  return success();
}

//===----------------------------------------------------------------------===//
// sum_weights
//===----------------------------------------------------------------------===//

LogicalResult SumWeightsOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor op,
                                             SmallVectorImpl<Type> &results) {
  if (op.getTerms().empty() || !llvm::all_equal(op.getTerms().getTypes()))
    return emitOptionalError(loc, "C1: expected terms of one shape, one or more");
  results.push_back(op.getTerms().front().getType());
  return success();
}

LogicalResult SumWeightsOp::verify() {
  for (Value term : getTerms()) {
    auto gradient =
        term.getDefiningOp<KernelOp>() ? definingOp<WeightGradientOp>(term) : WeightGradientOp();
    if (!gradient || gradient.getPlus())
      return emitOpError("C2: expected what kernels yield for a `weight_gradient` without `plus`");
  }
  for (Operation *user : getResult().getUsers())
    if (!isa<ReturnOp>(user))
      return emitOpError("C2: the gradient of a weight can only be returned, but ")
             << user->getName() << " uses it";
  return success();
}

//===----------------------------------------------------------------------===//
// Values of kernels
//===----------------------------------------------------------------------===//

Value polyattn::yieldedValue(Value value) {
  auto kernel = value ? value.getDefiningOp<KernelOp>() : KernelOp();
  return kernel ? kernel.getYielded(cast<OpResult>(value)) : value;
}

SmallVector<Operation *> polyattn::usersOf(Value value) {
  SmallVector<Operation *> users;
  for (OpOperand &use : value.getUses()) {
    if (!isa<KernelYieldOp>(use.getOwner())) {
      users.push_back(use.getOwner());
      continue;
    }
    auto kernel = cast<KernelOp>(use.getOwner()->getParentOp());
    llvm::append_range(users, usersOf(kernel.getResultOf(use)));
  }
  return users;
}

SmallVector<AttendOp> polyattn::attendsOf(AttentionOp attention) {
  SmallVector<AttendOp> attends;
  attention.walk([&](AttendOp attend) { attends.push_back(attend); });
  return attends;
}

bool polyattn::hasKernels(AttentionOp attention) {
  return !attention.getBody().getOps<KernelOp>().empty();
}

LogicalResult polyattn::checkNoKernels(AttentionOp attention) {
  if (!hasKernels(attention))
    return success();
  return attention.emitOpError("has kernels already: other entries are derived from it before "
                               "--polyattn-form-kernels");
}

/// The gradient of all pairs that kernels have parts of.
static void joinTerms(SumWeightsOp sum) {
  SmallVector<Value> inputs, gradients;
  for (Value term : sum.getTerms()) {
    auto part = term.getDefiningOp<WeightGradientOp>();
    llvm::append_range(inputs, part.getInputs());
    llvm::append_range(gradients, part.getGradients());
  }
  OpBuilder builder(sum);
  Value whole = WeightGradientOp::create(builder, sum.getLoc(), inputs, gradients, sum.getPlus());
  llvm::SmallSetVector<Operation *, 4> parts;
  for (Value term : sum.getTerms())
    parts.insert(term.getDefiningOp());
  sum.replaceAllUsesWith(whole);
  sum.erase();
  for (Operation *part : parts)
    if (part->use_empty())
      part->erase();
}

OwningOpRef<AttentionOp> polyattn::withoutKernels(AttentionOp attention) {
  OwningOpRef<AttentionOp> copy = attention.clone();
  for (KernelOp kernel : llvm::make_early_inc_range(copy->getBody().getOps<KernelOp>())) {
    SmallVector<Value> yielded;
    for (Region &region : kernel->getRegions()) {
      if (region.empty())
        continue;
      llvm::append_range(yielded, KernelOp::yieldOf(region));
      region.front().getTerminator()->erase();
      kernel->getBlock()->getOperations().splice(kernel->getIterator(),
                                                 region.front().getOperations());
    }
    kernel.replaceAllUsesWith(yielded);
    kernel.erase();
  }
  for (SumWeightsOp sum : llvm::make_early_inc_range(copy->getBody().getOps<SumWeightsOp>()))
    joinTerms(sum);
  return copy;
}
