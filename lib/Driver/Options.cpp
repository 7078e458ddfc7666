//===- Options.cpp - the command line of polyattn-run ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "CommandLine.h"
#include "llvm/ADT/StringExtras.h"
#include <thread>

using namespace llvm;
using namespace polyattn;
using namespace polyattn::driver;

static Expected<std::vector<NamedFile>> parseFiles(StringRef option, ArrayRef<std::string> texts) {
  std::vector<NamedFile> files;
  for (StringRef text : texts) {
    auto [name, path] = text.split('=');
    if (name.empty() || path.empty())
      return createStringError("--" + option + ": expected NAME=FILE.npy, got '" + text + "'");
    if (llvm::any_of(files, [&, &name = name](const NamedFile &f) { return f.name == name; }))
      return createStringError("--" + option + ": '" + name + "' is given twice");
    files.push_back({name.str(), path.str()});
  }
  return files;
}

static Expected<std::vector<RandomSize>> parseRandom(StringRef text) {
  std::vector<RandomSize> sizes;
  SmallVector<StringRef> items;
  text.split(items, ',');
  for (StringRef item : items) {
    auto [name, number] = item.trim().split('=');
    std::optional<SizeName> symbol = parseSizeName(name);
    if (!symbol)
      return createStringError("--random: expected sizes of B, T, Tk, H, Hkv or L as in B=1,T=128,"
                               "H=8, got '" +
                               item + "'");
    int64_t size;
    if (number.getAsInteger(10, size) || size < 0)
      return createStringError("--random: expected a number of at least 0 for " + name + ", got '" +
                               number + "'");
    if (llvm::any_of(sizes, [&](const RandomSize &other) { return other.symbol == *symbol; }))
      return createStringError("--random: " + name + " is given twice");
    sizes.push_back({*symbol, size});
  }
  return sizes;
}

/// A day: a measurement that never ends is a typing error.
static constexpr int kMostBenchSeconds = 24 * 60 * 60;

static Expected<double> parsePositive(StringRef option, StringRef text) {
  double number;
  if (text.getAsDouble(number) || !(number > 0) || !std::isfinite(number))
    return createStringError("--" + option + ": expected a number above 0, got '" + text + "'");
  return number;
}

