//===- Cluster.cpp - the CTAs of one program ------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cluster barrier begins a new phase in all CTAs at once. What another CTA may read is what was
// written in an earlier phase, and what it has read may be written, and the memory given back by
// ending, in a later one.
//
//===----------------------------------------------------------------------===//

#include "Cluster.h"
#include <algorithm>
#include <cstring>

using namespace polyattn::emulator;

Cluster::Cluster(const Launch &launch, GlobalMemory &globalMemory) : launch(launch) {
  for (int rank = 0; rank < launch.cluster; ++rank)
    blocks.push_back(std::make_unique<Block>(launch, globalMemory, *this, rank));
}

/// Runs each CTA until it waits for others or has ended; false where none could go on.
bool Cluster::advance() {
  bool progress = false;
  for (auto &block : blocks)
    progress |= block->advance();
  return progress;
}

void Cluster::run(int64_t program, Counters &counters, Findings &findings) {
  atBarrier = 0;
  for (auto &block : blocks)
    block->begin(program, counters, findings);
  auto any = [&](bool (Block::*is)() const) {
    return std::any_of(blocks.begin(), blocks.end(), [&](auto &block) { return (*block.*is)(); });
  };
  auto all = [&](bool (Block::*is)() const) {
    return std::all_of(blocks.begin(), blocks.end(), [&](auto &block) { return (*block.*is)(); });
  };
  bool stuck = false;
  while (!stuck && !any(&Block::isAbandoned) && !all(&Block::hasEnded))
    stuck = !advance() && !any(&Block::isAbandoned);
  if (stuck)
    diagnoseStuck();
  for (auto &block : blocks)
    block->finish();
}

bool Cluster::arrive() {
  if (++atBarrier < launch.cluster * launch.threads)
    return false;
  atBarrier = 0;
  for (auto &block : blocks)
    block->completeClusterBarrier();
  double slowest = 0;
  for (auto &block : blocks)
    slowest = std::max(slowest, block->getClocksOfPhase());
  for (auto &block : blocks)
    block->waitForSlowest(slowest);
  return true;
}

int64_t Block::numberInGrid() const { return program * launch.cluster + rank; }

void Block::completeClusterBarrier() {
  completeBarrier();
  shared.beginPhase(epoch);
}

void Block::waitForSlowest(double clocks) {
  counters->predictedClocks += clocks - clocksOfPhase;
  clocksOfPhase = 0;
}

/// What `read` has done to the memory of a rank.
Finding Block::findingOfRemote(const RemoteRead &read, Problem problem, uint32_t address,
                               int ofRank) const {
  Finding finding = findingAt(problem, read.thread, read.site, address, /*isGlobal=*/false);
  finding.rank = read.rank;
  finding.memoryRank = ofRank;
  return finding;
}

void Block::loadCluster(uint32_t site, uint32_t address, uint32_t ofRank, uint32_t bytes,
                        void *result) {
  std::memset(result, 0xff, bytes);
  if (ofRank >= uint32_t(launch.cluster))
    return report(Problem::BeyondCluster, running, site, ofRank, false);
  if (int(ofRank) == rank)
    return loadShared(site, address, bytes, result);
  Block &owner = cluster.at(ofRank);
  RemoteRead read = {shared.getPhase(), site, int16_t(rank), int16_t(running)};
  auto found = [&](Problem problem) {
    findings->add(findingOfRemote(read, problem, address, int(ofRank)));
  };
  if (Problem problem = owner.problemOf(address, bytes); problem != Problem::None)
    return found(problem);
  // Words of different CTAs are different words.
  countAccess(site, AccessGroups::ClusterRead, uint64_t(ofRank) << 32 | address, bytes);
  if (read.phase == 0)
    return found(Problem::RemoteBeforeBarrier);
  if (owner.hasEnded())
    return found(Problem::RemoteOfEnded);
  Conflict conflict = owner.shared.readRemotely(read, address, bytes, result);
  if (conflict.problem == Problem::None)
    return;
  Finding finding = findingOfRemote(read, conflict.problem, address, int(ofRank));
  if (conflict.other.thread != Moment::kNobody) {
    finding.otherSite = conflict.other.site;
    finding.otherThread = conflict.other.thread;
    finding.otherRank = int(ofRank);
  }
  findings->add(finding);
}

/// This CTA has ended, and might have before a read since the last cluster barrier.
void Block::checkReadersOfEnded() {
  const RemoteRead &read = shared.getLastRemoteRead();
  if (read.rank >= 0 && read.phase == shared.getPhase())
    findings->add(
        findingOfRemote(read, Problem::RemoteOfEnded, shared.getLastRemoteAddress(), rank));
}
