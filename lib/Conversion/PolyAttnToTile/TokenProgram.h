//===- TokenProgram.h - programs of calls of few tokens ---------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_TOKENPROGRAM_H
#define POLYATTN_CONVERSION_TOKENPROGRAM_H

#include "KernelProgram.h"
#include "TokenAttend.h"

namespace polyattn {

/// A program of a call of few tokens, whose states are updated where they live (TokenKernels.cpp).
class TokenProgram : public KernelProgram {
public:
  TokenProgram(const KernelInfo &info, const ProgramContext &context)
      : KernelProgram(info, ScheduleForm::State, context) {}

  /// A call of at most one token, or of some tokens one by one: the program of the first query head
  /// that shares the states updates them.
  void buildStep(TileBuilder &builder);
  /// A call of few tokens, whose states the same program updates.
  void buildFew(TileBuilder &builder);
  /// Stores what a call of one token needs of the vectors of some batches.
  void buildVectors(TileBuilder &builder);
  /// i1: whether the call is one for which `buildVectors` runs: it may have batches of one token,
  /// and not only batches that compute their vectors token by token.
  mlir::Value hasVectors(TileBuilder &builder) const;

private:
  /// Where a step has the features of its token from.
  enum class TokenFeatures { Computed, Loaded };
  void inUpdatingHeads(TileBuilder &builder, TileBuilder::Branch update, bool isEachHead,
                       int64_t rowsOfZeros);
  void keepRows(TileBuilder &builder);
  void forTokens(TileBuilder &builder, TileBuilder::Branch body);
  /// Whether the query heads of a group go on by themselves: nothing but a ring changes where there
  /// is no state, and no head reads the row that the token takes there.
  bool stepsEachHead() const { return info.hasStatePerQuery() || info.states.empty(); }
  FinalState placeOf(AttendOp attend) const;
  StepVectors stepVectors(unsigned attend) const;
  mlir::Value batchesFrom(TileBuilder &builder, mlir::Value first) const;
  void stepToken(TileBuilder &builder, TokenFeatures features);
  void stepHead(TileBuilder &builder, llvm::MutableArrayRef<StepVectors> rows,
                TokenFeatures features);
  void computeKeys(TileBuilder &builder, llvm::MutableArrayRef<StepVectors> rows,
                   TokenFeatures features);
  void stepOtherHeads(TileBuilder &builder, TokenFeatures features);
  void takeInFullBlock(TileBuilder &builder);
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_TOKENPROGRAM_H
