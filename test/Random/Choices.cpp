//===- Choices.cpp - what a generator chooses, and simpler choices --------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Choices.h"
#include <algorithm>
#include <tuple>

using namespace polyattn::random;

int64_t Choices::below(int64_t count) {
  uint32_t number = 0;
  if (!given)
    number = uint32_t(engine() % uint64_t(count));
  else if (numbers.size() < given->size())
    number = std::min((*given)[numbers.size()], uint32_t(count - 1));
  numbers.push_back(number);
  return number;
}

namespace {

/// The numbers that are best so far; every step tries to better them.
class Shrinker {
public:
  Shrinker(Attempt best, int tries, const std::function<Attempt(const Numbers &)> &attempt)
      : best(std::move(best)), tries(tries), attempt(attempt) {}

  Numbers run() {
    for (bool better = true; better && tries > 0;) {
      better = dropGroups();
      better |= dropRuns();
      better |= lower();
    }
    return best.numbers;
  }

private:
  /// Shorter numbers are simpler, and of equally many those that are lower earlier.
  static bool isSimpler(const Numbers &a, const Numbers &b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  }
  bool attemptWith(const Numbers &numbers) {
    if (tries <= 0)
      return false;
    --tries;
    Attempt next = attempt(numbers);
    if (!next.interesting || !isSimpler(next.numbers, best.numbers))
      return false;
    best = std::move(next);
    return true;
  }
  bool attemptWithout(size_t first, size_t last) {
    Numbers numbers = best.numbers;
    numbers.erase(numbers.begin() + first, numbers.begin() + last);
    return attemptWith(numbers);
  }

  /// The largest first.
  bool dropGroups() {
    bool better = false;
    for (size_t i = 0; i < best.groups.size() && tries > 0;) {
      auto groups = best.groups;
      std::sort(groups.begin(), groups.end(), [](auto a, auto b) {
        return std::make_tuple(b.second - b.first, a) < std::make_tuple(a.second - a.first, b);
      });
      auto [first, last] = groups[i];
      bool dropped = first < last && attemptWithout(first, last);
      better |= dropped;
      i = dropped ? i : i + 1;
    }
    return better;
  }
  bool dropRuns() {
    bool better = false;
    for (size_t length : {8, 4, 2, 1})
      for (size_t first = 0; first + length <= best.numbers.size() && tries > 0;) {
        bool dropped = attemptWithout(first, first + length);
        better |= dropped;
        first = dropped ? first : first + length;
      }
    return better;
  }
  /// Zero, half, one less.
  bool lower() {
    bool better = false;
    for (size_t i = 0; i < best.numbers.size() && tries > 0; ++i)
      for (bool lowered = true; lowered && i < best.numbers.size() && best.numbers[i] > 0;) {
        uint32_t number = best.numbers[i];
        lowered = false;
        for (uint32_t next : {uint32_t(0), number / 2, number - 1}) {
          Numbers numbers = best.numbers;
          numbers[i] = next;
          if ((lowered = attemptWith(numbers)))
            break;
        }
        better |= lowered;
      }
    return better;
  }

  Attempt best;
  int tries;
  const std::function<Attempt(const Numbers &)> &attempt;
};

} // namespace

Numbers polyattn::random::shrink(Attempt best, int tries,
                                 const std::function<Attempt(const Numbers &)> &attempt) {
  return Shrinker(std::move(best), tries, attempt).run();
}
