//===- Shadow.h - who accessed a range of memory, and when ------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Order is that of the warp dialect: an access is before another if they are of one thread, if a
// barrier of the CTA lies between, or, for threads of one warp, a sync of that warp. A barrier of
// the cluster is one of each of its CTAs, too, and the only order between them. A cell remembers
// its last write, and the reads since then that are not yet before each other.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_RUNTIME_EMULATOR_SHADOW_H
#define POLYATTN_RUNTIME_EMULATOR_SHADOW_H

#include "Findings.h"
#include <memory>
#include <unordered_map>

namespace polyattn::emulator {

/// The smallest access has 2 bytes.
constexpr uint32_t kCellBytes = 2;

/// An access: who, where, and after how many barriers and syncs.
struct Moment {
  static constexpr int16_t kNobody = -1, kSeveral = -2;
  static constexpr int8_t kSeveralWarps = -1;

  /// A thread's number, or one of the above; and the warp that all threads are in.
  int16_t thread = kNobody;
  int8_t warp = kSeveralWarps;
  /// A copy that has begun and not ended.
  bool inFlight = false;
  uint32_t site = 0;
  /// Barriers of the CTA, and syncs of the warp.
  uint32_t epoch = 0, warpEpoch = 0;

  bool isBefore(const Moment &now) const {
    if (thread == now.thread || thread == kNobody || epoch != now.epoch)
      return true;
    return warpEpoch != now.warpEpoch && warp == now.warp;
  }
};

/// The first thing that an access is in conflict with.
struct Conflict {
  Problem problem = Problem::None;
  Moment other;
  /// The CTA of the cluster that did it; -1 for the one whose memory it is.
  int otherRank = -1;

  void note(Problem newProblem, const Moment &newOther, int newOtherRank = -1) {
    if (problem == Problem::None)
      *this = {newProblem, newOther, newOtherRank};
  }
};

class ShadowCell {
public:
  bool isWritten() const { return writer.thread != Moment::kNobody; }

  void write(const Moment &now, Conflict &conflict) {
    if (writer.inFlight)
      conflict.note(Problem::CopyInFlight, writer);
    else if (!writer.isBefore(now))
      conflict.note(Problem::WriteWriteRace, writer);
    else if (!readers.isBefore(now))
      conflict.note(Problem::WriteAfterReadRace, readers);
    writer = now;
    readers = Moment();
  }

  /// Memory that `isInitialised` has something to read before it is written.
  void read(const Moment &now, Conflict &conflict, bool isInitialised = false) {
    if (writer.inFlight)
      return conflict.note(Problem::CopyInFlight, writer);
    if (!isWritten() && !isInitialised)
      return conflict.note(Problem::Uninitialised, Moment());
    if (!writer.isBefore(now))
      return conflict.note(Problem::ReadAfterWriteRace, writer);
    addReader(now);
  }

  /// A read by another CTA, which sees what was written before that many barriers.
  void readRemotely(uint32_t barriers, Conflict &conflict) const {
    if (writer.inFlight)
      conflict.note(Problem::CopyInFlight, writer);
    else if (!isWritten())
      conflict.note(Problem::Uninitialised, Moment());
    else if (writer.epoch >= barriers)
      conflict.note(Problem::ReadAfterWriteRace, writer);
  }

  /// A copy is a write that begins now and ends, as its thread's write, when that has waited.
  void beginCopy(const Moment &now, Conflict &conflict) {
    write(now, conflict);
    writer.inFlight = true;
  }
  void endCopy(const Moment &now) {
    writer = now;
    readers = Moment();
  }

private:
  void addReader(const Moment &now) {
    // Whoever is ordered after this read is ordered after what was before it.
    if (readers.isBefore(now)) {
      readers = now;
      return;
    }
    readers.thread = Moment::kSeveral;
    if (readers.warp != now.warp)
      readers.warp = Moment::kSeveralWarps;
  }

  Moment writer, readers;
};

/// Cells for the parts of a large memory that one CTA uses.
class ShadowPages {
public:
  void clear() {
    pages.clear();
    lastPage = nullptr;
  }
  /// The cells from an address to the end of its page; an aligned access is in one page.
  ShadowCell *at(uint64_t address) {
    uint64_t number = address / kPageBytes;
    if (!lastPage || number != lastNumber) {
      std::unique_ptr<Page> &page = pages[number];
      if (!page)
        page = std::make_unique<Page>();
      lastPage = page.get();
      lastNumber = number;
    }
    return &lastPage->cells[address % kPageBytes / kCellBytes];
  }

private:
  static constexpr uint64_t kPageBytes = 4096;
  struct Page {
    ShadowCell cells[kPageBytes / kCellBytes];
  };
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages;
  uint64_t lastNumber = 0;
  Page *lastPage = nullptr;
};

} // namespace polyattn::emulator

#endif // POLYATTN_RUNTIME_EMULATOR_SHADOW_H
