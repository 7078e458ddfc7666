//===- PrivateFolder.cpp - files that nobody else can write ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Files/PrivateFolder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace polyattn;

static constexpr llvm::StringLiteral kTemporary = ".tmp";
/// A temporary file that is older was left behind.
static constexpr time_t kTemporarySeconds = 3600;

static bool isOurs(const struct stat &status) {
  return status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::optional<PrivateFolder> PrivateFolder::open(llvm::StringRef path, bool create) {
  // Behind a slash at the end a link would be followed.
  std::string plain = path.rtrim('/').str();
  if (plain.empty())
    return std::nullopt;
  if (create &&
      llvm::sys::fs::create_directories(plain, /*IgnoreExisting=*/true, llvm::sys::fs::owner_all))
    return std::nullopt;
  int descriptor = ::open(plain.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0)
    return std::nullopt;
  PrivateFolder folder(descriptor);
  struct stat status;
  if (::fstat(descriptor, &status) != 0 || !isOurs(status))
    return std::nullopt;
  return std::move(folder);
}

PrivateFolder::~PrivateFolder() {
  if (descriptor >= 0)
    ::close(descriptor);
}

std::unique_ptr<llvm::MemoryBuffer> PrivateFolder::read(llvm::StringRef name,
                                                        uint64_t limit) const {
  int file =
      ::openat(descriptor, name.str().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0)
    return nullptr;
  llvm::scope_exit closeIt([&] { ::close(file); });
  struct stat status;
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || !isOurs(status) ||
      static_cast<uint64_t>(status.st_size) > limit)
    return nullptr;
  // Copied: a mapped file that becomes shorter raises a signal.
  auto buffer = llvm::MemoryBuffer::getOpenFile(file, name, status.st_size,
                                                /*RequiresNullTerminator=*/false,
                                                /*IsVolatile=*/true);
  return buffer ? std::move(*buffer) : nullptr;
}

namespace {
/// At the limit of a file's size a thread gets a signal that ends the process. Here it waits, and
/// then goes away: the write has failed with EFBIG.
class WithoutFileSizeSignal {
public:
  WithoutFileSizeSignal() {
    sigemptyset(&signals);
    sigaddset(&signals, SIGXFSZ);
    sigset_t pending;
    wasPending = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &signals, &before);
  }
  ~WithoutFileSizeSignal() {
    const timespec now = {0, 0};
    if (!wasPending)
      (void)sigtimedwait(&signals, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

private:
  sigset_t signals, before;
  bool wasPending;
};
} // namespace

static bool writeAll(int file, llvm::StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written <= 0 && errno != EINTR)
      return false;
    bytes = bytes.drop_front(written > 0 ? written : 0);
  }
  return true;
}

bool PrivateFolder::write(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> content) const {
  std::string temporary = (name + "-" + llvm::Twine(::getpid()) + "-" +
                           llvm::Twine(llvm::sys::Process::GetRandomNumber()) + kTemporary)
                              .str();
  int file = ::openat(descriptor, temporary.c_str(),
                      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0)
    return false;
  WithoutFileSizeSignal quiet;
  bool good = llvm::all_of(content, [&](llvm::StringRef part) { return writeAll(file, part); });
  // Some file systems say only here that there was no room.
  good &= ::close(file) == 0;
  if (good && ::renameat(descriptor, temporary.c_str(), descriptor, name.str().c_str()) == 0)
    return true;
  (void)::unlinkat(descriptor, temporary.c_str(), 0);
  return false;
}

namespace {
struct KeptFile {
  time_t lastUse;
  uint64_t bytes;
  std::string name;
};
} // namespace

static std::vector<KeptFile> listFiles(int folder, llvm::ArrayRef<llvm::StringRef> prefixes) {
  std::vector<KeptFile> files;
  // A second descriptor: reading a folder moves its position.
  int own = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *stream = own < 0 ? nullptr : ::fdopendir(own);
  if (!stream) {
    if (own >= 0)
      ::close(own);
    return files;
  }
  while (const dirent *entry = ::readdir(stream)) {
    llvm::StringRef name = entry->d_name;
    struct stat status;
    if (llvm::none_of(prefixes, [&](llvm::StringRef prefix) { return name.starts_with(prefix); }) ||
        ::fstatat(own, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode))
      continue;
    files.push_back({std::max(status.st_atime, status.st_mtime),
                     static_cast<uint64_t>(status.st_size), name.str()});
  }
  ::closedir(stream);
  return files;
}

void PrivateFolder::prune(llvm::ArrayRef<llvm::StringRef> prefixes, uint64_t limit) const {
  std::vector<KeptFile> files = listFiles(descriptor, prefixes);
  llvm::sort(files, [](const KeptFile &a, const KeptFile &b) { return a.lastUse < b.lastUse; });
  uint64_t total = 0;
  for (const KeptFile &file : files)
    total += file.bytes;
  time_t now = ::time(nullptr);
  for (const KeptFile &file : files) {
    bool isTemporary = llvm::StringRef(file.name).ends_with(kTemporary);
    bool isLeft = isTemporary && now - file.lastUse > kTemporarySeconds;
    if ((total <= limit || isTemporary) && !isLeft)
      continue;
    (void)::unlinkat(descriptor, file.name.c_str(), 0);
    total -= file.bytes;
  }
}
