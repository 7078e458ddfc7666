//===- PassedRows.cpp - results of attends of several masks ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PassedRows.h"
#include "Dependencies.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace polyattn;

HiddenArgument PassedRows::workspace(Builder &b) const {
  constexpr int64_t any = ShapedType::kDynamic;
  int64_t width = cast<FeatureType>(vector.getType()).getWidth();
  return {name, RankedTensorType::get({any, any, any, width}, b.getF32Type())};
}

RowPassing::RowPassing(AttentionOp attention, std::vector<AttendSet> &sets, bool sameHeads)
    : sets(sets), sameHeads(sameHeads) {
  assert(sets.size() <= 32 && "a mask and a side each");
  for (Operation &op : attention.getBody().front()) {
    uint32_t own = 0;
    if (auto attend = dyn_cast<AttendOp>(op)) {
      auto it = llvm::find_if(
          sets, [&](const AttendSet &set) { return set.kind == AttendKind::of(attend); });
      own = 1u << (it - sets.begin());
    } else {
      for (Value operand : op.getOperands())
        own |= setsOf.lookup(operand);
    }
    for (Value result : op.getResults())
      setsOf[result] = own;
  }
}

static bool isPlainVector(Value value) {
  auto type = dyn_cast<FeatureType>(value.getType());
  return type && type.getStructure().kind() == Structure::Kind::Vector;
}

AttendSet &RowPassing::computing(ArrayRef<Value> vectors) {
  uint32_t all = 0;
  for (Value vector : vectors)
    all |= setsOf.lookup(vector);
  if (!all)
    return *llvm::find_if(sets,
                          [&](const AttendSet &set) { return set.hasRowsOfQueries(sameHeads); });
  size_t last = llvm::Log2_32(all);
  AttendSet &to = sets[last];
  for (Value root : vectors)
    walkDependencies(root, [&](Value value) {
      uint32_t own = setsOf.lookup(value), others = own & ~(1u << last);
      if (!others)
        return WalkResult::skip();
      if (own != others || !llvm::has_single_bit(others) || !isPlainVector(value))
        return WalkResult::advance();
      pass(value, sets[llvm::Log2_32(others)], to);
      return WalkResult::skip();
    });
  return to;
}

void RowPassing::pass(Value vector, AttendSet &from, AttendSet &to) {
  auto isVector = [&](const PassedRows &rows) { return rows.vector == vector; };
  auto it = llvm::find_if(from.exported, isVector);
  if (it == from.exported.end()) {
    from.exported.push_back({vector, "rows" + std::to_string(numPassed++)});
    it = std::prev(from.exported.end());
  }
  if (llvm::none_of(to.imported, isVector))
    to.imported.push_back(*it);
}
