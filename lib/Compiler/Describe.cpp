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

static DataType dataTypeOf(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return DataType::F32;
  case ElementType::BF16:
    return DataType::BF16;
  case ElementType::F16:
    return DataType::F16;
  case ElementType::I32:
    return DataType::I32;
  case ElementType::I64:
    return DataType::I64;
  }
  return DataType::F32;
}

static int64_t sizeOf(const Dim &dim) {
  switch (dim.kind) {
  case Dim::Batch:
    return kBatch;
  case Dim::Queries:
    return kPositions;
  case Dim::Keys:
    return kKeyPositions;
  case Dim::Heads:
    return kHeads;
  case Dim::KvHeads:
    return kKeyHeads;
  case Dim::Rows:
    return kTableRows;
  case Dim::Fixed:
    return dim.size;
  }
  return dim.size;
}

static TensorDescription describe(const TensorSignature &tensor, bool isResult) {
  TensorDescription result{tensor.name, isResult, dataTypeOf(tensor.type), {}};
  for (const Dim &dim : tensor.dims)
    result.sizes.push_back(sizeOf(dim));
  return result;
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
  if (signature->fixedHeads)
    result.fixedSizes[-kHeads - 1] = *signature->fixedHeads;
  if (signature->fixedKvHeads)
    result.fixedSizes[-sizeOf({signature->canonical(Dim::KvHeads), 0}) - 1] =
        *signature->fixedKvHeads;
  result.featureDimension = signature->facts.featureDim;
  result.degree = signature->facts.degree;
  result.scoreForm = signature->facts.scoreForm;
  result.invariant = isInvariant(attention->getParentOfType<mlir::ModuleOp>());
  return result;
}
