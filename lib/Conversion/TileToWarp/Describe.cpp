//===- Describe.cpp - what lies where, for people -------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

// Each form of a schedule and each loop in it carries its own tiles; those alike are named once.
ArrayAttr KernelLowering::describeMemory() {
  llvm::SmallSetVector<Attribute, 8> entries;
  using warp::MemoryKind;
  auto add = [&](StringRef what, auto type, Type element, MemoryKind memory) {
    auto matrix = VectorType::get({type.getRows(), type.getColumns()}, element);
    entries.insert(warp::ResidentAttr::get(e.getContext(), what, matrix, memory));
  };
  auto memoryNameOf = [&](const TileMemory &storage) {
    return storage.space == Space::Shared ? MemoryKind::Shared : MemoryKind::Workspace;
  };
  kernel.walk([&](BufferOp buffer) {
    BufferType type = buffer.getResult().getType();
    add(type.getColumns() > 1 ? "state" : "normalizer", type, e.getF32Type(),
        memoryNameOf(storages.lookup(buffer.getResult())));
    auto copy = bf16Copies.find(buffer.getResult());
    if (copy != bf16Copies.end())
      add("state for products", type, copy->second.element, memoryNameOf(copy->second));
  });
  auto nameOf = [&](LoadOp load) {
    auto tensor = cast<BlockArgument>(load.getMemref()).getArgNumber();
    return cast<StringAttr>(kernel.getArgNames()[tensor]).getValue();
  };
  // Other arguments, initial states for instance, are read once and go elsewhere.
  for (auto load : kernel.getOps<LoadOp>()) {
    Value weight = load.getResult();
    if (!cast<MemRefType>(load.getMemref().getType()).hasStaticShape())
      continue;
    StringRef name = nameOf(load);
    bool kept = residency.of(weight) == Residency::Memory;
    add(("weight " + name).str(), load.getResult().getType(), residency.elementType(weight),
        kept ? memoryNameOf(storages.lookup(weight)) : MemoryKind::Tensor);
  }
  kernel.walk([&](LoadOp load) {
    Value weight = load.getResult();
    if (load->getParentOp() != kernel && residency.of(weight) == Residency::Memory &&
        cast<MemRefType>(load.getMemref().getType()).hasStaticShape() &&
        storages.lookup(weight).space == Space::Shared)
      add(("weight " + nameOf(load)).str(), load.getResult().getType(),
          residency.elementType(weight), MemoryKind::Staged);
  });
  kernel.walk([&](LoadOp load) {
    if (pipelined.contains(load.getResult()))
      add(("block of " + nameOf(load)).str(), load.getResult().getType(),
          residency.elementType(load.getResult()), MemoryKind::DoubleBuffer);
  });
  kernel.walk([&](scf::ForOp loop) {
    for (Value argument : loop.getRegionIterArgs()) {
      TileType type = tileType(argument);
      if (type && residency.of(argument) == Residency::Registers)
        add("carried by a loop", type, e.getF32Type(), MemoryKind::Registers);
      else if (type && !isVector(argument))
        add("carried by a loop", type, residency.elementType(argument),
            memoryNameOf(storages.lookup(argument)));
    }
  });
  return e.getArrayAttr(entries.getArrayRef());
}
