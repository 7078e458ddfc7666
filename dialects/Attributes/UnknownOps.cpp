//===- UnknownOps.cpp - an op that a dialect does not have ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Attributes/UnknownOps.h"
#include "dialects/Attributes/DidYouMean.h"
#include "mlir/IR/MLIRContext.h"

using namespace mlir;

ParseResult polyattn::refuseUnknownOp(OpAsmParser &parser, OperationState &state) {
  StringRef dialect = state.name.getDialectNamespace();
  SmallVector<StringRef> known;
  // getRegisteredOperationsByDialect finds none of some dialects in LLVM 22: its search compares
  // wrongly.
  for (RegisteredOperationName op : parser.getContext()->getRegisteredOperations())
    if (op.getDialectNamespace() == dialect)
      known.push_back(op.stripDialect());
  // MLIR has begun: "custom op 'NAME' ".
  return parser.emitError(parser.getNameLoc(), "is unknown")
         << didYouMean(state.name.stripDialect(), known);
}
