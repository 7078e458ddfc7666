//===- Accuracy.cpp - digits that a form of an attention loses ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Schedule/Accuracy.h"
#include <algorithm>
#include <cmath>

using namespace polyattn;

/// The longest of 64 vectors of width `width` over their largest component. The square of a length
/// is chi-squared, here by its cube root, which is nearly normal (Wilson, Hilferty 1931).
static double rho(double width) {
  constexpr double oneOf64 = 2.1539, oneOf64OnEitherSide = 2.4176; // quantiles of the normal law
  double spread = 2 / (9 * width);
  double root = 1 - spread + oneOf64 * std::sqrt(spread);
  return std::max(1.0, std::sqrt(width * root * root * root) / oneOf64OnEitherSide);
}

/// The errors of a row, in units of 2^-24.
static RowErrors unitsOf(const Structure &structure) {
  RowErrors errors = {1, 0};
  switch (structure.kind()) {
  case Structure::Kind::Vector:
    return {rho(double(structure.width())), rho(double(structure.width()))};
  case Structure::Kind::TensorPower:
  case Structure::Kind::SymmetricPower: {
    RowErrors base = unitsOf(structure.parts()[0]);
    return {std::pow(base.state, structure.degree()), base.scores * double(structure.degree())};
  }
  case Structure::Kind::TensorProduct:
    for (const Structure &part : structure.parts()) {
      RowErrors factor = unitsOf(part);
      errors = {errors.state * factor.state, errors.scores + factor.scores};
    }
    return errors;
  case Structure::Kind::Exponential: // has no state
    return unitsOf(structure.parts()[0]);
  case Structure::Kind::Concat:
    for (const Structure &part : structure.parts()) {
      RowErrors term = unitsOf(part);
      errors = {std::max(errors.state, term.state), std::max(errors.scores, term.scores)};
    }
    return errors;
  }
  return errors;
}

RowErrors RowErrors::of(const Structure &structure) {
  RowErrors units = unitsOf(structure);
  return {0x1p-24 * units.state, 0x1p-24 * units.scores};
}
