//===- StateUpdateInterface.td - what every state op says of itself -------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_STATE_UPDATE_INTERFACE
#define POLYATTN_STATE_UPDATE_INTERFACE

include "mlir/IR/OpBase.td"

def PolyAttn_StateUpdateInterface : OpInterface<"StateUpdateInterface"> {
  let cppNamespace = "::polyattn";
  let description = [{
    An op that gives a state: the sums of a recurrence S_i = A_i S_{i-1} + key_i value_i^T over
    positions. The transition A_i is what one op has and another has not: a number (`state`), a
    number for each feature (`channel_state`).

    The methods say what a state is made of, so that passes move, share and cut states of any op.
    What a transition does stands where its level is, in functions that are chosen by the op's class
    (OpDispatch.h): a level that misses one for an op does not compile.

    | level | what an op says there |
    |---|---|
    | lib/Reference/StateUpdates.cpp | its meaning: one position in f64 |
    | lib/Conversion/PolyAttnToTile/StateUpdate.h | a block of positions, the step of one token, and the composition of two segments, as tiles |
  }];
  let methods = [
    InterfaceMethod<"The vector whose features the rows are of.",
      "::mlir::TypedValue<::polyattn::FeatureType>", "getKey">,
    InterfaceMethod<"The vector that is summed up in each row.",
      "::mlir::TypedValue<::polyattn::FeatureType>", "getValue">,
    InterfaceMethod<"The tensor of the transition's logarithms; null where there is none.",
      "::mlir::Value", "getDecay">,
    InterfaceMethod<"The transition's numbers, one for each head, where they are no tensor.",
      "::std::optional<::llvm::ArrayRef<double>>", "getDecayFactors">,
    InterfaceMethod<"S before the first position; null for zeros.",
      "::mlir::Value", "getInitialState">,
    InterfaceMethod<"The normalizer before the first position; null for zeros.",
      "::mlir::Value", "getInitialNormalizer">,
    InterfaceMethod<"Whether the initial state is given as its transpose.",
      "bool", "getInitialTransposed">,
    InterfaceMethod<"The order of the positions.", "::polyattn::Mask", "getMask">,
    InterfaceMethod<"Whether the sums of the features are kept, too.", "bool", "getNormalizer">,
    InterfaceMethod<"Whether the value's last element has a column of its own.",
      "bool", "getLastApart">,
    InterfaceMethod<"Whose heads the transition, and so the state, belongs to.",
      "::std::optional<::polyattn::GateHeads>", "getGateHeads">,
    InterfaceMethod<"Which key head serves a query head.",
      "::std::optional<::polyattn::Grouping>", "getGrouping">,
    InterfaceMethod<"Whether keys and values are vectors of queries.", "bool", "getOfKeys">,
    InterfaceMethod<"The positions of a local block, which come into the state at its end.",
      "::std::optional<uint64_t>", "getBlock">,
    InterfaceMethod<"Whether keys come into the state so many positions before the row instead.",
      "bool", "getSliding">,
    InterfaceMethod<"Whether the transition is a number for each feature, [B, T, H, D].",
      "bool", "hasDecayOfFeatures">
  ];
  let extraSharedClassDeclaration = [{
    bool hasDecay() { return $_op.getDecay() || $_op.getDecayFactors(); }
    bool isOrdered() { return $_op.getMask() != ::polyattn::Mask::Full; }
    /// Whether the state, which belongs to a key head, is the sum over the query heads that it serves.
    bool isSumOfHeads() {
      return $_op.getOfKeys() && $_op.getGateHeads() != ::polyattn::GateHeads::Q;
    }
    /// The sums.
    ::mlir::TypedValue<::polyattn::StateType> getSums() {
      return ::mlir::cast<::mlir::TypedValue<::polyattn::StateType>>($_op->getResult(0));
    }
  }];
}

#endif // POLYATTN_STATE_UPDATE_INTERFACE
