//===- PrivateFolder.h - files that nobody else can write -------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_FILES_PRIVATEFOLDER_H
#define POLYATTN_FILES_PRIVATEFOLDER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <optional>

namespace polyattn {

/// A folder and files in it that belong to this process's user and that only this user may
/// write: what lies there may be executed. Everything else counts as absent: links, pipes,
/// devices, files and folders of others or open to others. Owner, mode and kind are asked of what
/// has been opened, and files are named relative to the open folder, so that nobody can exchange
/// one for another in between.
class PrivateFolder {
public:
  /// `create` makes a missing folder, and those above it, with mode 0700.
  static std::optional<PrivateFolder> open(llvm::StringRef path, bool create);
  PrivateFolder(PrivateFolder &&other) noexcept : descriptor(other.descriptor) {
    other.descriptor = -1;
  }
  ~PrivateFolder();

  /// Null where there is no such file of at most `limit` bytes.
  std::unique_ptr<llvm::MemoryBuffer> read(llvm::StringRef name, uint64_t limit) const;
  /// The file appears whole or not at all; returns whether it did.
  bool write(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> content) const;
  /// Removes the files that have not been used for longest until `limit` bytes are left, and what
  /// an interrupted `write` has left behind. Names without one of the prefixes are not ours.
  void prune(llvm::ArrayRef<llvm::StringRef> prefixes, uint64_t limit) const;

private:
  explicit PrivateFolder(int descriptor) : descriptor(descriptor) {}
  int descriptor;
};

} // namespace polyattn

#endif // POLYATTN_FILES_PRIVATEFOLDER_H
