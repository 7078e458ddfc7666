//===- Functions.cpp - the functions of the short form --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/ShortForm/Functions.h"
#include "dialects/PolyAttn/OpDispatch.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::shortform;

using Kind = Parameter::Kind;

static constexpr Parameter number(StringLiteral name, bool isPositional = false) {
  return {name, Kind::Number, isPositional};
}
static constexpr Parameter flag(StringLiteral name) {
  return {name, Kind::Flag, /*isPositional=*/false, /*isOptional=*/true};
}
static constexpr Parameter standard(StringLiteral name, Kind kind, double value) {
  return {name, kind, /*isPositional=*/false, /*isOptional=*/true, value};
}
static constexpr Parameter word(StringLiteral name, const EnumWords &words,
                                StringLiteral standard = "") {
  return {name,
          Kind::Word,
          /*isPositional=*/false,
          !standard.empty(),
          std::nullopt,
          standard,
          /*isWidth=*/false,
          &words};
}

/// Attributes of feature ops by their names, which mean the same in all of them, in the order in
/// which they are written. A new op whose attributes are here needs nothing else.
static constexpr Parameter kParameters[] = {
    number("value", /*isPositional=*/true),
    {"degree", Kind::Whole, /*isPositional=*/true},
    flag("symmetric"),
    {"block", Kind::Whole, /*isPositional=*/false, /*isOptional=*/true},
    flag("abs"),
    number("eps"),
    word("eps_place", kEpsPlaces, "inside"),
    word("form", kGeluForms),
    word("weights", kTriuWeights),
    word("layout", kRopeLayouts),
    word("beyond", kBeyonds),
    flag("log"),
    flag("two_sided"),
    flag("reversed"),
    flag("circular"),
    {"dims", Kind::Whole, /*isPositional=*/false, /*isOptional=*/true, std::nullopt, "",
     /*isWidth=*/true},
    standard("offset", Kind::Number, 0),
    standard("scale", Kind::Number, 1),
    flag("inverse"),
    standard("groups", Kind::Whole, 1),
    flag("transposed"),
    {"indices", Kind::Indices},
    standard("width", Kind::Whole, 1),
};

/// Ops that operators stand for.
template <typename Op>
static constexpr bool kIsOperator =
    llvm::is_one_of<Op, ScaleOp, AddConstOp, AddVecOp, MulVecOp, DivVecOp, PowOp, SelectOp>::value;

template <typename Op, typename = void> static constexpr bool kIsFunction = false;
template <typename Op>
static constexpr bool kIsFunction<Op, std::void_t<decltype(Op::kOperandKinds)>> = !kIsOperator<Op>;

template <typename Op> static void addFunction(std::vector<Function> &functions) {
  if constexpr (kIsFunction<Op>) {
    StringRef mnemonic = Op::getOperationName();
    mnemonic.consume_front("polyattn.");
    Function function{mnemonic, Op::getOperationName(), Op::kOperandKinds,
                      [](OpMaker &maker, SMLoc loc, ArrayRef<Value> operands,
                         ArrayRef<NamedAttribute> attributes) {
                        return maker.make<Op>(loc, operands, attributes);
                      }};
    for (const Parameter &parameter : kParameters)
      if (llvm::is_contained(Op::getAttributeNames(), parameter.name))
        function.parameters.push_back(&parameter);
    functions.push_back(std::move(function));
  }
}

template <typename... Ops>
static std::vector<Function> listFunctions(polyattn::detail::OpList<Ops...>) {
  std::vector<Function> functions;
  (addFunction<Ops>(functions), ...);
  auto find = [&](StringRef name) {
    return llvm::find_if(functions, [&](const Function &one) { return one.name == name; });
  };
  find("concat")->takesNumbers = true;
  // Symmetric powers have a name of their own.
  Function sym = *find("power");
  sym.name = "sym";
  sym.preset = "symmetric";
  llvm::erase_if(sym.parameters, [](const Parameter *one) { return one->name == "symmetric"; });
  functions.insert(functions.begin(), std::move(sym));
  return functions;
}

ArrayRef<Function> shortform::allFunctions() {
  static const std::vector<Function> functions = listFunctions(polyattn::detail::DialectOps());
  return functions;
}

const Parameter *Function::find(StringRef parameter) const {
  auto found =
      llvm::find_if(parameters, [&](const Parameter *one) { return one->name == parameter; });
  return found == parameters.end() ? nullptr : *found;
}

size_t Function::positionalParameters() const {
  return llvm::count_if(parameters, [](const Parameter *one) { return one->isPositional; });
}

std::optional<size_t> Function::mostOperands() const {
  if (kinds.features < 0)
    return std::nullopt;
  return kinds.features + kinds.maxWeights;
}

size_t Function::leastOperands() const {
  return kinds.features < 0 ? 1 : kinds.features + kinds.minWeights;
}

const Function *shortform::findFunction(StringRef name) {
  for (const Function &function : allFunctions())
    if (function.name == name)
      return &function;
  return nullptr;
}

const Function *shortform::functionOf(Operation *op) {
  StringRef name = op->getName().getStringRef();
  for (const Function &function : allFunctions())
    if (function.op == name && (function.preset.empty() || op->hasAttr(function.preset)))
      return &function;
  return nullptr;
}
