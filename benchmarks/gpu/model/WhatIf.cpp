//===- WhatIf.cpp - bounds of changes that are not written ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WhatIf.h"
#include "Failure.h"
#include <algorithm>
#include <regex>

using namespace polyattn::gpumodel;

static constexpr std::pair<const char *, bool WhatIf::*> kNames[] = {
    {"copies-ahead", &WhatIf::copiesAhead},
    {"state-on-chip", &WhatIf::stateOnChip},
    {"weights-on-chip", &WhatIf::weightsOnChip},
    {"no-barriers", &WhatIf::noBarriers},
    {"no-conflicts", &WhatIf::noConflicts},
    {"no-fetch", &WhatIf::noFetch},
    {"wgmma", &WhatIf::wgmma}};

void polyattn::gpumodel::addWhatIf(WhatIf &whatIf, const std::string &text) {
  if (text.rfind("free:", 0) == 0) {
    whatIf.free.push_back(text.substr(5));
    return;
  }
  std::vector<std::string> names = {"free:REGEX"};
  for (const auto &[name, field] : kNames) {
    if (text == name) {
      whatIf.*field = true;
      return;
    }
    names.emplace_back(name);
  }
  throw Failure("--what-if " + text + ": there is no such what-if; the nearest is " +
                nearest(text, names));
}

void WhatIf::apply(Program &program) const {
  std::vector<std::regex> patterns;
  for (const std::string &pattern : free)
    try {
      patterns.emplace_back(pattern);
    } catch (const std::regex_error &error) {
      throw Failure("--what-if free:" + pattern + ": " + error.what());
    }
  for (Instruction &instruction : program.instructions) {
    auto matches = [&](const std::regex &pattern) {
      return std::regex_search(instruction.text, pattern);
    };
    instruction.isFree = std::any_of(patterns.begin(), patterns.end(), matches) ||
                         (wgmma && instruction.operation == Operation::LoadMatrix);
    if (wgmma && instruction.operation == Operation::MatrixMultiply)
      instruction.control.stall = 1;
  }
}
