//===- Messages.cpp - messages between an editor and its server -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Messages.h"
#include <cstdint>

using namespace polyattn;

/// Longer messages than any editor sends: specs have 4 MiB.
static constexpr uint64_t kMostBytes = uint64_t(1) << 30;

static std::optional<std::string> readLine(std::FILE *input) {
  std::string line;
  for (int c; (c = std::getc(input)) != EOF;) {
    if (c == '\n')
      return line;
    line += char(c);
  }
  return line.empty() ? std::nullopt : std::optional(line);
}

static std::optional<std::string> readStandard(std::FILE *input) {
  uint64_t length = 0;
  while (std::optional<std::string> line = readLine(input)) {
    llvm::StringRef header = llvm::StringRef(*line).rtrim('\r');
    if (header.consume_front_insensitive("Content-Length:")) {
      if (header.trim().getAsInteger(10, length))
        length = 0;
    } else if (header.empty() && length != 0) {
      std::string message(length > kMostBytes ? 0 : length, '\0');
      if (message.empty() || std::fread(message.data(), 1, length, input) != length)
        return std::nullopt;
      return message;
    }
  }
  return std::nullopt;
}

static std::optional<std::string> readDelimited(std::FILE *input) {
  std::string message;
  while (std::optional<std::string> line = readLine(input)) {
    llvm::StringRef text = llvm::StringRef(*line).trim();
    if (!text.starts_with("//"))
      message += *line + "\n";
    else if (text == "// -----" && !llvm::StringRef(message).trim().empty())
      return message;
  }
  return llvm::StringRef(message).trim().empty() ? std::nullopt : std::optional(message);
}

std::optional<std::string> polyattn::readMessage(std::FILE *input, Framing framing) {
  return framing == Framing::Standard ? readStandard(input) : readDelimited(input);
}

void polyattn::writeMessage(std::FILE *output, llvm::StringRef message) {
  std::fprintf(output, "Content-Length: %zu\r\n\r\n", message.size());
  std::fwrite(message.data(), 1, message.size(), output);
  std::fflush(output);
}
