//===- FakeDriver.h - a CUDA driver without a GPU ---------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library with the functions of the driver API that the runtime uses. It keeps "device memory" on
// the host, writes down what is called, refuses what a driver refuses, and fails where it is told.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_UNIT_CUDA_FAKEDRIVER_H
#define POLYATTN_TEST_UNIT_CUDA_FAKEDRIVER_H

#include "runtime/cuda/driver.h"
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace polyattn::test {

struct FakeLaunch {
  std::string function;
  unsigned grid[3], block[3], sharedBytes;
  void *stream;
  /// As many as the PTX of the kernel has.
  std::vector<uint64_t> parameters;
};

struct FakeDriver {
  static FakeDriver &get();
  void reset() { *this = FakeDriver(); }

  // What a test decides.
  int major = 8, minor = 0, multiprocessors = 108, sharedBytes = 163 * 1024, residentCTAs = 1;
  /// This function fails the `failingCall`-th time, with kFailure. What gives something back does
  /// so before: a real one fails for the sake of an earlier kernel, too.
  std::string failing;
  int failingCall = 0;
  std::function<void(const FakeLaunch &)> onLaunch;

  // What is seen.
  std::vector<std::string> calls;
  std::vector<FakeLaunch> launches;
  /// The contexts of the thread, the current one last, and the numbers of what is alive.
  std::vector<polyattn_cu_context> contexts;
  int retained = 0, modules = 0, events = 0;
  std::map<uint64_t, size_t> memory;
  /// The dynamic shared memory that the function launched last may use.
  int dynamicSharedBytes = 0;

  static constexpr int kFailure = 999;

  /// Notes a call; the result that the test wants of it.
  int enter(const char *function);
};

/// A context as a framework would have made it.
polyattn_cu_context frameworkContext();

} // namespace polyattn::test

#endif // POLYATTN_TEST_UNIT_CUDA_FAKEDRIVER_H
