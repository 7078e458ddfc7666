//===- KnownAttributes.cpp - ops with declared attributes only ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Attributes/KnownAttributes.h"

using namespace mlir;
using namespace polyattn;

llvm::StringRef polyattn::nearestName(StringRef name, ArrayRef<StringRef> names) {
  // Two letters that changed places are two slips; what differs in much more is another word.
  unsigned nearest = name.size() / 3 + 2;
  StringRef result;
  for (StringRef candidate : names) {
    unsigned distance =
        name.edit_distance(candidate, /*AllowReplacements=*/true, /*MaxEditDistance=*/nearest);
    if (distance >= nearest)
      continue;
    nearest = distance;
    result = candidate;
  }
  return result;
}

LogicalResult polyattn::checkAttributeNames(OperationName op, ArrayRef<NamedAttribute> attributes,
                                            function_ref<InFlightDiagnostic()> emitError) {
  SmallVector<StringRef> known;
  for (StringAttr name : op.getAttributeNames())
    known.push_back(name.getValue());
  if (auto *annotations = op.getDialect()->getRegisteredInterface<AnnotationNames>())
    llvm::append_range(known, annotations->getNames());
  for (NamedAttribute attribute : attributes) {
    StringRef name = attribute.getName().getValue(), bare = name;
    // What an op's own dialect has to say of it, it declares.
    bare.consume_front((op.getDialectNamespace() + ".").str());
    bool isForeign = bare.contains('.');
    if (isForeign || llvm::is_contained(known, name))
      continue;
    InFlightDiagnostic error = emitError() << "has no attribute '" << name << "'";
    StringRef nearest = nearestName(bare, known);
    if (nearest.empty())
      nearest = nearestName(name, known);
    if (!nearest.empty())
      error << "; did you mean '" << nearest << "'?";
    return error;
  }
  return success();
}
