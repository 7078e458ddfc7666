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

llvm::Error OutputFiles::add(const llvm::Twine &path, llvm::StringRef content, bool isProgram) {
  llvm::Expected<OutputFile> file = OutputFile::open(path.str(), isProgram);
  if (!file)
    return inFile(path.str(), file.takeError());
  if (llvm::Error error = file->write([&](llvm::raw_ostream &stream) { stream << content; }))
    return inFile(file->getPath(), std::move(error));
  files.push_back(std::move(*file));
  return llvm::Error::success();
}

llvm::Error OutputFiles::commit() {
  for (OutputFile &file : files)
    if (llvm::Error error = file.commit())
      return inFile(file.getPath(), std::move(error));
  return llvm::Error::success();
}
