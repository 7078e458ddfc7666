//===- Processes.h - work that may crash or never end -----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_MUTATION_PROCESSES_H
#define POLYATTN_TEST_MUTATION_PROCESSES_H

#include <cstddef>
#include <functional>

namespace polyattn::mutation {

/// Calls `work` for 0 to count - 1, each in a process of its own and `jobs` at a time. It writes
/// `bytes` bytes of an answer, at most 4096, which `done` gets here; null where the process crashed
/// or took more than a minute of a processor's time.
void forEachInProcess(size_t count, unsigned jobs, size_t bytes,
                      const std::function<void(size_t, void *)> &work,
                      const std::function<void(size_t, const void *)> &done);

} // namespace polyattn::mutation

#endif // POLYATTN_TEST_MUTATION_PROCESSES_H
