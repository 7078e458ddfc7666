//===- Documents.h - the texts of an editor ---------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_LANGUAGESERVER_DOCUMENTS_H
#define POLYATTN_LIB_LANGUAGESERVER_DOCUMENTS_H

#include "NameIndex.h"
#include "llvm/Support/JSON.h"
#include <memory>
#include <optional>

namespace polyattn {

/// Follows what an editor does with its texts, and knows their names.
class Documents {
public:
  /// Takes part in a message of the editor. A result where it asks for a name of the short form:
  /// MLIR's server has none for it.
  std::optional<llvm::json::Value> receive(const llvm::json::Object &message);

private:
  struct Document {
    std::string text;
    std::unique_ptr<NameIndex> index;
  };

  void change(Document &document, const llvm::json::Object &parameters);
  std::optional<llvm::json::Value> answer(llvm::StringRef method, llvm::StringRef uri,
                                          NameIndex &index, const llvm::json::Object &parameters);

  /// By their addresses, as the editor writes them.
  std::map<std::string, Document> documents;
};

} // namespace polyattn

#endif // POLYATTN_LIB_LANGUAGESERVER_DOCUMENTS_H
