//===- Signature.cpp - what an attention asks of its caller ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Entry/Signature.h"
#include "Uses.h"
#include "dialects/PolyAttn/Arguments.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "dialects/PolyAttn/Kernels.h"
#include "dialects/PolyAttn/Sides.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/ADT/StringSet.h"
#include <numeric>

using namespace mlir;
using namespace polyattn;

std::string TensorSignature::formatDims() const {
  std::string text = "[";
  for (auto [i, dim] : llvm::enumerate(dims))
    text += (i ? ", " : "") + sizeToString(dim);
  return text + "]";
}

SizeName Signature::canonical(SizeName name) const {
  if (name == kKeyPositions && samePositions)
    return kPositions;
  if (name == kKeyHeads && sameHeads && !sharesHeads)
    return kHeads;
  return name;
}

std::optional<int64_t> Signature::fixedSize(int64_t size) const {
  if (size >= 0)
    return size;
  SizeName name = canonical(SizeName(size));
  if (name == kHeads)
    return fixedHeads;
  return name == kKeyHeads ? fixedKvHeads : std::nullopt;
}

const SizeLimit *Signature::limitOf(SizeName size) const {
  const std::optional<SizeLimit> &limit = limits[indexOf(canonical(size))];
  return limit ? &*limit : nullptr;
}

static const TensorSignature *find(const std::vector<TensorSignature> &tensors, StringRef name) {
  auto it = llvm::find_if(tensors, [&](const TensorSignature &t) { return t.name == name; });
  return it == tensors.end() ? nullptr : &*it;
}
const TensorSignature *Signature::findArgument(StringRef name) const {
  return find(arguments, name);
}
ElementType Signature::storage() const {
  auto isSequence = [](const TensorSignature &tensor) {
    return tensor.role == Role::Query || tensor.role == Role::Key || tensor.role == Role::Value;
  };
  auto it = llvm::find_if(arguments, isSequence);
  return it == arguments.end() ? ElementType::F32 : it->type;
}
const TensorSignature *Signature::findResult(StringRef name) const { return find(results, name); }

