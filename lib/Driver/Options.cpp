//===- Options.cpp - the command line of polyattn-run ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "WrapWords.h"
#include "dialects/Attributes/DidYouMean.h"
#include "dialects/PolyAttn/ShortForm/ReadingSession.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <thread>

using namespace llvm;
using namespace polyattn;
using namespace polyattn::driver;

static Expected<std::vector<NamedFile>> parseFiles(StringRef option,
                                                   const std::vector<std::string> &texts) {
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

namespace {

/// One option and what its values go to.
struct Option {
  StringRef group, name, value, help; // `value` is empty for a flag
  bool valueOptional = false;
  std::vector<std::string> given = {};
};

constexpr StringLiteral kWhat = "what to run", kData = "arguments and results",
                        kResult = "what to do with it", kOther = "other";

/// The command line. LLVM's own cl::opt is not used: its options are global to the process, and
/// the shared LLVM library has taken names such as `threads` already.
struct CommandLine {
  std::vector<std::string> positional;
  std::vector<Option> options = {
      {kWhat, "entry", "NAME", "the attention to run; needed where a spec has several"},
      {kWhat, "target", "NAME", "what runs it (default cpu), see below"},
      {kWhat, "sizes", "d=64,m=1024", "sizes of the entry, in place of those that the spec says"},
      {kWhat, "dtype", "TYPE",
       "element type of the tensors: f32, bf16, f16 (default: the spec's); --storage is its older "
       "name"},
      {kWhat, "invariant", "", "results whose bits depend neither on the batch nor on threads"},
      {kWhat, "direction", "NAME",
       "forward (default); training: results and saved tensors; backward: gradients; decode: "
       "states in pools are updated; states, gradient_states: the sums of a segment"},
      {kWhat, "wrt", "NAME,...", "the arguments that get gradients (default: all)"},
      {kWhat, "accumulate", "", "add weight gradients to the arguments sum_d_NAME"},
      {kWhat, "state-every", "L",
       "save the state after each L positions, for a faster backward pass"},
      {kWhat, "packed", "", "concatenated sequences, with their offsets cu_seqlens"},
      {kWhat, "threads", "N", "threads (default: as many as the machine runs at once)"},
      {kWhat, "segments", "N",
       "split a head's positions into N segments, on GPUs (default: by sizes)"},
      {kData, "input", "NAME=FILE.npy", "an argument from a file; bf16 is the type '<V2'"},
      {kData, "random", "B=1,T=128,H=8[,Tk=..][,Hkv=..]", "random numbers for all other arguments"},
      {kData, "seed", "N", "seed of --random (default 0)"},
      {kData, "output", "NAME=FILE.npy", "a result to a file"},
      {kData, "save-inputs", "DIR", "write every argument to DIR/NAME.npy"},
      {kData, "padded", "", "lay out all tensors with gaps between rows, for tests"},
      {kResult, "check", "differences",
       "compare with the reference, and fail beyond the tolerance; with =differences, compare "
       "gradients with finite differences",
       /*valueOptional=*/true},
      {kResult, "tolerance", "NUMBER",
       "relative error that --check allows (default 1e-5, 1e-2 with bf16, f16; of gradients 5e-5, "
       "2e-2)"},
      {kResult, "bench", "SECONDS", "measure for so long (default 2)", /*valueOptional=*/true},
      {kResult, "profile", "FILE",
       "write the tile kernel with what each line costs (emulator targets)"},
      {kResult, "json", "", "print one JSON object"},
      {kOther, "describe", "", "only print the entries with their arguments and results"},
      {kOther, "help", "", "print this"},
      {kOther, "version", "", "print the version"},
  };

  Option &option(StringRef name) {
    return *find_if(options, [&](const Option &o) { return o.name == name; });
  }
  bool flag(StringRef name) { return !option(name).given.empty(); }
  std::optional<StringRef> value(StringRef name) {
    Option &found = option(name);
    return found.given.empty() ? std::nullopt : std::optional<StringRef>(found.given.back());
  }
  Error parse(ArrayRef<const char *> arguments);
  std::string listNames() const {
    return llvm::join(llvm::map_range(options, [](const Option &o) { return o.name; }), ", ");
  }
};

Error CommandLine::parse(ArrayRef<const char *> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    StringRef text = arguments[i];
    if (text == "-" || !text.consume_front("-")) {
      positional.push_back(text.str());
      continue;
    }
    text.consume_front("-");
    auto [name, value] = text.split('=');
    bool hasValue = name.size() != text.size();
    if (name == "storage")
      name = "dtype";
    auto found = find_if(options, [&, &name = name](const Option &o) { return o.name == name; });
    if (found == options.end())
      return createStringError("unknown option '" + Twine(arguments[i]) + "', see --help" +
                               didYouMean(name, listNames()));
    if (found->value.empty() && hasValue)
      return createStringError("--" + name + ": expected no value, got '" + value + "'");
    if (!found->value.empty() && !hasValue && !found->valueOptional) {
      if (++i == arguments.size())
        return createStringError("--" + name + ": expected " + found->value + ", got nothing");
      value = arguments[i];
    }
    bool repeats = name == "input" || name == "output";
    if (!found->given.empty() && !repeats)
      return createStringError("--" + name + " is given twice");
    found->given.push_back(value.str());
  }
  return Error::success();
}

} // namespace

