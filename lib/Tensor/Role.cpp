//===- Role.cpp - what a tensor is to a call ------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Tensor/Role.h"
#include "llvm/ADT/STLExtras.h"
#include <iterator>

using namespace polyattn;

namespace {
struct RoleRow {
  llvm::StringLiteral name;
  RoleStorage storage;
};
} // namespace

/// In the order of the enum.
static constexpr RoleRow kRoles[] = {
    {"query", RoleStorage::Chosen},      {"key", RoleStorage::Chosen},
    {"value", RoleStorage::Chosen},      {"positional", RoleStorage::Chosen},
    {"weight", RoleStorage::Chosen},     {"vector", RoleStorage::Chosen},
    {"gain", RoleStorage::Chosen},       {"frequencies", RoleStorage::F32},
    {"lags", RoleStorage::F32},          {"decay", RoleStorage::Unchanged},
    {"state", RoleStorage::Unchanged},   {"first_position", RoleStorage::Unchanged},
    {"slots", RoleStorage::Unchanged},   {"lengths", RoleStorage::Unchanged},
    {"offsets", RoleStorage::Unchanged}, {"output", RoleStorage::Chosen},
    {"gradient", RoleStorage::Chosen},   {"saved", RoleStorage::Chosen},
};
static_assert(std::size(kRoles) == static_cast<size_t>(Role::Saved) + 1);

static constexpr llvm::StringLiteral kDirections[] = {"forward", "training", "backward",
                                                      "decode",  "states",   "gradient_states"};
static constexpr llvm::StringLiteral kSuffixes[] = {"",         "__forward", "__backward",
                                                    "__decode", "__states",  "__gradient_states"};

llvm::StringRef polyattn::nameOf(Role role) { return kRoles[static_cast<int>(role)].name; }

std::optional<Role> polyattn::parseRole(llvm::StringRef name) {
  const auto *found = llvm::find_if(kRoles, [&](const RoleRow &row) { return row.name == name; });
  if (found == std::end(kRoles))
    return std::nullopt;
  return static_cast<Role>(found - std::begin(kRoles));
}

RoleStorage polyattn::storageOf(Role role) { return kRoles[static_cast<int>(role)].storage; }

llvm::StringRef polyattn::nameOf(CallDirection direction) {
  return kDirections[static_cast<int>(direction)];
}

std::optional<CallDirection> polyattn::parseDirection(llvm::StringRef name) {
  const auto *found = llvm::find(kDirections, name);
  if (found == std::end(kDirections))
    return std::nullopt;
  return static_cast<CallDirection>(found - std::begin(kDirections));
}

llvm::StringRef polyattn::suffixOf(CallDirection direction) {
  return kSuffixes[static_cast<int>(direction)];
}
