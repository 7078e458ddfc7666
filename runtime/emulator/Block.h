//===- Block.h - one CTA: its threads, and where they meet ------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_RUNTIME_EMULATOR_BLOCK_H
#define POLYATTN_RUNTIME_EMULATOR_BLOCK_H

#include "AccessGroups.h"
#include "Emulator.h"
#include "Fiber.h"
#include "SharedMemory.h"
#include <deque>

namespace polyattn::emulator {

/// An op at which threads wait for each other, and what one of them brings to it.
struct Meeting {
  enum Op { Barrier, ClusterBarrier, Sync, Ldmatrix, MmaSync, Shuffle, Any };
  Op op;
  uint32_t site;
  /// Ldmatrix: the number of matrices; MmaSync: the kind of operands; Shuffle: the mode.
  uint32_t variant = 0;
  /// Ldmatrix: whether transposed; Shuffle: the lane.
  uint32_t detail = 0;
  /// Ldmatrix: the address; Shuffle: the value, and then the result; Any: 0 or 1, and the same.
  uint32_t value = 0;
  /// MmaSync.
  const uint32_t *operands = nullptr;
  float *accumulators = nullptr;
  /// Ldmatrix.
  uint32_t *registers = nullptr;

  bool isBarrier() const { return op == Barrier || op == ClusterBarrier; }
};

/// `size` bytes on their way to shared memory, 16 or 4.
struct PendingCopy {
  uint32_t site, address, size;
  uint8_t bytes[16];
};

struct Thread {
  enum State { Ready, Waiting, Done };
  Fiber fiber;
  State state = Ready;
  /// Where it waits; on its own stack.
  Meeting *meeting = nullptr;
  std::vector<PendingCopy> openCopies;
  std::deque<std::vector<PendingCopy>> copyGroups;
  /// Accesses since it last met others.
  uint64_t accesses = 0;
};

class Cluster;

/// Runs one CTA at a time: that of a rank of a cluster, which says when.
class Block {
public:
  Block(const Launch &launch, GlobalMemory &globalMemory, Cluster &cluster, int rank);

  /// Begins the CTA of a program; its costs are added to the counters.
  void begin(int64_t program, Counters &counters, Findings &findings);
  /// Runs every thread until none can go on; false where none could.
  bool advance();
  bool hasEnded() const { return done == launch.threads; }
  /// Whether something that cannot be continued was found.
  bool isAbandoned() const { return abandoned; }
  /// Counts what is not counted yet.
  void finish() { endInterval(); }

  /// The block whose thread calls.
  static Block &current();
  int getThread() const { return running; }
  int64_t getProgram() const { return program; }
  int getRank() const { return rank; }

  // What the running thread does (Calls.h).
  void meet(Meeting &meeting);
  void loadShared(uint32_t site, uint32_t address, uint32_t bytes, void *result);
  void loadCluster(uint32_t site, uint32_t address, uint32_t ofRank, uint32_t bytes, void *result);
  void storeShared(uint32_t site, uint32_t address, uint32_t bytes, const void *value);
  void loadGlobal(uint32_t site, uint64_t address, uint32_t bytes, bool readOnly, void *result);
  void storeGlobal(uint32_t site, uint64_t address, uint32_t bytes, const void *value);
  void copyAsync(uint32_t site, uint64_t source, uint32_t address, uint32_t bytes, uint32_t size);
  void commitCopies();
  void waitCopies(uint32_t pending);
  uint32_t checkIndex(uint32_t site, uint32_t index, uint32_t count);

  // What the cluster does (Cluster.cpp).
  void completeClusterBarrier();
  /// The clocks since the last cluster barrier; and those of the CTA that took most.
  double getClocksOfPhase() const { return clocksOfPhase; }
  void waitForSlowest(double clocks);

  // Why it cannot continue (Stuck.cpp).
  /// Reports each warp whose threads wait at different ops; false where there is none.
  bool diagnoseDivergence();
  /// A thread that waits, and one that has ended, or -1.
  int findWaiting() const;
  int findEnded() const;
  void reportMeeting(Problem problem, int thread, const Block &other, int otherThread);

private:
  struct Warp {
    int waiting = 0;
    uint32_t epoch = 0;
    AccessGroups accesses;
  };

  // Block.cpp
  static void enterThread(void *block);
  bool runWarp(int warp);
  void waitForOthers();
  void completeBarrier();
  void completeMeeting(int warp);
  void endInterval();
  Moment now(int thread, uint32_t site) const;

  // Collectives.cpp
  void execute(int warp);
  void executeLdmatrix(int warp);
  void executeMmaSync(int warp);
  void executeShuffle(int warp);
  void executeAny(int warp);
  Meeting &meetingOf(int warp, int lane) { return *threads[warp * kWarpSize + lane].meeting; }

  // Accesses.cpp
  /// What is wrong with an address of shared memory, of this CTA or another one.
  Problem problemOf(uint32_t address, uint32_t bytes) const;
  bool checkShared(int thread, uint32_t site, uint32_t address, uint32_t bytes);
  GlobalMemory::Range *checkGlobal(uint32_t site, uint64_t address, uint32_t bytes);
  void checkGlobalRead(uint32_t site, uint64_t address, uint32_t bytes,
                       const GlobalMemory::Range &range, bool readOnly);
  /// Copies that the running thread, which ends, has not waited for.
  void checkCopiesOfEnded();
  void countAccess(uint32_t site, AccessGroups::Kind kind, uint64_t address, uint32_t bytes);
  Finding findingAt(Problem problem, int thread, uint32_t site, uint64_t address,
                    bool isGlobal) const;
  void report(Problem problem, int thread, uint32_t site, uint64_t address, bool isGlobal);
  void report(const Conflict &conflict, int thread, uint32_t site, uint64_t address, bool isGlobal);

  // Cluster.cpp
  int64_t numberInGrid() const;
  /// The rank, where a program has several.
  int rankToReport(int ofRank) const { return launch.cluster > 1 ? ofRank : -1; }
  Finding findingOfRemote(const RemoteRead &read, Problem problem, uint32_t address,
                          int ofRank) const;
  void checkReadersOfEnded();

  // Stuck.cpp
  bool diagnoseWarp(int warp);
  void abandon(Problem problem, uint32_t site);

  const Launch &launch;
  GlobalMemory &globalMemory;
  Cluster &cluster;
  const int rank;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  SharedMemory shared;
  ShadowPages globalShadow;

  int64_t program = 0;
  int running = 0;
  uint32_t epoch = 0;
  int atBarrier = 0, done = 0;
  bool abandoned = false;
  Interval interval;
  double clocksOfPhase = 0;
  Counters *counters = nullptr;
  Findings *findings = nullptr;
};

} // namespace polyattn::emulator

#endif // POLYATTN_RUNTIME_EMULATOR_BLOCK_H
