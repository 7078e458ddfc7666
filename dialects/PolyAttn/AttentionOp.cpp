//===- AttentionOp.cpp - syntax and verification of attentions ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/Arguments.h"
#include "dialects/PolyAttn/AttentionClauses.h"
#include "dialects/PolyAttn/FeatureParts.h"
#include "dialects/PolyAttn/Kernels.h"
#include "dialects/PolyAttn/ShortForm/ShortForm.h"
#include "dialects/PolyAttn/ShortForm/TextAhead.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace polyattn;

/// Clauses that name an argument of whole numbers: the keywords, and the attributes.
static constexpr llvm::StringLiteral kFirstPosition = "first_position", kSlots = "slots",
                                     kLengths = "lengths", kPacked = "packed",
                                     kResultIn = "result_in";

/// The number of the argument that comes next in the text.
static ParseResult parseArgument(OpAsmParser &parser, ArrayRef<OpAsmParser::Argument> arguments,
                                 StringRef constraint, int64_t &number) {
  OpAsmParser::UnresolvedOperand named;
  if (parser.parseOperand(named))
    return failure();
  auto it = llvm::find_if(arguments, [&](const OpAsmParser::Argument &argument) {
    return argument.ssaName.name == named.name && argument.ssaName.number == named.number;
  });
  if (it == arguments.end())
    return parser.emitError(named.location)
           << constraint << ": there is no argument " << named.name;
  number = it - arguments.begin();
  return success();
}

ParseResult AttentionOp::parse(OpAsmParser &parser, OperationState &result) {
  if (shortform::isShortForm(parser))
    return shortform::parseAttention(parser, result);
  SmallVector<OpAsmParser::Argument> arguments;
  if (parseHeader(parser, result, arguments) || parser.parseArrow())
    return failure();
  SmallVector<Attribute> names, types;
  SmallVector<int64_t> places;
  Builder &builder = parser.getBuilder();
  auto parseResult = [&]() -> ParseResult {
    StringRef name;
    Type type;
    if (parser.parseKeyword(&name) || parser.parseColonType(type))
      return failure();
    names.push_back(builder.getStringAttr(name));
    types.push_back(TypeAttr::get(type));
    places.push_back(-1);
    if (succeeded(parser.parseOptionalKeyword("in")))
      return parseArgument(parser, arguments, "C7", places.back());
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseResult))
    return failure();
  result.addAttribute("result_names", builder.getArrayAttr(names));
  result.addAttribute("result_types", builder.getArrayAttr(types));
  if (llvm::any_of(places, [](int64_t place) { return place >= 0; }))
    result.addAttribute(kResultIn, builder.getDenseI64ArrayAttr(places));
  for (StringRef clause : {kFirstPosition, kSlots, kLengths, kPacked}) {
    int64_t number = 0;
    if (failed(parser.parseOptionalKeyword(clause)))
      continue;
    if (parseArgument(parser, arguments, "C5", number))
      return failure();
    result.addAttribute(clause, builder.getI64IntegerAttr(number));
  }
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  return parser.parseRegion(*result.addRegion(), arguments);
}

void AttentionOp::print(OpAsmPrinter &printer) {
  if (shortform::canPrint(*this))
    return shortform::printAttention(printer, *this);
  printHeader(printer, getSymName(), getBody());
  printer << " -> (";
  llvm::interleaveComma(llvm::seq<size_t>(0, getResultNames().size()), printer, [&](size_t i) {
    printer << cast<StringAttr>(getResultNames()[i]).getValue() << ": " << getResultTypes()[i];
    if (BlockArgument argument = getArgumentOfResult(i))
      printer << " in " << argument;
  });
  printer << ")";
  auto printClause = [&](StringRef clause, BlockArgument argument) {
    if (argument)
      printer << " " << clause << " " << argument;
  };
  printClause(kFirstPosition, getFirstPositionArgument());
  printClause(kSlots, getSlotsArgument());
  printClause(kLengths, getLengthsArgument());
  printClause(kPacked, getOffsetsArgument());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {"sym_name", "arg_names", "result_names", "result_types",
                                            kFirstPosition, kSlots, kLengths, kPacked, kResultIn});
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

void AttentionOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(getArgNames(), region, setName);
}

static bool isStorageType(Type type) { return type.isF32() || type.isBF16() || type.isF16(); }

/// Whether nothing but a decay, [B, T, H] or [H], or a state, [B, H, D, dv], has the shape.
static bool hasShapeOfDecayOrState(RankedTensorType tensor) {
  if (!tensor || !tensor.getElementType().isF32())
    return false;
  ArrayRef<int64_t> shape = tensor.getShape();
  if (shape.size() == 1 || shape.size() == 3)
    return llvm::all_of(shape, ShapedType::isDynamic);
  return shape.size() == 4 && llvm::all_of(shape.take_front(2), ShapedType::isDynamic) &&
         llvm::all_of(shape.drop_front(2),
                      [](int64_t n) { return !ShapedType::isDynamic(n) && n > 0; });
}

/// Whether a tensor has the shape of a sequence, [B, T, H, d], or of a decay of each feature.
static bool isSequenceShaped(RankedTensorType tensor) {
  return tensor && tensor.getRank() == 4 && ShapedType::isDynamic(tensor.getShape()[2]) &&
         !ShapedType::isDynamic(tensor.getShape()[3]);
}

/// Whether an f32 tensor [B, T, H, d] stands beside sequences of another type, as only decays do.
static bool isBesideOtherSequences(BlockArgument argument) {
  auto tensor = dyn_cast<RankedTensorType>(argument.getType());
  return isSequenceShaped(tensor) && tensor.getElementType().isF32() &&
         llvm::any_of(argument.getOwner()->getArgumentTypes(), [](Type type) {
           auto other = dyn_cast<RankedTensorType>(type);
           return isSequenceShaped(other) && !other.getElementType().isF32();
         });
}

/// True where the value is used as a decay or a state only. Of an argument that nobody uses, as
/// when the attend that did has gone, the shape says it.
bool AttentionOp::isDecayOrState(BlockArgument argument) {
  if (argument.use_empty())
    return hasShapeOfDecayOrState(dyn_cast<RankedTensorType>(argument.getType())) ||
           isBesideOtherSequences(argument);
  return llvm::all_of(argument.getUses(), [](OpOperand &use) {
    // Their operands that are tensors are nothing else.
    return isa<AttendOp, AttendBackwardOp, DecayGradientOp, AddStatesOp, KeepOp,
               StateUpdateInterface>(use.getOwner());
  });
}

/// Whether a tensor is a state of one column, without its last dimension.
static bool isColumnOf(RankedTensorType column, Type state) {
  auto tensor = dyn_cast<RankedTensorType>(state);
  return tensor && tensor.getShape().back() == 1 &&
         tensor.getShape().drop_back() == column.getShape() &&
         tensor.getElementType() == column.getElementType();
}

static bool hasName(std::optional<ArrayAttr> names, StringRef name) {
  return names && llvm::is_contained(names->getAsValueRange<StringAttr>(), name);
}

bool AttentionOp::isSaved(BlockArgument argument) {
  return hasName(getSaved(), cast<StringAttr>(getArgNames()[argument.getArgNumber()]).getValue());
}

/// Whether an argument is a result's gradient.
static bool isGradient(AttentionOp op, BlockArgument argument) {
  std::optional<DictionaryAttr> all = op.getGradientOf();
  return all && all->contains(cast<StringAttr>(op.getArgNames()[argument.getArgNumber()]));
}

