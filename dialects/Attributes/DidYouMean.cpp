//===- DidYouMean.cpp - a misspelt name and what it was meant to be -------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Attributes/DidYouMean.h"
#include "dialects/Attributes/KnownAttributes.h"

using namespace polyattn;

std::string polyattn::didYouMean(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> known) {
  llvm::StringRef nearest = nearestName(name, known);
  return nearest.empty() ? "" : "; did you mean '" + nearest.str() + "'?";
}

std::string polyattn::didYouMean(llvm::StringRef name, llvm::StringRef list) {
  llvm::SmallVector<llvm::StringRef> known;
  list.split(known, ", ");
  return didYouMean(name, known);
}
