//===- Transpose.cpp - squares of registers, rows and columns exchanged ---===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_vector;

// W rows of W lanes, rows and columns exchanged. First 4x4 blocks within 128-bit lanes by
// unpack-like shuffles, then the lanes themselves: all of them are single instructions on x86.
static Vectors transposeRegisters(Emitter &e, Vectors rows) {
  int64_t width = e.width();
  auto perLane = [&](Value a, Value b, ArrayRef<int64_t> lane) {
    SmallVector<int64_t> mask;
    for (int64_t base = 0; base < width; base += 4)
      for (int64_t l : lane)
        mask.push_back(base + (l >= 4 ? width + l - 4 : l));
    return e.shuffle(a, b, mask);
  };
  Vectors blocks(width);
  for (int64_t q = 0; q < width; q += 4) {
    Value low01 = perLane(rows[q], rows[q + 1], {0, 4, 1, 5});
    Value high01 = perLane(rows[q], rows[q + 1], {2, 6, 3, 7});
    Value low23 = perLane(rows[q + 2], rows[q + 3], {0, 4, 1, 5});
    Value high23 = perLane(rows[q + 2], rows[q + 3], {2, 6, 3, 7});
    blocks[q] = perLane(low01, low23, {0, 1, 4, 5});
    blocks[q + 1] = perLane(low01, low23, {2, 3, 6, 7});
    blocks[q + 2] = perLane(high01, high23, {0, 1, 4, 5});
    blocks[q + 3] = perLane(high01, high23, {2, 3, 6, 7});
  }
  // blocks[4 g + i], lane l holds column 4 l + i of the rows 4 g .. 4 g + 3. Taking the even and
  // the odd lanes of pairs, log2 times, sorts the lanes by g.
  int64_t lanes = width / 4;
  auto takeLanes = [&](Value a, Value b, int64_t first) {
    SmallVector<int64_t> mask;
    for (int64_t source = 0; source < 2; ++source)
      for (int64_t lane = first; lane < lanes; lane += 2)
        for (int64_t l = 0; l < 4; ++l)
          mask.push_back(source * width + lane * 4 + l);
    return e.shuffle(a, b, mask);
  };
  Vectors result(width);
  for (int64_t i = 0; i < 4; ++i) {
    Vectors level;
    for (int64_t g = 0; g < lanes; ++g)
      level.push_back(blocks[4 * g + i]);
    // level holds, for each set of lanes, the vectors of all g; split sets until each has one.
    std::function<void(Vectors, int64_t, int64_t)> split = [&](Vectors group, int64_t first,
                                                               int64_t step) {
      if (group.size() == 1) {
        result[4 * first + i] = group[0];
        return;
      }
      Vectors even, odd;
      for (size_t g = 0; g < group.size(); g += 2) {
        even.push_back(takeLanes(group[g], group[g + 1], 0));
        odd.push_back(takeLanes(group[g], group[g + 1], 1));
      }
      split(even, first, step * 2);
      split(odd, first + step, step * 2);
    };
    split(level, 0, 1);
  }
  return result;
}

static std::string nameOf(Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return name;
}

/// A function of the module that reads W rows of W elements and writes them as columns:
/// (source, elements between its rows, destination, elements between its rows). One for all
/// places: LLVM takes milliseconds over the shuffles of each.
static func::FuncOp transposeFunction(ModuleOp module, const Emitter &caller, Type from, Type to) {
  std::string name = "polyattn_transpose_" + nameOf(from) + "_" + nameOf(to);
  if (auto known = module.lookupSymbol<func::FuncOp>(name))
    return known;
  MLIRContext *context = module.getContext();
  Emitter e(module.getLoc(), context, caller.machine);
  e.setInsertionPointToEnd(module.getBody());
  auto pointer = LLVM::LLVMPointerType::get(context);
  auto function = func::FuncOp::create(
      e, name, e.getFunctionType({pointer, e.getI64Type(), pointer, e.getI64Type()}, {}));
  function.setPrivate();
  function->setAttr("llvm.linkage", LLVM::LinkageAttr::get(context, LLVM::Linkage::Internal));
  function->setAttr("no_inline", e.getUnitAttr());
  Block *entry = function.addEntryBlock();
  e.setEntry(entry);
  e.setInsertionPointToStart(entry);
  Vectors rows;
  Offset offset = 0;
  for (int64_t r = 0; r < e.width(); ++r) {
    Value row = e.loadVector(from, entry->getArgument(0), offset);
    rows.push_back(e.toStorage(e.fromStorage(row), to));
    offset = e.add(offset, Offset(entry->getArgument(1)));
  }
  offset = 0;
  for (Value column : transposeRegisters(e, rows)) {
    e.store(column, entry->getArgument(2), offset);
    offset = e.add(offset, Offset(entry->getArgument(3)));
  }
  func::ReturnOp::create(e);
  return function;
}

void KernelLowering::transposeSquare(Value from, Offset fromStride, Type fromElement, Value to,
                                     const TileMemory &destination) {
  func::FuncOp function = transposeFunction(module, e, fromElement, destination.element);
  func::CallOp::create(e, function,
                       ValueRange{from, e.value(fromStride), to, e.value(destination.rowStride)});
}
