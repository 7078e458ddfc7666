//===- ExpressionWriter.cpp - writes ops as expressions of the short form -===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/NormalizerSyntax.h"
#include "dialects/PolyAttn/ShortForm/AttendClauses.h"
#include "dialects/PolyAttn/ShortForm/Functions.h"
#include "dialects/PolyAttn/ShortForm/TextAhead.h"
#include "dialects/PolyAttn/ShortForm/Writer.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::shortform;

void Writer::writeNumber(double number) { printer << spellDecimal(number); }

void Writer::writeExpression(Operation *op) {
  if (auto select = dyn_cast<SelectOp>(op))
    return writeSelection(select);
  if (auto keep = dyn_cast<KeepOp>(op)) {
    printer << "keep(" << nameOf(keep.getTensor()) << ", " << nameOf(keep.getPool()) << ")";
    return;
  }
  if (!writeOperator(op))
    writeCall(op);
}

/// True where the op has an operator.
bool Writer::writeOperator(Operation *op) {
  auto binary = [&](StringRef sign) {
    if (op->getNumOperands() != 2)
      return false;
    printer << nameOf(op->getOperand(0)) << " " << sign << " " << nameOf(op->getOperand(1));
    return true;
  };
  auto withNumber = [&](StringRef sign, const APFloat &number) {
    printer << nameOf(op->getOperand(0)) << " " << sign << " ";
    writeNumber(number.convertToDouble());
    return true;
  };
  if (auto scale = dyn_cast<ScaleOp>(op)) {
    if (!scale.getFactor().isExactlyValue(-1))
      return withNumber("*", scale.getFactor());
    printer << "-" << nameOf(scale.getInput());
    return true;
  }
  if (auto add = dyn_cast<AddConstOp>(op)) {
    llvm::APFloat value = add.getValue();
    return value.isNegative() ? withNumber("-", -value) : withNumber("+", value);
  }
  if (auto pow = dyn_cast<PowOp>(op))
    return pow.getExponent() ? withNumber("**", *pow.getExponent()) : binary("**");
  if (isa<HadamardOp, MulVecOp>(op))
    return binary("*");
  if (isa<AddOp, AddVecOp>(op))
    return binary("+");
  return isa<DivVecOp>(op) && binary("/");
}

/// Runs of elements are ranges.
void Writer::writeIndices(ArrayRef<int64_t> indices) {
  printer << "[";
  for (size_t i = 0; i < indices.size();) {
    size_t end = i + 1;
    while (end < indices.size() && indices[end] == indices[end - 1] + 1)
      ++end;
    printer << (i ? ", " : "") << indices[i];
    if (end - i > 1)
      printer << ":" << indices[end - 1] + 1;
    i = end;
  }
  printer << "]";
}

void Writer::writeSelection(SelectOp op) {
  printer << nameOf(op.getInput());
  writeIndices(op.getIndices());
}

void Writer::writeCall(Operation *op) {
  const Function &function = *functionOf(op);
  printer << function.name << "(";
  StringRef comma;
  for (Value operand : op->getOperands()) {
    printer << comma << nameOf(operand);
    comma = ", ";
  }
  for (const Parameter *one : function.parameters) {
    const Parameter &parameter = *one;
    Attribute attribute = op->getAttr(parameter.name);
    if (!attribute)
      continue;
    if (auto whole = dyn_cast<IntegerAttr>(attribute); whole && parameter.isOptional) {
      bool isWidth = parameter.isWidth &&
                     whole.getInt() == cast<FeatureType>(op->getOperand(0).getType()).getWidth();
      if (isWidth || (parameter.standard && double(whole.getInt()) == *parameter.standard))
        continue;
    }
    if (auto number = dyn_cast<FloatAttr>(attribute);
        number && parameter.standard && number.getValue().isExactlyValue(*parameter.standard))
      continue;
    if (parameter.kind == Parameter::Kind::Word && !parameter.standardWord.empty() &&
        parameter.words->spell(attribute) == parameter.standardWord)
      continue;
    printer << comma;
    comma = ", ";
    if (!parameter.isPositional)
      printer << parameter.name << " = ";
    if (parameter.kind == Parameter::Kind::Flag)
      printer << "true";
    else if (parameter.kind == Parameter::Kind::Word)
      printer << parameter.words->spell(attribute);
    else if (auto number = dyn_cast<FloatAttr>(attribute))
      writeNumber(number.getValueAsDouble());
    else if (auto list = dyn_cast<DenseI64ArrayAttr>(attribute))
      writeIndices(list.asArrayRef());
    else
      printer << cast<IntegerAttr>(attribute).getInt();
  }
  printer << ")";
}