static LogicalResult verifyGradientNames(AttentionOp op) {
  auto saved = op.getSaved().value_or(ArrayAttr::get(op.getContext(), {}));
  for (StringRef name : saved.getAsValueRange<StringAttr>())
    if (!hasName(op.getArgNames(), name))
      return op.emitOpError("C6: there is no argument '") << name << "' to be saved";
  for (NamedAttribute entry : op.getGradientOf().value_or(DictionaryAttr::get(op.getContext()))) {
    StringRef name = entry.getName().getValue();
    if (!hasName(op.getArgNames(), name) && !hasName(op.getResultNames(), name))
      return op.emitOpError("C6: there is no argument or result '") << name << "' to be a gradient";
    if (!isa<StringAttr>(entry.getValue()))
      return op.emitOpError("C6: '")
             << name << "' is the gradient of a name, not of " << entry.getValue();
  }
  return success();
}

/// Generated headers and tools name the tensors: identifiers of C, all different.
static LogicalResult verifyIdentifiers(AttentionOp op) {
  llvm::StringSet<> seen;
  for (ArrayAttr names : {op.getArgNames(), op.getResultNames()}) {
    for (StringRef name : names.getAsValueRange<StringAttr>()) {
      bool identifier = !name.empty() && !llvm::isDigit(name[0]) &&
                        llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
      if (!identifier)
        return op.emitOpError("C4: '") << name << "' is not an identifier";
      if (!seen.insert(name).second)
        return op.emitOpError("C4: the name '") << name << "' is used twice";
    }
  }
  return success();
}

static bool isWhole(RankedTensorType tensor) { return tensor.getElementType().isInteger(); }

/// Whether an argument may hold f32 beside sequences that do not. A result may, so that its
/// gradient and what is kept of it may.
static bool mayBeF32(AttentionOp op, BlockArgument argument) {
  return cast<RankedTensorType>(argument.getType()).getRank() != 4 || op.isSaved(argument) ||
         isGradient(op, argument);
}

/// The element type of the sequences [B, T, H, d]. Where all arguments may be f32 instead, it is
/// the other type that one of them holds, or f32.
static Type storageOf(AttentionOp op) {
  Type result;
  for (BlockArgument argument : op.getBody().getArguments()) {
    auto tensor = dyn_cast<RankedTensorType>(argument.getType());
    if (!tensor || isWhole(tensor) || AttentionOp::isDecayOrState(argument))
      continue;
    if (!mayBeF32(op, argument))
      return tensor.getElementType();
    if (!result || result.isF32())
      result = tensor.getElementType();
  }
  return result;
}

static LogicalResult verifyArgument(AttentionOp op, BlockArgument argument, Type storage) {
  Attribute name = op.getArgNames()[argument.getArgNumber()];
  auto tensor = dyn_cast<RankedTensorType>(argument.getType());
  if (!tensor)
    return op.emitOpError("C1: argument ") << name << " is not a tensor";
  if (op.isWholeNumbers(argument))
    return success();
  if (isWhole(tensor))
    return op.emitOpError("C5: argument ")
           << name << " holds whole numbers, but no `first_position`, `slots`, `lengths` or "
           << "`packed` names it: " << tensor;
  if (AttentionOp::isDecayOrState(argument)) {
    if (!tensor.getElementType().isF32())
      return op.emitOpError("C2: argument ") << name << " is a decay or a state and must be f32";
    return success();
  }
  if (!readTypeOf(tensor))
    return op.emitOpError("C1: argument ")
           << name << " has the shape of no query, key, value or weight: " << tensor;
  if (!isStorageType(tensor.getElementType()))
    return op.emitOpError("C2: argument ")
           << name << " must hold f32, bf16 or f16, not " << tensor.getElementType();
  bool isSequence = tensor.getRank() == 4;
  if (tensor.getElementType() != storage &&
      (!mayBeF32(op, argument) || !tensor.getElementType().isF32()))
    return op.emitOpError("C2: argument ")
           << name << " holds " << tensor.getElementType() << " where "
           << (isSequence ? "other sequences" : "sequences") << " hold " << storage;
  return success();
}

