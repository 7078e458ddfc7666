//===- Listing.h - machine code written by hand -----------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef POLYATTN_TEST_UNIT_GPUMODEL_LISTING_H
#define POLYATTN_TEST_UNIT_GPUMODEL_LISTING_H

#include "benchmarks/gpu/model/Simulator.h"
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace polyattn::gpumodel::testing {

/// An instruction and its control word.
struct Line {
  int stall;
  std::string text;
  /// Scoreboards that it sets when its result is written or its operands are read, and waits for.
  int writes = 7, reads = 7;
  std::vector<int> waits = {};
  /// Of the encoding's lower half, where packed halves have their constant.
  uint32_t upperWord = 0;
};

/// The text that nvdisasm -c -hex would print.
inline std::string listing(const std::vector<Line> &lines) {
  std::string text = "\t.section\t.text.kernel,\"ax\",@progbits\n.text.kernel:\n";
  uint32_t address = 0;
  for (const Line &line : lines) {
    if (line.text.back() == ':') {
      text += line.text + "\n";
      continue;
    }
    if (line.stall > 15)
      throw std::logic_error("a control word has four bits for the stall count");
    uint64_t control = line.stall | line.writes << 5 | line.reads << 8;
    for (int scoreboard : line.waits)
      control |= uint64_t(1) << (11 + scoreboard);
    char buffer[256];
    std::snprintf(buffer, sizeof(buffer),
                  "        /*%04x*/                   %s ;   /* 0x%08x00000000 */\n"
                  "                                            /* 0x%016llx */\n",
                  address, line.text.c_str(), line.upperWord,
                  static_cast<unsigned long long>(control) << 41);
    text += buffer;
    address += 16;
  }
  return text;
}

/// A machine whose numbers are easy to add: pipes take an instruction each clock, code is always
/// there, and CTAs start at clock 0. Tests set the numbers that they are about.
inline Machine simpleMachine() {
  Machine machine;
  machine.clockGhz = 1;
  machine.multiprocessors = 4;
  machine.clustersOfTwo = 2;
  machine.registers = 65536;
  machine.registerUnit = 8;
  machine.sharedBytes = 233472;
  machine.sharedReservedBytes = 1024;
  machine.maxWarps = 64;
  machine.maxCtas = 32;
  machine.aluInterval = machine.fmaInterval = machine.fmaHeavyInterval = machine.halfInterval = 1;
  machine.functionsInterval = machine.uniformInterval = machine.doubleInterval = 1;
  machine.mmaInterval = 1;
  machine.lsuInterval = 1;
  machine.lsuQueue = 1000;
  machine.shuffleWaves = machine.remoteWaves = machine.l1LineWaves = 1;
  machine.remoteBytesPerClock = 1024;
  machine.l1Bytes = 262144;
  machine.l2Bytes = 50e6;
  machine.l2BytesPerClock = 1e6;
  machine.smBytesPerClock = machine.smStoreBytesPerClock = 1e6;
  machine.memoryTerabytesPerSecond = 1e6;
  machine.l0InstructionBytes = machine.l1InstructionBytes = 65536;
  return machine;
}

/// One CTA of so many warps.
inline Launch launchOf(uint32_t warps, uint32_t shared = 0) {
  return readLaunch("warps " + std::to_string(warps) + "\nshared " + std::to_string(shared) +
                    "\nprograms 1\nresident 1\n");
}

/// Simulates a kernel.
inline Statistics simulate(const std::vector<Line> &lines, const Machine &machine,
                           const Launch &launch, const WhatIf &whatIf = {}) {
  Program program = readDisassembly(listing(lines), "kernel");
  whatIf.apply(program);
  return Simulator(machine, whatIf, program, launch).run();
}

/// The clock at which the last instruction issues.
inline Clock clocks(const std::vector<Line> &lines, const Machine &machine, const Launch &launch,
                    const WhatIf &whatIf = {}) {
  return simulate(lines, machine, launch, whatIf).clocks;
}

/// What a Failure says, or that there is none.
template <typename Function> std::string failureOf(Function function) {
  try {
    function();
  } catch (const std::runtime_error &failure) {
    return failure.what();
  }
  return "no failure";
}

} // namespace polyattn::gpumodel::testing

#endif // POLYATTN_TEST_UNIT_GPUMODEL_LISTING_H
