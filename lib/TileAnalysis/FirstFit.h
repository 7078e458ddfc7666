//===- FirstFit.h - first-fit allocation of a kernel's memory ---*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_TILEANALYSIS_FIRSTFIT_H
#define POLYATTN_LIB_TILEANALYSIS_FIRSTFIT_H

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace polyattn {

/// A byte range that was given out, from the request with the number `begin` on, and free again for
/// the one with the number `end`.
struct Lifetime {
  int64_t bytes, begin, end;
};

/// Allocates byte ranges, the lowest free one first, and remembers how far they reached.
class FirstFit {
public:
  /// Offsets are multiples of `alignment`. With `planned`, an offset for each request in order,
  /// these are given out.
  explicit FirstFit(int64_t alignment, int64_t capacity = INT64_MAX,
                    std::vector<int64_t> planned = {})
      : alignment(alignment), capacity(capacity), planned(std::move(planned)) {}

  /// Empty where no free range is large enough.
  std::optional<int64_t> allocate(int64_t bytes);
  /// A range that nothing has used before, for what must outlive a call.
  std::optional<int64_t> allocateFresh(int64_t bytes);
  void free(int64_t offset);
  int64_t bytes() const { return top; }
  /// The lifetimes of all requests that found a place, in order.
  const std::vector<Lifetime> &requests() const { return lifetimes; }

private:
  int64_t rounded(int64_t bytes) const { return (bytes + alignment - 1) / alignment * alignment; }
  std::optional<int64_t> take(int64_t offset, int64_t bytes);

  int64_t alignment, capacity, top = 0;
  std::vector<int64_t> planned;
  std::vector<Lifetime> lifetimes;
  std::map<int64_t, size_t> live; // requests by their offsets
};

/// Offsets of requests, and how far they reach.
struct PackedMemory {
  std::vector<int64_t> offsets;
  int64_t bytes = 0;
};

/// Offsets for requests whose lifetimes are known: the best of what first fit gives them as they
/// come, the largest first, those first that take most bytes for most requests, or for most
/// requests. First fit alone puts small ones where large ones were, which then find no place.
PackedMemory pack(const std::vector<Lifetime> &lifetimes);

} // namespace polyattn

#endif // POLYATTN_LIB_TILEANALYSIS_FIRSTFIT_H
