//===- ChosenEntry.cpp - the entries of a direction, described ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Compiler/ChosenEntry.h"
#include "polyattn/Compiler/Compile.h"

using namespace polyattn;

mlir::OwningOpRef<mlir::ModuleOp> polyattn::cloneAlone(AttentionOp attention) {
  mlir::OwningOpRef<mlir::ModuleOp> module = attention->getParentOfType<mlir::ModuleOp>().clone();
  for (AttentionOp other : llvm::make_early_inc_range(module->getOps<AttentionOp>()))
    if (other.getSymName() != attention.getSymName())
      other.erase();
  return module;
}

/// The attention that an entry was made of, by its name.
static std::pair<llvm::StringRef, CallDirection> definitionOf(llvm::StringRef entry) {
  for (CallDirection direction :
       {CallDirection::Training, CallDirection::Backward, CallDirection::Decode,
        CallDirection::States, CallDirection::GradientStates})
    if (entry.consume_back(suffixOf(direction)))
      return {entry, direction};
  return {entry, CallDirection::Forward};
}

llvm::Expected<std::vector<Entry>> polyattn::makeEntries(mlir::ModuleOp module,
                                                         const DirectionOptions &options) {
  llvm::StringMap<Signature> definitions;
  std::vector<Entry> entries;
  bool isForward = options.direction == CallDirection::Forward;
  for (AttentionOp attention : module.getOps<AttentionOp>()) {
    llvm::Expected<Signature> signature = signatureOf(attention);
    if (!signature)
      return signature.takeError();
    if (isForward) {
      entries.push_back({attention, std::move(*signature), options.direction});
      continue;
    }
    // What has no gradient is said before anything is derived.
    if (isAboutGradients(options.direction))
      if (auto backward = backwardSignature(*signature, options.gradients); !backward)
        return backward.takeError();
    if (isAboutGradients(options.direction) || isOfSegments(options.direction))
      definitions.try_emplace(attention.getSymName(), std::move(*signature));
  }
  if (isForward)
    return entries;
  if (llvm::Error error =
          runPipeline(module, "direction pipeline", [&](mlir::OpPassManager &passes) {
            buildDirectionPipeline(passes, options);
          }))
    return std::move(error);
  for (AttentionOp attention : module.getOps<AttentionOp>()) {
    auto [name, direction] = definitionOf(attention.getSymName());
    llvm::Expected<Signature> signature =
        isAboutGradients(direction) ? derivedSignature(attention, definitions.find(name)->second)
        : isOfSegments(direction)   ? segmentSignature(attention, definitions.find(name)->second)
                                    : signatureOf(attention);
    if (!signature)
      return signature.takeError();
    entries.push_back({attention, std::move(*signature), direction});
  }
  return entries;
}
