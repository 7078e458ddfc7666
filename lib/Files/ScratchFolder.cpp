//===- ScratchFolder.cpp - files of a while, away from results ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Files/ScratchFolder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

using namespace polyattn;
namespace fs = llvm::sys::fs;

llvm::Expected<ScratchFolder> ScratchFolder::create() {
  ScratchFolder result;
  if (std::error_code code = fs::createUniqueDirectory("polyattn", result.folder))
    return llvm::createStringError("no folder for temporary files: " + code.message());
  return std::move(result);
}

ScratchFolder::ScratchFolder(ScratchFolder &&other) noexcept
    : folder(std::move(other.folder)), files(std::move(other.files)) {
  other.folder.clear();
  other.files.clear();
}

ScratchFolder::~ScratchFolder() {
  // A folder comes before its files.
  for (const std::string &file : llvm::reverse(files)) {
    (void)fs::remove(file);
    llvm::sys::DontRemoveFileOnSignal(file);
  }
  if (!folder.empty())
    (void)fs::remove(folder);
}

std::string ScratchFolder::path(llvm::StringRef name) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  files.push_back(path.str().str());
  (void)llvm::sys::RemoveFileOnSignal(path);
  return files.back();
}

llvm::Expected<std::string> ScratchFolder::write(llvm::StringRef name, llvm::StringRef content) {
  std::error_code code;
  if (llvm::StringRef parent = llvm::sys::path::parent_path(name); !parent.empty()) {
    std::string within = path(parent);
    if ((code = fs::create_directories(within)))
      return llvm::createStringError(within + ": " + code.message());
  }
  std::string file = path(name);
  llvm::raw_fd_ostream stream(file, code, fs::CD_CreateNew);
  if (!code) {
    stream << content;
    stream.close();
    code = stream.error();
    stream.clear_error();
  }
  if (code)
    return llvm::createStringError(file + ": " + code.message());
  return file;
}
