//===- NameIndex.cpp - the names of a spec in the short form --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NameIndex.h"
#include "dialects/PolyAttn/PolyAttn.h"
#include "mlir/IR/Diagnostics.h"
#include "polyattn/Spec/ParseSpec.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace polyattn;

NameIndex::NameIndex(llvm::StringRef text) {
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text), llvm::SMLoc());
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  // MLIR's server tells the editor what is wrong.
  mlir::ScopedDiagnosticHandler ignore(&context, [](mlir::Diagnostic &) {});
  ReadingSession::of(*context.getOrLoadDialect<PolyAttnDialect>()).setObserver(this);
  (void)parseSpecSource(sources, context);
}

void NameIndex::define(llvm::StringRef name, const llvm::Twine &about) {
  places[name.data()] = {name, name, about.str()};
}

void NameIndex::use(llvm::StringRef name, llvm::StringRef definition) {
  places[name.data()] = {name, definition, {}};
}

void NameIndex::useWord(llvm::StringRef word, const llvm::Twine &about) {
  places[word.data()] = {word, {}, about.str()};
}

const NameIndex::Place *NameIndex::find(const char *at) const {
  auto after = places.upper_bound(at);
  if (after == places.begin())
    return nullptr;
  const Place &place = std::prev(after)->second;
  return at <= place.text.end() ? &place : nullptr;
}

std::vector<llvm::StringRef> NameIndex::usesOf(llvm::StringRef definition) const {
  std::vector<llvm::StringRef> uses;
  for (const auto &[where, place] : places)
    if (place.definition.data() == definition.data())
      uses.push_back(place.text);
  return uses;
}

std::vector<llvm::StringRef> NameIndex::definitionsBefore(const char *at) const {
  llvm::StringRef text = sources.getMemoryBuffer(sources.getMainFileID())->getBuffer();
  llvm::StringRef before = text.take_front(at - text.begin());
  size_t begin = before.rfind("polyattn.attention");
  std::vector<llvm::StringRef> definitions;
  if (begin == llvm::StringRef::npos)
    return definitions;
  auto end = places.lower_bound(at);
  for (auto place = places.lower_bound(before.data() + begin); place != end; ++place)
    if (place->second.definition.data() == place->first)
      definitions.push_back(place->second.text);
  return definitions;
}

llvm::StringRef NameIndex::aboutOf(llvm::StringRef definition) const {
  auto found = places.find(definition.data());
  return found == places.end() ? llvm::StringRef() : llvm::StringRef(found->second.about);
}
