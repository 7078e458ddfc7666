//===- OutputFiles.h - several files that appear together -------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_DRIVER_OUTPUTFILES_H
#define POLYATTN_LIB_DRIVER_OUTPUTFILES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include <string>

namespace polyattn {

/// Files are written under temporary names beside their own and renamed at the end; whatever
/// was not renamed is removed, also when the process is interrupted.
class OutputFiles {
public:
  ~OutputFiles();

  /// A temporary file for `path`; its name stays valid until the end.
  llvm::Expected<llvm::StringRef> add(const llvm::Twine &path);
  llvm::Error add(const llvm::Twine &path, llvm::StringRef content);
  /// A file that is only needed while others are made.
  llvm::Expected<llvm::StringRef> addScratch(const llvm::Twine &path, llvm::StringRef content);

  /// Gives all files their names.
  llvm::Error commit();

private:
  llvm::Error create(std::string path, bool keep);
  struct File {
    llvm::sys::fs::TempFile temporary;
    std::string path;
    bool keep;
  };
  std::vector<File> files;
};

} // namespace polyattn

#endif // POLYATTN_LIB_DRIVER_OUTPUTFILES_H
