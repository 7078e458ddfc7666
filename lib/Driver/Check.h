//===- Check.h - results against the oracle ---------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_DRIVER_CHECK_H
#define POLYATTN_LIB_DRIVER_CHECK_H

#include "Inputs.h"

namespace polyattn::driver {

struct CheckReport {
  /// |out - ref| / |ref| in the Frobenius norm over a tensor, the worst of all results.
  double relativeError = 0;
  /// The same for one row (the innermost vector), the worst of all.
  double worstRowError = 0;
  double tolerance = 0;
  /// Rows of the results that the oracle was asked for, and all rows.
  int64_t checkedRows = 0, totalRows = 0;
  /// Which reading of the oracle: `scores` or `recurrent`.
  std::string reading;
  /// What is wrong; empty where all is well.
  std::string failure;
};

/// Compares the results with the oracle, which starts from the same rounded arguments. Where it
/// would take long a random part of the rows and heads is compared. `reference` says that the
/// results are the oracle's own scores reading; they are held against the recurrent one.
llvm::Expected<CheckReport> checkResults(AttentionOp attention, const Signature &signature,
                                         const Inputs &inputs, llvm::ArrayRef<HostTensor> results,
                                         const RunOptions &options, bool reference);

} // namespace polyattn::driver

#endif // POLYATTN_LIB_DRIVER_CHECK_H
