//===- Annotations.cpp - what passes attach to ops ------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/Tile.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace polyattn::tile;

LogicalResult NestAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t number,
                               int64_t iterations) {
  if (number < 0 || iterations < 1)
    return emitError() << "expected a number from 0 on and at least 1 iteration, got " << number
                       << " and " << iterations;
  return success();
}

NestAttr polyattn::tile::nestOf(Operation *op) {
  return op->getAttrOfType<NestAttr>(kNestAttrName);
}

NestAttr polyattn::tile::prefetcherOf(Operation *access) {
  return access->getAttrOfType<NestAttr>(kPrefetchedByAttrName);
}

static LogicalResult verifyPrefetchedBy(Operation *access, NestAttr nest) {
  auto loop = access->getParentOfType<scf::ForOp>();
  if (!loop)
    return access->emitOpError("has '") << kPrefetchedByAttrName << "' outside of a loop";
  bool found = loop->walk([&](Operation *op) {
                     return nestOf(op) == nest ? WalkResult::interrupt() : WalkResult::advance();
                   })
                   .wasInterrupted();
  if (!found)
    return access->emitOpError("is fetched by ") << nest << ", which the loop around it has not";
  return success();
}

static LogicalResult verifyScratchBytes(Operation *function, Attribute value) {
  if (!isa<FunctionOpInterface>(function))
    return function->emitOpError("has '") << kScratchBytesAttrName << "', which is for functions";
  auto bytes = dyn_cast<IntegerAttr>(value);
  if (!bytes || !bytes.getType().isInteger(64) || bytes.getInt() < 0)
    return function->emitOpError("expected '")
           << kScratchBytesAttrName << "' to be an i64 from 0 on, got " << value;
  return success();
}

LogicalResult TileDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == kScratchBytesAttrName)
    return verifyScratchBytes(op, attribute.getValue());
  bool isNest = name == kNestAttrName;
  if (!isNest && name != kPrefetchedByAttrName)
    return success(); // our own ops have no others (KnownAttributes)
  if (isNest ? !isa<DotOp, MapOp, CausalMaskOp, AccumulateOp>(op) : !isa<LoadOp, StoreOp>(op))
    return op->emitOpError("has '")
           << name << "', which is for "
           << (isNest ? "products, maps, masks and updates" : "loads and stores");
  auto nest = dyn_cast<NestAttr>(attribute.getValue());
  if (!nest)
    return op->emitOpError("expected '") << name << "' of #tile.nest, got " << attribute.getValue();
  return isNest ? success() : verifyPrefetchedBy(op, nest);
}
