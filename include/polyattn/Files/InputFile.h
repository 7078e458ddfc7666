//===- InputFile.h - a file that is read as a whole -------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_FILES_INPUTFILE_H
#define POLYATTN_FILES_INPUTFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace polyattn {

/// A spec has about a thousand bytes; what is longer than this is something else.
inline constexpr uint64_t kMaxSpecBytes = uint64_t(16) << 20;

/// Reads a spec of at most kMaxSpecBytes from a regular file. A device, a pipe or a folder is an
/// error, since the first never ends and the second may never begin. The bytes are copied:
/// a mapped file that becomes shorter while it is read raises a signal. Errors do not repeat the
/// path.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readSpecFile(llvm::StringRef path);

/// Reads a spec for a tool, where "-" is the standard input, be it a file, a pipe or a terminal.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readSpecFileOrStandardInput(llvm::StringRef path);

/// Maps a regular file of any size. Errors do not repeat the path.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> mapDataFile(llvm::StringRef path);

} // namespace polyattn

#endif // POLYATTN_FILES_INPUTFILE_H
