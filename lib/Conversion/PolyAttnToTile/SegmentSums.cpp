//===- SegmentSums.cpp - the sums of segments of positions ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SegmentSums.h"

using namespace mlir;
using namespace polyattn;

/// After all keys of the segment have come. `decay` is the sum of the logarithms that they gave;
/// null unless it differs from position to position.
static void storeSum(TileBuilder &b, const ProgramContext &context, const StateProgram &state,
                     Value decay) {
  const SegmentStates &segments = *state.getSegmentStates();
  if (segments.decays)
    state.getUpdate().storeTransition(b, state.getSums(), segments, decay);
  state.getSums().storeSegmentState(b, segments.of(context.segment->segment));
}

void polyattn::sumSegment(TileBuilder &b, const ProgramContext &context,
                          ArrayRef<StateProgram *> states) {
  SmallVector<Value> decays;
  for (StateProgram *state : states) {
    state->getSums().makeBuffers(b);
    if (state->getUpdate().hasTotalByPosition())
      decays.push_back(b.constant(1, 1, 0));
  }
  decays = context.sweep(b).forBlocks(b, decays, [&](const BlockSpan &span, ValueRange in) {
    TileBuilder::Values totals;
    for (StateProgram *state : states) {
      Value decay = state->add(b, span, span.valid);
      if (state->getUpdate().hasTotalByPosition())
        totals.push_back(b.add(in[totals.size()], decay));
    }
    return totals;
  });
  size_t next = 0;
  for (StateProgram *state : states)
    storeSum(b, context, *state,
             state->getUpdate().hasTotalByPosition() ? decays[next++] : Value());
}

void polyattn::addSegments(TileBuilder &b, const ProgramContext &context, StateProgram &state,
                           function_ref<StoredState(Value)> before, bool finishes) {
  BlockState &sums = state.getSums();
  const SegmentStates &segments = *state.getSegmentStates();
  if (context.isOrdered()) {
    state.begin(b);
    return sums.addSegments(b, segments, before, finishes);
  }
  sums.makeBuffers(b);
  sums.addSegments(b, segments, /*before=*/nullptr, /*finishes=*/true);
  sums.storeSegmentState(b, before(b.index(0)));
}
