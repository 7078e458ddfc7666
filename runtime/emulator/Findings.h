//===- Findings.h - what a checked run has found ----------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_RUNTIME_EMULATOR_FINDINGS_H
#define POLYATTN_RUNTIME_EMULATOR_FINDINGS_H

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace polyattn::emulator {

enum class Problem {
  None,
  WriteWriteRace,
  ReadAfterWriteRace,
  WriteAfterReadRace,
  /// Reads what nothing in this CTA has written.
  Uninitialised,
  /// Accesses what a copy is on its way to.
  CopyInFlight,
  /// A thread ends with copies on their way, which it has not waited for.
  CopyNotWaitedFor,
  OutOfBounds,
  Misaligned,
  /// An index beyond its table; the finding's address is the index.
  BeyondTable,
  /// Threads of a warp do not execute the same collective.
  DivergentCollective,
  /// Threads of a warp do not execute the same barrier.
  DivergentBarrier,
  Deadlock,
  WriteToInput,
  /// A read-only load of what this CTA has written.
  ReadOnlyOfWritten,
  /// Two CTAs write the same bytes.
  TwoProgramsWrite,
  /// Reads another CTA's memory before a cluster barrier: that CTA may not have begun.
  RemoteBeforeBarrier,
  /// Reads another CTA's memory, and no cluster barrier keeps that CTA from ending before.
  RemoteOfEnded,
  /// Reads memory of a rank that the cluster does not have; the finding's address is the rank.
  BeyondCluster,
};

/// One problem at one op of the kernel. Negative fields are unknown.
struct Finding {
  Problem problem = Problem::None;
  /// The op, as the lowering numbered it.
  int64_t site = -1;
  int64_t program = -1;
  /// Where programs are clusters: the CTA in it.
  int rank = -1;
  int thread = -1;
  /// A byte of shared memory or, with `isGlobal`, an address. Of no meaning where the problem is
  /// not one of memory.
  uint64_t address = 0;
  bool isGlobal = false;
  /// The CTA of the cluster whose shared memory it is, if another one's.
  int memoryRank = -1;
  /// The access, or the thread, that this one is in conflict with.
  int64_t otherSite = -1;
  int otherRank = -1;
  int otherThread = -1;
  int64_t otherProgram = -1;
};

/// The problems of one CTA, each once for a site.
class Findings {
public:
  void add(const Finding &finding) {
    if (known.insert({finding.problem, finding.site}).second)
      list.push_back(finding);
  }
  const std::vector<Finding> &get() const { return list; }

private:
  std::set<std::pair<Problem, int64_t>> known;
  std::vector<Finding> list;
};

} // namespace polyattn::emulator

#endif // POLYATTN_RUNTIME_EMULATOR_FINDINGS_H
