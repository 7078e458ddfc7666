//===- Options.h - the command line of polyattn-run -------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_DRIVER_OPTIONS_H
#define POLYATTN_LIB_DRIVER_OPTIONS_H

#include "polyattn/Driver/Target.h"

namespace polyattn::driver {

/// `NAME=FILE.npy`
struct NamedFile {
  std::string name, path;
};

/// `B=1` of --random.
struct RandomSize {
  SizeName symbol;
  int64_t size;
};

/// What results are held against.
enum class CheckAgainst { Nothing, Oracle, Differences };

struct RunOptions {
  std::string spec, entry, target, dtype;
  CallDirection direction = CallDirection::Forward;
  GradientOptions gradients;
  CheckAgainst check = CheckAgainst::Nothing;
  std::vector<NamedFile> inputs, outputs;
  std::optional<std::vector<RandomSize>> random;
  uint64_t seed = 0;
  int threads = 1;
  bool help = false, version = false, describe = false, json = false, padded = false,
       invariant = false, packed = false;
  std::optional<double> tolerance;
  /// Sizes of the entry in place of those of the spec's text.
  std::map<std::string, int64_t> sizes;
  /// 0 for the target's own choice.
  int64_t segments = 0;
  /// Seconds to measure for; none without --bench.
  std::optional<double> bench;
  std::string saveInputs, profile;
};

/// Parses the command line without the program's name.
llvm::Expected<RunOptions> parseOptions(llvm::ArrayRef<const char *> arguments);

void printHelp(const TargetRegistry &targets, llvm::raw_ostream &stream);

} // namespace polyattn::driver

#endif // POLYATTN_LIB_DRIVER_OPTIONS_H
