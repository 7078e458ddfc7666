//===- PackSequences.cpp - kernels for packed sequences -------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Transforms/PackSequences.h"
#include "polyattn/Transforms/Passes.h"

using namespace mlir;
using namespace polyattn;

namespace polyattn {
#define GEN_PASS_DEF_PACKSEQUENCES
#include "lib/Transforms/Passes.h.inc"
} // namespace polyattn

static LogicalResult pack(AttentionOp attention) {
  if (attention.getOffsetsArgument())
    return success();
  MLIRContext *context = attention.getContext();
  auto name = StringAttr::get(context, kOffsetsName);
  for (ArrayAttr names : {attention.getArgNames(), attention.getResultNames()})
    if (llvm::is_contained(names, name))
      return attention.emitError("'")
             << kOffsetsName << "' is the name of the offsets of packed sequences, and taken";
  SmallVector<Attribute> names(attention.getArgNames().begin(), attention.getArgNames().end());
  attention.setPacked(names.size());
  names.push_back(name);
  attention.setArgNamesAttr(ArrayAttr::get(context, names));
  auto type = RankedTensorType::get({ShapedType::kDynamic}, IntegerType::get(context, 32));
  attention.getBody().addArgument(type, attention.getLoc());
  return success();
}

LogicalResult polyattn::packSequences(ModuleOp module) {
  for (AttentionOp attention : module.getOps<AttentionOp>())
    if (failed(pack(attention)))
      return failure();
  return success();
}

namespace {
struct PackSequences : polyattn::impl::PackSequencesBase<PackSequences> {
  void runOnOperation() override {
    if (failed(packSequences(getOperation())))
      signalPassFailure();
  }
};
} // namespace
