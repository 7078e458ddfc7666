//===- OutputFiles.h - several files that appear together -------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_DRIVER_OUTPUTFILES_H
#define POLYATTN_LIB_DRIVER_OUTPUTFILES_H

#include "polyattn/Files/OutputFile.h"
#include <deque>

namespace polyattn {

/// Files that are renamed together at the end; whatever was not renamed is removed.
class OutputFiles {
public:
  /// A temporary file for `path`; its name stays valid until the end.
  llvm::Expected<llvm::StringRef> add(const llvm::Twine &path);
  llvm::Error add(const llvm::Twine &path, llvm::StringRef content);
  /// A file that is only needed while others are made.
  llvm::Expected<llvm::StringRef> addScratch(const llvm::Twine &path, llvm::StringRef content);

  /// Gives all files their names.
  llvm::Error commit();

private:
  llvm::Expected<OutputFile *> create(const llvm::Twine &path, bool keep);
  struct File {
    OutputFile file;
    bool keep;
  };
  std::deque<File> files; // names stay where they are as it grows
};

} // namespace polyattn

#endif // POLYATTN_LIB_DRIVER_OUTPUTFILES_H
