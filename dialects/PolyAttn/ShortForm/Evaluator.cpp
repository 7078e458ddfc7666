//===- Evaluator.cpp - what expressions of the short form are worth -------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/ShortForm/Evaluator.h"
#include "dialects/PolyAttn/ShortForm/Functions.h"
#include "dialects/PolyAttn/ShortForm/TextAhead.h"
#include <cmath>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::shortform;

using Kind = Expression::Kind;
using Result = FailureOr<Meaning>;

static int64_t widthOf(Value vector) { return cast<FeatureType>(vector.getType()).getWidth(); }

Result Evaluator::evaluate(const Expression &expression, const Scope &scope) {
  if (failed(maker.addStep(expression.loc)))
    return failure();
  switch (expression.kind) {
  case Kind::Number:
    return Meaning{{}, expression.number};
  case Kind::Name:
    return *scope.find(expression.name);
  case Kind::Negation: {
    Result operand = evaluate(*expression.operands[0], scope);
    return failed(operand) ? operand : negate(expression.loc, *operand);
  }
  case Kind::Selection:
    return select(expression, scope);
  case Kind::FunctionCall:
    return callFunction(expression, scope);
  case Kind::MapCall:
    return callMap(expression, scope);
  case Kind::SquareRoot:
    return squareRoot(expression, scope);
  case Kind::Keep:
    return keep(expression, scope);
  default:
    return binary(expression, scope);
  }
}

FailureOr<Value> Evaluator::vector(const Expression &expression, const Scope &scope) {
  Result meaning = evaluate(expression, scope);
  return succeeded(meaning) ? maker.readVector(expression.loc, *meaning)
                            : FailureOr<Value>(failure());
}

FailureOr<double> Evaluator::number(const Expression &expression, const Scope &scope) {
  Result meaning = evaluate(expression, scope);
  if (failed(meaning))
    return failure();
  if (!meaning->isNumber())
    return FailureOr<double>(maker.error(expression.loc)
                             << "expected a number, got " << kindOf(*meaning));
  return meaning->number;
}

