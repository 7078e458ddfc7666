//===- NameObserver.h - what the names of a text mean -----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An editor asks what a name means and where it was given. MLIR's own record of names is open to
// its parser only, so that the reader of the short form tells this one.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_SHORTFORM_NAMEOBSERVER_H
#define POLYATTN_DIALECTS_SHORTFORM_NAMEOBSERVER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

namespace polyattn {

/// All names are parts of the text that is read.
class NameObserver {
public:
  virtual ~NameObserver() = default;

  /// A name is given here. `about` says what it means.
  virtual void define(llvm::StringRef name, const llvm::Twine &about) = 0;
  /// A name that `definition` has given stands here.
  virtual void use(llvm::StringRef name, llvm::StringRef definition) = 0;
  /// A word of the language stands here.
  virtual void useWord(llvm::StringRef word, const llvm::Twine &about) = 0;
};

} // namespace polyattn

#endif // POLYATTN_DIALECTS_SHORTFORM_NAMEOBSERVER_H
