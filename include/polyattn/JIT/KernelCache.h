//===- KernelCache.h - compiled kernels on disk -----------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_JIT_KERNELCACHE_H
#define POLYATTN_JIT_KERNELCACHE_H

#include "polyattn/Kernel/KernelDescription.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace polyattn {

/// A folder of objects with their descriptions. Any number of processes of one user may use one
/// folder: files appear whole, and a damaged one counts as absent. So does a file, or the folder,
/// that others could have written (polyattn/Files/PrivateFolder.h): what is found here gets
/// executed. A cache never makes a compilation fail; it only saves time.
class KernelCache {
public:
  /// Uses that folder, which is made when the first kernel is kept.
  explicit KernelCache(std::string directory) : directory(std::move(directory)) {}

  /// $POLYATTN_CACHE_DIR, $XDG_CACHE_HOME/polyattn or ~/.cache/polyattn; empty where there is
  /// none of these. Values that are relative would mean another folder in every folder, and count
  /// as absent.
  static std::string defaultDirectory();

  /// What `parts` (the spec's text, entry, options, machine, ...) and the build of this compiler
  /// say, whole: the file is named after a hash of it, and has it inside.
  static std::string key(llvm::ArrayRef<llvm::StringRef> parts);
  /// The name of the file that keeps what was compiled for `key`.
  static std::string fileName(llvm::StringRef key);

  /// A kernel that has been kept.
  struct Entry {
    /// What callers need to know of it.
    KernelDescription description;
    /// Its relocatable object.
    std::unique_ptr<llvm::MemoryBuffer> object;
  };
  /// The kernel that was compiled for `key`, where it has been kept.
  std::optional<Entry> find(llvm::StringRef key) const;
  /// Keeps the object; returns whether that worked.
  bool store(llvm::StringRef key, const KernelDescription &description,
             llvm::StringRef object) const;

private:
  std::string directory;
};

} // namespace polyattn

#endif // POLYATTN_JIT_KERNELCACHE_H
