//===- Messages.cpp - findings in words -----------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Messages.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace polyattn;
using emulator::Finding;
using emulator::Problem;

static llvm::StringRef nameOf(Problem problem) {
  switch (problem) {
  case Problem::None:
    return "nothing";
  case Problem::WriteWriteRace:
    return "race: a write after a write";
  case Problem::ReadAfterWriteRace:
    return "race: a read after a write";
  case Problem::WriteAfterReadRace:
    return "race: a write after a read";
  case Problem::Uninitialised:
    return "a read of what this program has not written";
  case Problem::CopyInFlight:
    return "an access to what a copy is on its way to";
  case Problem::CopyNotWaitedFor:
    return "a copy that its thread has not waited for when it ends";
  case Problem::OutOfBounds:
    return "out of bounds";
  case Problem::Misaligned:
    return "misaligned";
  case Problem::BeyondTable:
    return "an index beyond its table";
  case Problem::DivergentCollective:
    return "threads of a warp do not meet at one collective";
  case Problem::DivergentBarrier:
    return "threads of a warp do not meet at one barrier";
  case Problem::Deadlock:
    return "deadlock";
  case Problem::WriteToInput:
    return "a write to an input";
  case Problem::ReadOnlyOfWritten:
    return "a read_only load of what this program has written";
  case Problem::TwoProgramsWrite:
    return "two programs write the same place";
  case Problem::RemoteBeforeBarrier:
    return "a read of another CTA before a cluster barrier, when it may not have begun";
  case Problem::RemoteOfEnded:
    return "a read of another CTA that may have ended, without a cluster barrier after it";
  case Problem::BeyondCluster:
    return "a CTA that the cluster does not have";
  }
  llvm_unreachable("a problem without a name");
}

static bool isOfMemory(Problem problem) {
  return problem != Problem::DivergentCollective && problem != Problem::DivergentBarrier &&
         problem != Problem::Deadlock;
}

/// Names the CTA where a program has several.
static void printRank(llvm::raw_ostream &stream, int rank) {
  if (rank >= 0)
    stream << " of CTA " << rank;
}

/// A byte of shared memory, or of the tensor that begins before an address.
static void printPlace(llvm::raw_ostream &stream, const Finding &finding,
                       llvm::ArrayRef<NamedRange> ranges) {
  if (finding.problem == Problem::BeyondTable) {
    stream << "index " << static_cast<int32_t>(finding.address);
    return;
  }
  if (finding.problem == Problem::BeyondCluster) {
    stream << "rank " << static_cast<int32_t>(finding.address);
    return;
  }
  if (!finding.isGlobal) {
    // Negative offsets are how addresses go wrong.
    stream << "byte " << static_cast<int32_t>(finding.address) << " of shared memory";
    printRank(stream, finding.memoryRank);
    return;
  }
  const NamedRange *nearest = nullptr;
  for (const NamedRange &range : ranges)
    if (range.address <= finding.address && (!nearest || range.address > nearest->address))
      nearest = &range;
  if (!nearest) {
    stream << "address " << llvm::format_hex(finding.address, 0) << ", before all tensors";
    return;
  }
  uint64_t offset = finding.address - nearest->address;
  stream << "byte " << offset << " of " << nearest->name;
  if (offset >= nearest->bytes)
    stream << ", which has " << nearest->bytes;
}

static void printThread(llvm::raw_ostream &stream, int thread) {
  // A shadow's summary of several threads.
  if (thread < 0)
    stream << "several threads";
  else
    stream << "thread " << thread;
}

static void printOther(llvm::raw_ostream &stream, const Finding &finding,
                       llvm::ArrayRef<EmulatedSite> sites) {
  if (finding.otherProgram >= 0) {
    stream << "; the other is program " << finding.otherProgram;
    if (finding.otherRank >= 0)
      stream << ", CTA " << finding.otherRank;
  }
  if (finding.otherSite >= 0) {
    const EmulatedSite &site = sites[finding.otherSite];
    stream << (isOfMemory(finding.problem) ? "; before: " : "; elsewhere: ");
    printThread(stream, finding.otherThread);
    printRank(stream, finding.otherRank);
    stream << " at " << site.place << " (" << site.op << ")";
  } else if (finding.otherThread >= 0) {
    stream << "; ";
    printThread(stream, finding.otherThread);
    printRank(stream, finding.otherRank);
    stream << " has ended";
  }
}

std::string polyattn::describeFinding(const Finding &finding, llvm::ArrayRef<EmulatedSite> sites,
                                      llvm::ArrayRef<NamedRange> ranges) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  const EmulatedSite &site = sites[finding.site];
  stream << site.place << ": " << site.op << ": " << ::nameOf(finding.problem) << ": ";
  printThread(stream, finding.thread);
  printRank(stream, finding.rank);
  stream << " of program " << finding.program;
  if (isOfMemory(finding.problem)) {
    stream << ", ";
    printPlace(stream, finding, ranges);
  }
  printOther(stream, finding, sites);
  return text;
}
