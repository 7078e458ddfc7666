//===- NormalizerSyntax.cpp - normalizers as text has them ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/NormalizerSyntax.h"
#include "dialects/Attributes/DidYouMean.h"
#include "dialects/PolyAttn/AttributeSyntax.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace polyattn;

template <typename Enum>
static ParseResult parseEnum(AsmParser &parser, const NormalizerReader::EmitError &emitError,
                             std::optional<Enum> (*symbolize)(StringRef), StringRef what,
                             ArrayRef<StringRef> words, Enum &value) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Enum> parsed = symbolize(keyword);
  if (parsed) {
    value = *parsed;
    return success();
  }
  return emitError(loc) << "unknown " << what << " '" << keyword << "'"
                        << didYouMean(keyword, words);
}

ParseResult NormalizerReader::readKind() {
  return parseEnum<NormalizerKind>(parser, emitError, symbolizeNormalizerKind, "normalizer",
                                   {"none", "sum", "bias", "softmax"}, kind);
}

bool NormalizerReader::hasMainField() const {
  return kind == NormalizerKind::Sum || kind == NormalizerKind::Bias;
}

double *NormalizerReader::findNumber(StringRef field) {
  return llvm::StringSwitch<double *>(field)
      .Case("eps", &eps)
      .Case("bias", &bias)
      .Case("guard_below", &guardBelow)
      .Case("guard_add", &guardAdd)
      .Case("min_denom", &minDenom)
      .Default(nullptr);
}

ParseResult NormalizerReader::readField(ParseNumber parseNumber) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef field;
  if (parser.parseKeyword(&field) || parser.parseEqual())
    return failure();
  if (!given.insert(field).second)
    return emitError(loc) << "a normalizer's " << field << " is given twice";
  if (double *number = findNumber(field))
    return parseNumber(*number);
  if (field == "eps_mode")
    return parseEnum<EpsMode>(parser, emitError, symbolizeEpsMode, field, {"absolute", "row_max"},
                              epsMode);
  if (field == "reduce")
    return parseEnum<Reduce>(parser, emitError, symbolizeReduce, field, {"sum", "mean"}, reduce);
  const StringRef fields[] = {"eps",       "bias",     "guard_below", "guard_add",
                              "min_denom", "eps_mode", "reduce"};
  return emitError(loc) << "unknown field '" << field << "' of a normalizer"
                        << didYouMean(field, fields);
}

ParseResult NormalizerReader::readMainField(ParseNumber parseNumber) {
  StringRef field = kind == NormalizerKind::Sum ? "eps" : "bias";
  given.insert(field);
  return parseNumber(*findNumber(field));
}

/// A parameter that changes results has no default.
LogicalResult NormalizerReader::checkGiven(StringRef zeroEps, StringRef someBias) {
  if (kind == NormalizerKind::Sum && !given.contains("eps"))
    return emitError(start) << "a normalizer `sum` says its eps, which has no default: `" << zeroEps
                            << "` for none";
  if (kind == NormalizerKind::Bias && !given.contains("bias"))
    return emitError(start) << "a normalizer `bias` says its bias, which has no default: `"
                            << someBias << "`";
  if (given.contains("eps_mode") && !given.contains("eps"))
    return emitError(start) << "eps_mode says what eps is relative to, and there is no eps";
  if (given.contains("guard_below") != given.contains("guard_add"))
    return emitError(start) << "guard_below and guard_add are given together";
  return success();
}

NormalizerAttr NormalizerReader::finish(StringRef zeroEps, StringRef someBias) {
  if (failed(checkGiven(zeroEps, someBias)))
    return {};
  return NormalizerAttr::getChecked([&] { return emitError(start); }, parser.getContext(), kind,
                                    llvm::APFloat(eps), epsMode, llvm::APFloat(bias), reduce,
                                    llvm::APFloat(guardBelow), llvm::APFloat(guardAdd),
                                    llvm::APFloat(minDenom));
}

SmallVector<NormalizerField> polyattn::fieldsOf(NormalizerAttr normalizer) {
  SmallVector<NormalizerField> fields;
  auto number = [&](StringRef name, const llvm::APFloat &value, bool always, bool isMain = false) {
    if (always || !value.isZero())
      fields.push_back({name, value.convertToDouble(), {}, isMain});
  };
  bool isSum = normalizer.getKind() == NormalizerKind::Sum,
       isBias = normalizer.getKind() == NormalizerKind::Bias;
  bool isRelative = normalizer.getEpsMode() != EpsMode::Absolute;
  number("eps", normalizer.getEps(), /*always=*/isSum || isRelative, /*isMain=*/isSum);
  if (isRelative)
    fields.push_back({"eps_mode", std::nullopt, stringifyEpsMode(normalizer.getEpsMode())});
  number("bias", normalizer.getBias(), /*always=*/isBias, /*isMain=*/isBias);
  if (normalizer.isMean())
    fields.push_back({"reduce", std::nullopt, stringifyReduce(normalizer.getReduce())});
  bool isGuarded = !normalizer.getGuardBelow().isZero() || !normalizer.getGuardAdd().isZero();
  number("guard_below", normalizer.getGuardBelow(), isGuarded);
  number("guard_add", normalizer.getGuardAdd(), isGuarded);
  number("min_denom", normalizer.getMinDenom(), /*always=*/false);
  return fields;
}

//===----------------------------------------------------------------------===//
// NormalizerAttr: `<sum, eps = 1.0e-6, min_denom = 1.0e-4>`
//===----------------------------------------------------------------------===//

Attribute NormalizerAttr::parse(AsmParser &parser, Type) {
  NormalizerReader reader(parser, [&](SMLoc loc) { return parser.emitError(loc); });
  auto parseNumber = [&](double &number) -> ParseResult {
    bool negative = succeeded(parser.parseOptionalMinus());
    if (parser.parseFloat(number))
      return failure();
    number = negative ? -number : number;
    return success();
  };
  if (parser.parseLess() || reader.readKind())
    return {};
  while (succeeded(parser.parseOptionalComma()))
    if (reader.readField(parseNumber))
      return {};
  if (parser.parseGreater())
    return {};
  return reader.finish("<sum, eps = 0.0>", "<bias, bias = 1.0>");
}

void NormalizerAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyNormalizerKind(getKind());
  for (const NormalizerField &field : fieldsOf(*this)) {
    printer << ", " << field.name << " = " << field.word;
    if (field.number)
      printer << spellNumber(*field.number);
  }
  printer << ">";
}

LogicalResult NormalizerAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                     NormalizerKind kind, llvm::APFloat eps, EpsMode epsMode,
                                     llvm::APFloat bias, Reduce reduce, llvm::APFloat guardBelow,
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
  bool hasFields = !eps.isZero() || !bias.isZero() || !guardBelow.isZero() || !guardAdd.isZero() ||
                   !minDenom.isZero() || epsMode != EpsMode::Absolute;
  if (kind == NormalizerKind::None && hasFields)
    return emitError() << "a normalizer `none` has no eps, bias, guard or min_denom";
  if (kind == NormalizerKind::Softmax && (hasFields || reduce != Reduce::Sum))
    return emitError() << "a normalizer `softmax` has no fields";
  if (kind != NormalizerKind::Bias && !bias.isZero())
    return emitError() << "only a normalizer `bias` has a bias";
  return success();
}