static CommandLine commandLine() {
  constexpr StringLiteral what = "what to run", data = "arguments and results",
                          result = "what to do with it";
  std::vector<Option> options =
      specOptions(what, "the attention to run; needed where a spec has several",
                  "forward (default); training: results and saved tensors; backward: gradients; "
                  "decode: states in pools are updated; states, gradient_states: the sums of a "
                  "segment");
  std::vector<Option> more = {
      {what, "target", "NAME", "what runs it (default cpu), see below"},
      {what, "threads", "N", "threads (default: as many as the machine runs at once)"},
      {what, "segments", "N",
       "split a head's positions into N segments, on GPUs (default: by sizes)"},
      {data, "input", "NAME=FILE.npy", "an argument from a file; bf16 is the type '<V2'",
       /*valueOptional=*/false, /*repeats=*/true},
      {data, "random", "B=1,T=128,H=8[,Tk=..][,Hkv=..]", "random numbers for all other arguments"},
      {data, "seed", "N", "seed of --random (default 0)"},
      {data, "output", "NAME=FILE.npy", "a result to a file", /*valueOptional=*/false,
       /*repeats=*/true},
      {data, "save-inputs", "DIR", "write every argument to DIR/NAME.npy"},
      {data, "padded", "", "lay out all tensors with gaps between rows, for tests"},
      {result, "check", "differences",
       "compare with the reference, and fail beyond the tolerance; with =differences, compare "
       "gradients with finite differences",
       /*valueOptional=*/true},
      {result, "tolerance", "NUMBER",
       "relative error that --check allows (default 1e-5, 1e-2 with bf16, f16; of gradients 5e-5, "
       "2e-2)"},
      {result, "bench", "SECONDS", "measure for so long (default 2)", /*valueOptional=*/true},
      {result, "profile", "FILE",
       "write the tile kernel with what each line costs (emulator targets)"},
      {result, "json", "", "print one JSON object"},
      {result, "describe", "", "only print the entries with their arguments and results"},
  };
  options.insert(options.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
  return CommandLine(std::move(options));
}

void driver::printHelp(const TargetRegistry &targets, raw_ostream &stream) {
  stream << "Runs an attention of a spec.\n\nusage: polyattn-run SPEC.mlir [options]   (- reads "
            "the spec from stdin)\n\n  polyattn-run specs/llops.mlir --entry llops --sizes "
            "d=64,m=1024 --random B=2,T=200,H=4 --check\n";
  commandLine().printOptions(stream);
  stream << "\ntargets:\n" << targets.list();
}

static Error parseCheck(const CommandLine &line, RunOptions &options) {
  std::optional<StringRef> check = line.value("check");
  if (!check)
    return Error::success();
  options.check = CheckAgainst::Oracle;
  if (check->empty())
    return Error::success();
  if (*check != "differences")
    return unknownValue("--check", *check, "nothing or differences");
  if (options.direction != CallDirection::Backward)
    return createStringError("--check=differences: expected --direction backward with it");
  options.check = CheckAgainst::Differences;
  return Error::success();
}

Expected<RunOptions> driver::parseOptions(ArrayRef<const char *> arguments) {
  CommandLine line = commandLine();
  if (Error error = line.parse(arguments))
    return std::move(error);
  RunOptions options;
  options.help = line.flag("help");
  options.version = line.flag("version");
  if (options.help || options.version)
    return options;
  if (line.positional().size() != 1)
    return createStringError("expected one SPEC.mlir, got " + Twine(line.positional().size()));
  options.spec = line.positional().front();
  Expected<SpecOptions> what = readSpecOptions(line);
  if (!what)
    return what.takeError();
  options.direction = what->direction.direction;
  options.gradients = what->direction.gradients;
  options.entry = std::move(what->entry);
  options.dtype = std::move(what->dtype);
  options.sizes = std::move(what->sizes);
  options.invariant = what->invariant;
  options.packed = what->packed;
  if (Error error = parseCheck(line, options))
    return std::move(error);
  options.target = line.value("target").value_or("cpu");
  options.profile = line.value("profile").value_or("");
  options.saveInputs = line.value("save-inputs").value_or("");
  options.json = line.flag("json");
  options.describe = line.flag("describe");
  options.padded = line.flag("padded");
  auto inputs = parseFiles("input", line.values("input"));
  if (!inputs)
    return inputs.takeError();
  options.inputs = std::move(*inputs);
  auto outputs = parseFiles("output", line.values("output"));
  if (!outputs)
    return outputs.takeError();
  options.outputs = std::move(*outputs);
  if (std::optional<StringRef> random = line.value("random")) {
    auto sizes = parseRandom(*random);
    if (!sizes)
      return sizes.takeError();
    options.random = std::move(*sizes);
  }
  if (std::optional<StringRef> seed = line.value("seed"))
    if (seed->getAsInteger(10, options.seed))
      return createStringError("--seed: expected a number of at least 0, got '" + *seed + "'");
  options.threads = std::max(1u, std::thread::hardware_concurrency());
  if (std::optional<StringRef> threads = line.value("threads"))
    if (threads->getAsInteger(10, options.threads) || options.threads < 1 || options.threads > 4096)
      return createStringError("--threads: expected a number from 1 to 4096, got '" + *threads +
                               "'");
  if (std::optional<StringRef> segments = line.value("segments"))
    if (segments->getAsInteger(10, options.segments) || options.segments < 1 ||
        options.segments > 4096)
      return createStringError("--segments: expected a number from 1 to 4096, got '" + *segments +
                               "'");
  if (std::optional<StringRef> tolerance = line.value("tolerance")) {
    auto number = parsePositive("tolerance", *tolerance);
    if (!number)
      return number.takeError();
    options.tolerance = *number;
  }
  if (std::optional<StringRef> bench = line.value("bench")) {
    auto number = bench->empty() ? Expected<double>(2.0) : parsePositive("bench", *bench);
    if (!number)
      return number.takeError();
    if (*number > kMostBenchSeconds)
      return createStringError("--bench: expected at most " + Twine(kMostBenchSeconds) +
                               " seconds, got '" + *bench + "'");
    options.bench = *number;
  }
  return options;
}
