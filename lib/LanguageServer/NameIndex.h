//===- NameIndex.h - the names of a spec in the short form ------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_LANGUAGESERVER_NAMEINDEX_H
#define POLYATTN_LIB_LANGUAGESERVER_NAMEINDEX_H

#include "dialects/PolyAttn/ShortForm/NameObserver.h"
#include "llvm/Support/SourceMgr.h"
#include <map>
#include <string>
#include <vector>

namespace polyattn {

/// What stands where in a text, as far as it could be read.
class NameIndex : NameObserver {
public:
  explicit NameIndex(llvm::StringRef text);

  /// A name or a word of the text.
  struct Place {
    llvm::StringRef text;
    /// Where the name is given; empty for a word of the language.
    llvm::StringRef definition;
    std::string about;
  };
  /// The place around or right before a character; null where there is none.
  const Place *find(const char *at) const;
  /// Where the name of a definition stands, the definition included.
  std::vector<llvm::StringRef> usesOf(llvm::StringRef definition) const;
  /// The definitions of the attention that a character is in, up to it; none outside of a text in
  /// the short form.
  std::vector<llvm::StringRef> definitionsBefore(const char *at) const;
  /// What a definition says.
  llvm::StringRef aboutOf(llvm::StringRef definition) const;

  const llvm::SourceMgr &getSources() const { return sources; }
  llvm::SourceMgr &getSources() { return sources; }

private:
  void define(llvm::StringRef name, const llvm::Twine &about) override;
  void use(llvm::StringRef name, llvm::StringRef definition) override;
  void useWord(llvm::StringRef word, const llvm::Twine &about) override;

  llvm::SourceMgr sources;
  /// By where they begin.
  std::map<const char *, Place> places;
};

} // namespace polyattn

#endif // POLYATTN_LIB_LANGUAGESERVER_NAMEINDEX_H
