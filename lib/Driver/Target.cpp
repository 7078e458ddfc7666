//===- Target.cpp - the registry of targets -------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Driver/Target.h"
#include "dialects/Attributes/DidYouMean.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>

using namespace llvm;
using namespace polyattn;

char ReportedError::ID = 0;

Expected<double> Executable::time(const Call &call, int64_t count) {
  auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < count; ++i)
    if (Error error = run(call))
      return std::move(error);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
         double(count);
}

void TargetRegistry::add(StringRef name, StringRef description, Factory factory) {
  entries.push_back({name.str(), description.str(), std::move(factory)});
}

Expected<std::unique_ptr<Target>> TargetRegistry::create(StringRef name) const {
  for (const Entry &entry : entries)
    if (entry.name == name)
      return entry.factory();
  std::string known;
  for (const Entry &entry : entries)
    known += (known.empty() ? "" : ", ") + entry.name;
  return createStringError("unknown target '" + name + "': expected one of " + known +
                           didYouMean(name, known));
}

std::string TargetRegistry::list() const {
  std::string text;
  for (const Entry &entry : entries)
    text += formatv("  {0,-20} {1}\n", entry.name, entry.description);
  return text;
}

void polyattn::registerTargets(TargetRegistry &registry) {
  registerReferenceTargets(registry);
  registerTileTarget(registry);
  registerCPUTargets(registry);
  registerEmulatorTargets(registry);
  registerCUDATarget(registry);
}
