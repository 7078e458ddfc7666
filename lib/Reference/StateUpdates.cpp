//===- StateUpdates.cpp - a position of a recurrence, in f64 --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StateUpdates.h"
#include "dialects/PolyAttn/OpDispatch.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::reference;

/// S <- g S: one number for all rows.
static void scaleAll(const HeadVectors &vectors, int64_t i, State &state) {
  state.decay(vectors.decay(i, i));
}

/// S <- diag(g) S.
static void scaleFeatures(const HeadVectors &vectors, int64_t i, State &state) {
  for (auto [f, gate] : llvm::enumerate(vectors.featureGates[i])) {
    double factor = std::exp(gate);
    for (double &x : state.sums[f])
      x *= factor;
    state.normalizer[f] *= factor;
  }
}

namespace {
/// One function for each op that gives a state.
struct Transition {
  const HeadVectors &vectors;
  int64_t i;
  State &state;

  void operator()(StateOp) const { scaleAll(vectors, i, state); }
  void operator()(ChannelStateOp) const { scaleFeatures(vectors, i, state); }
};
} // namespace

void reference::applyTransition(StateUpdateInterface op, const HeadVectors &vectors, int64_t i,
                                State &state) {
  visitOp(op, Transition{vectors, i, state});
}

void reference::applyTransition(AttendOp op, const HeadVectors &vectors, int64_t i, State &state) {
  op.hasDecayOfFeatures() ? scaleFeatures(vectors, i, state) : scaleAll(vectors, i, state);
}
