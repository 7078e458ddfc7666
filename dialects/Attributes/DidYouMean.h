//===- DidYouMean.h - a misspelt name and what it was meant to be -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_DIDYOUMEAN_H
#define POLYATTN_DIALECTS_DIDYOUMEAN_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace polyattn {

/// "; did you mean 'x'?" for the end of a message, where one of `known`, "x, y, z", is near.
std::string didYouMean(llvm::StringRef name, llvm::StringRef known);

} // namespace polyattn

#endif // POLYATTN_DIALECTS_DIDYOUMEAN_H
