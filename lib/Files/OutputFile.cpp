//===- OutputFile.cpp - a file that appears whole or not at all -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Files/OutputFile.h"
#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

using namespace polyattn;
namespace fs = llvm::sys::fs;

llvm::Expected<OutputFile> OutputFile::open(llvm::StringRef path, bool isProgram) {
  OutputFile file(path);
  if (path == "-") {
    file.descriptor = STDOUT_FILENO;
    return std::move(file);
  }
  fs::file_status status;
  if (!fs::status(path, status) && fs::exists(status)) {
    if (fs::is_directory(status))
      return llvm::errorCodeToError(std::make_error_code(std::errc::is_a_directory));
    // A rename would ask the folder alone, and so replace a file that may not be written.
    if (std::error_code code = fs::access(path, fs::AccessMode::Write))
      return llvm::errorCodeToError(code);
    if (!fs::is_regular_file(status)) {
      if (std::error_code code = fs::openFileForWrite(path, file.descriptor, fs::CD_OpenExisting))
        return llvm::errorCodeToError(code);
      return std::move(file);
    }
    // Through a link: a rename would replace it, and /dev/stdout is one.
    llvm::SmallString<128> target;
    if (!fs::real_path(path, target))
      file.target = target.str().str();
    file.mode = status.permissions() & fs::all_all;
  }
  // Nobody may read while it is written what they may not read then.
  unsigned created = file.mode.value_or(isProgram ? fs::all_all : fs::all_read | fs::all_write);
  auto temporary = fs::TempFile::create(file.target + "-%%%%%%%%.tmp", created | fs::owner_write);
  if (!temporary)
    return temporary.takeError();
  file.temporary = std::move(*temporary);
  return std::move(file);
}

OutputFile::OutputFile(OutputFile &&other) noexcept
    : path(std::move(other.path)), target(std::move(other.target)),
      temporary(std::move(other.temporary)), mode(other.mode), descriptor(other.descriptor) {
  other.temporary.reset();
  other.descriptor = -1;
}

OutputFile::~OutputFile() {
  if (temporary)
    llvm::consumeError(temporary->discard());
  if (descriptor > STDOUT_FILENO)
    ::close(descriptor);
}

llvm::Error OutputFile::write(llvm::function_ref<void(llvm::raw_ostream &)> content) {
  llvm::raw_fd_ostream stream(temporary ? temporary->FD : descriptor, /*shouldClose=*/false);
  content(stream);
  stream.flush();
  std::error_code code = stream.error();
  // An error that is still set would end the process.
  stream.clear_error();
  return llvm::errorCodeToError(code);
}

llvm::Error OutputFile::commit() {
  if (!temporary)
    return llvm::Error::success();
  // The umask has taken some of it away.
  if (mode && ::fchmod(temporary->FD, *mode) != 0)
    return llvm::errorCodeToError(std::error_code(errno, std::generic_category()));
  llvm::Error error = temporary->keep(target);
  temporary.reset();
  return error;
}
