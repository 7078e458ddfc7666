//===- Benchmark.cpp - measuring a compiled entry -------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Benchmark.h"
#include "PeakFlops.h"
#include <cmath>
#include <sys/resource.h>

using namespace llvm;
using namespace polyattn;
using namespace polyattn::driver;

namespace {

/// Shorter samples drown in the clock and in the peak loop's own start.
constexpr double kSampleSeconds = 5e-3;
constexpr double kPeakSeconds = 5e-3;
constexpr int64_t kFewestSamples = 3;

double percentile(std::vector<double> values, double part) {
  llvm::sort(values);
  double position = part * double(values.size() - 1);
  size_t below = static_cast<size_t>(position);
  size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - double(below)) * (values[above] - values[below]);
}

} // namespace

Expected<Measurement> driver::measure(Executable &executable, const Call &call, double flops,
                                      double seconds) {
  // The first call pays for page faults and cold caches, the second tells how long one takes.
  double once = 0;
  for (int i = 0; i < 2; ++i) {
    Expected<double> time = executable.time(call, 1);
    if (!time)
      return time.takeError();
    once = *time;
    if (once > seconds)
      break;
  }
  Measurement result;
  result.callsPerSample =
      once >= kSampleSeconds ? 1 : int64_t(std::ceil(kSampleSeconds / std::max(once, 1e-7)));

  // Between samples of another machine there is nothing for this processor to measure.
  result.dataSheet = executable.getDataSheet();
  auto measurePeak = [&] {
    return result.dataSheet ? 0
                            : measurePeakFlops(call.threads, kPeakSeconds, executable.vectorLanes(),
                                               executable.multipliesPairs());
  };
  std::vector<double> times, peaks, fractions;
  double spent = 0, before = measurePeak();
  peaks.push_back(before);
  while (spent < seconds || int64_t(times.size()) < kFewestSamples) {
    Expected<double> time = executable.time(call, result.callsPerSample);
    if (!time)
      return time.takeError();
    double after = measurePeak();
    times.push_back(*time);
    peaks.push_back(after);
    fractions.push_back(flops / *time / ((before + after) / 2));
    before = after;
    spent += *time * double(result.callsPerSample);
  }

  result.samples = times.size();
  result.median = percentile(times, 0.5);
  result.best = percentile(times, 0);
  result.p10 = percentile(times, 0.1);
  result.p90 = percentile(times, 0.9);
  if (!result.dataSheet) {
    result.peakInstructions =
        peakInstructionSet(executable.vectorLanes(), executable.multipliesPairs());
    result.peak = percentile(peaks, 0.5);
    result.highestPeak = percentile(peaks, 1);
    result.fraction = percentile(fractions, 0.5);
    result.bestFraction = flops / result.best / result.highestPeak;
  }
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) == 0)
    result.maxRssBytes = int64_t(usage.ru_maxrss) * 1024;
  return result;
}
