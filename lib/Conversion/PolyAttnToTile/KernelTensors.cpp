//===- KernelTensors.cpp - tensors and programs of tile kernels -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTensors.h"

using namespace mlir;
using namespace polyattn;

static MemRefType memrefOf(RankedTensorType tensor) {
  SmallVector<int64_t> strides(tensor.getRank(), ShapedType::kDynamic);
  strides.back() = 1;
  auto layout = StridedLayoutAttr::get(tensor.getContext(), ShapedType::kDynamic, strides);
  return MemRefType::get(tensor.getShape(), tensor.getElementType(), layout);
}

tile::ExtentAttr KernelTensors::batches(MLIRContext *context, int64_t tensor) const {
  if (!offsets)
    return tile::ExtentAttr::dimensionOf(context, tensor, 0);
  return tile::ExtentAttr::get(context, tile::ExtentBase::Dimension, *offsets, /*dimension=*/0,
                               /*plus=*/-1, /*divisor=*/1, /*times=*/1);
}

ArrayAttr KernelTensors::gridOf(Builder &builder, const KernelPrograms &programs) const {
  MLIRContext *context = builder.getContext();
  int64_t tensor = tensorOf(programs);
  SmallVector<Attribute> axes;
  if (programs.perHead)
    axes.push_back(programs.perHead);
  if (programs.inParts)
    axes.push_back(tile::ExtentAttr::choice(context, tile::ExtentBase::Parts));
  else if (programs.batches > 1)
    axes.push_back(tile::ExtentAttr::get(context, tile::ExtentBase::Dimension, tensor,
                                         /*dimension=*/0,
                                         /*plus=*/1 - programs.fewestBatches,
                                         /*divisor=*/programs.batches, /*times=*/1));
  else
    axes.push_back(batches(context, tensor));
  axes.push_back(tile::ExtentAttr::dimensionOf(context, headsOf(programs), 2));
  return builder.getArrayAttr(axes);
}

tile::KernelOp polyattn::createKernel(TileBuilder &b, StringRef name, const KernelTensors &tensors,
                                      ArrayRef<HiddenArgument> workspaces, ArrayAttr axes) {
  SmallVector<Attribute> names(tensors.names.begin(), tensors.names.end());
  SmallVector<Type> types(tensors.types.begin(), tensors.types.end());
  for (const HiddenArgument &tensor : workspaces) {
    names.push_back(b.getStringAttr(tensor.name));
    types.push_back(tensor.type);
  }
  IntegerAttr cluster;
  if (tensors.cluster > 1)
    cluster = b.getI64IntegerAttr(tensors.cluster);
  auto kernel = tile::KernelOp::create(b, b.getStringAttr(name), axes, b.getArrayAttr(names),
                                       b.getI64IntegerAttr(tensors.inputs), cluster);
  Block *body = b.createBlock(&kernel.getBody());
  for (Type type : types)
    body->addArgument(memrefOf(cast<RankedTensorType>(type)), b.getLoc());
  b.setInsertionPointToEnd(body);
  return kernel;
}
