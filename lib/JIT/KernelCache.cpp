//===- KernelCache.cpp - compiled kernels on disk -------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/JIT/KernelCache.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <dlfcn.h>

using namespace polyattn;

// A file is this header, the description as JSON, and the object.
static constexpr llvm::StringLiteral kMagic = "polyattn kernel 1\n";
namespace {
struct Header {
  llvm::support::ulittle64_t checksum, descriptionBytes, objectBytes;
};
} // namespace

std::string KernelCache::defaultDirectory() {
  if (auto directory = llvm::sys::Process::GetEnv("POLYATTN_CACHE_DIR"); directory)
    return *directory;
  llvm::SmallString<128> path;
  if (!llvm::sys::path::cache_directory(path)) // reads XDG_CACHE_HOME
    return "";
  llvm::sys::path::append(path, "polyattn");
  return path.str().str();
}

/// Identifies this build by the file that holds our code, as every build changes it.
static std::string buildIdentity() {
  std::string result = "LLVM " LLVM_VERSION_STRING;
  Dl_info self;
  llvm::sys::fs::file_status status;
  if (dladdr(reinterpret_cast<const void *>(&buildIdentity), &self) && self.dli_fname &&
      !llvm::sys::fs::status(self.dli_fname, status))
    result += " " + std::to_string(status.getSize()) + " " +
              std::to_string(status.getLastModificationTime().time_since_epoch().count());
  return result;
}

std::string KernelCache::key(llvm::ArrayRef<llvm::StringRef> parts) {
  static const std::string identity = buildIdentity();
  llvm::SHA256 hash;
  auto add = [&](llvm::StringRef part) {
    // The length keeps ("ab", "c") apart from ("a", "bc").
    hash.update(std::to_string(part.size()) + ":");
    hash.update(part);
  };
  add(identity);
  for (llvm::StringRef part : parts)
    add(part);
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

std::string KernelCache::pathOf(llvm::StringRef key) const {
  // LLVM's pruning looks after files of this name.
  llvm::SmallString<128> path(directory);
  llvm::sys::path::append(path, "llvmcache-" + key);
  return path.str().str();
}

std::optional<KernelCache::Entry> KernelCache::find(llvm::StringRef key) const {
  if (directory.empty())
    return std::nullopt;
  auto file = llvm::MemoryBuffer::getFile(pathOf(key), /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return std::nullopt;
  llvm::StringRef bytes = (*file)->getBuffer();
  if (!bytes.consume_front(kMagic) || bytes.size() < sizeof(Header))
    return std::nullopt;
  Header header;
  memcpy(&header, bytes.data(), sizeof header);
  bytes = bytes.drop_front(sizeof header);
  if (header.descriptionBytes > bytes.size() ||
      header.objectBytes != bytes.size() - header.descriptionBytes ||
      header.checksum != llvm::xxh3_64bits(bytes))
    return std::nullopt;
  auto json = llvm::json::parse(bytes.take_front(header.descriptionBytes));
  if (!json) {
    llvm::consumeError(json.takeError());
    return std::nullopt;
  }
  auto description = KernelDescription::fromJSON(*json);
  if (!description) {
    llvm::consumeError(description.takeError());
    return std::nullopt;
  }
  // A copy: the object inside the file is not aligned.
  return Entry{std::move(*description),
               llvm::MemoryBuffer::getMemBufferCopy(bytes.drop_front(header.descriptionBytes),
                                                    "cached kernel")};
}

bool KernelCache::store(llvm::StringRef key, const KernelDescription &description,
                        llvm::StringRef object) const {
  // Only the owner may write here: what lies in the folder gets executed.
  if (directory.empty() || llvm::sys::fs::create_directories(directory, /*IgnoreExisting=*/true,
                                                             llvm::sys::fs::owner_all))
    return false;
  std::string payload;
  llvm::raw_string_ostream(payload) << description.toJSON();
  Header header;
  header.descriptionBytes = payload.size();
  header.objectBytes = object.size();
  payload += object;
  header.checksum = llvm::xxh3_64bits(llvm::StringRef(payload));
  // writeToOutput renames a temporary file.
  llvm::Error error = llvm::writeToOutput(pathOf(key), [&](llvm::raw_ostream &stream) {
    stream << kMagic;
    stream.write(reinterpret_cast<const char *>(&header), sizeof header);
    stream << payload;
    return llvm::Error::success();
  });
  if (error) {
    llvm::consumeError(std::move(error));
    return false;
  }
  llvm::CachePruningPolicy policy;
  policy.MaxSizeBytes = uint64_t(1) << 30;
  llvm::pruneCache(directory, policy);
  return true;
}
