//===- Case.h - one program, its inputs and who runs it ---------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_RANDOM_CASE_H
#define POLYATTN_TEST_RANDOM_CASE_H

#include "polyattn/Entry/CallSizes.h"
#include "polyattn/Tensor/Role.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace polyattn::random {

/// A program and a call. It is written as a file that can be edited and run again: a comment,
/// `// case: NAME=VALUE ...`, and the program.
struct Case {
  /// A spec, or a kernel of the tile dialect.
  std::string text;
  bool isTile = false;
  /// Sizes as they were chosen; those that the entry ties to others follow them.
  CallSizes sizes;
  /// The seed of the inputs' values.
  uint64_t seed = 0;
  /// What the inputs are: `normal`, `mixed` in magnitude, `small` whole numbers and zeros, gates of
  /// all magnitudes (`resets`), or `empty`, all zeros.
  std::string inputs = "normal";
  /// Gaps between rows.
  bool padded = false;
  int64_t threads = 1;
  /// 0 for the target's own choice.
  int64_t segments = 0;
  /// Numbers do not depend on how many threads there are.
  bool invariant = false;
  /// What is computed of a spec.
  CallDirection direction = CallDirection::Forward;
  /// Where that is `backward`: after how many positions each the forward half keeps states, if some
  /// of its attends can; 0 for none.
  int64_t stateEvery = 0;
  /// Likewise: the arguments whose gradients are asked for, all where it is empty, and whether
  /// those that are sums over positions are added to what their results hold.
  std::vector<std::string> wrt;
  bool accumulate = false;
  /// Where that is `decode`: the positions of each call but the last one, which has what is left.
  std::vector<int64_t> calls;
  std::vector<std::string> targets;
  /// The program must be refused.
  bool isInvalid = false;

  std::string format() const;
  static llvm::Expected<Case> parse(llvm::StringRef text);
};

class Choices;

/// In how many of a hundred specs something is chosen.
struct SpecWeights {
  /// Convolutions in place of attends.
  int convolutions = 4;
  /// Of those that can be: calls of a decode entry.
  int decode = 30;
  /// Gradients.
  int gradients = 15;
  /// Of those that can be: what a segment of a sequence adds to states, or to their gradients.
  int segments = 6;
};

/// A random spec.
Case makeSpec(Choices &choices, const SpecWeights &weights);

} // namespace polyattn::random

#endif // POLYATTN_TEST_RANDOM_CASE_H
