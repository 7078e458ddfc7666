//===- KernelCache.h - compiled kernels on disk -----------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_JIT_KERNELCACHE_H
#define POLYATTN_JIT_KERNELCACHE_H

#include "polyattn/JIT/KernelDescription.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace polyattn {

/// A folder of objects with their descriptions. Any number of processes may use one folder:
/// files appear whole, and a damaged one counts as absent. A cache never makes a compilation
/// fail; it only saves time.
class KernelCache {
public:
  explicit KernelCache(std::string directory) : directory(std::move(directory)) {}

  /// $POLYATTN_CACHE_DIR, $XDG_CACHE_HOME/polyattn or ~/.cache/polyattn; empty where there is
  /// none of these.
  static std::string defaultDirectory();

  /// The name of what `parts` (the spec's text, entry, options, machine, ...) determine,
  /// together with the build of this compiler.
  static std::string key(llvm::ArrayRef<llvm::StringRef> parts);

  struct Entry {
    KernelDescription description;
    std::unique_ptr<llvm::MemoryBuffer> object;
  };
  std::optional<Entry> find(llvm::StringRef key) const;
  /// Keeps the object; returns whether that worked.
  bool store(llvm::StringRef key, const KernelDescription &description,
             llvm::StringRef object) const;

private:
  std::string pathOf(llvm::StringRef key) const;
  std::string directory;
};

} // namespace polyattn

#endif // POLYATTN_JIT_KERNELCACHE_H
