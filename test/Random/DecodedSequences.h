//===- DecodedSequences.h - sequences that several calls decode -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_RANDOM_DECODEDSEQUENCES_H
#define POLYATTN_TEST_RANDOM_DECODEDSEQUENCES_H

#include "Case.h"
#include "polyattn/Driver/Target.h"
#include <random>

namespace polyattn::random {

/// The sequences of one call of an attention, taken through its decode entry in the calls that a
/// case says, and in one more for what is left. In each call sequences are in another order, take
/// fewer positions than it has now and then, or have no slot and so wait. States are in slots in
/// any order, those of new sequences NaN before.
class DecodedSequences {
public:
  /// `arguments` are those of the attention, whose signature is `definition`.
  DecodedSequences(const Case &trial, const Signature &definition, const CallSizes &sizes,
                   llvm::ArrayRef<HostTensor> arguments);

  /// What a new sequence has in a decode entry: states that begin at zero. Sets them in the
  /// arguments of the attention, so that one call of it means the same.
  static void clearStates(const Signature &definition, const CallSizes &sizes,
                          llvm::ArrayRef<HostTensor> arguments);

  /// Runs all calls, and writes the results that the attention gives. Fails where a call does, or
  /// writes what it must not.
  llvm::Error run(Executable &executable, const Signature &decode,
                  llvm::ArrayRef<HostTensor> results);

private:
  struct Sequence {
    /// Where it lies: its batch, its first row there, and how many there are.
    int64_t batch, row, length;
    /// The position of its first row, the slot of its states, and how many rows are done.
    int64_t first, slot, done = 0;
  };
  /// What one call takes: for each of its batches, or packed sequences, which sequence, and how
  /// many rows of it; none without a slot.
  struct Part {
    Sequence *sequence;
    int64_t batch, row, length;
    bool hasSlot;
  };

  std::vector<Part> chooseParts(int64_t positions, bool isLast);
  llvm::Error call(Executable &executable, const Signature &decode, llvm::ArrayRef<Part> parts,
                   int64_t positions, llvm::ArrayRef<HostTensor> results);
  llvm::Error makePools(const Signature &decode);
  llvm::Expected<HostTensor> argumentOf(const Signature &decode, size_t number,
                                        llvm::ArrayRef<Part> parts, const CallSizes &sizes);
  llvm::Error takeRows(const TensorSignature &result, const HostTensor &from,
                       llvm::ArrayRef<Part> parts, const HostTensor &to) const;
  llvm::Error takeStates(const Signature &decode, llvm::ArrayRef<HostTensor> results) const;
  const HostTensor *findArgument(llvm::StringRef name) const;

  const Case &trial;
  const Signature &definition;
  CallSizes sizes;
  llvm::ArrayRef<HostTensor> arguments;
  std::mt19937_64 engine;
  std::vector<Sequence> sequences;
  /// By the number of the decode entry's argument; those that are no pools are empty.
  std::vector<std::optional<HostTensor>> pools;
};

} // namespace polyattn::random

#endif // POLYATTN_TEST_RANDOM_DECODEDSEQUENCES_H
