//===- Program.h - random programs of feature vectors -----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program is made once and written where it is wanted: as a map, for the queries, for the keys.
// It knows of a vector what the rules of the language ask for: its structure, and whether it is
// known not to be negative.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_RANDOM_PROGRAM_H
#define POLYATTN_TEST_RANDOM_PROGRAM_H

#include "Choices.h"
#include "polyattn/Features/Structure.h"
#include <string>

namespace polyattn::random {

/// As `1.000000e-03`.
std::string number(double value);

/// The widest vector that a program is made for. Wider ones come from products only.
constexpr int64_t kMaxVector = 40;

class Program {
public:
  /// A vector that comes from outside: an input.
  struct Input {
    Structure structure;
    bool nonNegative = false;
    /// One per position: a table.
    bool isTable = false;
  };
  /// A weight that comes from outside, `4x8`.
  struct Weight {
    std::vector<int64_t> shape;
    bool isFrequencies = false;
    std::string type() const;
  };

  /// Some of `least` to `most` ops on vectors of these structures.
  static Program make(Choices &choices, std::vector<Input> inputs, int64_t least, int64_t most,
                      int64_t maxFeatures);
  /// The vector that comes in, unchanged.
  static Program identity(Structure structure);
  /// One op more on the result, of those that keep a plain vector plain and as wide.
  Program withElementwise(Choices &choices) const;

  /// What comes from outside: vectors first, one of which may be a table that was added, then
  /// weights.
  const std::vector<Input> &getInputs() const { return inputs; }
  const std::vector<Weight> &getWeights() const { return weights; }
  const Structure &getStructure() const { return vectors[result].structure; }
  bool isNonNegative() const { return vectors[result].nonNegative; }
  bool isIdentity() const { return ops.empty(); }

  /// Writes the ops, a line each; gives the name of the result. Names of what comes from outside
  /// are given, others begin with `prefix`.
  std::string write(std::string &text, const std::vector<std::string> &inputNames,
                    const std::vector<std::string> &weightNames, const std::string &prefix) const;

private:
  struct Vector {
    Structure structure;
    bool nonNegative;
  };
  struct Op {
    std::string mnemonic, attributes;
    std::vector<size_t> vectors;
    /// Those that come from outside; from kProduct on the products of two.
    std::vector<size_t> weights;
    std::string types;
    bool isWeightProduct = false;
  };
  static constexpr size_t kProduct = size_t(1) << 32;

  // ProgramOps.cpp: one random op of each family.
  void addOp(Choices &choices, int64_t maxFeatures);
  bool addLinear(Choices &choices, size_t x);
  bool addProduct(Choices &choices, size_t x, int64_t maxFeatures);
  bool addBetweenOnes(Choices &choices, const char *function, size_t x);
  bool addElementwise(Choices &choices, size_t x);
  bool addWeighted(Choices &choices, size_t x);
  bool addNorm(Choices &choices, size_t x);
  bool addRope(Choices &choices, size_t x);
  bool addRearrangement(Choices &choices, size_t x);
  bool addResidualSteps(Choices &choices, size_t x);

  size_t another(Choices &choices, int64_t width);
  size_t addWeight(std::vector<int64_t> shape, bool isFrequencies = false);
  size_t addWeightProduct(size_t lhs, size_t rhs);
  const Weight &weightOf(size_t number) const {
    return number < kProduct ? weights[number] : products[number - kProduct];
  }
  bool add(std::string mnemonic, std::vector<size_t> operands, std::string attributes,
           Structure structure, bool nonNegative, std::vector<size_t> weightOperands = {});
  int64_t width(size_t vector) const { return vectors[vector].structure.width(); }
  bool nonNegative(size_t vector) const { return vectors[vector].nonNegative; }

  std::vector<Input> inputs;
  std::vector<Weight> weights, products;
  std::vector<Vector> vectors;
  std::vector<Op> ops;
  size_t result = 0;
};

} // namespace polyattn::random

#endif // POLYATTN_TEST_RANDOM_PROGRAM_H
