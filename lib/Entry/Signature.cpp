//===- Signature.cpp - what an attention asks of its caller ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Entry/Signature.h"
#include "dialects/PolyAttn/FeatureFacts.h"
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
  if (name == kKeyHeads && sameHeads)
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

/// How an argument is used in the body.
struct Uses {
  bool query = false, key = false; // sides that read it
  bool asKey = false;              // reaches an attend as key, not only as value
  bool decay = false, state = false;
  bool gateHeads = false; // a decay or state of query heads
  bool gain = false, frequencies = false;
  std::optional<Role> numbers; // what the whole numbers are that it holds
};

/// [T, H, d] or [T, 1, d], not a weight per head.
bool isPositional(ArrayRef<int64_t> shape) {
  return shape.size() == 3 && ShapedType::isDynamic(shape[0]) &&
         (ShapedType::isDynamic(shape[1]) || shape[1] == 1);
}

/// Reads off a body who is used where.
class UseAnalysis {
public:
  explicit UseAnalysis(AttentionOp attention) : uses(attention.getBody().getNumArguments()) {
    for (Operation &op : attention.getBody().front()) {
      if (auto attend = dyn_cast<AttendOp>(op))
        visitAttend(attend);
      else if (auto backward = dyn_cast<AttendBackwardOp>(op))
        visitBackward(backward);
      else if (auto result = dyn_cast<ReturnOp>(op))
        for (Value value : result.getResults())
          visitResult(value);
      for (OpOperand &operand : op.getOpOperands())
        visitWeightUse(operand);
    }
    auto note = [&](BlockArgument argument, Role role) {
      if (argument)
        uses[argument.getArgNumber()].numbers = role;
    };
    note(attention.getFirstPositionArgument(), Role::First);
    note(attention.getSlotsArgument(), Role::Slots);
    note(attention.getLengthsArgument(), Role::Lengths);
    note(attention.getOffsetsArgument(), Role::Offsets);
    samePositions |= bool(attention.getOffsetsArgument());
    hasTableRows = attention.getFirstPositionArgument() || attention.getOffsetsArgument();
    // Left behind by an attend that was removed.
    for (auto [argument, use] : llvm::zip(attention.getBody().getArguments(), uses))
      if (argument.use_empty() && AttentionOp::isDecayOrState(argument)) {
        bool isState = cast<RankedTensorType>(argument.getType()).getRank() == 4;
        (isState ? use.state : use.decay) = true;
      }
    // Arguments that both sides read tie the symbols that index them.
    for (auto [argument, use] : llvm::zip(attention.getBody().getArguments(), uses)) {
      if (!use.query || !use.key)
        continue;
      ArrayRef<int64_t> shape = cast<RankedTensorType>(argument.getType()).getShape();
      bool positional = isPositional(shape);
      samePositions |= shape.size() == 4 || (positional && !hasTableRows);
      sameHeads |= shape.size() == 4 || ShapedType::isDynamic(shape[positional ? 1 : 0]);
    }
  }

  std::vector<Uses> uses;
  bool samePositions = false, sameHeads = false, hasTableRows = false;
  SmallVector<AttendOp> attends;

private:
  enum class Side { Query, Key, Value };

  void visitAttend(AttendOp attend) {
    attends.push_back(attend);
    samePositions |= attend.isOrdered();
    sameHeads |= !attend.getGrouping();
    bool perQueryHead = attend.getGateHeads() == GateHeads::Q, ofKeys = attend.getOfKeys();
    for (Value value : {attend.getQuery(), attend.getLocalQuery(), attend.getProducts()})
      markSide(value, ofKeys ? Side::Key : Side::Query);
    for (Value value : {attend.getKey(), attend.getLocalKey()})
      markSide(value, ofKeys ? Side::Query : Side::Key);
    markSide(attend.getValue(), ofKeys ? Side::Query : Side::Value);
    for (Value value :
         {attend.getDecay(), attend.getInitialState(), attend.getInitialNormalizer()}) {
      if (!value)
        continue;
      Uses &use = uses[cast<BlockArgument>(value).getArgNumber()];
      (value == attend.getDecay() ? use.decay : use.state) = true;
      use.gateHeads |= perQueryHead;
    }
  }

