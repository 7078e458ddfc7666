//===- RandomArguments.h - inputs for any attention -------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_UNIT_REFERENCE_RANDOMARGUMENTS_H
#define POLYATTN_TEST_UNIT_REFERENCE_RANDOMARGUMENTS_H

#include "polyattn/Reference/Evaluate.h"
#include <cmath>
#include <random>

namespace polyattn {

enum class Use { Vector, Weight, Decay, State };

inline Use useOf(mlir::BlockArgument argument) {
  for (mlir::OpOperand &use : argument.getUses())
    if (auto attend = llvm::dyn_cast<AttendOp>(use.getOwner()))
      return use.get() == attend.getDecay() ? Use::Decay : Use::State;
  auto tensor = llvm::cast<mlir::RankedTensorType>(argument.getType());
  bool perPosition = tensor.getRank() == 3 && tensor.getDimSize(1) == 1;
  return tensor.getNumDynamicDims() >= 2 || perPosition ? Use::Vector : Use::Weight;
}

/// The sizes of an argument: the leading dynamic ones by its use, the others are its own.
inline llvm::SmallVector<int64_t> shapeOf(mlir::BlockArgument argument, const CallSizes &sizes) {
  auto tensor = llvm::cast<mlir::RankedTensorType>(argument.getType());
  llvm::SmallVector<int64_t> bound;
  switch (useOf(argument)) {
  case Use::Vector:
    bound = {sizes.batch, sizes.queries, sizes.heads};
    if (tensor.getRank() == 3)
      bound.erase(bound.begin()); // [T, H, d]
    break;
  case Use::Weight:
    bound = {sizes.heads};
    break;
  case Use::Decay:
    bound = {sizes.batch, sizes.queries, sizes.heads};
    if (tensor.getRank() == 1)
      bound = {sizes.heads};
    break;
  case Use::State:
    bound = {sizes.batch, sizes.heads};
    break;
  }
  llvm::SmallVector<int64_t> shape(tensor.getShape());
  for (size_t d = 0; d < shape.size(); ++d)
    if (mlir::ShapedType::isDynamic(shape[d]))
      shape[d] = bound[d];
  return shape;
}

inline Array randomArgument(mlir::BlockArgument argument, const CallSizes &sizes,
                            std::mt19937 &random) {
  Array array(shapeOf(argument, sizes));
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  Use use = useOf(argument);
  double rows = array.shape[std::max<int64_t>(0, array.rank() - 2)];
  for (double &x : array.data) {
    if (use == Use::Decay)
      x = std::log(0.9 + 0.1 * uniform(random));
    else if (use == Use::State)
      x = 0.1 * uniform(random);
    else
      x = use == Use::Weight ? normal(random) / std::sqrt(rows) : normal(random);
  }
  return array;
}

/// Whether all attends have gradients.
inline bool hasGradient(AttentionOp attention) {
  return llvm::none_of(attention.getBody().getOps<AttendOp>(), [](AttendOp attend) {
    return attend.getNormalizer().needsRowMax() || attend.hasDecayOfFeatures();
  });
}

/// Few positions and heads, but as many as the attention's meaning needs.
inline CallSizes smallSizes(AttentionOp attention) {
  CallSizes sizes{/*batch=*/1, /*queries=*/9, /*keys=*/9, /*heads=*/2, /*kvHeads=*/2};
  for (auto attend : attention.getBody().getOps<AttendOp>()) {
    if (attend.getBlock() && *attend.getBlock() < 100)
      sizes.queries = sizes.keys = *attend.getBlock() + 5; // so that the state is read
    if (attend.getDecayFactors())
      sizes.heads = sizes.kvHeads = attend.getDecayFactors()->size();
  }
  return sizes;
}

inline std::vector<Array> randomArguments(AttentionOp attention, const CallSizes &sizes,
                                          unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<Array> arguments;
  for (mlir::BlockArgument argument : attention.getBody().getArguments())
    arguments.push_back(randomArgument(argument, sizes, random));
  return arguments;
}

} // namespace polyattn

#endif // POLYATTN_TEST_UNIT_REFERENCE_RANDOMARGUMENTS_H
