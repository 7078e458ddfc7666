//===- Benchmark.h - measuring a compiled entry -----------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_DRIVER_BENCHMARK_H
#define POLYATTN_LIB_DRIVER_BENCHMARK_H

#include "polyattn/Driver/Target.h"

namespace polyattn::driver {

struct Measurement {
  /// Seconds of one call: median, shortest, and the 10th and 90th percentile.
  double median = 0, best = 0, p10 = 0, p90 = 0;
  int64_t samples = 0, callsPerSample = 0;
  /// What stands for the five values below, which are empty then, where the peak is not measured.
  std::optional<DataSheet> dataSheet;
  /// Operations per second of pure multiply-adds on the same threads, measured in turn with
  /// the calls: median and highest.
  double peak = 0, highestPeak = 0;
  /// The instructions that the peak is of: `avx512bf16`, `avx512`, `avx2` or `generic`.
  std::string peakInstructions;
  /// The median of each sample's share of the peak measured around it; and the fastest call's
  /// share of the highest peak.
  double fraction = 0, bestFraction = 0;
  /// Largest resident set of the process so far.
  int64_t maxRssBytes = 0;
};

/// Warms up, then calls again and again for about `seconds`. `flops` is what one call needs.
llvm::Expected<Measurement> measure(Executable &executable, const Call &call, double flops,
                                    double seconds);

} // namespace polyattn::driver

#endif // POLYATTN_LIB_DRIVER_BENCHMARK_H
