//===- Check.h - results against the oracle ---------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_DRIVER_CHECK_H
#define POLYATTN_LIB_DRIVER_CHECK_H

#include "Inputs.h"
#include "polyattn/Reference/Evaluate.h"

namespace polyattn::driver {

struct CheckReport {
  /// |out - ref| / |ref| in the Frobenius norm over a tensor, the worst of all results.
  double relativeError = 0;
  /// The relative error of the worst row (innermost vector), but for rows of rounding only: how
  /// many are so small beside the others that they have no digits.
  double worstRowError = 0;
  int64_t roundingRows = 0;
  double tolerance = 0;
  /// Rows of the results that the oracle was asked for, and all rows.
  int64_t checkedRows = 0, totalRows = 0;
  /// Rows that are further off than the tolerance, the largest condition among them (by how many
  /// times the unit roundoff of the target's arithmetic they move when every number does), and how
  /// many of them are right for their condition.
  int64_t doubtfulRows = 0, illConditionedRows = 0;
  double condition = 0;
  /// Which reading of the oracle: `scores` or `recurrent`; of gradients `gradients` or
  /// `differences`.
  std::string reading;
  /// Along how many directions differences were taken.
  int64_t directions = 0;
  /// What is wrong; empty where all is well.
  std::string failure;
};

/// What the oracle says the results are.
struct Expectation {
  std::vector<Array> results;
  Selection selection;
  Reading reading = Reading::Scores;
  /// These are gradients.
  bool backward = false;
};

/// The type to which targets may round the factors of an attention's products: bf16 if its attends
/// say so, otherwise that of the sequences.
ElementType typeOfProducts(AttentionOp attention, const Signature &signature);

/// The relative error that is allowed where nothing says otherwise, if `products` are rounded so.
double defaultTolerance(const Signature &signature, ElementType products);

/// What is wrong with a result whose relative error is that; empty where nothing is.
std::string failureOf(const TensorSignature &tensor, const HostTensor &result, double error,
                      double tolerance);

/// Asks the oracle, which starts from the same rounded arguments. Where it would take long it
/// evaluates a random part of the rows and heads. `reference` says that the results to come are the
/// oracle's own scores reading; they are held against the recurrent one.
llvm::Expected<Expectation> askOracle(AttentionOp attention, const Inputs &inputs, uint64_t seed,
                                      bool reference);

/// Whom to ask how well rows are determined that are further off than the tolerance, for a target
/// that computes in `arithmetic`.
struct Oracle {
  AttentionOp attention;
  const Inputs &inputs;
  ElementType arithmetic;
  /// The signature of the gradients that are asked for; null where results are.
  const Signature *backward = nullptr;
  bool usesTensorCores = false; // Target::usesTensorCores
};

/// Holds each result as a whole to the tolerance. Rows that are further off and badly conditioned
/// are held to their own spread instead, where there is an oracle to ask for it.
CheckReport compareResults(const Signature &signature, const Expectation &expectation,
                           llvm::ArrayRef<HostTensor> results, double tolerance,
                           const Oracle *oracle = nullptr);

} // namespace polyattn::driver

#endif // POLYATTN_LIB_DRIVER_CHECK_H
