//===- Describe.cpp - the description of an entry before it is lowered ----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Describe.h"
#include "polyattn/Entry/Signature.h"

using namespace polyattn;

static DataType dataTypeOf(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return DataType::F32;
  case ElementType::F16:
    return DataType::F16;
  case ElementType::BF16:
    return DataType::BF16;
  }
  return DataType::F32;
}

/// Heads that the spec fixes are numbers for the caller, as is every other fixed size.
static int64_t sizeOf(const Signature &signature, Dim dim) {
  switch (signature.canonical(dim.kind)) {
  case Dim::Batch:
    return kBatch;
  case Dim::Queries:
    return kPositions;
  case Dim::Keys:
    return kKeyPositions;
  case Dim::Heads:
    return signature.fixedHeads.value_or(kHeads);
  case Dim::KvHeads:
    return signature.fixedKvHeads.value_or(kKeyHeads);
  case Dim::Fixed:
    break;
  }
  return dim.size;
}

llvm::Expected<KernelDescription> polyattn::describeEntry(AttentionOp attention) {
  llvm::Expected<Signature> signature = signatureOf(attention);
  if (!signature)
    return signature.takeError();
  KernelDescription result;
  result.entry = signature->name;
  auto add = [&](llvm::ArrayRef<TensorSignature> tensors, bool areResults) {
    for (const TensorSignature &tensor : tensors) {
      TensorDescription description{tensor.name, areResults, dataTypeOf(tensor.type), {}};
      for (Dim dim : tensor.dims)
        description.sizes.push_back(sizeOf(*signature, dim));
      result.tensors.push_back(std::move(description));
    }
  };
  add(signature->arguments, false);
  add(signature->results, true);
  for (const TensorDescription &tensor : result.tensors)
    if (tensor.sizes.size() > POLYATTN_MAX_RANK)
      return llvm::createStringError("@" + result.entry + ": '" + tensor.name +
                                     "' has more dimensions than callers can pass");
  StageDescription stage;
  stage.function = result.entry;
  stage.programs = {kBatch, signature->fixedHeads.value_or(kHeads)};
  result.stages.push_back(std::move(stage));
  result.featureDimension = signature->facts.featureDim;
  result.degree = signature->facts.degree;
  result.scoreForm = signature->facts.scoreForm;
  return result;
}
