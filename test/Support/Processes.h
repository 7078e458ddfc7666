//===- Processes.h - work that may crash or never end -----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_SUPPORT_PROCESSES_H
#define POLYATTN_TEST_SUPPORT_PROCESSES_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace polyattn::test {

struct ProcessLimits {
  /// Seconds of a processor's time.
  unsigned seconds = 60;
  /// Bytes of memory beyond what this process has; no limit where 0.
  size_t bytes = 0;
};

/// How a process ended: empty where its work was done, else `signal 11`, `status 1`, `out of time`.
using ProcessEnd = std::string;

/// Calls `work` for one number after the other, each in a process of its own and `jobs` at a time,
/// while `more` says so. It writes an answer of up to `bytes` bytes, zeros at first, which `done`
/// gets here together with how the process ended: what was written before a crash is there, too.
void forEachInProcess(const std::function<bool(size_t)> &more, unsigned jobs, size_t bytes,
                      const ProcessLimits &limits, const std::function<void(size_t, void *)> &work,
                      const std::function<void(size_t, const void *, const ProcessEnd &)> &done);

} // namespace polyattn::test

#endif // POLYATTN_TEST_SUPPORT_PROCESSES_H