//===----------------------------------------------------------------------===//
// Attends
//===----------------------------------------------------------------------===//

void Writer::writeAttend(AttendOp op) {
  printer << "attend(" << nameOf(op.getQuery()) << ", " << nameOf(op.getKey()) << ", "
          << nameOf(op.getValue()) << ") " << stringifyMask(op.getMask()) << " normalize ";
  writeNormalizer(op.getNormalizer());
  for (const AttendClause &clause : kAttendClauses)
    writeClause(op, clause);
}

void Writer::writeNormalizer(NormalizerAttr normalizer) {
  printer << stringifyNormalizerKind(normalizer.getKind());
  SmallVector<NormalizerField> fields = fieldsOf(normalizer);
  // The field without a name comes first.
  auto main = llvm::find_if(fields, [](const NormalizerField &field) { return field.isMain; });
  if (main != fields.end())
    std::rotate(fields.begin(), main, main + 1);
  StringRef comma = "(";
  for (const NormalizerField &field : fields) {
    printer << comma;
    if (!field.isMain)
      printer << field.name << " = ";
    printer << field.word;
    if (field.number)
      writeNumber(*field.number);
    comma = ", ";
  }
  if (!fields.empty())
    printer << ")";
}

void Writer::writeClause(AttendOp op, const AttendClause &clause) {
  auto begin = [&]() -> OpAsmPrinter & { return printer << " " << clause.name; };
  Attribute attribute = op->getAttr(clause.name);
  switch (clause.kind) {
  case AttendClause::Kind::Flag:
    if (attribute)
      begin();
    return;
  case AttendClause::Kind::Whole:
    if (attribute)
      begin() << " " << cast<IntegerAttr>(attribute).getInt();
    return;
  case AttendClause::Kind::Number:
    if (!attribute)
      return;
    begin() << " ";
    return writeNumber(cast<FloatAttr>(attribute).getValueAsDouble());
  case AttendClause::Kind::Word:
    if (clause.name != "grouping") {
      if (attribute)
        begin() << " " << findEnumWords(clause.name)->spell(attribute);
      return;
    }
    if (!attribute)
      begin() << " " << kNoGrouping;
    else if (StringRef word = stringifyGrouping(*op.getGrouping()); word != kStandardGrouping)
      begin() << " " << word;
    return;
  case AttendClause::Kind::Tensor:
  case AttendClause::Kind::Vector:
    for (Value operand : op.getODSOperands(clause.segment))
      begin() << " " << nameOf(operand);
    return;
  case AttendClause::Kind::Local:
    if (op.getLocalQuery())
      begin() << "(" << nameOf(op.getLocalQuery()) << ", " << nameOf(op.getLocalKey()) << ")";
    return;
  case AttendClause::Kind::Factors:
    if (std::optional<ArrayRef<double>> factors = op.getDecayFactors()) {
      begin() << "(";
      llvm::interleave(
          *factors, [&](double factor) { writeNumber(factor); }, [&] { printer << ", "; });
      printer << ")";
    }
    return;
  case AttendClause::Kind::Schedule:
    if (attribute)
      begin() << " " << attribute;
  }
}
