//===- WrapWords.h - lines of a help text -----------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_DRIVER_WRAPWORDS_H
#define POLYATTN_LIB_DRIVER_WRAPWORDS_H

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace polyattn {

/// The words of a text in lines that fit from a column on, up to the hundredth. Lines after the
/// first begin with `indent`.
inline std::string wrapWords(llvm::StringRef text, size_t column, llvm::StringRef indent = "") {
  constexpr size_t width = 100;
  std::string lines;
  size_t end = column;
  for (llvm::StringRef word : llvm::split(text, ' ')) {
    if (lines.empty()) {
      end += word.size();
    } else if (end + 1 + word.size() > width) {
      lines += "\n" + indent.str();
      end = column + word.size();
    } else {
      lines += " ";
      end += 1 + word.size();
    }
    lines += word;
  }
  return lines;
}

} // namespace polyattn

#endif // POLYATTN_LIB_DRIVER_WRAPWORDS_H
