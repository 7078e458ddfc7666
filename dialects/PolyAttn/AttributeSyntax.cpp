//===- AttributeSyntax.cpp - attributes of ops as text has them -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/AttributeSyntax.h"
#include "dialects/Attributes/DidYouMean.h"
#include "dialects/Attributes/KnownAttributes.h"
#include "dialects/PolyAttn/PolyAttn.h"
#include "dialects/PolyAttn/ShortForm/TextAhead.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;
using namespace polyattn;

//===----------------------------------------------------------------------===//
// Enums
//===----------------------------------------------------------------------===//

template <typename Attr, typename Enum, std::optional<Enum> symbolize(uint32_t),
          std::optional<Enum> parse(StringRef), StringRef stringify(Enum), uint32_t most>
static constexpr EnumWords wordsOf() {
  return {[] {
            SmallVector<StringRef> names;
            for (uint32_t i = 0; i <= most; ++i)
              if (std::optional<Enum> value = symbolize(i))
                names.push_back(stringify(*value));
            return names;
          },
          [](MLIRContext *context, StringRef word) -> Attribute {
            return Attr::get(context, *parse(word));
          },
          [](Attribute attribute) {
            auto found = dyn_cast<Attr>(attribute);
            return found ? stringify(found.getValue()) : StringRef();
          }};
}

#define WORDS(ENUM)                                                                                \
  wordsOf<ENUM##Attr, ENUM, symbolize##ENUM, symbolize##ENUM, stringify##ENUM,                     \
          getMaxEnumValFor##ENUM()>()
constexpr EnumWords polyattn::kBeyonds = WORDS(Beyond);
constexpr EnumWords polyattn::kEpsPlaces = WORDS(EpsPlace);
constexpr EnumWords polyattn::kGateHeads = WORDS(GateHeads);
constexpr EnumWords polyattn::kGeluForms = WORDS(GeluForm);
constexpr EnumWords polyattn::kGroupings = WORDS(Grouping);
constexpr EnumWords polyattn::kMasks = WORDS(Mask);
constexpr EnumWords polyattn::kProductPrecisions = WORDS(ProductPrecision);
constexpr EnumWords polyattn::kRopeLayouts = WORDS(RopeLayout);
constexpr EnumWords polyattn::kTriuWeights = WORDS(TriuWeights);
#undef WORDS

const EnumWords *polyattn::findEnumWords(StringRef attribute) {
  return llvm::StringSwitch<const EnumWords *>(attribute)
      .Case("beyond", &kBeyonds)
      .Case("eps_place", &kEpsPlaces)
      .Case("form", &kGeluForms)
      .Case("gate_heads", &kGateHeads)
      .Case("grouping", &kGroupings)
      .Case("layout", &kRopeLayouts)
      .Case("mask", &kMasks)
      .Case("precision", &kProductPrecisions)
      .Case("weights", &kTriuWeights)
      .Default(nullptr);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static ParseResult parseValue(OpAsmParser &parser, StringRef name, Attribute &value) {
  const EnumWords *words = findEnumWords(name);
  SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  if (!words || failed(parser.parseOptionalKeyword(&word)))
    return parser.parseAttribute(value);
  SmallVector<StringRef> known = words->list();
  if (!llvm::is_contained(known, word))
    return parser.emitError(loc) << "expected " << name << " of " << llvm::join(known, ", ")
                                 << ", got '" << word << "'" << didYouMean(word, known);
  value = words->get(parser.getContext(), word);
  return success();
}

ParseResult polyattn::parseOptionalAttributes(OpAsmParser &parser, OperationState &result) {
  llvm::StringSet<> names;
  for (NamedAttribute attribute : result.attributes)
    names.insert(attribute.getName());
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalBraces, [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    std::string name;
    if (parser.parseKeywordOrString(&name))
      return failure();
    if (name.empty())
      return parser.emitError(loc, "expected valid attribute name");
    if (!names.insert(name).second)
      return parser.emitError(loc) << "duplicate key '" << name << "' in dictionary attribute";
    // A dialect that annotates our ops is loaded, as MLIR's dictionaries do: it verifies them.
    if (auto [dialect, rest] = StringRef(name).split('.'); !rest.empty())
      parser.getContext()->getOrLoadDialect(dialect);
    NamedAttribute attribute(parser.getBuilder().getStringAttr(name),
                             parser.getBuilder().getUnitAttr());
    // First of all: a misspelt name explains what else is missing.
    auto emitError = [&] { return parser.emitError(loc) << "'" << result.name << "' op "; };
    if (failed(checkAttributeNames(result.name, attribute, emitError)))
      return failure();
    if (succeeded(parser.parseOptionalEqual())) {
      Attribute value;
      if (parseValue(parser, name, value))
        return failure();
      attribute.setValue(value);
    }
    result.attributes.push_back(attribute);
    return success();
  });
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

std::string polyattn::spellNumber(double number) {
  std::string text = shortform::spellDecimal(number);
  size_t mantissa = std::min(text.find('e'), text.size());
  return text.find('.') == std::string::npos ? text.insert(mantissa, ".0") : text;
}

static void printValue(OpAsmPrinter &printer, StringRef name, Attribute value) {
  auto isFinite = [](double number) { return std::isfinite(number); };
  if (const EnumWords *words = findEnumWords(name)) {
    if (StringRef word = words->spell(value); !word.empty()) {
      printer << word;
      return;
    }
  }
  if (auto number = dyn_cast<FloatAttr>(value);
      number && number.getType().isF64() && number.getValue().isFinite())
    printer << spellNumber(number.getValueAsDouble());
  else if (auto whole = dyn_cast<IntegerAttr>(value);
           whole && whole.getType().isSignlessInteger(64))
    printer << whole.getInt();
  else if (auto list = dyn_cast<DenseF64ArrayAttr>(value);
           list && !list.empty() && llvm::all_of(list.asArrayRef(), isFinite))
    printer << "array<f64: " << llvm::join(llvm::map_range(list.asArrayRef(), spellNumber), ", ")
            << ">";
  else
    printer.printAttribute(value);
}

void polyattn::printOptionalAttributes(OpAsmPrinter &printer, ArrayRef<NamedAttribute> attributes,
                                       ArrayRef<StringRef> elided) {
  auto isShown = [&](NamedAttribute one) { return !llvm::is_contained(elided, one.getName()); };
  auto shown = llvm::to_vector(llvm::make_filter_range(attributes, isShown));
  if (shown.empty())
    return;
  printer << " {";
  llvm::interleaveComma(shown, printer, [&](NamedAttribute attribute) {
    printer.printKeywordOrString(attribute.getName());
    if (isa<UnitAttr>(attribute.getValue()))
      return;
    printer << " = ";
    printValue(printer, attribute.getName(), attribute.getValue());
  });
  printer << "}";
}
