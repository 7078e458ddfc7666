//===- KernelCache.cpp - compiled kernels on disk -------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/JIT/KernelCache.h"
#include "polyattn/Files/PrivateFolder.h"
#include "polyattn/JIT/BuildIdentity.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <cstdlib>
#include <sys/auxv.h>

using namespace polyattn;

// A file is this header, the key, the description as JSON, and the object.
static constexpr llvm::StringLiteral kMagic = "polyattn kernel 3\n";
namespace {
struct Header {
  llvm::support::ulittle64_t checksum, keyBytes, descriptionBytes, objectBytes;
};
} // namespace

/// The second is what earlier versions wrote: they are pruned, and never read.
static constexpr llvm::StringRef kPrefixes[] = {"kernel-", "llvmcache-"};
static constexpr uint64_t kMaxCacheBytes = uint64_t(1) << 30;
static constexpr uint64_t kMaxFileBytes = uint64_t(1) << 28;

/// The value where it names one folder whatever the current one is.
static std::optional<llvm::StringRef> absolutePathIn(const char *variable) {
  const char *value = getenv(variable);
  if (!value || !llvm::sys::path::is_absolute(value))
    return std::nullopt;
  return llvm::StringRef(value);
}

std::string KernelCache::defaultDirectory() {
  // A program with more rights than its user takes no folder from that user, nor from its HOME.
  if (getauxval(AT_SECURE))
    return "";
  const char *chosen = getenv("POLYATTN_CACHE_DIR");
  if (chosen && !*chosen)
    return "";
  if (auto directory = absolutePathIn("POLYATTN_CACHE_DIR"))
    return directory->str();
  llvm::SmallString<128> path;
  if (auto directory = absolutePathIn("XDG_CACHE_HOME")) {
    path = *directory;
  } else {
    if (!llvm::sys::path::home_directory(path) || !llvm::sys::path::is_absolute(path))
      return "";
    llvm::sys::path::append(path, ".cache");
  }
  llvm::sys::path::append(path, "polyattn");
  return path.str().str();
}

std::string KernelCache::key(llvm::ArrayRef<llvm::StringRef> parts) {
  std::string result;
  auto add = [&](llvm::StringRef part) {
    // The length keeps ("ab", "c") apart from ("a", "bc").
    result += std::to_string(part.size()) + ":";
    result += part;
  };
  add(buildIdentity());
  for (llvm::StringRef part : parts)
    add(part);
  return result;
}

std::string KernelCache::fileName(llvm::StringRef key) {
  llvm::SHA256 hash;
  hash.update(key);
  return (kPrefixes[0] + llvm::toHex(hash.final(), /*LowerCase=*/true)).str();
}

/// Takes `count` bytes off the front.
static std::optional<llvm::StringRef> takeFront(llvm::StringRef &bytes, uint64_t count) {
  if (count > bytes.size())
    return std::nullopt;
  llvm::StringRef front = bytes.take_front(count);
  bytes = bytes.drop_front(count);
  return front;
}

std::optional<KernelCache::Entry> KernelCache::find(llvm::StringRef key) const {
  auto folder = PrivateFolder::open(directory, /*create=*/false);
  auto file = folder ? folder->read(fileName(key), kMaxFileBytes) : nullptr;
  if (!file)
    return std::nullopt;
  llvm::StringRef bytes = file->getBuffer();
  if (!bytes.consume_front(kMagic) || bytes.size() < sizeof(Header))
    return std::nullopt;
  Header header;
  memcpy(&header, bytes.data(), sizeof header);
  bytes = bytes.drop_front(sizeof header);
  if (header.checksum != llvm::xxh3_64bits(bytes))
    return std::nullopt;
  // A file under another's name is whole, but not what was asked for.
  std::optional<llvm::StringRef> foundKey = takeFront(bytes, header.keyBytes);
  if (!foundKey || *foundKey != key)
    return std::nullopt;
  std::optional<llvm::StringRef> text = takeFront(bytes, header.descriptionBytes);
  if (!text || header.objectBytes != bytes.size())
    return std::nullopt;
  auto json = llvm::json::parse(*text);
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
               llvm::MemoryBuffer::getMemBufferCopy(bytes, "cached kernel")};
}

bool KernelCache::store(llvm::StringRef key, const KernelDescription &description,
                        llvm::StringRef object) const {
  auto folder = PrivateFolder::open(directory, /*create=*/true);
  if (!folder)
    return false;
  std::string payload = key.str();
  llvm::raw_string_ostream stream(payload);
  stream << description.toJSON();
  Header header;
  header.keyBytes = key.size();
  header.descriptionBytes = payload.size() - key.size();
  header.objectBytes = object.size();
  stream << object;
  header.checksum = llvm::xxh3_64bits(llvm::StringRef(payload));
  llvm::StringRef headerBytes(reinterpret_cast<const char *>(&header), sizeof header);
  if (!folder->write(fileName(key), {kMagic, headerBytes, payload}))
    return false;
  folder->prune(kPrefixes, kMaxCacheBytes);
  return true;
}
