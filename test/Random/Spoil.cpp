//===- Spoil.cpp - specs that must be refused -----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Spoil.h"
#include "Choices.h"
#include <cctype>

using namespace polyattn::random;

namespace {
struct Mistake {
  const char *right, *wrong;
};
} // namespace

/// Each makes an invalid spec of any that has its text.
static constexpr Mistake kMistakes[] = {
    {" value %", " value %nothing_"},
    {" attend query", " attend quary"},
    {" attend ", " attent "},
    {"grouping<block>", "grouping<blocks>"},
    {"{grouping", "{grouping = 1 : i64, grouping"},
    {"tensor<?x?x?x", "tensor<?x?x"},
    {"tensor<?x?x?x", "tensor<?x?x?x1000000x"},
    {"xf32>", "xf64>"},
    {"degree = ", "degree = 0, degree = "},
    {"degree = ", "degree = 99"},
    {"degree = ", "degree = -"},
    {"groups = ", "groups = -"},
    {"groups = 1", "groups = 1009"},
    {"width = 1", "width = 0"},
    {"width = 1", "width = 4294967296"},
    {"{eps = ", "{eps = -"},
    {"<sum, eps = ", "<sum, eps = -"},
    {"<bias, ", "<bias, bios = 1.0, "},
    {"<none", "<none, eps = 1.0"},
    {"factor = ", "factor = 0x7FF0000000000000, f = "},
    {"exponent = ", "exponent = 0x7FF8000000000000, f = "},
    {"score_scale = ", "score_scale = 0xFFF0000000000000, f = "},
    {"dims = ", "dims = -"},
    {"array<i64: ", "array<i64: 999999, "},
    {"array<i64: ", "array<i64: -1, "},
    {"array<f64: ", "array<f64: -0.5, "},
    {"gate_heads<", "gate_heads<k"},
    {"gelu_form<", "gelu_form<x"},
    {"block = ", "block = -"},
    {"feature_block = ", "feature_block = -"},
    {"quadratic_below = ", "quadratic_below = -1"},
    {"short_blocks = [", "short_blocks = [0, "},
    {"form = state", "form = stat"},
    {"final_state", "final_state, initial"},
    {"causal normalize", "causal normalise"},
    {" = convolve %", " = convolve %no"},
    {" = convolve ", " = convolute "},
    {" = apply @", " = apply @no"},
    {"project %", "project %no"},
    {"  yield ", "  return "},
    {"  return ", "  yield "},
    {"attention @attention(", "attention @attention(%same: tensor<4xf32>, %same: tensor<4xf32>, "},
    {"-> (", "-> (q-q: tensor<?x?x?x4xf32>, "},
    {"}\n", "\n"},
    {"feature_map @", "feature_map @@"},
    {" : [", " : [-"},
    {" : [", " : [0], ["},
    {" : [", " : [9223372036854775808"},
};

/// Whether `at` is in the type of an argument that nothing reads, whose type nobody asks about.
static bool isOfUnusedArgument(const std::string &text, size_t at) {
  if (at < 2 || text.compare(at - 2, 2, ": ") != 0)
    return false;
  size_t name = text.rfind('%', at);
  if (name == std::string::npos || text.find_first_of(" ,(", name) < at - 1)
    return false;
  std::string argument = text.substr(name, at - 2 - name);
  int uses = 0;
  for (size_t use = text.find(argument); use != std::string::npos;
       use = text.find(argument, use + 1)) {
    size_t end = use + argument.size();
    uses += end == text.size() || !(std::isalnum(text[end]) || text[end] == '_');
  }
  return uses == 1;
}

std::string polyattn::random::spoil(Choices &choices, const std::string &text) {
  size_t count = sizeof(kMistakes) / sizeof(kMistakes[0]);
  size_t first = size_t(choices.below(int64_t(count)));
  for (size_t i = 0; i < count; ++i) {
    const Mistake &mistake = kMistakes[(first + i) % count];
    std::vector<size_t> places;
    for (size_t at = text.find(mistake.right); at != std::string::npos;
         at = text.find(mistake.right, at + 1))
      if (!isOfUnusedArgument(text, at))
        places.push_back(at);
    if (places.empty())
      continue;
    std::string spoiled = text;
    spoiled.replace(places[choices.below(int64_t(places.size()))],
                    std::string(mistake.right).size(), mistake.wrong);
    return spoiled;
  }
  return text;
}
