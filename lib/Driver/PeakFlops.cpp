//===- PeakFlops.cpp - what the machine can do ----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PeakFlops.h"
#include "lib/Target/CPU/MultiplyLoops.h"
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

static polyattn::MultiplyLoop chooseLoop(int64_t lanes, bool inPairs) {
  std::optional<polyattn::MultiplyLoop> pairs;
  if (inPairs)
    pairs = polyattn::bf16PairsLoop();
  return pairs ? *pairs : polyattn::f32Loop(lanes);
}

const char *polyattn::driver::peakInstructionSet(int64_t lanes, bool inPairs) {
  return chooseLoop(lanes, inPairs).name;
}

double polyattn::driver::measurePeakFlops(int threads, double seconds, int64_t lanes,
                                          bool inPairs) {
  using Clock = std::chrono::steady_clock;
  const MultiplyLoop loop = chooseLoop(lanes, inPairs);
  std::atomic<int> waiting{threads};
  std::vector<double> rates(threads);
  auto work = [&](int thread) {
    loop.run(); // wakes the wide units
    --waiting;
    while (waiting > 0)
      std::this_thread::yield();
    double flops = 0, elapsed = 0;
    auto start = Clock::now();
    do {
      flops += loop.run();
      elapsed = std::chrono::duration<double>(Clock::now() - start).count();
    } while (elapsed < seconds);
    rates[thread] = flops / elapsed;
  };
  std::vector<std::thread> pool;
  for (int thread = 1; thread < threads; ++thread)
    pool.emplace_back(work, thread);
  work(0);
  for (std::thread &thread : pool)
    thread.join();
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}
