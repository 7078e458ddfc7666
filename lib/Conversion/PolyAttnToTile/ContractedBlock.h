//===- ContractedBlock.h - blocks through symmetric states ------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ContractedState.h says what these states are. The gradient of the features exists for one block
// of features only, which is contracted before the next one is formed.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_CONTRACTEDBLOCK_H
#define POLYATTN_CONVERSION_CONTRACTEDBLOCK_H

#include "Accumulators.h"
#include "StateReading.h"
#include "polyattn/Schedule/ContractedState.h"

namespace polyattn {

class ContractedBlock {
public:
  /// `readings` are those of the pairs' sums and, where they stand apart, of the normalizers'.
  ContractedBlock(AttendOp op, llvm::ArrayRef<StateReading> readings);

  /// What the queries get from the state, in blocks of `featureBlock` features, and the update of
  /// the state, where nothing reads it in between.
  Accumulators throughState(TileBuilder &builder, const ProgramContext &context,
                            llvm::ArrayRef<StateReading> readings, int64_t featureBlock,
                            VectorProgram &queries, VectorProgram &keys, const BlockSpan &span,
                            const BlockDecay &decay) const;

private:
  ContractedState contracted;
  FeaturePlan pairs;
  std::vector<double> weights; // of the pairs
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_CONTRACTEDBLOCK_H