  void visitBackward(AttendBackwardOp backward) {
    samePositions |= backward.getMask() == Mask::Causal;
    sameHeads |= !backward.getGrouping();
    bool perQueryHead = backward.getGateHeads() == GateHeads::Q;
    for (Value value : {backward.getQuery(), backward.getLocalQuery(),
                        backward.getNumeratorGradient(), backward.getDenominatorGradient()})
      markSide(value, Side::Query);
    for (Value value : {backward.getKey(), backward.getLocalKey()})
      markSide(value, Side::Key);
    markSide(backward.getValue(), Side::Value);
    for (Value value :
         {backward.getDecay(), backward.getInitialState(), backward.getInitialNormalizer(),
          backward.getFinalGradient(), backward.getFinalNormalizerGradient()}) {
      if (!value)
        continue;
      Uses &use = uses[cast<BlockArgument>(value).getArgNumber()];
      (value == backward.getDecay() ? use.decay : use.state) = true;
      use.gateHeads |= perQueryHead;
    }
  }

  void visitResult(Value value) {
    if (value.getDefiningOp<DecayGradientOp>())
      return; // all that it takes are results of attends
    auto gradient = value.getDefiningOp<WeightGradientOp>();
    if (!gradient)
      return markSide(value, isOfKeys(value) ? Side::Value : Side::Query);
    for (size_t i = 0; i < gradient.getGradients().size(); ++i) {
      Side side = isTermOfKeys(gradient, i) ? Side::Value : Side::Query;
      markSide(gradient.getGradients()[i], side);
      if (!gradient.getInputs().empty())
        markSide(gradient.getInputs()[i], side);
    }
  }

  /// Marks every argument that a vector is computed from.
  void markSide(Value value, Side side) {
    if (!value || !seen[static_cast<int>(side)].insert(value).second)
      return;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Uses &use = uses[argument.getArgNumber()];
      (side == Side::Query ? use.query : use.key) = true;
      use.asKey |= side == Side::Key;
      return;
    }
    Operation *op = value.getDefiningOp();
    if (isa<AttendBackwardOp>(op)) {
      // Sums of gradients of both sides.
      bool ofKeys = cast<AttendBackwardOp>(op).isOfKeys(value);
      bool wantsKeys = side != Side::Query, isTensor = isa<RankedTensorType>(value.getType());
      samePositions |= !isTensor && ofKeys != wantsKeys;
      sameHeads |= !isTensor && ofKeys != wantsKeys;
      return;
    }
    if (auto attend = dyn_cast<AttendOp>(op)) {
      // What an attend gives has the positions and heads of its rows.
      bool wantsKeys = side != Side::Query, ofKeys = attend.getOfKeys();
      samePositions |= ofKeys != wantsKeys;
      sameHeads |= ofKeys != wantsKeys;
      return;
    }
    for (Value operand : op->getOperands())
      markSide(operand, side);
  }

  /// Notes what a vector is for, looking through `read` and `apply`.
  void visitWeightUse(OpOperand &operand) {
    auto argument = dyn_cast<BlockArgument>(operand.get());
    if (!argument)
      return;
    Uses &use = uses[argument.getArgNumber()];
    Operation *op = operand.getOwner();
    if (auto read = dyn_cast<ReadOp>(op)) {
      for (OpOperand &inner : read->getUses())
        classify(inner, use);
    } else {
      classify(operand, use);
    }
  }

  void classify(OpOperand &operand, Uses &use) {
    if (auto apply = dyn_cast<ApplyOp>(operand.getOwner())) {
      auto map = SymbolTable::lookupNearestSymbolFrom<FeatureMapOp>(apply, apply.getMapAttr());
      if (map)
        for (OpOperand &inner : map.getBody().getArgument(operand.getOperandNumber()).getUses())
          classify(inner, use);
      return;
    }
    use.gain |= meaningOf(operand) == WeightMeaning::Gain;
    use.frequencies |= meaningOf(operand) == WeightMeaning::Frequencies;
  }

  llvm::DenseSet<Value> seen[3];
};

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
  } else if (use.state) {
    tensor.role = Role::State;
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
                  : use.gain        ? Role::Gain
                                    : Role::Vector;
  }
  for (auto [i, size] : llvm::enumerate(shape))
    tensor.dims.push_back(ShapedType::isDynamic(size) ? int64_t(symbols[i]) : size);
  return tensor;
}

