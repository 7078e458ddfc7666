//===- TextLine.cpp - words of a line of input ----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TextLine.h"
#include "Failure.h"
#include <cerrno>
#include <cstdlib>

using namespace polyattn::gpumodel;

void TextLine::fail(const std::string &why) const { throw Failure(where + ": " + why); }

std::string TextLine::word(const char *what) {
  std::string text;
  if (!(stream >> text))
    fail(std::string("expected ") + what);
  return text;
}

uint64_t TextLine::integer(const char *what, uint64_t most) {
  std::string text = word(what);
  char *end = nullptr;
  errno = 0;
  uint64_t value = std::strtoull(text.c_str(), &end, 0);
  if (*end || errno || text[0] == '-' || value > most)
    fail(std::string("expected ") + what + ", and got '" + text + "'");
  return value;
}

int64_t TextLine::number(const char *what) {
  std::string text = word(what);
  char *end = nullptr;
  errno = 0;
  int64_t value = std::strtoll(text.c_str(), &end, 0);
  if (*end || errno)
    fail(std::string("expected ") + what + ", and got '" + text + "'");
  return value;
}

std::vector<uint8_t> TextLine::bytes() {
  std::string text = word("bytes in hexadecimal");
  std::vector<uint8_t> data(text.size() / 2);
  for (size_t k = 0; k < data.size(); ++k) {
    std::string pair = text.substr(2 * k, 2);
    char *end = nullptr;
    data[k] = static_cast<uint8_t>(std::strtoul(pair.c_str(), &end, 16));
    if (*end)
      fail("expected bytes in hexadecimal, and got '" + pair + "'");
  }
  return data;
}

std::string polyattn::gpumodel::trim(const std::string &text) {
  size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string::npos)
    return "";
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}
