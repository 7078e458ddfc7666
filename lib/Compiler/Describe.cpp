//===- Describe.cpp - the description of an entry before it is lowered ----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Describe.h"
#include "polyattn/Entry/Signature.h"
#include "polyattn/Schedule/Invariant.h"

using namespace polyattn;

static TensorDescription describe(const TensorSignature &tensor, bool isResult) {
  return {tensor.name,
          isResult,
          tensor.type,
          {tensor.dims.begin(), tensor.dims.end()},
          tensor.argument};
}

llvm::Expected<KernelDescription> polyattn::describeEntry(AttentionOp attention) {
  llvm::Expected<Signature> signature = signatureOf(attention);
  if (!signature)
    return signature.takeError();
  KernelDescription result;
  result.entry = signature->name;
  for (const TensorSignature &tensor : signature->arguments)
    result.tensors.push_back(describe(tensor, false));
  for (const TensorSignature &tensor : signature->results)
    result.tensors.push_back(describe(tensor, true));
  if (signature->firstPosition)
    result.firstPosition = {*signature->firstPosition, signature->positionUnit};
  result.slots = signature->slots;
  result.lengths = signature->lengths;
  if (signature->fixedHeads)
    result.fixedSizes[indexOf(kHeads)] = *signature->fixedHeads;
  if (signature->fixedKvHeads)
    result.fixedSizes[indexOf(signature->canonical(kKeyHeads))] = *signature->fixedKvHeads;
  result.featureDimension = signature->facts.featureDim;
  result.degree = signature->facts.degree;
  result.scoreForm = signature->facts.scoreForm;
  result.invariant = isInvariant(attention->getParentOfType<mlir::ModuleOp>());
  return result;
}