void driver::printHelp(const TargetRegistry &targets, raw_ostream &stream) {
  stream << "Runs an attention of a spec.\n\nusage: polyattn-run SPEC.mlir [options]   (- reads "
            "the spec from stdin)\n\n  polyattn-run specs/llops.mlir --entry llops --sizes "
            "d=64,m=1024 --random B=2,T=200,H=4 --check\n";
  StringRef group;
  for (const Option &option : CommandLine().options) {
    if (option.group != group)
      stream << "\n" << option.group << ":\n";
    group = option.group;
    std::string form = "--" + option.name.str();
    if (option.valueOptional)
      form += "[=" + option.value.str() + "]";
    else if (!option.value.empty())
      form += "=" + option.value.str();
    std::string indent(44, ' ');
    stream << "  " << left_justify(form, indent.size() - 4) << "  "
           << wrapWords(option.help, indent.size(), indent) << "\n";
  }
  stream << "\ntargets:\n" << targets.list();
}

static Error readDirection(CommandLine &line, RunOptions &options) {
  StringRef name = line.value("direction").value_or("forward");
  std::optional<CallDirection> direction = parseDirection(name);
  if (!direction)
    return createStringError("--direction: expected " + kDirectionNames + ", got '" + name + "'");
  options.direction = *direction;
  std::optional<StringRef> wrt = line.value("wrt");
  options.gradients.accumulate = line.flag("accumulate");
  if (std::optional<StringRef> every = line.value("state-every")) {
    if (every->getAsInteger(10, options.gradients.stateEvery) || options.gradients.stateEvery < 1 ||
        options.gradients.stateEvery > BlockStates::kMaxLength)
      return createStringError("--state-every: expected 1 to " + Twine(BlockStates::kMaxLength) +
                               " positions, got '" + *every + "'");
  }
  for (auto [flag, isGiven] : {std::pair("--wrt", wrt.has_value()),
                               {"--accumulate", options.gradients.accumulate},
                               {"--state-every", options.gradients.stateEvery != 0}})
    if (isGiven && !isAboutGradients(options.direction))
      return createStringError(Twine(flag) + ": expected --direction training or backward with it");
  SmallVector<StringRef> names;
  if (wrt)
    wrt->split(names, ',');
  for (StringRef name : names)
    options.gradients.wrt.push_back(name.trim().str());
  return Error::success();
}

static Error parseCheck(CommandLine &line, RunOptions &options) {
  std::optional<StringRef> check = line.value("check");
  if (!check)
    return Error::success();
  options.check = CheckAgainst::Oracle;
  if (check->empty())
    return Error::success();
  if (*check != "differences")
    return createStringError("--check: expected nothing or differences, got '" + *check + "'");
  if (options.direction != CallDirection::Backward)
    return createStringError("--check=differences: expected --direction backward with it");
  options.check = CheckAgainst::Differences;
  return Error::success();
}

static Error readSizes(CommandLine &line, RunOptions &options) {
  auto sizes = parseSpecSizes(line.value("sizes").value_or(""));
  if (!sizes)
    return createStringError("--sizes: " + llvm::toString(sizes.takeError()));
  options.sizes = std::move(sizes->values);
  return Error::success();
}

Expected<RunOptions> driver::parseOptions(ArrayRef<const char *> arguments) {
  CommandLine line;
  if (Error error = line.parse(arguments))
    return std::move(error);
  RunOptions options;
  options.help = line.flag("help");
  options.version = line.flag("version");
  if (options.help || options.version)
    return options;
  if (line.positional.size() != 1)
    return createStringError("expected one SPEC.mlir, got " + Twine(line.positional.size()));
  options.spec = line.positional.front();
  if (Error error = readDirection(line, options))
    return std::move(error);
  if (Error error = parseCheck(line, options))
    return std::move(error);
  options.entry = line.value("entry").value_or("");
  options.target = line.value("target").value_or("cpu");
  options.storage = line.value("dtype").value_or("");
  if (Error error = readSizes(line, options))
    return std::move(error);
  options.profile = line.value("profile").value_or("");
  options.saveInputs = line.value("save-inputs").value_or("");
  options.json = line.flag("json");
  options.describe = line.flag("describe");
  options.padded = line.flag("padded");
  options.invariant = line.flag("invariant");
  options.packed = line.flag("packed");
  auto inputs = parseFiles("input", line.option("input").given);
  if (!inputs)
    return inputs.takeError();
  options.inputs = std::move(*inputs);
  auto outputs = parseFiles("output", line.option("output").given);
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
