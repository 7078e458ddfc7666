//===- Team.h - threads of another library in the process -------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_PYTHON_SRC_TEAM_H
#define POLYATTN_PYTHON_SRC_TEAM_H

#include <optional>
#include <polyattn-c/polyattn.h>
#include <string>
#include <sys/types.h>

namespace polyattn::python {

/// The OpenMP threads of a library that the process has loaded, PyTorch's for instance. After an
/// operation of that library they spin for milliseconds, in the way of any others; calls that they
/// compute begin at once.
class Team {
public:
  /// That of the library in the file `path`; none where it is not loaded, or its OpenMP runtime
  /// lacks `GOMP_parallel`, which those of GCC, LLVM and Intel have.
  static std::optional<Team> ofLibrary(const std::string &path);

  /// Lets a call's programs run on these threads. A child process, to which OpenMP's threads do not
  /// come along, keeps its own.
  void useFor(polyattn_call_options &options) const;

private:
  /// void GOMP_parallel(void (*region)(void *), void *data, unsigned threads, unsigned flags)
  using Parallel = void (*)(void (*)(void *), void *, unsigned, unsigned);
  Team(Parallel parallel, pid_t process) : parallel(parallel), process(process) {}

  Parallel parallel;
  pid_t process;
};

} // namespace polyattn::python

#endif // POLYATTN_PYTHON_SRC_TEAM_H
