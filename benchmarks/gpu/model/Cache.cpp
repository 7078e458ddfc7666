//===- Cache.cpp - contents of a cache ------------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cache.h"
#include <algorithm>

using namespace polyattn::gpumodel;

Cache::Cache(uint64_t lines, Replacement replacement)
    : capacity(std::max<uint64_t>(lines, 1)), replacement(replacement) {}

void Cache::unlink(Line &line) {
  (line.newer ? line.newer->older : newest) = line.older;
  (line.older ? line.older->newer : oldest) = line.newer;
}

void Cache::use(Line &line) {
  if (&line == newest)
    return;
  if (line.newer || line.older || oldest == &line)
    unlink(line);
  line.newer = nullptr;
  line.older = newest;
  if (newest)
    newest->newer = &line;
  newest = &line;
  if (!oldest)
    oldest = &line;
}

Cache::Line *Cache::find(uint64_t number) {
  auto found = lines.find(number);
  if (found == lines.end())
    return nullptr;
  use(found->second);
  return &found->second;
}

void Cache::replaceOne() {
  Line *victim = oldest;
  if (replacement == Replacement::Random) {
    // Knuth's MMIX generator: the same numbers in each run.
    random = random * 6364136223846793005u + 1442695040888963407u;
    victim = places[(random >> 33) % places.size()];
  }
  dirtyReplaced += victim->dirty;
  unlink(*victim);
  places[victim->place] = places.back();
  places[victim->place]->place = victim->place;
  places.pop_back();
  lines.erase(victim->number);
}

Cache::Line &Cache::insert(uint64_t number) {
  if (Line *line = find(number))
    return *line;
  while (lines.size() >= capacity)
    replaceOne();
  Line &line = lines[number];
  line.number = number;
  line.place = places.size();
  places.push_back(&line);
  use(line);
  return line;
}
