//===- Emulator.cpp - GPU kernels on the host, checked --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"
#include "Cluster.h"
#include <algorithm>
#include <map>
#include <mutex>
#include <thread>

using namespace polyattn::emulator;

namespace {
/// Programs go to the threads of the host in order, until one has findings.
class Queue {
public:
  explicit Queue(const Launch &launch) : launch(launch), memory(launch.memory) {}

  void work() {
    Cluster cluster(launch, memory);
    Counters counters;
    for (int64_t program = next++; program < launch.programs && !failed; program = next++) {
      Findings findings;
      cluster.run(program, counters, findings);
      if (!findings.get().empty())
        keep(program, findings);
    }
    std::lock_guard<std::mutex> lock(mutex);
    outcome.counters.add(counters);
  }

  /// Each problem once for a site, of the first program that has it.
  Outcome finish() {
    Findings merged;
    for (const auto &[program, findings] : all)
      for (const Finding &finding : findings)
        merged.add(finding);
    outcome.findings = merged.get();
    return outcome;
  }

private:
  void keep(int64_t program, const Findings &findings) {
    failed = !launch.keepGoing;
    std::lock_guard<std::mutex> lock(mutex);
    all[program] = findings.get();
  }

  const Launch &launch;
  GlobalMemory memory;
  std::atomic<int64_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::map<int64_t, std::vector<Finding>> all;
  Outcome outcome;
};
} // namespace

Outcome polyattn::emulator::run(const Launch &launch) {
  unsigned threads = launch.hostThreads ? launch.hostThreads : std::thread::hardware_concurrency();
  threads = unsigned(std::min<int64_t>(std::max(threads, 1u), launch.programs));
  Queue queue(launch);
  // Not on the caller's thread: a new one has its own state of floating point.
  std::vector<std::thread> workers;
  workers.reserve(threads);
  for (unsigned i = 0; i < threads; ++i)
    workers.emplace_back([&] { queue.work(); });
  for (std::thread &worker : workers)
    worker.join();
  return queue.finish();
}
