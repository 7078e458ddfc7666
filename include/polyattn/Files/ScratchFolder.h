//===- ScratchFolder.h - files of a while, away from results ----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_FILES_SCRATCHFOLDER_H
#define POLYATTN_FILES_SCRATCHFOLDER_H

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace polyattn {

/// A new folder among the system's temporary files, for what another program reads and writes. It
/// may go on writing when this process has been interrupted, and must not leave anything beside
/// results then. The files are removed at the end, also by a signal.
class ScratchFolder {
public:
  static llvm::Expected<ScratchFolder> create();
  ScratchFolder(ScratchFolder &&other) noexcept;
  ~ScratchFolder();

  /// The path of a file of this folder, whoever writes it.
  std::string path(llvm::StringRef name);
  /// Writes one, and gives its path. The name may have folders, which are made.
  llvm::Expected<std::string> write(llvm::StringRef name, llvm::StringRef content);

private:
  ScratchFolder() = default;
  llvm::SmallString<128> folder;
  std::vector<std::string> files;
};

} // namespace polyattn

#endif // POLYATTN_FILES_SCRATCHFOLDER_H
