//===- Messages.h - messages between an editor and its server ---*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_LANGUAGESERVER_MESSAGES_H
#define POLYATTN_LIB_LANGUAGESERVER_MESSAGES_H

#include "llvm/ADT/StringRef.h"
#include <cstdio>
#include <optional>
#include <string>

namespace polyattn {

/// How messages are told apart.
enum class Framing {
  Standard, // by their length, as editors do
  Delimited // by lines `// -----`, as tests do
};

/// The next message; none at the end of the input.
std::optional<std::string> readMessage(std::FILE *input, Framing framing);

/// Writes a message by its length.
void writeMessage(std::FILE *output, llvm::StringRef message);

} // namespace polyattn

#endif // POLYATTN_LIB_LANGUAGESERVER_MESSAGES_H
