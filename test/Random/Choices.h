//===- Choices.h - what a generator chooses, and simpler choices -*- C++ -*-==//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A generator asks for numbers and turns them into a program; whatever it is told, the program is
// one of its language. So a program is known by the numbers, and a smaller one is found by leaving
// out or lowering numbers, with no knowledge of what they mean. For that, 0 must be the simplest of
// every choice, and what belongs together, an op or an attend, be one group.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_RANDOM_CHOICES_H
#define POLYATTN_TEST_RANDOM_CHOICES_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <random>
#include <vector>

namespace polyattn::random {

using Numbers = std::vector<uint32_t>;

class Choices {
public:
  /// Random numbers.
  explicit Choices(uint64_t seed) : engine(seed) {}
  /// Those that were chosen before, then zeros.
  explicit Choices(Numbers given) : given(std::move(given)) {}

  /// One of 0 to count - 1.
  int64_t below(int64_t count);
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  /// True in so many of a hundred cases.
  bool chance(int percent) { return below(100) >= 100 - percent; }
  template <typename T> T oneOf(std::initializer_list<T> list) {
    return list.begin()[below(int64_t(list.size()))];
  }

  /// What was chosen, and the groups of it as first and last place.
  const Numbers &getNumbers() const { return numbers; }
  const std::vector<std::pair<size_t, size_t>> &getGroups() const { return groups; }

  /// A group for as long as this lives.
  class Group {
  public:
    explicit Group(Choices &choices) : choices(choices), first(choices.numbers.size()) {}
    ~Group() { choices.groups.push_back({first, choices.numbers.size()}); }
    Group(const Group &) = delete;

  private:
    Choices &choices;
    size_t first;
  };

private:
  std::optional<Numbers> given;
  std::mt19937_64 engine;
  Numbers numbers;
  std::vector<std::pair<size_t, size_t>> groups;
};

/// Simpler numbers than these that are still `interesting`. That answers for the numbers of which
/// it makes something and says what it has read of them, with the groups; at most `tries` times.
struct Attempt {
  bool interesting = false;
  Numbers numbers;
  std::vector<std::pair<size_t, size_t>> groups;
};
Numbers shrink(Attempt best, int tries, const std::function<Attempt(const Numbers &)> &attempt);

} // namespace polyattn::random

#endif // POLYATTN_TEST_RANDOM_CHOICES_H
