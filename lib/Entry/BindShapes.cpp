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
    bindings[Dim::Heads] = {*signature.fixedHeads, "the spec's decay factors"};
  if (signature.fixedKvHeads)
    bindings[Dim::KvHeads] = {*signature.fixedKvHeads, "the spec's decay factors"};
}

bool SizeBinder::isBound(Dim::Kind symbol) const {
  return bindings[signature.canonical(symbol)].has_value();
}

Error SizeBinder::bind(Dim::Kind symbol, int64_t size, StringRef source) {
  std::string name = Dim{symbol, 0}.str();
  bool isHeads = symbol == Dim::Heads || symbol == Dim::KvHeads;
  if (size < (isHeads ? 1 : 0))
    return createStringError(source + ": expected " + name + (isHeads ? " >= 1" : " >= 0") +
                             ", got " + Twine(size));
  Dim::Kind canonical = signature.canonical(symbol);
  std::optional<Binding> &binding = bindings[canonical];
  if (!binding) {
    binding = Binding{size, source.str()};
    return Error::success();
  }
  if (binding->size == size)
    return Error::success();
  std::string same = canonical == symbol ? "" : " = " + Dim{canonical, 0}.str();
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
    if (dim.kind == Dim::Fixed) {
      if (dim.size != size)
        return mismatch("");
      continue;
    }
    const std::optional<Binding> &binding = bindings[dim.kind];
    if (binding && binding->size != size)
      return mismatch(" with " + dim.str() + " = " + Twine(binding->size) + " (from " +
                      binding->source + ")");
    if (Error error = bind(dim.kind, size, who))
      return error;
  }
  return Error::success();
}

Expected<CallSizes> SizeBinder::finish() const {
  auto value = [&](Dim::Kind symbol) -> std::optional<int64_t> {
    const std::optional<Binding> &binding = bindings[signature.canonical(symbol)];
    return binding ? std::optional<int64_t>(binding->size) : std::nullopt;
  };
  for (Dim::Kind symbol : {Dim::Batch, Dim::Queries, Dim::Heads})
    if (!value(symbol))
      return createStringError("nothing gives the size " + Dim{symbol, 0}.str() + " of entry '" +
                               signature.name + "'");
  CallSizes sizes;
  sizes.batch = *value(Dim::Batch);
  sizes.queries = *value(Dim::Queries);
  sizes.keys = value(Dim::Keys).value_or(sizes.queries);
  sizes.heads = *value(Dim::Heads);
  sizes.kvHeads = value(Dim::KvHeads).value_or(sizes.heads);
  sizes.rows = value(Dim::Rows).value_or(0);
  if (sizes.heads % sizes.kvHeads != 0)
    return createStringError("expected H to be a multiple of Hkv, got H = " + Twine(sizes.heads) +
                             " (from " + bindings[Dim::Heads]->source +
                             ") and Hkv = " + Twine(sizes.kvHeads) + " (from " +
                             bindings[Dim::KvHeads]->source + ")");
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
