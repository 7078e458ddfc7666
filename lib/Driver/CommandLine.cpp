//===- CommandLine.cpp - options of polyattn-run and -compile -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "WrapWords.h"
#include "dialects/Attributes/DidYouMean.h"
#include "dialects/PolyAttn/BlockStates.h"
#include "dialects/PolyAttn/ShortForm/ReadingSession.h"
#include "llvm/Support/Format.h"

using namespace llvm;
using namespace polyattn;
using namespace polyattn::driver;

CommandLine::CommandLine(std::vector<Option> options) : options(std::move(options)) {
  this->options.push_back({"other", "help", "", "print this"});
  this->options.push_back({"other", "version", "", "print the version"});
}

/// As users write an option.
static std::string flagOf(StringRef name) { return (name.size() == 1 ? "-" : "--") + name.str(); }

ArrayRef<std::string> CommandLine::values(StringRef name) const {
  return find_if(options, [&](const Option &option) { return option.name == name; })->given;
}

std::optional<StringRef> CommandLine::value(StringRef name) const {
  ArrayRef<std::string> given = values(name);
  return given.empty() ? std::nullopt : std::optional<StringRef>(given.back());
}

Error CommandLine::takeValue(Option &option, std::optional<StringRef> value) {
  std::string flag = flagOf(option.name);
  if (option.value.empty() && value)
    return createStringError(flag + ": expected no value, got '" + *value + "'");
  if (!option.value.empty() && !value && !option.valueOptional)
    return createStringError(flag + ": expected " + option.value + ", got nothing");
  if (!option.given.empty() && !option.repeats)
    return createStringError(flag + " is given twice");
  option.given.push_back(value.value_or("").str());
  return Error::success();
}

Error CommandLine::unknownOption(StringRef given, StringRef flag) const {
  std::vector<std::string> known;
  for (const Option &option : options)
    for (StringRef name : {option.name, option.olderName})
      if (!name.empty())
        known.push_back(flagOf(name));
  return createStringError("unknown option '" + given + "', see --help" +
                           didYouMean(flag, to_vector_of<StringRef>(known)));
}

Error CommandLine::parse(ArrayRef<const char *> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    StringRef text = arguments[i];
    if (text == "-" || !text.consume_front("-")) {
      words.push_back(text.str());
      continue;
    }
    text.consume_front("-");
    auto [name, value] = text.split('=');
    auto option = find_if(options, [&, &name = name](const Option &option) {
      return !name.empty() && (option.name == name || option.olderName == name);
    });
    if (option == options.end())
      return unknownOption(arguments[i], flagOf(name));
    std::optional<StringRef> given;
    if (name.size() != text.size())
      given = value;
    else if (!option->value.empty() && !option->valueOptional && i + 1 < arguments.size())
      given = arguments[++i];
    if (Error error = takeValue(*option, given))
      return error;
  }
  return Error::success();
}

void CommandLine::printOptions(raw_ostream &stream) const {
  constexpr size_t column = 44;
  StringRef group;
  for (const Option &option : options) {
    if (option.group != group)
      stream << "\n" << option.group << ":\n";
    group = option.group;
    std::string form = flagOf(option.name);
    if (option.valueOptional)
      form += "[=" + option.value.str() + "]";
    else if (!option.value.empty())
      form += (option.name.size() == 1 ? " " : "=") + option.value.str();
    std::string help = option.help;
    if (!option.olderName.empty())
      help += "; " + flagOf(option.olderName) + " is its older name";
    stream << "  " << left_justify(form, column - 4) << "  "
           << wrapWords(help, column, std::string(column, ' ')) << "\n";
  }
}

std::vector<Option> driver::specOptions(StringRef group, StringRef entry, StringRef direction) {
  return {
      {group, "entry", "NAME", entry.str()},
      {group, "sizes", "d=64,m=1024", "sizes of the entry, in place of those that the spec says"},
      {group, "dtype", "TYPE", "element type of the tensors: f32, bf16, f16 (default: the spec's)",
       /*valueOptional=*/false, /*repeats=*/false, /*olderName=*/"storage"},
      {group, "invariant", "",
       "results whose bits depend neither on the batch nor on threads, nor on the blocks at which "
       "a prefill is split into calls"},
      {group, "direction", "NAME", direction.str()},
      {group, "wrt", "NAME,...", "the arguments that get gradients (default: all)"},
      {group, "accumulate", "",
       "add gradients of weights and of heads' decays to the arguments sum_d_NAME, in place"},
      {group, "state-every", "L",
       "save the state after each L positions, 1 to 1024, for a faster backward pass"},
      {group, "packed", "", "concatenated sequences, with their offsets cu_seqlens"},
  };
}

Error driver::unknownValue(StringRef option, StringRef value, StringRef known) {
  std::string list = known.str();
  for (size_t at; (at = list.find(" or ")) != std::string::npos;)
    list.replace(at, 4, ", ");
  return createStringError(option + ": expected " + known + ", got '" + value + "'" +
                           didYouMean(value, list));
}

static Error readGradients(const CommandLine &line, DirectionOptions &options) {
  GradientOptions &gradients = options.gradients;
  std::optional<StringRef> wrt = line.value("wrt"), every = line.value("state-every");
  gradients.accumulate = line.flag("accumulate");
  if (every && (every->getAsInteger(10, gradients.stateEvery) || gradients.stateEvery < 1 ||
                gradients.stateEvery > BlockStates::kMaxLength))
    return createStringError("--state-every: expected 1 to " + Twine(BlockStates::kMaxLength) +
                             " positions, got '" + *every + "'");
  for (auto [flag, isGiven] : {std::pair("--wrt", wrt.has_value()),
                               {"--accumulate", gradients.accumulate},
                               {"--state-every", every.has_value()}})
    if (isGiven && !isAboutGradients(options.direction))
      return createStringError(Twine(flag) + ": expected --direction training or backward with it");
  SmallVector<StringRef> names;
  if (wrt)
    wrt->split(names, ',');
  for (StringRef name : names)
    gradients.wrt.push_back(name.trim().str());
  return Error::success();
}

Expected<SpecOptions> driver::readSpecOptions(const CommandLine &line) {
  SpecOptions options;
  options.entry = line.value("entry").value_or("");
  options.dtype = line.value("dtype").value_or("");
  options.invariant = line.flag("invariant");
  options.packed = line.flag("packed");
  StringRef name = line.value("direction").value_or("forward");
  std::optional<CallDirection> direction = parseDirection(name);
  if (!direction)
    return unknownValue("--direction", name, kDirectionNames);
  options.direction.direction = *direction;
  if (Error error = readGradients(line, options.direction))
    return std::move(error);
  Expected<SpecSizes> sizes = parseSpecSizes(line.value("sizes").value_or(""));
  if (!sizes)
    return createStringError("--sizes: " + llvm::toString(sizes.takeError()));
  options.sizes = std::move(sizes->values);
  return options;
}
