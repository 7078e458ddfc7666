//===- KernelFrame.cpp - the tensors and indices of one kernel ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelFrame.h"

using namespace mlir;
using namespace polyattn;

static MemRefType memrefOf(RankedTensorType tensor) {
  SmallVector<int64_t> strides(tensor.getRank(), ShapedType::kDynamic);
  strides.back() = 1;
  auto layout = StridedLayoutAttr::get(tensor.getContext(), ShapedType::kDynamic, strides);
  return MemRefType::get(tensor.getShape(), tensor.getElementType(), layout);
}

/// The op, with an empty body whose arguments are the tensors and the program's indices.
static tile::KernelOp createKernel(TileBuilder &b, StringRef name, const KernelTensors &tensors,
                                   ArrayRef<HiddenArgument> workspaces,
                                   const KernelPrograms &programs) {
  SmallVector<Attribute> names(tensors.names.begin(), tensors.names.end());
  SmallVector<Type> types(tensors.types.begin(), tensors.types.end());
  for (const HiddenArgument &tensor : workspaces) {
    names.push_back(b.getStringAttr(tensor.name));
    types.push_back(tensor.type);
  }
  IntegerAttr segments, cluster;
  if (programs.segments)
    segments = b.getI64IntegerAttr(*programs.segments);
  if (tensors.cluster > 1)
    cluster = b.getI64IntegerAttr(tensors.cluster);
  int64_t query = programs.keyHeads ? tensors.keyTensor : tensors.queryTensor;
  auto kernel = tile::KernelOp::create(
      b, b.getStringAttr(name), b.getArrayAttr(names), b.getI64IntegerAttr(tensors.inputs),
      segments, cluster, b.getI64IntegerAttr(query), b.getI64IntegerAttr(tensors.keyTensor),
      b.getStringAttr(tensors.interleaved ? "interleaved" : "block"));
  Block *body = b.createBlock(&kernel.getBody());
  for (Type type : types)
    body->addArgument(memrefOf(cast<RankedTensorType>(type)), b.getLoc());
  for (int i = 0; i < (segments ? 5 : 4); ++i)
    body->addArgument(b.getIndexType(), b.getLoc());
  b.setInsertionPointToEnd(body);
  return kernel;
}

/// Where the call begins in the sequence of this program's batch.
static Value loadFirstPosition(TileBuilder &b, tile::KernelOp kernel, int64_t tensor) {
  Value number = memref::LoadOp::create(b, kernel.getTensor(tensor), kernel.getBatch());
  return b.createOrFold<arith::ExtSIOp>(b.getI64Type(), number);
}

KernelFrame::KernelFrame(TileBuilder &b, StringRef name, const KernelTensors &tensors,
                         ArrayRef<HiddenArgument> workspaces, const KernelPrograms &programs)
    : kernel(createKernel(b, name, tensors, workspaces, programs)), batch(kernel.getBatch()),
      head(kernel.getHead()), group(kernel.getGroup()), weights(kernel), numInputs(tensors.inputs),
      firstWorkspace(tensors.types.size()) {
  // One head for both sides makes what they read and compute alike one value.
  kvHead = tensors.sameHeads || programs.keyHeads ? head : kernel.getKvHead();
  Value one = b.index(1);
  int64_t query = programs.keyHeads ? tensors.keyTensor : tensors.queryTensor;
  queries = memref::DimOp::create(b, kernel.getTensor(query), one);
  keys = memref::DimOp::create(b, kernel.getTensor(tensors.keyTensor), one);
  if (tensors.firstPosition)
    firstPosition = loadFirstPosition(b, kernel, *tensors.firstPosition);
  if (tensors.cluster > 1)
    clusterRank = tile::ClusterRankOp::create(b);
}
