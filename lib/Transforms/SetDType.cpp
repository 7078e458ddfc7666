//===- SetDType.cpp - the element type of tensors -------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Transforms/SetDType.h"
#include "mlir/AsmParser/AsmParser.h"
#include "polyattn/Entry/Signature.h"
#include "polyattn/Transforms/Passes.h"

using namespace mlir;
using namespace polyattn;

namespace polyattn {
#define GEN_PASS_DEF_SETDTYPE
#include "lib/Transforms/Passes.h.inc"
} // namespace polyattn

/// f32, bf16 or f16, whose names are MLIR's; null for other names.
static Type storageType(MLIRContext *context, StringRef name) {
  std::optional<ElementType> type = parseElementType(name);
  return type && !isInteger(*type) ? parseType(nameOf(*type), context) : Type();
}

static RankedTensorType holding(RankedTensorType tensor, Type element) {
  return RankedTensorType::get(tensor.getShape(), element, tensor.getEncoding());
}

/// What an argument that holds `before` holds from here on, where `element` was chosen.
static Type elementFor(const TensorSignature &argument, Type before, Type element) {
  switch (storageOf(argument.role)) {
  case RoleStorage::Chosen:
    return element;
  case RoleStorage::F32:
    return Float32Type::get(before.getContext());
  case RoleStorage::Unchanged:
    return before;
  }
  llvm_unreachable("all kinds of storage are above");
}

/// What gradients take of a row: one over a sum, which f16 might not hold, and states.
static bool isKeptOfRow(Value value) {
  auto attend = value.getDefiningOp<AttendOp>();
  return attend && (value == attend.getRowFactors() || value == attend.getKeptStates());
}

/// Sums over positions are f32, and so is what they are added to.
static bool isRunningSum(BlockArgument argument) {
  return llvm::any_of(argument.getUsers(), llvm::IsaPred<WeightGradientOp, FilterGradientOp>);
}

static llvm::Error setDType(AttentionOp attention, Type element) {
  llvm::Expected<Signature> signature = signatureOf(attention);
  if (!signature)
    return signature.takeError();
  llvm::DenseSet<Type> before;
  for (auto [argument, described] :
       llvm::zip(attention.getBody().getArguments(), signature->arguments)) {
    auto tensor = cast<RankedTensorType>(argument.getType());
    if (tensor.getRank() == 4 && !AttentionOp::isDecayOrState(argument))
      before.insert(tensor.getElementType());
    if (!isRunningSum(argument))
      argument.setType(holding(tensor, elementFor(described, tensor.getElementType(), element)));
  }
  auto returned = cast<ReturnOp>(attention.getBody().front().getTerminator()).getResults();
  SmallVector<Attribute> results;
  for (auto [type, value] :
       llvm::zip(attention.getResultTypes().getAsValueRange<TypeAttr>(), returned)) {
    // A final state's type is that of the value.
    auto tensor = cast<RankedTensorType>(type);
    bool isStored = isa<FeatureType>(value.getType()) && !isKeptOfRow(value);
    if (isStored && before.contains(tensor.getElementType()))
      tensor = holding(tensor, element);
    results.push_back(TypeAttr::get(tensor));
  }
  attention.setResultTypesAttr(ArrayAttr::get(attention.getContext(), results));
  return llvm::Error::success();
}

llvm::Error polyattn::setDType(ModuleOp module, StringRef name) {
  Type element = storageType(module.getContext(), name);
  if (!element)
    return llvm::createStringError("expected a dtype of f32, bf16 or f16, got '" + name + "'");
  for (AttentionOp attention : module.getOps<AttentionOp>())
    if (llvm::Error error = ::setDType(attention, element))
      return error;
  return llvm::Error::success();
}

namespace {
struct SetDType : polyattn::impl::SetDTypeBase<SetDType> {
  using SetDTypeBase::SetDTypeBase;

  void runOnOperation() override {
    if (llvm::Error error = setDType(getOperation(), type)) {
      getOperation().emitError(llvm::toString(std::move(error)));
      signalPassFailure();
    }
  }
};
} // namespace
