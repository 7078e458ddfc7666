//===- Writer.cpp - writes an attention in the short form -----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/ShortForm/Writer.h"
#include "dialects/PolyAttn/ShortForm/ArgumentTypes.h"
#include "dialects/PolyAttn/ShortForm/Functions.h"
#include "dialects/PolyAttn/ShortForm/ShortForm.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::shortform;

void shortform::printAttention(OpAsmPrinter &printer, AttentionOp attention) {
  Writer(printer, attention).write();
}

bool shortform::canPrint(AttentionOp attention) {
  auto *wish = attention->getDialect()->getRegisteredInterface<ShortPrinting>();
  return wish && Writer::canWrite(attention);
}

//===----------------------------------------------------------------------===//
// What has a short form
//===----------------------------------------------------------------------===//

static bool isFinite(Attribute attribute) {
  if (auto number = dyn_cast_or_null<FloatAttr>(attribute))
    return number.getValue().isFinite();
  auto numbers = dyn_cast_or_null<DenseF64ArrayAttr>(attribute);
  return !numbers ||
         llvm::all_of(numbers.asArrayRef(), [](double number) { return std::isfinite(number); });
}

static bool isOperator(Operation *op) {
  return isa<ScaleOp, AddConstOp, AddVecOp, MulVecOp, DivVecOp, PowOp, SelectOp>(op);
}

static bool canWriteOp(Operation &op) {
  if (!op.getDiscardableAttrs().empty() ||
      !llvm::all_of(op.getAttrs(), [](NamedAttribute one) { return isFinite(one.getValue()); }))
    return false;
  return isa<ReadOp, KeepOp, AttendOp, ReturnOp>(op) || isOperator(&op) || functionOf(&op);
}

bool Writer::canWrite(AttentionOp attention) {
  Block &body = attention.getBody().front();
  auto hasKind = [&](BlockArgument argument) {
    StringRef name = cast<StringAttr>(attention.getArgNames()[argument.getArgNumber()]).getValue();
    return kindOfArgument(attention, argument) && !llvm::is_contained(kStatements, name);
  };
  if (body.getNumArguments() == 0 || !llvm::all_of(body.getArguments(), hasKind) ||
      !llvm::all_of(body, canWriteOp))
    return false;
  llvm::SmallPtrSet<Value, 8> read;
  for (auto op : body.getOps<ReadOp>())
    if (!read.insert(op.getTensor()).second)
      return false;
  auto returned = cast<ReturnOp>(body.getTerminator());
  return llvm::all_of(llvm::zip(returned.getResults(), attention.getResultTypes()), [](auto one) {
    auto [value, type] = one;
    auto tensor = cast<RankedTensorType>(cast<TypeAttr>(type).getValue());
    return !isa<BlockArgument>(value) && kindOfResult(value, tensor) &&
           !isa<WeightType>(value.getType());
  });
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

void Writer::newLine() { printer.printNewline(); }

StringRef Writer::argumentName(unsigned number) {
  return cast<StringAttr>(attention.getArgNames()[number]).getValue();
}

std::string Writer::newName() {
  while (true) {
    std::string name = "x" + std::to_string(counter++);
    if (!taken.contains(name))
      return name;
  }
}

void Writer::write() {
  for (BlockArgument argument : body.getArguments()) {
    names[argument] = argumentName(argument.getArgNumber()).str();
    taken.insert(names[argument]);
  }
  printer << " ";
  printer.printSymbolName(attention.getSymName());
  writeArguments();
  writeResults();
  printer.printOptionalAttrDictWithKeyword(
      attention->getAttrs(), {"sym_name", "arg_names", "result_names", "result_types",
                              "first_position", "slots", "lengths", "packed", "result_in"});
  printer << " {";
  printer.increaseIndent();
  writeStatements();
  printer.decreaseIndent();
  newLine();
  printer << "}";
}

/// Neighbours of one type share it.
void Writer::writeArguments() {
  auto typeOf = [&](BlockArgument argument) {
    return spellType(*kindOfArgument(attention, argument),
                     cast<RankedTensorType>(argument.getType()));
  };
  printer << "(";
  Block::BlockArgListType arguments = body.getArguments();
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    printer << (i ? ", " : "") << argumentName(i);
    std::string type = typeOf(argument);
    if (i + 1 == arguments.size() || typeOf(arguments[i + 1]) != type)
      printer << ": " << type;
  }
  printer << ")";
}

