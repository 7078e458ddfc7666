//===- Role.cpp - what a tensor is to a call ------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Tensor/Role.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

using namespace polyattn;

static constexpr llvm::StringLiteral kRoles[] = {
    "query",   "key",         "value",  "positional", "weight",         "vector",
    "gain",    "frequencies", "decay",  "state",      "first_position", "slots",
    "lengths", "offsets",     "output", "gradient",   "saved"};
static constexpr llvm::StringLiteral kDirections[] = {"forward", "training", "backward",
                                                      "decode",  "states",   "gradient_states"};
static constexpr llvm::StringLiteral kSuffixes[] = {"",         "__forward", "__backward",
                                                    "__decode", "__states",  "__gradient_states"};

/// The number of a name in the order of the enum.
template <typename Enum>
static std::optional<Enum> parse(llvm::ArrayRef<llvm::StringLiteral> names, llvm::StringRef name) {
  const auto *found = llvm::find(names, name);
  if (found == names.end())
    return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

llvm::StringRef polyattn::nameOf(Role role) { return kRoles[static_cast<int>(role)]; }

std::optional<Role> polyattn::parseRole(llvm::StringRef name) { return parse<Role>(kRoles, name); }

llvm::StringRef polyattn::nameOf(CallDirection direction) {
  return kDirections[static_cast<int>(direction)];
}

std::optional<CallDirection> polyattn::parseDirection(llvm::StringRef name) {
  return parse<CallDirection>(kDirections, name);
}

llvm::StringRef polyattn::suffixOf(CallDirection direction) {
  return kSuffixes[static_cast<int>(direction)];
}
