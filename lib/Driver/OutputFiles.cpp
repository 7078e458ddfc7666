//===- OutputFiles.cpp - several files that appear together ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputFiles.h"
#include "llvm/Support/raw_ostream.h"

using namespace polyattn;
namespace fs = llvm::sys::fs;

OutputFiles::~OutputFiles() {
  for (File &file : files)
    llvm::consumeError(file.temporary.discard());
}

llvm::Error OutputFiles::create(std::string path, bool keep) {
  llvm::Expected<fs::TempFile> temporary = fs::TempFile::create(path + "-%%%%%%%%.tmp");
  if (!temporary)
    return llvm::createStringError(path + ": " + llvm::toString(temporary.takeError()));
  files.push_back({std::move(*temporary), std::move(path), keep});
  return llvm::Error::success();
}

static llvm::Error write(const fs::TempFile &file, llvm::StringRef path, llvm::StringRef content) {
  llvm::raw_fd_ostream stream(file.FD, /*shouldClose=*/false);
  stream << content;
  stream.flush();
  if (std::error_code code = stream.error()) {
    stream.clear_error();
    return llvm::createStringError(path + ": " + code.message());
  }
  return llvm::Error::success();
}

llvm::Expected<llvm::StringRef> OutputFiles::add(const llvm::Twine &path) {
  if (llvm::Error error = create(path.str(), true))
    return std::move(error);
  return files.back().temporary.TmpName;
}

llvm::Error OutputFiles::add(const llvm::Twine &path, llvm::StringRef content) {
  if (llvm::Error error = create(path.str(), true))
    return error;
  return write(files.back().temporary, files.back().path, content);
}

llvm::Expected<llvm::StringRef> OutputFiles::addScratch(const llvm::Twine &path,
                                                        llvm::StringRef content) {
  if (llvm::Error error = create(path.str(), false))
    return std::move(error);
  if (llvm::Error error = write(files.back().temporary, files.back().path, content))
    return std::move(error);
  return files.back().temporary.TmpName;
}

llvm::Error OutputFiles::commit() {
  // A folder in a file's place is the only thing left that a rename would refuse.
  for (File &file : files)
    if (file.keep && fs::is_directory(file.path))
      return llvm::createStringError(file.path + ": is a directory");
  for (File &file : files)
    if (file.keep)
      if (llvm::Error error = file.temporary.keep(file.path))
        return llvm::createStringError(file.path + ": " + llvm::toString(std::move(error)));
  return llvm::Error::success();
}
