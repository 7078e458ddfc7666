//===- OutputFiles.cpp - several files that appear together ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputFiles.h"

using namespace polyattn;

static llvm::Error inFile(llvm::StringRef path, llvm::Error error) {
  return llvm::createStringError(path + ": " + llvm::toString(std::move(error)));
}

llvm::Expected<OutputFile *> OutputFiles::create(const llvm::Twine &path, bool keep) {
  llvm::Expected<OutputFile> file = OutputFile::open(path.str());
  if (!file)
    return inFile(path.str(), file.takeError());
  files.push_back({std::move(*file), keep});
  return &files.back().file;
}

static llvm::Error write(OutputFile &file, llvm::StringRef content) {
  if (llvm::Error error = file.write([&](llvm::raw_ostream &stream) { stream << content; }))
    return inFile(file.getPath(), std::move(error));
  return llvm::Error::success();
}

llvm::Expected<llvm::StringRef> OutputFiles::add(const llvm::Twine &path) {
  llvm::Expected<OutputFile *> file = create(path, true);
  if (!file)
    return file.takeError();
  return (*file)->name();
}

llvm::Error OutputFiles::add(const llvm::Twine &path, llvm::StringRef content) {
  llvm::Expected<OutputFile *> file = create(path, true);
  return file ? write(**file, content) : file.takeError();
}

llvm::Expected<llvm::StringRef> OutputFiles::addScratch(const llvm::Twine &path,
                                                        llvm::StringRef content) {
  llvm::Expected<OutputFile *> file = create(path, false);
  if (!file)
    return file.takeError();
  if (llvm::Error error = write(**file, content))
    return std::move(error);
  return (*file)->name();
}

llvm::Error OutputFiles::commit() {
  for (auto &[file, keep] : files)
    if (keep)
      if (llvm::Error error = file.commit())
        return inFile(file.getPath(), std::move(error));
  return llvm::Error::success();
}
