//===- StateTensors.cpp - a state in tensors of the kernel ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StateTensors.h"

using namespace mlir;
using namespace polyattn;

StoredState StateTensors::initial() const {
  auto tensorsOf = [&](Value state) {
    SmallVector<Value> tensors;
    if (state)
      for (BlockArgument term : AddStatesOp::termsOf(state))
        tensors.push_back(frame.input(term));
    return tensors;
  };
  return StoredState::sumOf(tensorsOf(op.getInitialState()), tensorsOf(op.getInitialNormalizer()),
                            {frame.sequence.stateRow(), head()}, op.getInitialTransposed());
}

//===----------------------------------------------------------------------===//
// Final states
//===----------------------------------------------------------------------===//

/// Writes the state after the last position.
void StateTensors::storeAfterLast(TileBuilder &b, const BlockState::Destinations &results) const {
  if (!op.getInitialState() || !sums.lacksWeights())
    return sums.store(b, results);
  // Divided by the weights and multiplied again a state would not be what it was.
  Value isUnchanged = b.isEqual(frame.sequence.keys, b.index(0));
  if (op.isSumOfHeads())
    isUnchanged = arith::AndIOp::create(b, isUnchanged, frame.heads.isFirstOfGroup(b));
  b.branch(isUnchanged, [&] { sums.copy(b, initial(), results); }, [&] { sums.store(b, results); });
}

void StateTensors::storeFinal(TileBuilder &b, ArrayRef<Value> states,
                              ArrayRef<Value> normalizers) const {
  if (states.empty() && normalizers.empty())
    return;
  BlockState::Destinations results{states, normalizers, {frame.sequence.number, head()}};
  auto storeAll = [&] { storeAfterLast(b, results); };
  if (op.getGateHeads() == GateHeads::Q || op.getOfKeys())
    return storeAll();
  // Query heads of one group hold the same state: the first of them writes it.
  b.branch(frame.heads.isFirstOfGroup(b), storeAll);
}

void StateTensors::writeBack(TileBuilder &b, const FinalState &from, const FinalState &to) const {
  StoredState stored{from.rows, from.normalizer, {frame.sequence.number, head()}};
  BlockState::Destinations places{to.rows ? ArrayRef(to.rows) : ArrayRef<Value>(),
                                  to.normalizer ? ArrayRef(to.normalizer) : ArrayRef<Value>(),
                                  {frame.sequence.stateRow(), head()}};
  if (places.states.empty() && places.normalizers.empty())
    return;
  frame.sequence.ifHasState(b, [&] { sums.copy(b, stored, places); });
}

void StateTensors::storePart(TileBuilder &b, Value parts) const {
  storeAfterLast(b, {parts, {}, {frame.sequence.number, frame.heads.query()}});
}

void StateTensors::sumParts(TileBuilder &b, Value parts, ArrayRef<Value> states) const {
  sums.storeSum(b, {states, {}, {frame.sequence.number, frame.heads.key()}},
                frame.heads.countGroup(b), [&](Value i) -> StoredState {
                  return {parts, {}, {frame.sequence.number, frame.heads.ofGroup(b, i)}};
                });
}

//===----------------------------------------------------------------------===//
// States where they live
//===----------------------------------------------------------------------===//

StoredState StateTensors::at(const FinalState &place) const {
  return {place.rows, place.normalizer, {frame.sequence.stateRow(), head()}};
}

void StateTensors::store(TileBuilder &b, const FinalState &place) const {
  frame.sequence.ifHasState(b, [&] {
    sums.store(b, {place.rows, place.normalizer ? ArrayRef(place.normalizer) : ArrayRef<Value>(),
                   at(place).at});
  });
}

void StateTensors::clear(TileBuilder &b, const FinalState &place) const {
  StoredState stored = at(place);
  sums.forFeatureBlocks(b, {}, [&](Value first, int64_t count, ValueRange) {
    stored.storeRows(b, b.constant(count, sums.getWidth(), 0), first);
    if (place.normalizer)
      stored.storeNormalizer(b, b.constant(count, 1, 0), first);
    return TileBuilder::Values();
  });
}
