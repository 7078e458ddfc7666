//===- PolyAttnDialect.cpp - registration and attributes ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/FeatureOpRules.h"
#include "dialects/PolyAttn/GradientBuilder.h"
#include "dialects/PolyAttn/PolyAttn.h"
#include "dialects/PolyAttn/TypeSyntax.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace polyattn;

#include "dialects/PolyAttn/PolyAttnDialect.cpp.inc"
#include "dialects/PolyAttn/PolyAttnEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/PolyAttn/PolyAttnTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/PolyAttn/PolyAttnAttrs.cpp.inc"

#include "dialects/PolyAttn/FeatureOpInterface.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/PolyAttn/PolyAttnOps.cpp.inc"

LogicalResult PolyAttnDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != kInvariantAttrName)
    return op->emitOpError("has '")
           << attribute.getName().getValue() << "', which is no attribute of this dialect";
  if (!isa<ModuleOp>(op))
    return op->emitOpError("has '") << kInvariantAttrName << "', which is for modules";
  if (!isa<UnitAttr>(attribute.getValue()))
    return op->emitOpError("expected '")
           << kInvariantAttrName << "' without a value, got " << attribute.getValue();
  return success();
}

void PolyAttnDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/PolyAttn/PolyAttnTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/PolyAttn/PolyAttnAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/PolyAttn/PolyAttnOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// NormalizerAttr: `<sum, eps = 1.0e-6, min_denom = 1.0e-4>`
//===----------------------------------------------------------------------===//

template <typename Enum>
static ParseResult parseEnum(AsmParser &parser, std::optional<Enum> (*symbolize)(StringRef),
                             StringRef what, Enum &value) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Enum> parsed = symbolize(keyword);
  if (!parsed)
    return parser.emitError(loc) << "unknown " << what << " '" << keyword << "'";
  value = *parsed;
  return success();
}

/// A parameter that changes results has no default.
static LogicalResult checkGiven(AsmParser &parser, llvm::SMLoc loc, NormalizerKind kind,
                                const llvm::StringSet<> &given) {
  auto fail = [&](const Twine &message) -> LogicalResult { return parser.emitError(loc, message); };
  if (kind == NormalizerKind::Sum && !given.contains("eps"))
    return fail(
        "a normalizer `sum` says its eps, which has no default: `<sum, eps = 0.0>` for none");
  if (kind == NormalizerKind::Bias && !given.contains("bias"))
    return fail("a normalizer `bias` says its bias, which has no default: `<bias, bias = 1.0>`");
  if (given.contains("eps_mode") && !given.contains("eps"))
    return fail("eps_mode says what eps is relative to, and there is no eps");
  if (given.contains("guard_below") != given.contains("guard_add"))
    return fail("guard_below and guard_add are given together");
  return success();
}

Attribute NormalizerAttr::parse(AsmParser &parser, Type) {
  llvm::SMLoc start = parser.getCurrentLocation();
  NormalizerKind kind = NormalizerKind::None;
  EpsMode epsMode = EpsMode::Absolute;
  Reduce reduce = Reduce::Sum;
  double eps = 0, bias = 0, guardBelow = 0, guardAdd = 0, minDenom = 0;
  llvm::StringSet<> given;
  if (parser.parseLess() ||
      parseEnum<NormalizerKind>(parser, symbolizeNormalizerKind, "normalizer", kind))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    llvm::SMLoc loc = parser.getCurrentLocation();
    StringRef field;
    if (parser.parseKeyword(&field) || parser.parseEqual())
      return {};
    if (!given.insert(field).second) {
      parser.emitError(loc) << "a normalizer's " << field << " is given twice";
      return {};
    }
    double *number = llvm::StringSwitch<double *>(field)
                         .Case("eps", &eps)
                         .Case("bias", &bias)
                         .Case("guard_below", &guardBelow)
                         .Case("guard_add", &guardAdd)
                         .Case("min_denom", &minDenom)
                         .Default(nullptr);
    if (number) {
      bool negative = succeeded(parser.parseOptionalMinus());
      if (parser.parseFloat(*number))
        return {};
      if (negative)
        *number = -*number;
    } else if (field == "eps_mode") {
      if (parseEnum<EpsMode>(parser, symbolizeEpsMode, "eps_mode", epsMode))
        return {};
    } else if (field == "reduce") {
      if (parseEnum<Reduce>(parser, symbolizeReduce, "reduce", reduce))
        return {};
    } else {
      InFlightDiagnostic error = parser.emitError(loc)
                                 << "unknown field '" << field << "' of a normalizer";
      StringRef nearest = nearestName(
          field, {"eps", "bias", "guard_below", "guard_add", "min_denom", "eps_mode", "reduce"});
      if (!nearest.empty())
        error << "; did you mean '" << nearest << "'?";
      return {};
    }
  }
  if (parser.parseGreater() || failed(checkGiven(parser, start, kind, given)))
    return {};
  return parser.getChecked<NormalizerAttr>(
      start, parser.getContext(), kind, llvm::APFloat(eps), epsMode, llvm::APFloat(bias), reduce,
      llvm::APFloat(guardBelow), llvm::APFloat(guardAdd), llvm::APFloat(minDenom));
}

void NormalizerAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyNormalizerKind(getKind());
  auto number = [&](StringRef name, const llvm::APFloat &value, bool always = false) {
    if (always || !value.isZero()) {
      printer << ", " << name << " = ";
      printer.printFloat(value);
    }
  };
  number("eps", getEps(),
         /*always=*/getKind() == NormalizerKind::Sum || getEpsMode() != EpsMode::Absolute);
  if (getEpsMode() != EpsMode::Absolute)
    printer << ", eps_mode = " << stringifyEpsMode(getEpsMode());
  number("bias", getBias(), /*always=*/getKind() == NormalizerKind::Bias);
  if (getReduce() != Reduce::Sum)
    printer << ", reduce = " << stringifyReduce(getReduce());
  bool guarded = !getGuardBelow().isZero() || !getGuardAdd().isZero();
  number("guard_below", getGuardBelow(), guarded);
  number("guard_add", getGuardAdd(), guarded);
  number("min_denom", getMinDenom());
  printer << ">";
}

LogicalResult NormalizerAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                     NormalizerKind kind, llvm::APFloat eps, EpsMode epsMode,
                                     llvm::APFloat bias, Reduce, llvm::APFloat guardBelow,
                                     llvm::APFloat guardAdd, llvm::APFloat minDenom) {
  for (const auto &[name, value] :
       {std::pair<StringRef, llvm::APFloat>{"bias", bias}, {"guard_add", guardAdd}})
    if (!value.isFinite())
      return emitError() << name << " must be finite";
  for (const auto &[name, value] : {std::pair<StringRef, llvm::APFloat>{"eps", eps},
                                    {"guard_below", guardBelow},
                                    {"min_denom", minDenom}})
    if (!value.isFinite() || (value.isNegative() && !value.isZero()))
      return emitError() << name << " must be finite and not negative";
  if (kind == NormalizerKind::None &&
      (!eps.isZero() || !bias.isZero() || !guardBelow.isZero() || !guardAdd.isZero() ||
       !minDenom.isZero() || epsMode != EpsMode::Absolute))
    return emitError() << "a normalizer `none` has no eps, bias, guard or min_denom";
  if (kind != NormalizerKind::Bias && !bias.isZero())
    return emitError() << "only a normalizer `bias` has a bias";
  return success();
}

//===----------------------------------------------------------------------===//
// ScheduleAttr
//===----------------------------------------------------------------------===//

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError, ScheduleForm form,
                                   ScheduleDiagonal diagonal, int64_t block, int64_t featureBlock,
                                   int64_t quadraticBelow, DenseI64ArrayAttr shortBlocks,
                                   bool contracted) {
  constexpr int64_t longest = 1024;
  if (block < 1 || block > longest)
    return emitError() << "a block has 1 to 1024 positions, not " << block;
  if (featureBlock < 1)
    return emitError() << "a feature block has at least one feature, not " << featureBlock;
  if (quadraticBelow < 0)
    return emitError() << "quadratic_below is 0 or more, not " << quadraticBelow;
  if (quadraticBelow > 0 && form != ScheduleForm::Both)
    return emitError() << "quadratic_below belongs to the form `both`";
  if (contracted && (form == ScheduleForm::Quadratic || diagonal == ScheduleDiagonal::Features))
    return emitError() << "a contracted state is one whose blocks have their pairs by scores";
  if (!shortBlocks)
    return success();
  if (shortBlocks.size() > kMaxShortBlocks)
    return emitError() << "there are at most " << kMaxShortBlocks << " short blocks, not "
                       << shortBlocks.size();
  int64_t shorter = 0;
  for (int64_t length : shortBlocks.asArrayRef()) {
    if (length < 1 || length > longest)
      return emitError() << "a short block has 1 to 1024 positions, not " << length;
    if (length <= shorter)
      return emitError() << "short_blocks ascend, but " << length << " comes after " << shorter;
    shorter = length;
  }
  return success();
}
