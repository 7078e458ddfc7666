//===- SpecLibrary.h - tests over the library of specs ----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_SPECLIBRARY_H
#define POLYATTN_TEST_SPECLIBRARY_H

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>

namespace polyattn {

/// The files of specs/ without their extension, sorted.
inline std::vector<std::string> specNames() {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(POLYATTN_SPECS))
    if (entry.path().extension() == ".mlir")
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

inline std::string specPath(const std::string &name) { return POLYATTN_SPECS "/" + name + ".mlir"; }

/// A spec's name as GoogleTest takes it.
inline std::string specTestName(const testing::TestParamInfo<std::string> &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

} // namespace polyattn

#endif // POLYATTN_TEST_SPECLIBRARY_H
