//===- PlacedStates.h - states and rows that live in arguments --*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_PLACEDSTATES_H
#define POLYATTN_CONVERSION_PLACEDSTATES_H

#include "ProgramContext.h"

namespace polyattn {

/// Where a program stores a final state: in a workspace, if it lives in an argument.
mlir::Value tensorOfState(const KernelInfo &info, const KernelFrame &frame, unsigned result);
/// Emits `body` where a call changes states: one that completes no local block leaves them, so that
/// nothing is written back.
void ifStatesChange(TileBuilder &builder, const ProgramContext &context, TileBuilder::Branch body);
/// Stores rows of the call's last positions in pools: as many as a local block or a ring has.
/// Nothing where there are no pools of rows.
void storeKeptRows(TileBuilder &builder, const KernelInfo &info, const ProgramContext &context);
/// The results of positions that do not count, so many at a time.
void storeZeros(TileBuilder &builder, const KernelInfo &info, const ProgramContext &context,
                int64_t rows);

} // namespace polyattn

#endif // POLYATTN_CONVERSION_PLACEDSTATES_H
