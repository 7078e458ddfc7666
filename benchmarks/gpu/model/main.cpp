//===- main.cpp - polyattn-gpu-model: times of GPU kernels without a GPU --===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Failure.h"
#include "Plan.h"
#include "Report.h"
#include "Simulator.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace polyattn::gpumodel;

static constexpr const char *kUsage =
    "usage: polyattn-gpu-model --sass FILE --kernel NAME --machine FILE --launch FILE\n"
    "                          [--set NUMBER=VALUE]... [--what-if CHANGE]... [--profile FILE]\n"
    "       polyattn-gpu-model --plan FILE --machine FILE [--set NUMBER=VALUE]...\n"
    "Simulates one launch, or chooses the segments of one, and prints a JSON object.\n"
    "benchmarks/gpu/model/run calls it.\n";

static std::string readFile(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file)
    throw Failure(path + ": " + std::strerror(errno));
  return text.str();
}

namespace {
struct Arguments {
  std::string plan, sass, kernel, machine, launch, profile;
  std::vector<std::string> settings;
  WhatIf whatIf;
};
} // namespace

static Arguments readArguments(const std::vector<std::string> &words) {
  Arguments arguments;
  const std::pair<const char *, std::string *> texts[] = {
      {"--plan", &arguments.plan},     {"--sass", &arguments.sass},
      {"--kernel", &arguments.kernel}, {"--machine", &arguments.machine},
      {"--launch", &arguments.launch}, {"--profile", &arguments.profile}};
  for (size_t k = 0; k < words.size(); k += 2) {
    if (k + 1 == words.size())
      throw Failure(words[k] + " has no value");
    const std::string &option = words[k], &value = words[k + 1];
    if (option == "--set") {
      arguments.settings.push_back(value);
    } else if (option == "--what-if") {
      addWhatIf(arguments.whatIf, value);
    } else {
      const auto *found = std::find_if(std::begin(texts), std::end(texts),
                                       [&](const auto &text) { return option == text.first; });
      if (found == std::end(texts))
        throw Failure("unknown option " + option);
      *found->second = value;
    }
  }
  for (const auto &[option, text] : texts)
    if (text->empty() && text != &arguments.profile && text != &arguments.plan &&
        (arguments.plan.empty() || text == &arguments.machine))
      throw Failure(std::string(option) + " is missing");
  return arguments;
}

static void answer(const Arguments &arguments) {
  Machine machine = readMachine(readFile(arguments.machine), arguments.settings);
  if (!arguments.plan.empty()) {
    writeChoices(std::cout, readFile(arguments.plan), machine);
    return;
  }
  Program program = readDisassembly(readFile(arguments.sass), arguments.kernel);
  arguments.whatIf.apply(program);
  Launch launch = readLaunch(readFile(arguments.launch));
  Simulator simulator(machine, arguments.whatIf, program, launch);
  const Statistics &statistics = simulator.run();
  writeReport(std::cout, machine, launch, simulator.getPlacement(), statistics);
  if (arguments.profile.empty())
    return;
  std::ofstream profile(arguments.profile);
  writeProfile(profile, program, statistics);
  if (!profile.flush())
    throw Failure(arguments.profile + ": " + std::strerror(errno));
}

int main(int argc, char **argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 1 && (words[0] == "--help" || words[0] == "-h")) {
    std::cout << kUsage;
    return 0;
  }
  try {
    answer(readArguments(words));
  } catch (const Failure &failure) {
    std::cerr << "polyattn-gpu-model: error: " << failure.what() << '\n';
    return 1;
  }
  return 0;
}
