//===- DerivedSignature.cpp - what an entry of a direction asks -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Entry/Signature.h"

using namespace mlir;
using namespace polyattn;

/// What the tensor is a gradient of; nothing where it is none.
static std::optional<StringRef> gradientOf(AttentionOp entry, StringRef name) {
  std::optional<DictionaryAttr> all = entry.getGradientOf();
  auto of = all ? all->getAs<StringAttr>(name) : StringAttr();
  return of ? std::optional(of.getValue()) : std::nullopt;
}

static bool isSaved(AttentionOp entry, StringRef name) {
  auto names = entry.getSaved().value_or(ArrayAttr::get(entry.getContext(), {}));
  return llvm::is_contained(names.getAsValueRange<StringAttr>(), name);
}

/// Says of a tensor that the attention does not have what it is.
static void describeNew(AttentionOp entry, const Signature &definition, TensorSignature &tensor) {
  if (std::optional<StringRef> of = gradientOf(entry, tensor.name)) {
    const TensorSignature *original = definition.findArgument(*of);
    if (!original)
      original = definition.findResult(*of);
    if (original)
      tensor.dims = original->dims;
    tensor.role = Role::Gradient;
    tensor.gradientOf = of->str();
    return;
  }
  if (const TensorSignature *result = definition.findResult(tensor.name))
    tensor.dims = result->dims;
  tensor.role = Role::Saved;
  if (isSaved(entry, tensor.name))
    tensor.savedFrom = tensor.name;
}

llvm::Expected<Signature> polyattn::derivedSignature(AttentionOp entry,
                                                     const Signature &definition) {
  llvm::Expected<Signature> derived = signatureOf(entry);
  if (!derived)
    return derived.takeError();
  Signature result = std::move(*derived);
  result.samePositions |= definition.samePositions;
  result.sameHeads |= definition.sameHeads;
  result.sharesHeads |= definition.sharesHeads;
  result.fixedHeads = definition.fixedHeads;
  result.fixedKvHeads = definition.fixedKvHeads;
  // Both are one where a state stands between them.
  if (result.sameHeads && !result.fixedHeads)
    result.fixedHeads = definition.fixedKvHeads;
  result.firstPosition = definition.firstPosition;
  result.slots = definition.slots;
  result.lengths = definition.lengths;
  result.positionUnit = definition.positionUnit;
  result.limits = definition.limits;
  result.facts = definition.facts;
  auto describe = [&](std::vector<TensorSignature> &tensors,
                      const std::vector<TensorSignature> &known) {
    for (TensorSignature &tensor : tensors) {
      auto it = llvm::find_if(
          known, [&](const TensorSignature &other) { return other.name == tensor.name; });
      if (it != known.end())
        tensor = *it;
      else
        describeNew(entry, definition, tensor);
      for (int64_t &dim : tensor.dims)
        if (dim < 0)
          dim = result.canonical(SizeName(dim));
    }
  };
  describe(result.arguments, definition.arguments);
  describe(result.results, definition.results);
  return result;
}

llvm::Expected<Signature> polyattn::segmentSignature(AttentionOp entry,
                                                     const Signature &definition) {
  llvm::Expected<Signature> signature = signatureOf(entry);
  if (!signature)
    return signature.takeError();
  auto setRole = [&](TensorSignature &tensor, const TensorSignature *known) {
    if (known) {
      tensor.role = known->role;
    } else if (std::optional<StringRef> of = gradientOf(entry, tensor.name)) {
      tensor.role = Role::Gradient;
      tensor.gradientOf = of->str();
    } else if (isSaved(entry, tensor.name)) {
      tensor.role = Role::Saved;
      tensor.savedFrom = tensor.name;
    }
  };
  for (TensorSignature &tensor : signature->arguments)
    setRole(tensor, definition.findArgument(tensor.name));
  for (TensorSignature &tensor : signature->results)
    setRole(tensor, definition.findResult(tensor.name));
  return signature;
}
