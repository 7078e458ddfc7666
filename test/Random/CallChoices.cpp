//===- CallChoices.cpp - how random specs are called ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallChoices.h"
#include "Choices.h"
#include <algorithm>

using namespace polyattn;

void random::chooseSizes(Choices &choices, llvm::ArrayRef<int64_t> blocks, Case &spec) {
  auto positions = [&]() -> int64_t {
    if (!blocks.empty() && choices.chance(60)) {
      int64_t block = blocks[choices.below(int64_t(blocks.size()))];
      return std::min<int64_t>(300, std::max<int64_t>(0, choices.oneOf({0, 1, 2}) * block +
                                                             choices.oneOf({1, 0, -1, 3})));
    }
    return choices.oneOf(
        {3, 1, 2, 5, 8, 0, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 128, 129, 200, 257});
  };
  spec.sizes.queries = positions();
  spec.sizes.keys = choices.chance(50) ? positions() : spec.sizes.queries;
  // A block of one position takes an emulator as long as one of 16, and there may be T^2 of them.
  if (llvm::any_of(blocks, [](int64_t block) { return block < 4; }))
    for (int64_t *size : {&spec.sizes.queries, &spec.sizes.keys})
      *size = std::min<int64_t>(*size, 65);
  spec.sizes.batch = choices.oneOf({1, 1, 1, 2, 3, 0});
}

void random::chooseCalls(Choices &choices, llvm::ArrayRef<int64_t> blocks, Case &spec) {
  spec.direction = CallDirection::Decode;
  // Sequences that have room for several calls, most often.
  if (choices.chance(70)) {
    spec.sizes.batch = choices.oneOf({2, 1, 3, 4});
    spec.sizes.queries = choices.oneOf({5, 9, 18, 35, 66, 70, 130, 140});
    if (llvm::any_of(blocks, [](int64_t block) { return block < 4; }))
      spec.sizes.queries = std::min<int64_t>(spec.sizes.queries, 65);
  }
  if (!blocks.empty() && choices.chance(30))
    spec.calls.push_back(blocks[choices.below(int64_t(blocks.size()))]);
  for (int i = 0; i < 5 && choices.chance(80); ++i) {
    Choices::Group group(choices);
    spec.calls.push_back(choices.oneOf({1, 2, 0, 3, 5, 1, 15, 16, 17, 33, 64, 65}));
  }
}

void random::chooseGradients(Choices &choices, llvm::ArrayRef<std::string> arguments, Case &spec) {
  spec.direction = CallDirection::Backward;
  spec.accumulate = choices.chance(30);
  if (choices.chance(35))
    llvm::copy_if(arguments, std::back_inserter(spec.wrt),
                  [&](const std::string &) { return choices.chance(40); });
  spec.stateEvery = choices.chance(40) ? choices.oneOf({32, 64, 16, 8, 3, 100, 128}) : 0;
  // The oracle's tape has several numbers for each of a head's pairs and dimensions, and all pairs
  // are evaluated some twenty times.
  constexpr int64_t mostPositions = 131, mostPairs = 2 * mostPositions * mostPositions;
  int64_t most = mostPositions, heads = std::max<int64_t>(1, spec.sizes.batch * spec.sizes.heads);
  while (heads * most * most > mostPairs)
    --most;
  for (int64_t *size : {&spec.sizes.queries, &spec.sizes.keys})
    *size = std::min(*size, most);
}
