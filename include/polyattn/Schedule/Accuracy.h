//===- Accuracy.h - digits that a form of an attention loses ----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What f32 leaves of a row of attention, computed from scores or from a state of features.
//
// An inner product <a, b> of rounded terms is off by about u |a| |b|, u = 2^-24, however small it
// is. A row is about as large as what its largest score contributes. So a row of scores <q, k_j> is
// off, relative to itself, by about u rho with
//
//   rho = |q| max |k_j| / max |<q, k_j>|
//
// A power of that score is taken of a number that is there: each factor adds its relative error,
//
//   scores   p rho u
//
// but features of the power are summed up to it again. They have the length |phi(q)| = |q|^p, and
// where the vectors do not point the same way what they sum up to is as much smaller as the power
// of a cosine is:
//
//   state    rho^p u
//
// For vectors of n independent normal numbers and rows of 64 keys rho is known: |k_j| has a chi
// distribution of n degrees, <q, k_j> / |q| is normal. Products of vectors multiply and add in the
// same way; of a sum the worst part counts. Measured with symmetric powers of 4 to 24 numbers, of
// degrees 2 to 16, the worst of 200 to 2,048 rows was off by 0.7 to 5 times as much.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_SCHEDULE_ACCURACY_H
#define POLYATTN_SCHEDULE_ACCURACY_H

#include "polyattn/Features/Structure.h"

namespace polyattn {

/// The relative error that results of f32 have at most where they are well conditioned: what
/// `polyattn-run --check` holds them to.
constexpr double kPromisedError = 1e-5;

/// Expected relative errors of a row in f32.
struct RowErrors {
  double state, scores;

  static RowErrors of(const Structure &structure);
};

} // namespace polyattn

#endif // POLYATTN_SCHEDULE_ACCURACY_H
