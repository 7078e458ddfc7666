//===- WarpDialect.cpp - registration -------------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Warp/Warp.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace polyattn::warp;

#include "dialects/Warp/WarpDialect.cpp.inc"
#include "dialects/Warp/WarpEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Warp/WarpAttrs.cpp.inc"

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