namespace {

/// The element type of a type that verifiers let pass; its name is ours.
ElementType elementTypeOf(Type type) { return *parseElementType(debugString(type)); }

TensorSignature describe(const Signature &signature, StringRef name, RankedTensorType type,
                         const Uses &use) {
  TensorSignature tensor;
  tensor.name = name.str();
  tensor.type = elementTypeOf(type.getElementType());
  // Head symbols: a tensor that both sides read has canonical names already.
  bool querySide = use.query || use.gateHeads;
  SizeName positions = signature.canonical(use.query ? kPositions : kKeyPositions);
  SizeName heads = signature.canonical(querySide ? kHeads : kKeyHeads);
  if (signature.sharesHeads)
    heads = use.isShared ? kKeyHeads : kHeads;
  SizeName calls = signature.offsets ? kSequences : kBatch;
  ArrayRef<int64_t> shape = type.getShape();
  SmallVector<SizeName, 4> symbols;
  if (use.numbers) {
    tensor.role = *use.numbers;
    symbols = {tensor.role == Role::Offsets ? kSequenceBounds : calls};
  } else if (use.decay) {
    tensor.role = Role::Decay;
    symbols = {kBatch, positions, heads};
    if (shape.size() == 1)
      symbols = {heads};
  } else if (use.state || use.keptDecay) {
    tensor.role = use.state ? Role::State : Role::Decay;
    symbols = {signature.slots ? kSlots : calls, heads};
  } else if (shape.size() == 4) {
    tensor.role = use.query ? Role::Query : use.asKey ? Role::Key : Role::Value;
    symbols = {kBatch, positions, heads};
  } else if (isPositional(shape)) {
    tensor.role = Role::Positional;
    symbols = {signature.firstPosition || signature.offsets ? kTableRows : positions, heads};
  } else {
    symbols = {heads};
    size_t rank = shape.size() - (ShapedType::isDynamic(shape[0]) ? 1 : 0);
    tensor.role = rank > 1          ? Role::Weight
                  : use.frequencies ? Role::Frequencies
                  : use.lags        ? Role::Lags
                  : use.gain        ? Role::Gain
                                    : Role::Vector;
  }
  for (auto [i, size] : llvm::enumerate(shape))
    tensor.dims.push_back(ShapedType::isDynamic(size) ? int64_t(symbols[i]) : size);
  return tensor;
}

/// A result, as if it were an argument that is used for the same.
Uses usesOfResult(Value value, const UseAnalysis &analysis) {
  if (auto keep = value.getDefiningOp<KeepOp>())
    return analysis.uses[cast<BlockArgument>(keep.getPool()).getArgNumber()];
  if (auto sum = value.getDefiningOp<AddGradientsOp>())
    value = sum.getGradients().front();
  Uses use;
  bool isVector = isa<FeatureType>(value.getType());
  use.isShared = bool(value.getDefiningOp<SumHeadsOp>());
  if (auto gradient = value.getDefiningOp<WeightGradientOp>())
    use.query = !isOfKeys(gradient);
  else if (value.getDefiningOp<FilterGradientOp>())
    use.query = true;
  else
    use.query = isVector && !isOfKeys(value);
  if (auto attend = value.getDefiningOp<AttendOp>(); attend && !isVector) {
    use.state = true;
    use.gateHeads = attend.getGateHeads() == GateHeads::Q;
  }
  if (auto backward = value.getDefiningOp<AttendBackwardOp>(); backward && !isVector) {
    (value == backward.getDecayGradient() ? use.decay : use.state) = true;
    use.gateHeads = backward.getGateHeads() == GateHeads::Q;
  }
  if (auto gradient = value.getDefiningOp<DecayGradientOp>()) {
    use.decay = true;
    use.gateHeads = gradient.getGateHeads() == GateHeads::Q;
  }
  return use;
}

EntryFacts entryFacts(ArrayRef<AttendOp> attends) {
  EntryFacts facts;
  int64_t widest = -1, stateBytes = 0;
  bool holdable = true;
  for (AttendOp attend : attends) {
    Structure structure = cast<FeatureType>(attend.getKey().getType()).getStructure();
    bool isSoftmax = attend.getNormalizer().isSoftmax();
    if (isSoftmax) // which takes the exponentials itself
      structure = Structure::exponential(structure);
    int64_t width = structure.width();
    int64_t valueWidth = cast<FeatureType>(attend.getValue().getType()).getWidth();
    bool normalized = attend.getNormalizer().hasDenominator();
    holdable &= width <= AttendOp::kMaxStateWidth && mayHaveState(attend);
    if (holdable)
      stateBytes = saturatingAdd(stateBytes, saturatingMul(4 * width, valueWidth + normalized));
    if (width <= widest)
      continue;
    widest = width;
    facts.featureDim = width < Structure::kHuge ? std::optional<int64_t>(width) : std::nullopt;
    facts.degree = isSoftmax ? std::nullopt : polyattn::factsOf(attend.getKey()).degree;
    facts.scoreForm = structure.hasScoreForm() ? structure.str() : "";
  }
  if (holdable && !attends.empty())
    facts.stateBytes = stateBytes;
  return facts;
}

/// The largest number there is where it does not fit: calls then begin at 0.
int64_t leastCommonMultiple(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_mul_overflow(a / std::gcd(a, b), b, &result)
             ? std::numeric_limits<int64_t>::max()
             : result;
}

/// Tables that cover the calls have the distances of so many positions.
void limitPositions(Signature &signature, ArrayRef<Uses> uses) {
  for (auto [argument, use] : llvm::enumerate(uses))
    for (SizeName size : {kPositions, kKeyPositions}) {
      std::optional<SizeLimit> &limit = signature.limits[indexOf(signature.canonical(size))];
      if (use.mostPositions && (!limit || *use.mostPositions < limit->most))
        limit = {*use.mostPositions, unsigned(argument)};
    }
}

/// The spec fixes a number of heads by its list of decay factors.
llvm::Error fixHeads(Signature &signature, ArrayRef<AttendOp> attends) {
  for (AttendOp attend : attends) {
    std::optional<ArrayRef<double>> factors = attend.getDecayFactors();
    if (!factors)
      continue;
    bool perQueryHead = signature.sameHeads || attend.getGateHeads() == GateHeads::Q;
    std::optional<int64_t> &heads = perQueryHead ? signature.fixedHeads : signature.fixedKvHeads;
    if (heads && *heads != int64_t(factors->size()))
      return llvm::createStringError("entry '" + signature.name +
                                     "': lists of decay factors differ in length");
    heads = factors->size();
  }
  return llvm::Error::success();
}

} // namespace

