//===- Failure.cpp - input that cannot be simulated -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Failure.h"
#include <algorithm>

using namespace polyattn::gpumodel;

static size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string polyattn::gpumodel::nearest(const std::string &name,
                                        const std::vector<std::string> &names) {
  std::string best;
  size_t least = ~size_t(0);
  for (const std::string &candidate : names)
    if (size_t distance = editDistance(name, candidate); distance < least) {
      least = distance;
      best = candidate;
    }
  return best;
}
