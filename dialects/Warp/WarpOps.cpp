//===- WarpOps.cpp - verification of warp ops -----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Warp/Warp.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace polyattn::warp;

#define GET_OP_CLASSES
#include "dialects/Warp/WarpOps.cpp.inc"

static LogicalResult verifyInCluster(Operation *op) {
  auto kernel = op->getParentOfType<gpu::GPUFuncOp>();
  if (!kernel || !kernel->hasAttr(kClusterAttrName))
    return op->emitOpError("expected to be in a kernel with '") << kClusterAttrName << "'";
  return success();
}

LogicalResult ClusterRankOp::verify() { return verifyInCluster(*this); }
LogicalResult ClusterBarrierOp::verify() { return verifyInCluster(*this); }
LogicalResult LoadClusterOp::verify() { return verifyInCluster(*this); }

LogicalResult LookupOp::verify() {
  ShapedType type = getTable().getShapedType();
  if (type.getRank() != 1 || type.getElementType() != getResult().getType())
    return emitOpError("expected a vector of ") << getResult().getType() << ", got " << type;
  return success();
}

LogicalResult LdmatrixOp::verify() {
  size_t count = getMatrices().size();
  if (count != 1 && count != 2 && count != 4)
    return emitOpError("expected 1, 2 or 4 matrices, got ") << count;
  return success();
}

LogicalResult PackOp::verify() {
  if (getKind() == OperandKind::TF32)
    return emitOpError("tf32 has 32 bits");
  return success();
}
