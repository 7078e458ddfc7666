//===- LoopSteps.h - how indices move with a loop ---------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_TILEANALYSIS_LOOPSTEPS_H
#define POLYATTN_LIB_TILEANALYSIS_LOOPSTEPS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace polyattn {

/// By how much `index` grows with each iteration of `loop`, less than zero where it falls: the
/// induction variable, with what is known before the loop added to it or it subtracted from that.
/// 0 for all others, and where the loop's step is no constant.
int64_t stepPerIteration(mlir::Value index, mlir::scf::ForOp loop);

} // namespace polyattn

#endif // POLYATTN_LIB_TILEANALYSIS_LOOPSTEPS_H
