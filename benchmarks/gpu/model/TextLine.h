//===- TextLine.h - words of a line of input --------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef POLYATTN_BENCHMARKS_GPU_MODEL_TEXTLINE_H
#define POLYATTN_BENCHMARKS_GPU_MODEL_TEXTLINE_H

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace polyattn::gpumodel {

/// Reads a line word by word; a Failure says which line lacks what.
class TextLine {
public:
  TextLine(std::string where, const std::string &text) : where(std::move(where)), stream(text) {}

  [[noreturn]] void fail(const std::string &why) const;
  bool ended() { return !(stream >> std::ws).good(); }
  std::string word(const char *what);
  uint64_t integer(const char *what, uint64_t most = ~uint64_t(0));
  /// May be negative.
  int64_t number(const char *what);
  /// Two hexadecimal digits for each byte.
  std::vector<uint8_t> bytes();

private:
  std::string where;
  std::stringstream stream;
};

/// Without the blanks around it.
std::string trim(const std::string &text);

} // namespace polyattn::gpumodel

#endif // POLYATTN_BENCHMARKS_GPU_MODEL_TEXTLINE_H
