//===- Report.cpp - what a launch did -------------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Emulator/EmulatedKernel.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include <map>

using namespace polyattn;
using llvm::StringRef;

void EmulatorReport::print(llvm::raw_ostream &stream) const {
  auto show = [&](StringRef name, double number) {
    stream << "    " << llvm::left_justify(name, 38) << llvm::format("%.1f\n", number);
  };
  auto line = [&](StringRef name, double number) {
    show(name, number / std::max<int64_t>(programs, 1));
  };
  stream << "  emulated " << programs << " programs ";
  if (cluster > 1)
    stream << "of " << cluster << " CTAs ";
  stream << "without a finding; for each:\n";
  line("mma bf16", counters.mma[0]);
  line("mma f16", counters.mma[1]);
  line("mma tf32", counters.mma[2]);
  line("shared-memory wavefronts", counters.sharedWavefronts);
  line("  without bank conflicts", counters.idealSharedWavefronts);
  if (cluster > 1)
    line("bytes read from other CTAs", counters.clusterBytesRead);
  line("global bytes read", counters.globalBytesRead);
  line("  sectors of 32 bytes", counters.globalSectorsRead);
  line("global bytes written", counters.globalBytesWritten);
  line("  sectors of 32 bytes", counters.globalSectorsWritten);
  line("barriers", counters.barriers);
  show("clocks of tensor cores", perProgram(counters.tensorClocks));
  show("clocks of shared memory", perProgram(counters.sharedClocks));
  show("clocks, the larger in each interval", perProgram(counters.predictedClocks));
}

/// The line of "file:line:column", 0 in another file.
static unsigned lineIn(StringRef place, StringRef fileName) {
  unsigned line = 0;
  if (!place.consume_front(fileName) || !place.consume_front(":") || place.consumeInteger(10, line))
    return 0;
  return line;
}

void EmulatorReport::printProfile(StringRef text, StringRef fileName,
                                  llvm::raw_ostream &stream) const {
  std::map<unsigned, emulator::SiteCounters> lines;
  for (auto [costs, site] : llvm::zip_first(counters.sites, sites))
    lines[lineIn(site.place, fileName)].add(costs);
  auto number = [&](uint64_t count) {
    if (count)
      stream << llvm::format("%11.1f", double(count) / double(std::max<int64_t>(programs, 1)));
    else
      stream.indent(11);
  };
  auto row = [&](unsigned line, StringRef content) {
    emulator::SiteCounters costs = lines[line];
    number(costs.mma);
    number(costs.sharedWavefronts);
    number(costs.globalSectors);
    stream << "  " << content << "\n";
  };
  stream << "        mma wavefronts    sectors\n";
  unsigned position = 0;
  for (StringRef line : llvm::split(text.rtrim(), '\n'))
    row(++position, line);
  row(0, "(elsewhere)");
}
