//===- Describe.cpp - the description of an entry before it is lowered ----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Describe.h"

using namespace polyattn;

static std::optional<DataType> dataTypeOf(mlir::Type type) {
  if (type.isF32())
    return DataType::F32;
  if (type.isF16())
    return DataType::F16;
  if (type.isBF16())
    return DataType::BF16;
  return std::nullopt;
}

/// Marks the arguments from which `value` is computed.
static void traceArguments(mlir::Value value, llvm::SmallPtrSetImpl<mlir::Value> &seen) {
  if (!value || !seen.insert(value).second)
    return;
  if (mlir::Operation *definition = value.getDefiningOp())
    for (mlir::Value operand : definition->getOperands())
      traceArguments(operand, seen);
}

namespace {
/// Which tensors are indexed by query positions and heads, and which by key ones. Where the
/// two cannot differ there is only one name for both.
struct Sides {
  llvm::SmallPtrSet<mlir::Value, 8> query;
  bool samePositions = false;

  explicit Sides(AttentionOp attention) {
    attention.walk([&](AttendOp attend) {
      traceArguments(attend.getQuery(), query);
      traceArguments(attend.getLocalQuery(), query);
      samePositions |= attend.getMask() == Mask::Causal;
    });
  }
};
} // namespace

/// [B, T, H, d], [B, T, H], [T, H, d] or a size per head and then numbers.
static std::vector<int64_t> sizesOf(mlir::RankedTensorType type, bool onQuerySide,
                                    bool samePositions) {
  std::vector<int64_t> sizes(type.getShape().begin(), type.getShape().end());
  int64_t positions = onQuerySide || samePositions ? kPositions : kKeyPositions;
  int64_t heads = onQuerySide ? kHeads : kKeyHeads;
  llvm::SmallVector<int64_t> names;
  switch (llvm::count_if(type.getShape(), mlir::ShapedType::isDynamic)) {
  case 1:
    names = {heads};
    break;
  case 2:
    names = {positions, heads};
    break;
  default:
    names = {kBatch, positions, heads};
  }
  auto next = names.begin();
  for (int64_t &size : sizes)
    if (mlir::ShapedType::isDynamic(size))
      size = *next++;
  return sizes;
}

static llvm::Error addTensor(KernelDescription &description, llvm::StringRef name, bool isResult,
                             mlir::Type type, bool onQuerySide, bool samePositions) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  std::optional<DataType> dtype =
      tensor ? dataTypeOf(tensor.getElementType()) : std::optional<DataType>();
  if (!dtype || tensor.getRank() > POLYATTN_MAX_RANK || tensor.getNumDynamicDims() > 3)
    return llvm::createStringError("@" + description.entry + ": '" + name +
                                   "' has a type that callers cannot pass");
  description.tensors.push_back(
      {name.str(), isResult, *dtype, sizesOf(tensor, onQuerySide, samePositions)});
  return llvm::Error::success();
}

llvm::Expected<KernelDescription> polyattn::describeEntry(AttentionOp attention) {
  KernelDescription result;
  result.entry = attention.getSymName().str();
  Sides sides(attention);
  for (auto [name, argument] :
       llvm::zip_equal(attention.getArgNames(), attention.getBody().getArguments()))
    if (llvm::Error error = addTensor(
            result, llvm::cast<mlir::StringAttr>(name).getValue(), false, argument.getType(),
            sides.query.contains(argument), sides.samePositions))
      return std::move(error);
  for (auto [name, type] :
       llvm::zip_equal(attention.getResultNames(), attention.getResultTypes()))
    if (llvm::Error error =
            addTensor(result, llvm::cast<mlir::StringAttr>(name).getValue(), true,
                      llvm::cast<mlir::TypeAttr>(type).getValue(), true, sides.samePositions))
      return std::move(error);
  StageDescription stage;
  stage.function = result.entry;
  result.stages.push_back(stage);
  return result;
}