/// What the Reader would not find by itself.
void Writer::writeResults() {
  ValueRange values = body.getTerminator()->getOperands();
  bool isStandard = values.size() <= std::size(kResultNames);
  for (size_t i = 0; isStandard && i < values.size(); ++i)
    isStandard = cast<StringAttr>(attention.getResultNames()[i]).getValue() == kResultNames[i];
  SmallVector<std::string> types;
  for (auto [i, value] : llvm::enumerate(values)) {
    auto type = cast<RankedTensorType>(cast<TypeAttr>(attention.getResultTypes()[i]).getValue());
    bool isSame = type == standardResultType(value, body);
    types.push_back(isSame ? "" : spellType(*kindOfResult(value, type), type));
    isStandard &= isSame && !attention.getArgumentOfResult(i);
  }
  if (isStandard)
    return;
  printer << " -> (";
  for (size_t i = 0; i < values.size(); ++i) {
    printer << (i ? ", " : "") << cast<StringAttr>(attention.getResultNames()[i]).getValue();
    if (!types[i].empty())
      printer << ": " << types[i];
    if (BlockArgument argument = attention.getArgumentOfResult(i))
      printer << " in " << argumentName(argument.getArgNumber());
  }
  printer << ")";
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

/// The reads that an op's operands are, in the order in which reading the op makes them.
static SmallVector<ReadOp> readsOf(Operation *op) {
  SmallVector<ReadOp> reads;
  for (Value operand : op->getOperands())
    if (auto read = operand.getDefiningOp<ReadOp>(); read && !llvm::is_contained(reads, read))
      reads.push_back(read);
  return reads;
}

void Writer::writeStatements() {
  SmallVector<ReadOp> waiting;
  for (Operation &op : body) {
    if (auto read = dyn_cast<ReadOp>(op)) {
      names[read.getResult()] = names[read.getTensor()];
      waiting.push_back(read);
      continue;
    }
    // Reads right before their first use are made by it, if it makes these alone.
    SmallVector<ReadOp> own = readsOf(&op);
    llvm::erase_if(own, [&](ReadOp read) { return !llvm::is_contained(waiting, read); });
    ArrayRef<ReadOp> all(waiting);
    bool areOwn = all.take_back(own.size()) == ArrayRef<ReadOp>(own);
    writeReads(areOwn ? all.drop_back(own.size()) : all);
    waiting.clear();
    writeOp(&op);
  }
}

void Writer::writeReads(ArrayRef<ReadOp> reads) {
  if (reads.empty())
    return;
  newLine();
  printer << kRead << " ";
  llvm::interleaveComma(reads, printer, [&](ReadOp read) { printer << nameOf(read.getTensor()); });
}

bool Writer::returnsAttend(AttendOp op) {
  auto returned = dyn_cast_or_null<ReturnOp>(op->getNextNode());
  return returned && returned.getOperands() == op->getResults();
}

void Writer::writeOp(Operation *op) {
  if (auto returned = dyn_cast<ReturnOp>(op)) {
    auto attend = dyn_cast_or_null<AttendOp>(op->getPrevNode());
    if (!attend || !returnsAttend(attend))
      writeReturn(returned);
    return;
  }
  newLine();
  auto attend = dyn_cast<AttendOp>(op);
  if (attend && returnsAttend(attend)) {
    printer << kReturn << " ";
    return writeAttend(attend);
  }
  llvm::interleaveComma(op->getResults(), printer, [&](Value result) {
    names[result] = newName();
    printer << names[result];
  });
  printer << " = ";
  attend ? writeAttend(attend) : writeExpression(op);
}

void Writer::writeReturn(ReturnOp op) {
  newLine();
  printer << kReturn << " ";
  llvm::interleaveComma(op.getResults(), printer, [&](Value value) { printer << nameOf(value); });
}
