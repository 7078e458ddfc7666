//===- DidYouMean.h - a misspelt name and what it was meant to be -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_DIDYOUMEAN_H
#define POLYATTN_DIALECTS_DIDYOUMEAN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace polyattn {

/// "; did you mean 'x'?" for the end of a message, if `name` is near to one of the known names.
std::string didYouMean(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> known);
/// The same for the list of a message, "x, y, z".
std::string didYouMean(llvm::StringRef name, llvm::StringRef list);

} // namespace polyattn

#endif // POLYATTN_DIALECTS_DIDYOUMEAN_H
