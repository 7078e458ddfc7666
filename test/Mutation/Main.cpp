//===- Main.cpp - does the emulator notice? -------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Changes one op of a generated kernel at a time and runs it on the emulator, which has to find
// something, or its results have to be wrong.
//
//===----------------------------------------------------------------------===//

#include "Report.h"
#include "llvm/Support/CommandLine.h"
#include <numeric>
#include <random>
#include <thread>

using namespace polyattn;
using namespace polyattn::mutation;
namespace cl = llvm::cl;

static llvm::Expected<std::vector<InputShape>> parseInputs(llvm::StringRef text) {
  std::vector<InputShape> shapes;
  llvm::SmallVector<llvm::StringRef> items;
  text.split(items, ';');
  for (llvm::StringRef item : items) {
    InputShape shape;
    shape.text = item.trim().str();
    std::string sizes;
    llvm::SmallVector<llvm::StringRef> parts;
    item.split(parts, ',');
    for (llvm::StringRef part : parts) {
      if (part == "odd")
        shape.odd = true;
      else if (!(part.consume_front("weights=") && !part.getAsDouble(shape.weights)) &&
               !(part.consume_front("activations=") && !part.getAsDouble(shape.activations)))
        sizes += (sizes.empty() ? "" : ",") + part.str();
    }
    auto parsed = driver::parseOptions({"spec", "--random", sizes.c_str()});
    if (!parsed)
      return parsed.takeError();
    shape.sizes = *parsed->random;
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

/// All numbers below `count`, or a random part of them, ascending.
static std::vector<int> sample(size_t count, size_t limit, uint64_t seed) {
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  if (!limit || limit >= count)
    return numbers;
  std::mt19937_64 random(seed);
  for (size_t i = 0; i < limit; ++i)
    std::swap(numbers[i], numbers[i + random() % (count - i)]);
  numbers.resize(limit);
  llvm::sort(numbers);
  return numbers;
}

static llvm::Error writeJson(llvm::StringRef path, const Report &report) {
  std::error_code code;
  llvm::raw_fd_ostream file(path, code);
  if (code)
    return llvm::createStringError(path + ": " + code.message());
  file << llvm::formatv("{0:2}\n", report.toJson());
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  cl::OptionCategory category("polyattn-mutants");
  cl::opt<std::string> spec("spec", cl::desc("The spec"), cl::Required, cl::cat(category));
  cl::opt<std::string> entry("entry", cl::desc("Its entry"), cl::cat(category));
  cl::opt<std::string> stage("stage",
                             cl::desc("Which of its kernels: what the name has behind the entry's, "
                                      "as `convolution0`; the main one by default"),
                             cl::cat(category));
  cl::opt<std::string> dtype("dtype", cl::desc("What its sequences are stored in"),
                             cl::cat(category));
  cl::opt<std::string> target("target",
                              cl::desc("The chip, sm_80 by default: from sm_90 on kernels "
                                       "can have clusters"),
                              cl::init(Options().chip), cl::cat(category));
  cl::opt<std::string> inputs(
      "inputs",
      cl::desc("Sizes of the inputs; odd: rows begin at odd addresses; weights=F, "
               "activations=F: queries and keys times F"),
      cl::init("B=1,T=100,H=1;B=1,T=65,H=2,odd;B=1,T=200,H=1"), cl::cat(category));
  cl::opt<int64_t> stateFrom("state-from",
                             cl::desc("Where the schedule has both forms: the first length that "
                                      "has a state"),
                             cl::init(-1), cl::cat(category));
  cl::opt<double> tolerance("tolerance", cl::desc("As of polyattn-run --check, and its default"),
                            cl::cat(category));
  cl::opt<unsigned> limit("limit", cl::desc("A random part of this many mutants"),
                          cl::cat(category));
  cl::opt<unsigned> seed("seed", cl::desc("Which part"), cl::cat(category));
  cl::opt<unsigned> jobs("jobs", cl::desc("Mutants at a time; one for each processor by default"),
                         cl::init(std::max(1u, std::thread::hardware_concurrency())),
                         cl::cat(category));
  cl::opt<double> atLeast("at-least", cl::desc("Fail where a smaller share is caught"),
                          cl::init(0.95), cl::cat(category));
  cl::opt<std::string> json("json", cl::desc("A file for all verdicts"), cl::cat(category));
  cl::opt<std::string> kernel("kernel", cl::desc("A file for the kernel, whose lines are named"),
                              cl::cat(category));
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Does the emulator notice one changed op?\n");

  auto fail = [](llvm::Error error) {
    llvm::errs() << "polyattn-mutants: error: " << llvm::toString(std::move(error)) << "\n";
    return 1;
  };
  Options options;
  options.spec = spec;
  options.entry = entry;
  options.stage = stage;
  options.storage = dtype;
  options.chip = target;
  options.kernelFile = kernel;
  if (tolerance.getNumOccurrences())
    options.tolerance = tolerance;
  if (stateFrom >= 0)
    options.stateFrom = stateFrom;
  if (llvm::Error error = parseInputs(inputs).moveInto(options.inputs))
    return fail(std::move(error));
  auto experiment = Experiment::prepare(options);
  if (!experiment)
    return fail(experiment.takeError());
  std::vector<int> numbers = sample((*experiment)->getMutants().size(), limit, seed);
  std::vector<Verdict> verdicts = (*experiment)->judge(numbers, jobs);
  Report report{(*experiment)->getName(), (*experiment)->getTolerance(),
                (*experiment)->getMutants(), numbers, verdicts};
  report.print(llvm::outs());
  if (!json.empty())
    if (llvm::Error error = writeJson(json, report))
      return fail(std::move(error));
  if (report.count().share() >= atLeast)
    return 0;
  return fail(llvm::createStringError("too few mutants were caught"));
}