FailureOr<int64_t> Evaluator::whole(const Expression &expression, const Scope &scope) {
  FailureOr<double> value = number(expression, scope);
  if (failed(value))
    return failure();
  constexpr double kMost = double(int64_t(1) << 53);
  if (*value != std::floor(*value) || std::fabs(*value) > kMost)
    return FailureOr<int64_t>(maker.error(expression.loc)
                              << "expected a whole number, got " << spellDecimal(*value));
  return int64_t(*value);
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

Result Evaluator::binary(const Expression &expression, const Scope &scope) {
  Result left = evaluate(*expression.operands[0], scope);
  if (failed(left))
    return failure();
  Result right = evaluate(*expression.operands[1], scope);
  if (failed(right))
    return failure();
  SMLoc loc = expression.loc;
  bool areNumbers = left->isNumber() && right->isNumber();
  double a = left->number, b = right->number;
  switch (expression.kind) {
  case Kind::Sum:
    return areNumbers ? Meaning{{}, a + b} : add(loc, *left, *right);
  case Kind::Difference:
    return areNumbers ? Meaning{{}, a - b} : subtract(loc, *left, *right);
  case Kind::Product:
    return areNumbers ? Meaning{{}, a * b} : multiply(loc, *left, *right);
  case Kind::Quotient:
    if (right->isNumber() && b == 0)
      return Result(maker.error(loc) << "a division by 0");
    return areNumbers ? Meaning{{}, a / b} : divide(loc, *left, *right);
  default:
    return areNumbers ? Meaning{{}, std::pow(a, b)} : power(loc, *left, *right);
  }
}

LogicalResult Evaluator::readBoth(SMLoc loc, Meaning &left, Meaning &right) {
  for (Meaning *side : {&left, &right}) {
    if (side->isNumber())
      continue;
    FailureOr<Value> value = maker.read(loc, *side);
    if (failed(value))
      return failure();
    side->value = *value;
  }
  return success();
}

LogicalResult Evaluator::sides(SMLoc loc, Meaning &left, Meaning &right) {
  if (failed(readBoth(loc, left, right)))
    return failure();
  if (!isVector(left.value))
    std::swap(left, right);
  if (isVector(left.value))
    return success();
  return maker.error(loc) << "expected a vector on one side, got " << kindOf(right) << " and "
                          << kindOf(left);
}

Result Evaluator::negate(SMLoc loc, Meaning operand) {
  if (operand.isNumber())
    return Meaning{{}, -operand.number};
  FailureOr<Value> vector = maker.readVector(loc, operand);
  return failed(vector) ? Result(failure()) : make<ScaleOp>(loc, *vector, f64("factor", -1));
}

Result Evaluator::add(SMLoc loc, Meaning left, Meaning right) {
  if (failed(sides(loc, left, right)))
    return failure();
  if (right.isNumber())
    return make<AddConstOp>(loc, left.value, f64("value", right.number));
  if (isWeight(right.value))
    return make<AddVecOp>(loc, {left.value, right.value});
  return make<AddOp>(loc, {left.value, right.value});
}

/// left + -right, where a weight on the right is subtracted as -(-left + right).
Result Evaluator::subtract(SMLoc loc, Meaning left, Meaning right) {
  if (failed(readBoth(loc, left, right)))
    return failure();
  if (!isWeight(right.value)) {
    Result negative = negate(loc, right);
    return failed(negative) ? negative : add(loc, left, *negative);
  }
  Result negative = negate(loc, left);
  Result sum = failed(negative) ? negative : add(loc, *negative, right);
  return failed(sum) ? sum : negate(loc, *sum);
}

Result Evaluator::multiply(SMLoc loc, Meaning left, Meaning right) {
  if (failed(sides(loc, left, right)))
    return failure();
  if (right.isNumber())
    return make<ScaleOp>(loc, left.value, f64("factor", right.number));
  if (isWeight(right.value))
    return make<MulVecOp>(loc, {left.value, right.value});
  return make<HadamardOp>(loc, {left.value, right.value});
}

Result Evaluator::divide(SMLoc loc, Meaning left, Meaning right) {
  if (right.isNumber())
    return multiply(loc, left, Meaning{{}, 1 / right.number});
  if (failed(readBoth(loc, left, right)))
    return failure();
  if (isWeight(right.value)) {
    FailureOr<Value> vector = maker.readVector(loc, left);
    return failed(vector) ? Result(failure()) : make<DivVecOp>(loc, {*vector, right.value});
  }
  Result inverse = make<PowOp>(loc, right.value, f64("exponent", -1));
  if (failed(inverse) || (left.isNumber() && left.number == 1))
    return inverse;
  return multiply(loc, left, *inverse);
}

Result Evaluator::power(SMLoc loc, Meaning base, Meaning exponent) {
  FailureOr<Value> vector = maker.readVector(loc, base);
  if (failed(vector))
    return failure();
  if (exponent.isNumber())
    return make<PowOp>(loc, *vector, f64("exponent", exponent.number));
  FailureOr<Value> exponents = maker.read(loc, exponent);
  return failed(exponents) ? Result(failure()) : make<PowOp>(loc, {*vector, *exponents});
}

//===----------------------------------------------------------------------===//
// Selections
//===----------------------------------------------------------------------===//

/// Elements count from the end where they are negative and the width is known.
LogicalResult Evaluator::indices(const std::vector<IndexRange> &ranges, SMLoc loc,
                                 std::optional<int64_t> width, const Scope &scope,
                                 SmallVectorImpl<int64_t> &result) {
  auto evaluateEnd = [&](const ExpressionPtr &end, int64_t standard) -> FailureOr<int64_t> {
    if (!end)
      return standard;
    FailureOr<int64_t> index = whole(*end, scope);
    if (succeeded(index) && width && *index < 0)
      *index += *width;
    return index;
  };
  for (const IndexRange &range : ranges) {
    FailureOr<int64_t> first = evaluateEnd(range.start, 0);
    FailureOr<int64_t> stop =
        range.isRange ? evaluateEnd(range.stop, width.value_or(0)) : FailureOr<int64_t>(0);
    if (failed(first) || failed(stop))
      return failure();
    if (!range.isRange)
      *stop = *first + 1;
    if (width && (*first < 0 || *stop > *width || *stop <= *first))
      return maker.error(loc) << "expected elements of 0 to " << *width - 1
                              << ", negative ones from the end, got " << *first
                              << (range.isRange ? ":" + std::to_string(*stop) : std::string());
    if (failed(maker.addIndices(loc, std::max<int64_t>(*stop - *first, 0))))
      return failure();
    llvm::append_range(result, llvm::seq(*first, std::max(*first, *stop)));
  }
  return success();
}

Result Evaluator::select(const Expression &expression, const Scope &scope) {
  FailureOr<Value> operand = vector(*expression.operands[0], scope);
  SmallVector<int64_t> chosen;
  if (failed(operand) ||
      failed(indices(expression.ranges, expression.loc, widthOf(*operand), scope, chosen)))
    return failure();
  return make<SelectOp>(
      expression.loc, *operand,
      maker.attribute("indices", maker.getBuilder().getDenseI64ArrayAttr(chosen)));
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Arguments are read, and evaluated, before the map's own expressions, as `apply` does.
Result Evaluator::callMap(const Expression &call, const Scope &scope) {
  Scope inner(call.map->scope);
  for (auto [name, operand] : llvm::zip(call.map->parameters, call.operands)) {
    Result meaning = evaluate(*operand, scope);
    if (failed(meaning))
      return failure();
    if (!meaning->isNumber()) {
      FailureOr<Value> value = maker.read(operand->loc, *meaning);
      if (failed(value))
        return failure();
      meaning->value = *value;
    }
    inner.define(name, *meaning);
  }
  maker.enter(call.loc);
  Result result = failure();
  bool isFine = llvm::all_of(call.map->statements, [&](const Assignment &statement) {
    Result meaning = evaluate(*statement.value, inner);
    if (succeeded(meaning))
      inner.define(statement.name, *meaning);
    return succeeded(meaning);
  });
  if (isFine)
    result = evaluate(*call.map->result, inner);
  maker.leave();
  return result;
}

FailureOr<Value> Evaluator::operand(const Expression &call, size_t index, const Scope &scope) {
  const Expression &expression = *call.operands[index];
  const OperandKinds &kinds = call.function->kinds;
  Result meaning = evaluate(expression, scope);
  if (failed(meaning))
    return failure();
  if (meaning->isNumber() && call.function->takesNumbers) {
    Result constant =
        make<ConstantOp>(expression.loc, {},
                         {f64("value", meaning->number),
                          maker.attribute("width", maker.getBuilder().getI64IntegerAttr(1))});
    return failed(constant) ? FailureOr<Value>(failure()) : constant->value;
  }
  if (kinds.features < 0 || index < size_t(kinds.features))
    return maker.readVector(expression.loc, *meaning);
  FailureOr<Value> weight = maker.read(expression.loc, *meaning);
  if (succeeded(weight) && !isWeight(*weight))
    return FailureOr<Value>(maker.error(expression.loc) << "expected a weight, got a vector");
  return weight;
}

FailureOr<Attribute> Evaluator::attributeOf(const Parameter &parameter, const Expression *value,
                                            const Scope &scope) {
  Builder &builder = maker.getBuilder();
  if (parameter.kind == Parameter::Kind::Number) {
    FailureOr<double> given = value ? number(*value, scope) : *parameter.standard;
    return failed(given) ? FailureOr<Attribute>(failure()) : builder.getF64FloatAttr(*given);
  }
  if (parameter.kind == Parameter::Kind::Indices) {
    SmallVector<int64_t> chosen;
    if (failed(indices(value->ranges, value->loc, std::nullopt, scope, chosen)))
      return failure();
    return builder.getDenseI64ArrayAttr(chosen);
  }
  FailureOr<int64_t> given = value ? whole(*value, scope) : int64_t(parameter.standard.value_or(0));
  return failed(given) ? FailureOr<Attribute>(failure()) : builder.getI64IntegerAttr(*given);
}

/// The operands, then the values without a name that follow them, then those with a name.
Result Evaluator::callFunction(const Expression &call, const Scope &scope) {
  const Function &function = *call.function;
  size_t count = std::min(call.operands.size(), function.mostOperands().value_or(SIZE_MAX));
  SmallVector<Value> operands;
  for (size_t i = 0; i < count; ++i) {
    FailureOr<Value> value = operand(call, i, scope);
    if (failed(value))
      return failure();
    operands.push_back(*value);
  }
  SmallVector<NamedAttribute> attributes;
  Builder &builder = maker.getBuilder();
  if (!function.preset.empty())
    attributes.push_back(maker.attribute(function.preset, builder.getUnitAttr()));
  size_t next = count;
  for (const Parameter *parameter : function.parameters) {
    const Parameter &one = *parameter;
    auto given = llvm::find_if(call.named,
                               [&](const NamedOperand &named) { return named.parameter == &one; });
    bool isNamed = given != call.named.end();
    StringRef word = isNamed ? given->word : StringRef(one.standardWord);
    const Expression *value = isNamed ? given->value.get() : nullptr;
    if (!isNamed && one.isPositional && next < call.operands.size())
      value = call.operands[next++].get();
    FailureOr<Attribute> attribute = Attribute();
    if (one.kind == Parameter::Kind::Word)
      attribute = one.words->get(maker.getContext(), word);
    else if (one.kind == Parameter::Kind::Flag)
      attribute = word == "true" ? Attribute(builder.getUnitAttr()) : Attribute();
    else if (!value && one.isWidth)
      attribute = Attribute(builder.getI64IntegerAttr(widthOf(operands[0])));
    else if (value || one.standard)
      attribute = attributeOf(one, value, scope);
    if (failed(attribute))
      return failure();
    if (*attribute)
      attributes.push_back(maker.attribute(one.name, *attribute));
  }
  FailureOr<Operation *> op = function.make(maker, call.loc, operands, attributes);
  return failed(op) ? Result(failure()) : Meaning{(*op)->getResult(0)};
}

Result Evaluator::squareRoot(const Expression &call, const Scope &scope) {
  FailureOr<double> value = number(*call.operands[0], scope);
  if (failed(value))
    return failure();
  if (!(*value >= 0))
    return Result(maker.error(call.loc)
                  << "the root of a negative number, " << spellDecimal(*value));
  return Meaning{{}, std::sqrt(*value)};
}

/// keep(tensor, pool), both arguments.
Result Evaluator::keep(const Expression &call, const Scope &scope) {
  OperationState state(maker.at(call.loc), KeepOp::getOperationName());
  for (const ExpressionPtr &operand : call.operands) {
    Result meaning = evaluate(*operand, scope);
    if (failed(meaning))
      return failure();
    if (!isa_and_nonnull<BlockArgument>(meaning->value))
      return Result(maker.error(operand->loc) << "expected an argument, got " << kindOf(*meaning));
    state.addOperands(meaning->value);
  }
  state.addTypes(state.operands[1].getType());
  FailureOr<Operation *> op = maker.insert(call.loc, state);
  return failed(op) ? Result(failure()) : Meaning{(*op)->getResult(0)};
}
