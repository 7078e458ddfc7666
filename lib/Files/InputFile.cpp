//===- InputFile.cpp - a file that is read as a whole ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Files/InputFile.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace polyattn;
using Buffer = std::unique_ptr<llvm::MemoryBuffer>;

static llvm::Error systemError() {
  return llvm::errorCodeToError(std::error_code(errno, std::generic_category()));
}

static llvm::Error tooLong() {
  return llvm::createStringError("expected a spec of at most " + llvm::Twine(kMaxSpecBytes) +
                                 " bytes, got more");
}

namespace {
struct OpenFile {
  int descriptor;
  uint64_t bytes;
};
} // namespace

/// The kind is asked of what has been opened, so that nobody can exchange it in between.
static llvm::Expected<OpenFile> openRegularFile(llvm::StringRef path) {
  // Without O_NONBLOCK a pipe would be waited for until somebody writes to it.
  int descriptor = ::open(path.str().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0)
    return systemError();
  llvm::scope_exit closeIt([&] { ::close(descriptor); });
  struct stat status;
  if (::fstat(descriptor, &status) != 0)
    return systemError();
  if (S_ISDIR(status.st_mode))
    return llvm::errorCodeToError(std::make_error_code(std::errc::is_a_directory));
  if (!S_ISREG(status.st_mode))
    return llvm::createStringError(llvm::Twine("expected a regular file, got a ") +
                                   (S_ISFIFO(status.st_mode)   ? "pipe"
                                    : S_ISSOCK(status.st_mode) ? "socket"
                                                               : "device"));
  closeIt.release();
  return OpenFile{descriptor, static_cast<uint64_t>(status.st_size)};
}

static llvm::Expected<Buffer> load(const OpenFile &file, llvm::StringRef path, bool copy) {
  auto buffer =
      llvm::MemoryBuffer::getOpenFile(file.descriptor, path, file.bytes,
                                      /*RequiresNullTerminator=*/copy, /*IsVolatile=*/copy);
  ::close(file.descriptor);
  if (!buffer)
    return llvm::errorCodeToError(buffer.getError());
  return std::move(*buffer);
}

llvm::Expected<Buffer> polyattn::readSpecFile(llvm::StringRef path) {
  llvm::Expected<OpenFile> file = openRegularFile(path);
  if (!file)
    return file.takeError();
  if (file->bytes <= kMaxSpecBytes)
    return load(*file, path, /*copy=*/true);
  ::close(file->descriptor);
  return tooLong();
}

llvm::Expected<Buffer> polyattn::mapDataFile(llvm::StringRef path) {
  llvm::Expected<OpenFile> file = openRegularFile(path);
  if (!file)
    return file.takeError();
  return load(*file, path, /*copy=*/false);
}

llvm::Expected<Buffer> polyattn::readSpecFileOrStandardInput(llvm::StringRef path) {
  if (path != "-")
    return readSpecFile(path);
  llvm::SmallVector<char, 0> text;
  constexpr size_t kStep = 1 << 14;
  while (true) {
    size_t end = text.size();
    text.resize_for_overwrite(end + kStep);
    ssize_t got = ::read(STDIN_FILENO, text.data() + end, kStep);
    text.truncate(end + (got > 0 ? got : 0));
    if (got < 0 && errno != EINTR)
      return systemError();
    if (got == 0)
      return llvm::MemoryBuffer::getMemBufferCopy({text.data(), text.size()}, "<stdin>");
    if (text.size() > kMaxSpecBytes)
      return tooLong();
  }
}
