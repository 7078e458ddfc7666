//===- ParseSpec.cpp - a spec's text, which may come from anybody ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Spec/ParseSpec.h"
#include "SpecText.h"
#include "dialects/PolyAttn/PolyAttn.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace polyattn;

/// Whether the text may be given to the parser; says why where it may not.
static LogicalResult checkText(const llvm::SourceMgr &sources, MLIRContext &context) {
  unsigned buffer = sources.getMainFileID();
  const llvm::MemoryBuffer *memory = sources.getMemoryBuffer(buffer);
  std::optional<TextProblem> problem = findTextProblem(memory->getBuffer());
  if (!problem)
    return success();
  auto [line, column] =
      sources.getLineAndColumn(llvm::SMLoc::getFromPointer(problem->where), buffer);
  return emitError(FileLineColLoc::get(&context, memory->getBufferIdentifier(), line, column),
                   problem->message);
}

static LogicalResult countOne(Operation *op, int64_t newOperations, int64_t newOperands,
                              int64_t &operations, int64_t &operands) {
  operations += newOperations;
  operands += newOperands;
  if (operations > SpecLimits::kOperations)
    return op->emitError("a spec has at most ")
           << SpecLimits::kOperations << " ops, maps counted wherever they are applied";
  if (operands > SpecLimits::kOperands)
    return op->emitError("the ops of a spec have at most ")
           << SpecLimits::kOperands << " operands, maps counted wherever they are applied";
  return success();
}

static LogicalResult checkCounts(ModuleOp module) {
  int64_t operations = 0, operands = 0;
  return failure(module
                     .walk([&](Operation *op) {
                       return WalkResult(
                           countOne(op, 1, op->getNumOperands(), operations, operands));
                     })
                     .wasInterrupted());
}

namespace {
/// What a spec may hold is checked op by op, by kinds and by sizes.
class OperationsCheck {
public:
  LogicalResult check(ModuleOp module) {
    if (failed(checkAttributes(module)))
      return failure();
    for (Operation &op : *module.getBody()) {
      if (!isa<AttentionOp, FeatureMapOp>(op))
        return op.emitError("a spec has polyattn.attention and polyattn.feature_map only, not '")
               << op.getName() << "'";
      if (auto attention = dyn_cast<AttentionOp>(op); attention && failed(checkName(attention)))
        return failure();
      if (op.walk([&](Operation *inner) { return WalkResult(checkOne(inner)); }).wasInterrupted())
        return failure();
    }
    return success();
  }

private:
  /// Files, C functions, symbols of objects and kernels of PTX are called as entries are, and what
  /// belongs to an entry has two underscores behind its name.
  LogicalResult checkName(AttentionOp attention) {
    StringRef name = attention.getSymName();
    auto isPart = [](char c) { return llvm::isAlnum(c) || c == '_'; };
    if (!name.empty() && llvm::all_of(name, isPart) && !name.contains("__"))
      return success();
    return attention.emitError("expected an entry whose name can be part of a C name: letters, "
                               "digits and single underscores");
  }

  LogicalResult checkOne(Operation *op) {
    if (!isa_and_present<PolyAttnDialect>(op->getDialect()))
      return op->emitError("a spec has ops of the polyattn dialect only, not '")
             << op->getName() << "'";
    if (failed(checkAttributes(op)) || failed(checkWidths(op)))
      return failure();
    return count(op);
  }

  /// Attributes that no op of ours has asked for are instructions to other dialects.
  LogicalResult checkAttributes(Operation *op) {
    for (NamedAttribute attribute : op->getDiscardableAttrs())
      return op->emitError("a spec has no attribute '") << attribute.getName().getValue() << "'";
    return success();
  }

