//===- Barriers.cpp - barriers of CTAs and clusters -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Simulator.h"
#include <algorithm>

using namespace polyattn::gpumodel;

void Simulator::release(Warp &warp, Clock at, Cause cause) {
  statistics.wait(warp.waitsAt, cause, at - warp.since);
  warp.ready = {at, Cause::Stall};
  warp.since = at;
  subCoreOf(warp).changed = true;
}

void Simulator::arriveAtCTA(Warp &warp, Clock at) {
  warp.awaitsCTA = true;
  CTA &cta = warp.cta;
  if (++cta.atBarrier == cta.running)
    releaseCTA(cta, at);
}

void Simulator::releaseCTA(CTA &cta, Clock at) {
  cta.atBarrier = 0;
  for (const auto &warp : cta.warps)
    if (warp->awaitsCTA) {
      warp->awaitsCTA = false;
      release(*warp, at + machine.barrierLatency, Cause::CTABarrier);
    }
}

void Simulator::awaitCluster(Warp &warp) {
  if (++warp.clusterWaits > warp.cta.clusterPhases)
    warp.awaitsCluster = true;
  else
    warp.ready.at = std::max(warp.ready.at, warp.clusterReleased);
}

/// Ends a phase of the cluster's barrier when all warps have arrived.
void Simulator::checkCluster(CTA &cta, Clock at) {
  for (const CTA *other : cta.cluster)
    for (const auto &warp : other->warps)
      if (!warp->hasEnded && warp->clusterArrivals <= cta.clusterPhases)
        return;
  int phases = cta.clusterPhases + 1;
  Clock released = at + machine.clusterBarrierLatency;
  for (CTA *other : cta.cluster) {
    other->clusterPhases = phases;
    for (const auto &warp : other->warps) {
      warp->clusterReleased = released;
      if (warp->awaitsCluster && warp->clusterWaits <= phases) {
        warp->awaitsCluster = false;
        release(*warp, released, Cause::ClusterBarrier);
      }
    }
  }
}

/// Others do not wait for a warp that has ended.
void Simulator::finish(Warp &warp, Clock at) {
  warp.hasEnded = true;
  CTA &cta = warp.cta;
  --cta.running;
  if (cta.running && cta.atBarrier == cta.running)
    releaseCTA(cta, at);
  if (cta.cluster.size() > 1)
    checkCluster(cta, at);
}
