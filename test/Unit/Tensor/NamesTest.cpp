//===- NamesTest.cpp - element types and sizes by number and name ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Tensor/ElementType.h"
#include "polyattn/Tensor/Role.h"
#include "polyattn/Tensor/SizeName.h"
#include "gtest/gtest.h"

using namespace polyattn;

TEST(NamesTest, EveryElementTypeHasANumberANameAndAWidth) {
  const std::pair<const char *, int64_t> expected[] = {{"f32", 4}, {"f16", 2}, {"bf16", 2},
                                                       {"i32", 4}, {"i64", 8}, {"f64", 8}};
  for (int32_t dtype = POLYATTN_F32; dtype <= POLYATTN_F64; ++dtype) {
    auto [name, bytes] = expected[dtype - POLYATTN_F32];
    EXPECT_STREQ(polyattn_dtype_name(dtype), name);
    EXPECT_EQ(polyattn_dtype_bytes(dtype), bytes) << name;
    std::optional<ElementType> type = elementTypeOf(dtype);
    EXPECT_EQ(parseElementType(name), type) << name;
    // No kernel stores f64.
    ASSERT_EQ(type.has_value(), dtype != POLYATTN_F64) << name;
    if (!type)
      continue;
    EXPECT_EQ(dtypeOf(*type), dtype);
    EXPECT_EQ(nameOf(*type), name);
    EXPECT_EQ(bytesOf(*type), bytes) << name;
    EXPECT_EQ(isInteger(*type), name[0] == 'i') << name;
  }
}

TEST(NamesTest, NumbersBesideTheElementTypesAreNone) {
  for (int32_t dtype : {-1, POLYATTN_F32 - 1, POLYATTN_F64 + 1, 1 << 30}) {
    EXPECT_EQ(polyattn_dtype_name(dtype), nullptr) << dtype;
    EXPECT_EQ(polyattn_dtype_bytes(dtype), 0) << dtype;
    EXPECT_EQ(elementTypeOf(dtype), std::nullopt) << dtype;
  }
  for (const char *name : {"", "f", "f8", "F32", "float32"})
    EXPECT_EQ(parseElementType(name), std::nullopt) << name;
}

TEST(NamesTest, EveryNamedSizeHasAPlaceAndAName) {
  const SizeName order[] = {kBatch,     kPositions, kKeyPositions, kHeads,         kKeyHeads,
                            kTableRows, kSlots,     kSequences,    kSequenceBounds};
  const char *const names[] = {"B", "T", "Tk", "H", "Hkv", "L", "P", "N", "N+1"};
  static_assert(std::size(order) == POLYATTN_NAMED_SIZES);
  for (size_t i = 0; i < std::size(order); ++i) {
    EXPECT_EQ(indexOf(order[i]), i);
    EXPECT_STREQ(polyattn_size_name(order[i]), names[i]);
    EXPECT_EQ(sizeToString(order[i]), names[i]);
    EXPECT_EQ(parseSizeName(names[i]), order[i]) << names[i];
  }
}

TEST(NamesTest, OtherSizesAreNumbers) {
  for (int64_t size : {int64_t(0), int64_t(64), -1 - int64_t(POLYATTN_NAMED_SIZES), INT64_MIN}) {
    EXPECT_EQ(polyattn_size_name(size), nullptr);
    EXPECT_EQ(sizeToString(size), std::to_string(size));
  }
  for (const char *name : {"", "t", "K", "64"})
    EXPECT_EQ(parseSizeName(name), std::nullopt) << name;
}

TEST(NamesTest, EveryRoleHasANameAndAStorage) {
  for (int i = 0; i <= static_cast<int>(Role::Saved); ++i) {
    auto role = static_cast<Role>(i);
    EXPECT_EQ(parseRole(nameOf(role)), role) << nameOf(role).str();
  }
  EXPECT_EQ(parseRole("values"), std::nullopt);
  EXPECT_EQ(storageOf(Role::Query), RoleStorage::Chosen);
  EXPECT_EQ(storageOf(Role::Saved), RoleStorage::Chosen);
  EXPECT_EQ(storageOf(Role::Frequencies), RoleStorage::F32);
  for (Role role :
       {Role::Decay, Role::State, Role::First, Role::Slots, Role::Lengths, Role::Offsets})
    EXPECT_EQ(storageOf(role), RoleStorage::Unchanged) << nameOf(role).str();
}