  LogicalResult checkWidths(Operation *op) {
    for (Type type : op->getResultTypes())
      if (failed(checkWidth(op, type)))
        return failure();
    for (Region &region : op->getRegions())
      for (Type type : region.getArgumentTypes())
        if (failed(checkWidth(op, type)))
          return failure();
    // These ops need the structure of a vector; all others need its elements, whatever its
    // structure.
    if (op->hasTrait<CombinesScores>() || isa<ApplyOp, YieldOp, AttendOp, AttendBackwardOp>(op))
      return success();
    for (Type type : op->getOperandTypes())
      if (auto feature = dyn_cast<FeatureType>(type))
        if (failed(checkNumbers(op, feature)))
          return failure();
    return success();
  }

  LogicalResult checkNumbers(Operation *op, FeatureType type) {
    if (type.getWidth() <= SpecLimits::kWidth)
      return success();
    return op->emitError("a vector whose numbers are computed has at most ")
           << SpecLimits::kWidth << " of them, this one has " << type.getWidth();
  }

  LogicalResult checkWidth(Operation *op, Type type) {
    if (auto feature = dyn_cast<FeatureType>(type))
      return feature.getStructure().kind() == Structure::Kind::Vector ? checkNumbers(op, feature)
                                                                      : success();
    auto weight = dyn_cast<WeightType>(type);
    int64_t elements = 1;
    for (int64_t size : weight ? weight.getShape() : ArrayRef<int64_t>())
      elements = saturatingMul(elements, size);
    if (elements > SpecLimits::kWeightElements)
      return op->emitError("a weight has at most ")
             << SpecLimits::kWeightElements << " numbers, this one has " << elements;
    return success();
  }

  /// An application counts as all of its map.
  LogicalResult count(Operation *op) {
    int64_t newOperations = 1, newOperands = op->getNumOperands();
    if (auto apply = dyn_cast<ApplyOp>(op)) {
      auto map = symbols.lookupNearestSymbolFrom<FeatureMapOp>(apply, apply.getMapAttr());
      auto [size, isNew] = maps.try_emplace(map);
      if (isNew)
        for (Operation &inner : map.getBody().front()) {
          size->second.first += 1;
          size->second.second += inner.getNumOperands();
        }
      newOperations += size->second.first;
      newOperands += size->second.second;
    }
    return countOne(op, newOperations, newOperands, operations, operands);
  }

  int64_t operations = 0, operands = 0;
  SymbolTableCollection symbols;
  llvm::DenseMap<Operation *, std::pair<int64_t, int64_t>> maps;
};
} // namespace

/// What no result depends on goes before anybody asks what the arguments are for: passes drop it
/// sooner or later, and every level is to give the same answer.
static void eraseUnused(ModuleOp module) {
  for (auto attention : module.getOps<AttentionOp>())
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(attention.getBody().front())))
      if (isOpTriviallyDead(&op))
        op.erase();
}

/// Refuses sizes that the entry, or every entry, lacks. That there is no such entry is said by
/// whoever looks for it.
static LogicalResult checkSizes(ModuleOp module, const SpecSizes &sizes,
                                const ReadingSession &session) {
  Operation *entry = sizes.entry.empty() ? nullptr : module.lookupSymbol(sizes.entry);
  if (!sizes.entry.empty() && !entry)
    return success();
  auto attentions = module.getOps<AttentionOp>();
  if (!entry && !attentions.empty())
    entry = *attentions.begin();
  return session.checkSizes([&] { return emitError(entry ? entry->getLoc() : module.getLoc()); });
}

OwningOpRef<ModuleOp> polyattn::parseSpecSource(const llvm::SourceMgr &sources,
                                                MLIRContext &context, const SpecSizes &sizes) {
  auto &dialect = *context.getOrLoadDialect<PolyAttnDialect>();
  if (failed(checkText(sources, context)))
    return {};
  // What is too large is not even verified.
  ParserConfig config(&context, /*verifyAfterParse=*/false);
  ReadingSession &session = ReadingSession::of(dialect);
  session.begin(sizes);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, config);
  session.end();
  if (!module || failed(checkCounts(*module)) || failed(checkSizes(*module, sizes, session)) ||
      failed(verify(*module)) || failed(OperationsCheck().check(*module)))
    return {};
  eraseUnused(*module);
  return module;
}
