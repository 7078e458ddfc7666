//===- OutputFile.h - a file that appears whole or not at all ---*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_FILES_OUTPUTFILE_H
#define POLYATTN_FILES_OUTPUTFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>
#include <string>

namespace polyattn {

/// Written under a temporary name beside its own and renamed by `commit`; removed otherwise, also
/// when the process is interrupted. Devices and pipes have no second name: they are written where
/// they are, and "-" is the standard output. Nothing is mapped into memory: a full disk is then an
/// error of a write and not a signal.
class OutputFile {
public:
  /// What cannot be written fails here, before the work. Errors do not repeat the path. A file that
  /// is replaced keeps its mode; a new one has what the umask leaves, for `isProgram` with
  /// execution.
  static llvm::Expected<OutputFile> open(llvm::StringRef path, bool isProgram = false);
  OutputFile(OutputFile &&other) noexcept;
  ~OutputFile();

  llvm::Error write(llvm::function_ref<void(llvm::raw_ostream &)> content);
  llvm::Error commit();

  const std::string &getPath() const { return path; }

private:
  explicit OutputFile(llvm::StringRef path) : path(path.str()), target(path.str()) {}

  std::string path, target; // as given, and without links
  std::optional<llvm::sys::fs::TempFile> temporary;
  std::optional<unsigned> mode; // of the file that is replaced
  int descriptor = -1;
};

} // namespace polyattn

#endif // POLYATTN_FILES_OUTPUTFILE_H
