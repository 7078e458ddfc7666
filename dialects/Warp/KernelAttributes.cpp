//===- KernelAttributes.cpp - what a kernel says of its launch ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A gpu.func is not ours, so that its attributes `warp.*` are discardable ones. Here is what they
// may hold, and that there are no others: code that reads them asks only whether they are there.
//
//===----------------------------------------------------------------------===//

#include "dialects/Attributes/DidYouMean.h"
#include "dialects/Warp/Warp.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace polyattn::warp;

namespace {
using Verifier = LogicalResult (*)(Operation *op, NamedAttribute attribute);
struct Known {
  llvm::StringLiteral name;
  Verifier verify;
};
} // namespace

/// "expected 'warp.x' ..., got ...".
static LogicalResult refuse(Operation *op, NamedAttribute attribute, const Twine &expected) {
  return op->emitOpError("expected '")
         << attribute.getName().getValue() << "' " << expected << ", got " << attribute.getValue();
}

static bool isNumber(Attribute attribute, int64_t least, int64_t most = INT64_MAX) {
  auto number = dyn_cast<IntegerAttr>(attribute);
  return number && number.getType().isInteger(64) && number.getInt() >= least &&
         number.getInt() <= most;
}

/// [tensor, dimension].
static bool isSize(Attribute attribute) {
  auto pair = dyn_cast<ArrayAttr>(attribute);
  return pair && pair.size() == 2 && isNumber(pair[0], 0) && isNumber(pair[1], 0);
}

//===----------------------------------------------------------------------===//
// Attributes of kernels
//===----------------------------------------------------------------------===//

static LogicalResult verifyCluster(Operation *op, NamedAttribute attribute) {
  auto size = dyn_cast<IntegerAttr>(attribute.getValue());
  if (size && size.getType().isInteger(64) && llvm::is_contained({2, 4, 8}, size.getInt()))
    return success();
  return refuse(op, attribute, "of 2, 4 or 8 : i64");
}

static LogicalResult verifyThreads(Operation *op, NamedAttribute attribute) {
  constexpr int64_t lanes = 32, most = 1024;
  if (isNumber(attribute.getValue(), lanes, most) &&
      cast<IntegerAttr>(attribute.getValue()).getInt() % lanes == 0)
    return success();
  return refuse(op, attribute, "to be a multiple of 32 up to 1024 : i64");
}

// Offsets into shared memory are i32.
static LogicalResult verifyCount(Operation *op, NamedAttribute attribute) {
  if (isNumber(attribute.getValue(), 0, INT32_MAX))
    return success();
  return refuse(op, attribute, "of 0 to 2^31 - 1 : i64");
}

static LogicalResult verifyBytes(Operation *op, NamedAttribute attribute) {
  return isNumber(attribute.getValue(), 0) ? success()
                                           : refuse(op, attribute, "of at least 0 : i64");
}

static LogicalResult verifyPrograms(Operation *op, NamedAttribute attribute) {
  constexpr size_t most = 6; // factors of a stage's program instances
  auto sizes = dyn_cast<ArrayAttr>(attribute.getValue());
  if (sizes && sizes.size() <= most &&
      llvm::all_of(sizes, [](Attribute size) { return isNumber(size, 0) || isSize(size); }))
    return success();
  return refuse(op, attribute, "to be at most 6 sizes, a number or [tensor, dimension] each");
}

static LogicalResult verifyMemory(Operation *op, NamedAttribute attribute) {
  auto tiles = dyn_cast<ArrayAttr>(attribute.getValue());
  if (tiles && llvm::all_of(tiles, llvm::IsaPred<ResidentAttr>))
    return success();
  return refuse(op, attribute, "to be a list of #warp.resident");
}

//===----------------------------------------------------------------------===//
// Attributes of their parameters
//===----------------------------------------------------------------------===//

static LogicalResult verifyTensor(Operation *op, NamedAttribute attribute) {
  return isNumber(attribute.getValue(), 0) ? success()
                                           : refuse(op, attribute, "to be a tensor's number : i64");
}

static LogicalResult verifySize(Operation *op, NamedAttribute attribute) {
  return isSize(attribute.getValue()) ? success()
                                      : refuse(op, attribute, "to be [tensor, dimension]");
}

static LogicalResult verifyMark(Operation *op, NamedAttribute attribute) {
  return isa<UnitAttr>(attribute.getValue()) ? success() : refuse(op, attribute, "without a value");
}

//===----------------------------------------------------------------------===//
// Which attributes there are
//===----------------------------------------------------------------------===//

static constexpr Known kOfKernels[] = {
    {kClusterAttrName, verifyCluster},   {kThreadsAttrName, verifyThreads},
    {kSharedBytesAttrName, verifyCount}, {kWorkspaceBytesAttrName, verifyBytes},
    {kRegistersAttrName, verifyCount},   {kProgramsAttrName, verifyPrograms},
    {kMemoryAttrName, verifyMemory}};
static constexpr Known kOfParameters[] = {{kPointerAttrName, verifyTensor},
                                          {kSizeAttrName, verifySize},
                                          {kStrideAttrName, verifySize},
                                          {kWorkspaceAttrName, verifyMark},
                                          {kProfileAttrName, verifyMark}};

static LogicalResult verifyByName(Operation *op, NamedAttribute attribute, ArrayRef<Known> known,
                                  StringRef owner) {
  StringRef name = attribute.getName();
  SmallVector<StringRef> names;
  for (const Known &one : known) {
    if (one.name == name)
      return one.verify(op, attribute);
    names.push_back(one.name);
  }
  return op->emitOpError() << owner << " has no attribute '" << name << "'"
                           << polyattn::didYouMean(name, names);
}

LogicalResult polyattn::warp::verifyKernelAttribute(Operation *op, NamedAttribute attribute) {
  if (!isa<gpu::GPUFuncOp>(op))
    return op->emitOpError("has '") << attribute.getName().getValue() << "', which is for kernels";
  return verifyByName(op, attribute, kOfKernels, "a kernel");
}

LogicalResult WarpDialect::verifyRegionArgAttribute(Operation *op, unsigned region, unsigned number,
                                                    NamedAttribute attribute) {
  if (!isa<gpu::GPUFuncOp>(op))
    return op->emitOpError("has '")
           << attribute.getName().getValue() << "', which is for parameters of kernels";
  if (failed(verifyByName(op, attribute, kOfParameters, "a parameter")))
    return failure();
  Type type = op->getRegion(region).getArgument(number).getType();
  constexpr unsigned global = 1;
  bool isNumber = llvm::is_contained({kSizeAttrName, kStrideAttrName}, attribute.getName());
  auto pointer = dyn_cast<LLVM::LLVMPointerType>(type);
  if (isNumber ? type.isInteger(64) : pointer && pointer.getAddressSpace() == global)
    return success();
  return op->emitOpError("expected the parameter with '")
         << attribute.getName().getValue() << "' to be of type "
         << (isNumber ? "i64" : "!llvm.ptr<1>") << ", got " << type;
}