EntryFacts entryFacts(ArrayRef<AttendOp> attends) {
  EntryFacts facts;
  int64_t widest = -1, stateBytes = 0;
  bool holdable = true;
  for (AttendOp attend : attends) {
    Structure structure = cast<FeatureType>(attend.getKey().getType()).getStructure();
    int64_t width = structure.width();
    int64_t valueWidth = cast<FeatureType>(attend.getValue().getType()).getWidth();
    bool normalized = attend.getNormalizer().hasDenominator();
    holdable &= width <= AttendOp::kMaxStateWidth && !hasAbsoluteScore(attend.getKey());
    if (holdable)
      stateBytes += saturatingMul(4 * width, valueWidth + normalized);
    if (width <= widest)
      continue;
    widest = width;
    facts.featureDim = width < Structure::kHuge ? std::optional<int64_t>(width) : std::nullopt;
    facts.degree = polyattn::factsOf(attend.getKey()).degree;
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
  UseAnalysis analysis(attention);
  Signature signature;
  signature.name = attention.getSymName().str();
  signature.samePositions = analysis.samePositions;
  signature.sameHeads = analysis.sameHeads;
  if (BlockArgument first = attention.getFirstPositionArgument())
    signature.firstPosition = first.getArgNumber();
  if (BlockArgument slots = attention.getSlotsArgument())
    signature.slots = slots.getArgNumber();
  if (BlockArgument lengths = attention.getLengthsArgument())
    signature.lengths = lengths.getArgNumber();
  if (BlockArgument offsets = attention.getOffsetsArgument())
    signature.offsets = offsets.getArgNumber();
  for (AttendOp attend : analysis.attends)
    if (attend.getLocalQuery())
      signature.positionUnit = leastCommonMultiple(signature.positionUnit, *attend.getBlock());
  if (llvm::Error error = fixHeads(signature, analysis.attends))
    return std::move(error);

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
    Uses use;
    bool isVector = isa<FeatureType>(value.getType());
    if (auto gradient = value.getDefiningOp<WeightGradientOp>())
      use.query = !isOfKeys(gradient);
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
    BlockArgument argument = attention.getArgumentOfResult(signature.results.size());
    signature.results.push_back(describe(signature, text, cast<RankedTensorType>(type), use));
    if (argument)
      signature.results.back().argument = argument.getArgNumber();
    if (isVector)
      signature.results.back().role = Role::Output;
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

llvm::json::Object polyattn::toJson(const Signature &signature) {
  auto tensors = [&](const std::vector<TensorSignature> &list) {
    llvm::json::Array array;
    for (const TensorSignature &tensor : list) {
      llvm::json::Array shape, dims;
      for (int64_t dim : tensor.dims) {
        std::optional<int64_t> size = signature.fixedSize(dim);
        shape.push_back(size ? llvm::json::Value(*size) : llvm::json::Value(nullptr));
        dims.push_back(size ? llvm::json::Value(*size) : llvm::json::Value(sizeToString(dim)));
      }
      llvm::json::Object object{{"name", tensor.name},
                                {"shape", std::move(shape)},
                                {"dims", std::move(dims)},
                                {"dtype", nameOf(tensor.type)},
                                {"role", nameOf(tensor.role)}};
      if (!tensor.gradientOf.empty())
        object["gradient_of"] = tensor.gradientOf;
      if (!tensor.savedFrom.empty())
        object["saved_from"] = tensor.savedFrom;
      if (tensor.argument)
        object["in"] = signature.arguments[*tensor.argument].name;
      array.push_back(std::move(object));
    }
    return array;
  };
  auto optional = [](std::optional<int64_t> value) {
    return value ? llvm::json::Value(*value) : llvm::json::Value(nullptr);
  };
  const EntryFacts &facts = signature.facts;
  return llvm::json::Object{{"name", signature.name},
                            {"arguments", tensors(signature.arguments)},
                            {"results", tensors(signature.results)},
                            {"feature_dim", optional(facts.featureDim)},
                            {"degree", optional(facts.degree)},
                            {"score_form", facts.scoreForm.empty()
                                               ? llvm::json::Value(nullptr)
                                               : llvm::json::Value(facts.scoreForm)},
                            {"state_bytes", optional(facts.stateBytes)}};
}
