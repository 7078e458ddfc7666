//===- Report.h - what polyattn-run prints ----------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_DRIVER_REPORT_H
#define POLYATTN_LIB_DRIVER_REPORT_H

#include "Benchmark.h"
#include "Check.h"

namespace polyattn::driver {

/// All that is known after a run.
struct RunReport {
  const Signature &signature;
  const RunOptions &options;
  CallSizes sizes;
  llvm::ArrayRef<HostTensor> results;
  double compileMs = 0;
  double flops = 0;
  std::optional<Measurement> measurement;
  /// The median of the forward call of the pair, measured beside a backward one.
  std::optional<double> forwardSeconds;
  std::optional<CheckReport> check;
  /// What the target has found out, keys of the JSON object.
  llvm::json::Object findings;
};

/// A line per fact, or one JSON object where the options say so.
void printRun(const RunReport &report, llvm::raw_ostream &stream);

/// The entries of a spec, as a table or as {"entries": [...]}.
void printDescription(llvm::ArrayRef<Signature> signatures, bool json, llvm::raw_ostream &stream);

} // namespace polyattn::driver

#endif // POLYATTN_LIB_DRIVER_REPORT_H
