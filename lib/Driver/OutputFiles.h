//===- OutputFiles.h - several files that appear together -------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_DRIVER_OUTPUTFILES_H
#define POLYATTN_LIB_DRIVER_OUTPUTFILES_H

#include "polyattn/Files/OutputFile.h"
#include <vector>

namespace polyattn {

/// Files that are renamed together at the end; whatever was not renamed is removed.
class OutputFiles {
public:
  /// What is a program may be executed.
  llvm::Error add(const llvm::Twine &path, llvm::StringRef content, bool isProgram = false);

  /// Gives all files their names.
  llvm::Error commit();

private:
  std::vector<OutputFile> files;
};

} // namespace polyattn

#endif // POLYATTN_LIB_DRIVER_OUTPUTFILES_H
