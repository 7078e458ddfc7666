//===- Documents.cpp - the texts of an editor -----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Documents.h"
#include "dialects/PolyAttn/ShortForm/Words.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/LSP/Protocol.h"
#include <set>

using namespace polyattn;
namespace json = llvm::json;

static json::Value rangeOf(NameIndex &index, llvm::StringRef text) {
  auto at = [&](const char *where) {
    return llvm::lsp::Position(index.getSources(), llvm::SMLoc::getFromPointer(where));
  };
  return llvm::lsp::toJSON(llvm::lsp::Range(at(text.begin()), at(text.end())));
}

static json::Value locationOf(NameIndex &index, llvm::StringRef uri, llvm::StringRef text) {
  return json::Object{{"uri", uri.str()}, {"range", rangeOf(index, text)}};
}

static json::Value hoverOf(NameIndex &index, const NameIndex::Place &place) {
  llvm::StringRef about = place.definition.empty() ? place.about : index.aboutOf(place.definition);
  // A map's text begins with its name.
  bool isMap = about.starts_with(("map " + place.text + "(").str());
  std::string words = isMap ? about.str() : (place.text + ": " + about).str();
  return json::Object{
      {"contents", json::Object{{"kind", "markdown"}, {"value", "```\n" + words + "\n```"}}},
      {"range", rangeOf(index, place.text)}};
}

/// Names and words of the short form; none elsewhere, where MLIR's server knows the names.
static std::optional<json::Value> completionsAt(NameIndex &index, const char *at) {
  std::vector<llvm::StringRef> definitions = index.definitionsBefore(at);
  if (definitions.empty())
    return std::nullopt;
  json::Array items;
  std::set<llvm::StringRef> names;
  auto add = [&](llvm::StringRef name, llvm::StringRef about, llvm::lsp::CompletionItemKind kind) {
    if (names.insert(name).second)
      items.push_back(json::Object{
          {"label", name.str()}, {"detail", about.str()}, {"kind", static_cast<int>(kind)}});
  };
  for (llvm::StringRef name : definitions)
    add(name, index.aboutOf(name), llvm::lsp::CompletionItemKind::Variable);
  for (const shortform::Word &word : shortform::allWords())
    add(word.name, word.about, llvm::lsp::CompletionItemKind::Keyword);
  return json::Object{{"isIncomplete", false}, {"items", std::move(items)}};
}

std::optional<json::Value> Documents::answer(llvm::StringRef method, llvm::StringRef uri,
                                             NameIndex &index, const json::Object &parameters) {
  llvm::lsp::Position position;
  json::Path::Root root;
  const json::Value *given = parameters.get("position");
  if (!given || !fromJSON(*given, position, root))
    return std::nullopt;
  llvm::SMLoc at = position.getAsSMLoc(index.getSources());
  if (at.isValid() && method == "textDocument/completion")
    return completionsAt(index, at.getPointer());
  const NameIndex::Place *place = at.isValid() ? index.find(at.getPointer()) : nullptr;
  if (!place)
    return std::nullopt;
  if (method == "textDocument/hover")
    return hoverOf(index, *place);
  if (place->definition.empty())
    return std::nullopt;
  json::Array found;
  if (method == "textDocument/definition")
    found.push_back(locationOf(index, uri, place->definition));
  else
    for (llvm::StringRef use : index.usesOf(place->definition))
      found.push_back(locationOf(index, uri, use));
  return std::move(found);
}

void Documents::change(Document &document, const json::Object &parameters) {
  std::vector<llvm::lsp::TextDocumentContentChangeEvent> changes;
  json::Path::Root root;
  const json::Value *given = parameters.get("contentChanges");
  if (given && fromJSON(*given, changes, root))
    (void)llvm::lsp::TextDocumentContentChangeEvent::applyTo(changes, document.text);
  document.index.reset();
}

std::optional<json::Value> Documents::receive(const json::Object &message) {
  std::optional<llvm::StringRef> method = message.getString("method");
  const json::Object *parameters = message.getObject("params");
  const json::Object *about = parameters ? parameters->getObject("textDocument") : nullptr;
  std::optional<llvm::StringRef> uri = about ? about->getString("uri") : std::nullopt;
  if (!method || !uri)
    return std::nullopt;
  if (method == "textDocument/didOpen") {
    documents[uri->str()] = {about->getString("text").value_or("").str(), nullptr};
    return std::nullopt;
  }
  auto found = documents.find(uri->str());
  if (found == documents.end())
    return std::nullopt;
  Document &document = found->second;
  if (method == "textDocument/didClose")
    documents.erase(found);
  else if (method == "textDocument/didChange")
    change(document, *parameters);
  bool isAsked = llvm::StringSwitch<bool>(*method)
                     .Cases({"textDocument/hover", "textDocument/definition"}, true)
                     .Cases({"textDocument/references", "textDocument/completion"}, true)
                     .Default(false);
  if (!isAsked)
    return std::nullopt;
  if (!document.index)
    document.index = std::make_unique<NameIndex>(document.text);
  return answer(*method, *uri, *document.index, *parameters);
}
