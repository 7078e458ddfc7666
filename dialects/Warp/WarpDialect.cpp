//===- WarpDialect.cpp - registration -------------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Attributes/UnknownOps.h"
#include "dialects/Warp/Warp.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace polyattn::warp;

#include "dialects/Warp/WarpDialect.cpp.inc"
#include "dialects/Warp/WarpEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Warp/WarpAttrs.cpp.inc"

int64_t polyattn::warp::getClusterSize(gpu::GPUFuncOp kernel) {
  auto size = kernel->getAttrOfType<IntegerAttr>(kClusterAttrName);
  return size ? size.getInt() : 1;
}

static LogicalResult verifyUnrolling(Operation *op, Attribute iterations) {
  constexpr int64_t most = 64;
  auto loop = dyn_cast<scf::ForOp>(op);
  auto count = dyn_cast<IntegerAttr>(iterations);
  if (!loop)
    return op->emitOpError("has '") << kUnrollAttrName << "', which is for loops";
  if (!count || !count.getType().isInteger(64) || count.getInt() < 2 || count.getInt() > most)
    return op->emitOpError("expected '")
           << kUnrollAttrName << "' of 2 to " << most << " : i64, got " << iterations;
  std::optional<APInt> all = loop.getStaticTripCount();
  if (!all || all->urem(count.getInt()))
    return op->emitOpError("has '") << kUnrollAttrName << "' of " << count.getInt()
                                    << ", and its iterations are not known to be a multiple of it";
  return success();
}

static LogicalResult verifySites(Operation *function, Attribute value) {
  if (!isa<FunctionOpInterface>(function))
    return function->emitOpError("has '") << kSitesAttrName << "', which is for functions";
  auto sites = dyn_cast<ArrayAttr>(value);
  if (!sites || !llvm::all_of(sites, llvm::IsaPred<NameLoc>))
    return function->emitOpError("expected '")
           << kSitesAttrName << "' to be a list of named locations, got " << value;
  return success();
}

LogicalResult WarpDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == kSitesAttrName)
    return verifySites(op, attribute.getValue());
  if (attribute.getName() == kUnrollAttrName)
    return verifyUnrolling(op, attribute.getValue());
  return verifyKernelAttribute(op, attribute);
}

std::optional<Dialect::ParseOpHook> WarpDialect::getParseOperationHook(StringRef name) const {
  std::optional<ParseOpHook> registered = Dialect::getParseOperationHook(name);
  return registered ? registered : ParseOpHook(refuseUnknownOp);
}

void WarpDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Warp/WarpAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Warp/WarpOps.cpp.inc"
      >();
}