llvm::Expected<Signature> polyattn::signatureOf(AttentionOp attention) {
  if (hasKernels(attention))
    return signatureOf(*withoutKernels(attention));
  UseAnalysis analysis(attention);
  Signature signature;
  signature.name = attention.getSymName().str();
  signature.samePositions = analysis.samePositions;
  signature.sharesHeads = sharesHeads(attention);
  signature.sameHeads = analysis.sameHeads || signature.sharesHeads;
  if (BlockArgument first = attention.getFirstPositionArgument())
    signature.firstPosition = first.getArgNumber();
  if (BlockArgument slots = attention.getSlotsArgument())
    signature.slots = slots.getArgNumber();
  if (BlockArgument lengths = attention.getLengthsArgument())
    signature.lengths = lengths.getArgNumber();
  if (BlockArgument offsets = attention.getOffsetsArgument())
    signature.offsets = offsets.getArgNumber();
  for (AttendOp attend : analysis.attends)
    if (attend.getLocalQuery() && !attend.getSliding() &&
        attention.getBody().getOps<KeepOp>().empty())
      signature.positionUnit = leastCommonMultiple(signature.positionUnit, *attend.getBlock());
  if (llvm::Error error = fixHeads(signature, analysis.attends))
    return std::move(error);
  limitPositions(signature, analysis.uses);

  llvm::StringSet<> names;
  for (auto [argument, name, use] :
       llvm::zip(attention.getBody().getArguments(), attention.getArgNames(), analysis.uses)) {
    StringRef text = cast<StringAttr>(name).getValue();
    if (!names.insert(text).second)
      return llvm::createStringError("entry '" + signature.name + "' has two arguments '" + text +
                                     "'");
    signature.arguments.push_back(
        describe(signature, text, cast<RankedTensorType>(argument.getType()), use));
  }
  names.clear();
  auto returned = cast<ReturnOp>(attention.getBody().front().getTerminator()).getResults();
  for (auto [value, name, type] :
       llvm::zip(returned, attention.getResultNames(),
                 attention.getResultTypes().getAsValueRange<TypeAttr>())) {
    StringRef text = cast<StringAttr>(name).getValue();
    if (!names.insert(text).second)
      return llvm::createStringError("entry '" + signature.name + "' has two results '" + text +
                                     "'");
    TensorSignature tensor =
        describe(signature, text, cast<RankedTensorType>(type), usesOfResult(value, analysis));
    if (BlockArgument argument = attention.getArgumentOfResult(signature.results.size()))
      tensor.argument = argument.getArgNumber();
    if (isa<FeatureType>(value.getType()))
      tensor.role = Role::Output;
    signature.results.push_back(std::move(tensor));
  }
  signature.facts = entryFacts(analysis.attends);
  return signature;
}

SmallVector<int64_t, 4> polyattn::shapeOf(const TensorSignature &tensor, const CallSizes &sizes) {
  const int64_t bound[POLYATTN_NAMED_SIZES] = {sizes.batch, sizes.queries,   sizes.keys,
                                               sizes.heads, sizes.kvHeads,   sizes.rows,
                                               sizes.slots, sizes.sequences, sizes.sequences + 1};
  SmallVector<int64_t, 4> shape;
  for (int64_t size : tensor.dims)
    shape.push_back(size < 0 ? bound[indexOf(SizeName(size))] : size);
  return shape;
}
