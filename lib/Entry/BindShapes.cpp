//===- BindShapes.cpp - the sizes of a call -------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Entry/Signature.h"

using namespace llvm;
using namespace polyattn;

SizeBinder::SizeBinder(const Signature &signature) : signature(signature) {
  if (signature.fixedHeads)
    bindings[indexOf(kHeads)] = {*signature.fixedHeads, "the spec's decay factors"};
  if (signature.fixedKvHeads)
    bindings[indexOf(kKeyHeads)] = {*signature.fixedKvHeads, "the spec's decay factors"};
  if (signature.offsets)
    bindings[indexOf(kBatch)] = {1, "packed sequences"};
}

bool SizeBinder::isBound(SizeName symbol) const {
  return bindings[indexOf(signature.canonical(symbol))].has_value();
}

Error SizeBinder::bind(SizeName symbol, int64_t size, StringRef source) {
  std::string name = sizeToString(symbol);
  bool isPositive = symbol == kHeads || symbol == kKeyHeads || symbol == kSequenceBounds;
  if (size < (isPositive ? 1 : 0))
    return createStringError(source + ": expected " + name + (isPositive ? " >= 1" : " >= 0") +
                             ", got " + Twine(size));
  if (symbol == kSequenceBounds)
    return bind(kSequences, size - 1, source);
  SizeName canonical = signature.canonical(symbol);
  std::optional<Binding> &binding = bindings[indexOf(canonical)];
  if (!binding) {
    binding = Binding{size, source.str()};
    return Error::success();
  }
  if (binding->size == size)
    return Error::success();
  std::string same = canonical == symbol ? "" : " = " + sizeToString(canonical);
  return createStringError(source + ": expected " + name + same + " = " + Twine(binding->size) +
                           " (from " + binding->source + "), got " + Twine(size));
}

Error SizeBinder::bind(const TensorSignature &argument, ArrayRef<int64_t> shape) {
  std::string who = "argument '" + argument.name + "'";
  // Where a size disagrees, the whole shape is shown with what is known of it.
  auto mismatch = [&](const Twine &why) {
    return createStringError(Twine(who) + ": expected " + argument.formatDims() + why + ", got " +
                             formatSizes(shape));
  };
  if (shape.size() != argument.dims.size())
    return mismatch("");
  for (auto [dim, size] : zip(argument.dims, shape)) {
    if (dim >= 0) {
      if (dim != size)
        return mismatch("");
      continue;
    }
    auto name = SizeName(dim);
    if (name == kSequenceBounds) {
      if (Error error = bind(name, size, who))
        return error;
      continue;
    }
    const std::optional<Binding> &binding = bindings[indexOf(name)];
    if (binding && binding->size != size)
      return mismatch(" with " + sizeToString(name) + " = " + Twine(binding->size) + " (from " +
                      binding->source + ")");
    if (Error error = bind(name, size, who))
      return error;
  }
  return Error::success();
}

Expected<CallSizes> SizeBinder::finish() const {
  auto value = [&](SizeName symbol) -> std::optional<int64_t> {
    const std::optional<Binding> &binding = bindings[indexOf(signature.canonical(symbol))];
    return binding ? std::optional<int64_t>(binding->size) : std::nullopt;
  };
  SmallVector<SizeName> needed = {kBatch, kPositions, kHeads};
  if (signature.offsets)
    needed.push_back(kSequences);
  for (SizeName symbol : needed)
    if (!value(symbol))
      return createStringError("nothing gives the size " + sizeToString(symbol) + " of entry '" +
                               signature.name + "'");
  CallSizes sizes;
  sizes.batch = *value(kBatch);
  sizes.queries = *value(kPositions);
  sizes.keys = value(kKeyPositions).value_or(sizes.queries);
  sizes.heads = *value(kHeads);
  sizes.kvHeads = value(kKeyHeads).value_or(sizes.heads);
  sizes.rows = value(kTableRows).value_or(0);
  sizes.sequences = value(kSequences).value_or(0);
  // Packed sequences have a T each.
  for (auto [symbol, size] : {std::pair(kPositions, sizes.queries), {kKeyPositions, sizes.keys}})
    if (const SizeLimit *limit = signature.limitOf(symbol);
        limit && size > limit->most && !signature.offsets)
      return failLimit(signature, signature.canonical(symbol), size, "");
  int64_t calls = signature.offsets ? sizes.sequences : sizes.batch;
  sizes.slots = value(kSlots).value_or(signature.slots ? calls : 0);
  if (sizes.heads % sizes.kvHeads != 0)
    return createStringError("expected H to be a multiple of Hkv, got H = " + Twine(sizes.heads) +
                             " (from " + bindings[indexOf(kHeads)]->source +
                             ") and Hkv = " + Twine(sizes.kvHeads) + " (from " +
                             bindings[indexOf(kKeyHeads)]->source + ")");
  return sizes;
}

Error polyattn::bindShapes(const Signature &signature, ArrayRef<SmallVector<int64_t, 4>> shapes,
                           CallSizes &sizes) {
  if (shapes.size() != signature.arguments.size())
    return createStringError("entry '" + signature.name + "': expected " +
                             Twine(signature.arguments.size()) + " arguments, got " +
                             Twine(shapes.size()));
  SizeBinder binder(signature);
  for (auto [argument, shape] : zip(signature.arguments, shapes))
    if (Error error = binder.bind(argument, shape))
      return error;
  Expected<CallSizes> bound = binder.finish();
  if (!bound)
    return bound.takeError();
  sizes = *bound;
  return Error::success();
}
