//===- CommandLine.h - options of polyattn-run and -compile -----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_DRIVER_COMMANDLINE_H
#define POLYATTN_LIB_DRIVER_COMMANDLINE_H

#include "polyattn/Compiler/Compile.h"

namespace polyattn::driver {

/// One option, its line of the help, and the values that a command line gives it.
struct Option {
  llvm::StringRef group, name;
  llvm::StringRef value; // empty for a flag
  std::string help;
  bool valueOptional = false, repeats = false;
  llvm::StringRef olderName = {};
  std::vector<std::string> given = {};
};

/// A command line. LLVM's own cl::opt is not used: its options are global to the process, and the
/// shared LLVM library has taken names such as `threads` already.
class CommandLine {
public:
  /// Options of one group follow each other. --help and --version are added.
  explicit CommandLine(std::vector<Option> options);

  /// Reads `--name=value`, `--name value`, with one dash too, and positional arguments. An unknown
  /// option, a missing value and an option that is given twice are errors of one line.
  llvm::Error parse(llvm::ArrayRef<const char *> arguments);

  bool flag(llvm::StringRef name) const { return !values(name).empty(); }
  /// The value; none where the option is not given, empty where it is given without a value.
  std::optional<llvm::StringRef> value(llvm::StringRef name) const;
  llvm::ArrayRef<std::string> values(llvm::StringRef name) const;
  llvm::ArrayRef<std::string> positional() const { return words; }

  /// The options by groups, in lines of at most 100 columns.
  void printOptions(llvm::raw_ostream &stream) const;

private:
  llvm::Error unknownOption(llvm::StringRef given, llvm::StringRef flag) const;
  llvm::Error takeValue(Option &option, std::optional<llvm::StringRef> value);

  std::vector<Option> options;
  std::vector<std::string> words;
};

/// The options that say what is compiled of a spec, in `group`; `entry` and `direction` are the
/// help of those two.
std::vector<Option> specOptions(llvm::StringRef group, llvm::StringRef entry,
                                llvm::StringRef direction);
/// Reads them.
llvm::Expected<SpecOptions> readSpecOptions(const CommandLine &line);

/// The error of an option's value that is none of `known`, which is a list such as "f32, bf16 or
/// f16".
llvm::Error unknownValue(llvm::StringRef option, llvm::StringRef value, llvm::StringRef known);

} // namespace polyattn::driver

#endif // POLYATTN_LIB_DRIVER_COMMANDLINE_H