/// A result that is a row of features per position.
static LogicalResult verifyVector(AttentionOp op, FeatureType feature, RankedTensorType tensor,
                                  Type storage) {
  if (tensor.getRank() != 4 ||
      readTypeOf(tensor) != FeatureType::vector(op.getContext(), feature.getWidth()))
    return op.emitOpError("C3: a result of width ")
           << feature.getWidth() << " does not fit " << tensor;
  if (tensor.getElementType() != storage && !tensor.getElementType().isF32())
    return op.emitOpError("C2: a result must hold f32 or the sequences' storage type, not ")
           << tensor.getElementType();
  return success();
}

/// A result that is the gradient of a weight.
static LogicalResult verifyWeight(AttentionOp op, Value value, RankedTensorType tensor) {
  if (!isWholeOrPart(value.getType(), readTypeOf(tensor), op))
    return op.emitOpError("C3: a result ") << tensor << " is given a " << value.getType();
  // Parts are summed up in f32, and this is where they are summed.
  if (!tensor.getElementType().isF32())
    return op.emitOpError("C2: the gradient of a weight must be f32, not ")
           << tensor.getElementType();
  if (!isa_and_nonnull<WeightGradientOp, SumWeightsOp>(value.getDefiningOp()) &&
      !definingOp<FilterGradientOp>(value))
    return op.emitOpError("C3: a result is a weight, but no gradient of one: ") << tensor;
  return success();
}

static LogicalResult verifyResult(AttentionOp op, Value value, Type type, Type storage) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return op.emitOpError("C3: a result is not a tensor: ") << type;
  if (auto feature = dyn_cast<FeatureType>(value.getType()))
    return verifyVector(op, feature, tensor, storage);
  if (isa<WeightType>(value.getType()))
    return verifyWeight(op, value, tensor);
  if (value.getType() != type && !isColumnOf(tensor, value.getType()))
    return op.emitOpError("C3: a result ") << type << " is given a " << value.getType();
  if (!isa_and_nonnull<AttendOp, AttendBackwardOp, DecayGradientOp, AddGradientsOp, KeepOp>(
          yieldedValue(value).getDefiningOp()))
    return op.emitOpError("C3: a result is neither a vector nor a final state: ") << type;
  return success();
}

LogicalResult AttentionOp::verifyRegions() {
  if (failed(verifyNames(*this, getArgNames(), getBody())) || failed(verifyIdentifiers(*this)))
    return failure();
  if (getResultNames().size() != getResultTypes().size())
    return emitOpError("has result names and result types of different numbers");
  if (failed(verifyClauses(*this)) || failed(verifyGradientNames(*this)))
    return failure();
  Type storage = storageOf(*this);
  for (BlockArgument argument : getBody().getArguments())
    if (failed(verifyArgument(*this, argument, storage)))
      return failure();
  Block &body = getBody().front();
  auto returnOp = body.empty() ? ReturnOp() : dyn_cast<ReturnOp>(body.back());
  if (!returnOp)
    return emitOpError("C3: the body must end in `return`");
  if (getResultTypes().empty())
    return emitOpError("C3: there is nothing to compute without a result");
  if (returnOp.getResults().size() != getResultTypes().size())
    return returnOp.emitOpError("C3: returns ")
           << returnOp.getResults().size() << " values where the attention has "
           << getResultTypes().size() << " results";
  for (auto [value, type] :
       llvm::zip(returnOp.getResults(), getResultTypes().getAsValueRange<TypeAttr>()))
    if (failed(verifyResult(*this, value, type, storage)))
      return failure();
  if (failed(verifySums(*this, returnOp)) || failed(verifyPlaces(*this, returnOp)))
    return failure();
  if (failed(verifyDecoding(*this, returnOp)) || failed(verifySharedHeads(*this, returnOp)))
    return failure();
  if (failed(verifyKernels(*this, returnOp)))
    return failure();
  return verifyKept(*this);
}
