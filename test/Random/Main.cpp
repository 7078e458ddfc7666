//===- Main.cpp - random programs on all targets --------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes programs of the language at random and runs them on all targets, which must agree with the
// oracle; programs with a mistake must be refused with words. docs/Testing.md says more.
//
//===----------------------------------------------------------------------===//

#include "Session.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdlib>

using namespace polyattn;
using namespace polyattn::random;
namespace cl = llvm::cl;

static std::vector<std::vector<std::string>> parseTargets(llvm::StringRef text) {
  std::vector<std::vector<std::string>> groups;
  llvm::SmallVector<llvm::StringRef> parts, names;
  text.split(parts, ';', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts) {
    names.clear();
    part.split(names, ',', -1, /*KeepEmpty=*/false);
    if (!names.empty())
      groups.emplace_back(names.begin(), names.end());
  }
  return groups;
}

int main(int argc, char **argv) {
  cl::OptionCategory category("polyattn-random");
  SessionOptions options;
  cl::opt<double> seconds("seconds", cl::desc("No case is begun later than this"), cl::init(60),
                          cl::cat(category));
  cl::opt<uint64_t> seed("seed", cl::desc("Which cases"), cl::init(0), cl::cat(category));
  cl::opt<size_t> first("first", cl::desc("The first case's number"), cl::init(0),
                        cl::cat(category));
  cl::opt<size_t> count("count", cl::desc("How many cases at most"), cl::init(options.count),
                        cl::cat(category));
  cl::opt<unsigned> jobs("jobs", cl::desc("Cases at a time"), cl::init(1), cl::cat(category));
  cl::opt<int> tile("tile", cl::desc("Percent of cases that are tile programs"),
                    cl::init(options.tilePercent), cl::cat(category));
  cl::opt<int> convolutions("convolutions",
                            cl::desc("Percent of specs with convolutions in place of attends"),
                            cl::init(options.weights.convolutions), cl::cat(category));
  cl::opt<int> decode("decode", cl::desc("Percent of specs that are decoded, if they can be"),
                      cl::init(options.weights.decode), cl::cat(category));
  cl::opt<int> gradients("gradients", cl::desc("Percent of specs whose gradients are computed"),
                         cl::init(options.weights.gradients), cl::cat(category));
  cl::opt<int> segments("segments",
                        cl::desc("Percent of specs whose states are computed, if they can be"),
                        cl::init(options.weights.segments), cl::cat(category));
  cl::opt<int> tries("tries", cl::desc("Smaller cases that are tried for a failing one"),
                     cl::init(options.tries), cl::cat(category));
  cl::opt<int> keep("keep", cl::desc("Failures of a kind that are kept"), cl::init(options.keep),
                    cl::cat(category));
  cl::opt<std::string> folder("folder", cl::desc("Where failing cases are written"),
                              cl::init(options.folder), cl::cat(category));
  cl::opt<std::string> targets(
      "targets", cl::desc("Of each group between semicolons a spec takes one"),
      cl::init("tile;cpu,x86-64-v3,x86-64;emulator-sm_80,emulator-sm_90"), cl::cat(category));
  cl::opt<std::string> replay("replay", cl::desc("A case that was kept"), cl::cat(category));
  cl::opt<bool> print("print", cl::desc("Print the first case and do not run it"),
                      cl::cat(category));
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Do all targets agree with the oracle?\n");
  setenv("POLYATTN_CACHE_DIR", "", 1); // nothing comes from a cache, nor goes there

  options.seconds = seconds;
  options.seed = seed;
  options.first = first;
  options.count = count;
  options.jobs = jobs;
  options.tilePercent = tile;
  options.weights.convolutions = convolutions;
  options.weights.decode = decode;
  options.weights.gradients = gradients;
  options.weights.segments = segments;
  options.tries = tries;
  options.keep = keep;
  options.folder = folder;
  options.targets = parseTargets(targets);
  Session session(options, llvm::outs());
  if (print) {
    Choices choices(options.seed * 0x9e3779b97f4a7c15 + first);
    llvm::outs() << session.makeCase(first, choices).format();
    return 0;
  }
  if (replay.empty())
    return session.run() != 0;
  auto fail = [](llvm::StringRef message) {
    llvm::errs() << "polyattn-random: error: " << message << "\n";
    return 1;
  };
  auto buffer = llvm::MemoryBuffer::getFile(replay);
  if (!buffer)
    return fail("'" + replay + "': " + buffer.getError().message());
  auto trial = Case::parse((*buffer)->getBuffer());
  if (!trial)
    return fail("'" + replay + "': " + llvm::toString(trial.takeError()));
  return session.replay(*trial) != 0;
}
