//===- Report.cpp - what a simulation found -------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"
#include <algorithm>
#include <iomanip>
#include <numeric>

using namespace polyattn::gpumodel;

static constexpr const char *kCauseNames[] = {"issue",
                                              "fixed stall",
                                              "shared memory",
                                              "L1 hit",
                                              "L2",
                                              "device memory",
                                              "functions",
                                              "shuffle",
                                              "constant",
                                              "remote shared",
                                              "cp.async",
                                              "CTA barrier",
                                              "cluster barrier",
                                              "tensor pipe",
                                              "load/store queue",
                                              "ALU pipe",
                                              "FMA pipe",
                                              "other pipes",
                                              "not selected",
                                              "instruction fetch",
                                              "operands read",
                                              "CTA start",
                                              "other"};
static_assert(std::size(kCauseNames) == kCauses);

const char *polyattn::gpumodel::nameOf(Cause cause) { return kCauseNames[static_cast<int>(cause)]; }

void polyattn::gpumodel::writeReport(std::ostream &out, const Machine &machine,
                                     const Launch &launch, const Placement &placement,
                                     const Statistics &statistics) {
  // Fractions of what all multiprocessors of the cluster could do.
  double clocks = statistics.clocks * launch.cluster;
  double milliseconds =
      statistics.clocks / machine.clockRate() * 1e3 + machine.launchMicroseconds * 1e-3;
  out << std::setprecision(9) << "{\"milliseconds\": " << milliseconds
      << ", \"clocks\": " << statistics.clocks
      << ", \"ctas\": " << uint64_t(launch.programs) * launch.cluster
      << ", \"cluster\": " << launch.cluster << ", \"warps\": " << launch.warps
      << ", \"registers\": " << launch.registers << ", \"shared\": " << launch.shared
      << ", \"resident\": " << placement.resident
      << ", \"programs_of_multiprocessor\": " << placement.programs.size()
      << ", \"multiprocessors\": " << placement.active
      << ", \"instructions\": " << statistics.instructions
      << ", \"instructions_per_clock\": " << statistics.instructions / clocks
      << ", \"mma\": " << statistics.mma
      << ", \"tensor_busy\": " << statistics.mma * machine.mmaInterval / 4 / clocks
      << ", \"shared_wavefronts\": " << statistics.sharedWavefronts
      << ", \"shared_accesses\": " << statistics.sharedAccesses
      << ", \"shared_busy\": " << statistics.sharedWavefronts / clocks
      << ", \"l1_hit_sectors\": " << statistics.l1Hits
      << ", \"bytes_from_l2\": " << statistics.bytesFromL2
      << ", \"bytes_from_memory\": " << statistics.bytesFromMemory
      << ", \"bytes_stored\": " << statistics.bytesStored
      << ", \"bytes_to_memory\": " << statistics.bytesToMemory
      << ", \"loads\": " << statistics.loads << ", \"stores\": " << statistics.stores
      << ", \"copies\": " << statistics.copies
      << ", \"local_accesses\": " << statistics.localAccesses
      << ", \"instruction_misses\": " << statistics.instructionMisses << ", \"waits\": {";
  for (int cause = 0; cause < kCauses; ++cause)
    out << (cause ? ", " : "") << '"' << kCauseNames[cause] << "\": " << statistics.waits[cause];
  out << "}, \"reported\": {";
  const char *separator = "";
  for (const auto &[offset, value] : statistics.reported) {
    out << separator << '"' << offset << "\": " << value;
    separator = ", ";
  }
  out << "}}\n";
}

void polyattn::gpumodel::writeProfile(std::ostream &out, const Program &program,
                                      const Statistics &statistics) {
  for (size_t k = 0; k < program.instructions.size(); ++k) {
    const InstructionCounts &counts = statistics.ofInstruction[k];
    double waited = std::accumulate(counts.waits.begin(), counts.waits.end(), 0.0);
    auto most = std::max_element(counts.waits.begin(), counts.waits.end()) - counts.waits.begin();
    out << std::hex << std::setfill('0') << std::setw(5) << program.instructions[k].address
        << std::dec << '\t' << counts.executions << '\t' << static_cast<uint64_t>(waited) << '\t'
        << (waited > 0 ? kCauseNames[most] : "") << '\t' << program.instructions[k].text << '\n';
  }
}
