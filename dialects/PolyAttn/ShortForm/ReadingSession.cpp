//===- ReadingSession.cpp - what texts in the short form are read with ----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/ShortForm/ReadingSession.h"
#include "dialects/Attributes/KnownAttributes.h"
#include "dialects/PolyAttn/PolyAttn.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace polyattn;

llvm::Expected<SpecSizes> polyattn::parseSpecSizes(llvm::StringRef text) {
  SpecSizes sizes;
  llvm::SmallVector<llvm::StringRef> items;
  text.split(items, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/!text.empty());
  for (llvm::StringRef item : items) {
    auto [name, number] = item.split('=');
    name = name.trim();
    int64_t size;
    if (name.empty() || number.trim().getAsInteger(10, size) || size < 1 ||
        size > FeatureType::kMaxVector)
      return llvm::createStringError("expected sizes from 1 to " +
                                     llvm::Twine(FeatureType::kMaxVector) +
                                     " as in d=64,m=1024, got '" + item + "'");
    if (!sizes.values.try_emplace(name.str(), size).second)
      return llvm::createStringError("'" + name + "' is given twice");
  }
  return sizes;
}

ReadingSession &ReadingSession::of(Dialect &dialect) {
  if (auto *session = dialect.getRegisteredInterface<ReadingSession>())
    return *session;
  return dialect.addInterface<ReadingSession>();
}

void ReadingSession::begin(SpecSizes newSizes) {
  isOpen = true;
  sizes = std::move(newSizes);
  known.clear();
  steps = operations = indices = 0;
}

std::optional<int64_t> ReadingSession::bind(llvm::StringRef entry, llvm::StringRef size) {
  if (!sizes.entry.empty() && sizes.entry != entry)
    return std::nullopt;
  known.insert(size);
  auto found = sizes.values.find(size.str());
  return found == sizes.values.end() ? std::nullopt : std::optional(found->second);
}

LogicalResult ReadingSession::checkSizes(llvm::function_ref<InFlightDiagnostic()> emitError) const {
  llvm::SmallVector<llvm::StringRef> names(known.keys());
  llvm::sort(names);
  for (const auto &[name, value] : sizes.values) {
    if (known.contains(name))
      continue;
    InFlightDiagnostic error = emitError();
    if (sizes.entry.empty())
      error << "no entry of the spec has a size '" << name << "'";
    else
      error << "the entry '" << sizes.entry << "' has no size '" << name << "'";
    if (llvm::StringRef nearest = nearestName(name, names); !nearest.empty())
      error << "; did you mean '" << nearest << "'?";
    else if (!names.empty())
      error << ", expected " << llvm::join(names, ", ");
    return error;
  }
  return success();
}
