//===- Describe.cpp - the description of an entry before it is lowered ----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Describe.h"
#include "polyattn/Schedule/Invariant.h"

using namespace polyattn;

static TensorDescription describe(const TensorSignature &tensor, bool isResult) {
  return {tensor.name,     isResult,    tensor.type,       {tensor.dims.begin(), tensor.dims.end()},
          tensor.argument, tensor.role, tensor.gradientOf, tensor.savedFrom};
}

KernelDescription polyattn::describeEntry(const Entry &entry) {
  const Signature &signature = entry.signature;
  KernelDescription result;
  result.entry = signature.name;
  result.direction = entry.direction;
  for (const TensorSignature &tensor : signature.arguments)
    result.tensors.push_back(describe(tensor, false));
  for (const TensorSignature &tensor : signature.results)
    result.tensors.push_back(describe(tensor, true));
  if (signature.firstPosition)
    result.firstPosition = {*signature.firstPosition, signature.positionUnit};
  result.slots = signature.slots;
  result.lengths = signature.lengths;
  result.offsets = signature.offsets;
  if (signature.offsets)
    result.fixedSizes[indexOf(kBatch)] = 1;
  if (signature.fixedHeads)
    result.fixedSizes[indexOf(kHeads)] = *signature.fixedHeads;
  if (signature.fixedKvHeads)
    result.fixedSizes[indexOf(signature.canonical(kKeyHeads))] = *signature.fixedKvHeads;
  for (auto [i, limit] : llvm::enumerate(signature.limits))
    if (limit)
      result.limits.push_back({SizeName(-1 - int64_t(i)), limit->most, limit->argument});
  result.featureDimension = signature.facts.featureDim;
  result.degree = signature.facts.degree;
  result.scoreForm = signature.facts.scoreForm;
  result.invariant = isInvariant(AttentionOp(entry.attention)->getParentOfType<mlir::ModuleOp>());
  return result;
}
