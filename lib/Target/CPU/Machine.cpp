//===- Machine.cpp - the processors that have a name ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MultiplyLoops.h"
#include "dialects/Attributes/DidYouMean.h"
#include "polyattn/Target/CPU.h"
#include "runtime/runtime.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <unistd.h>

using namespace polyattn;

#define POLYATTN_X86_64_V2 "cx16,popcnt,sahf,sse3,sse4.1,sse4.2,ssse3"
#define POLYATTN_X86_64_V3 POLYATTN_X86_64_V2 ",avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe,xsave"
#define POLYATTN_X86_64_V4 POLYATTN_X86_64_V3 ",avx512bw,avx512cd,avx512dq,avx512f,avx512vl"

namespace {
struct NamedMachine {
  llvm::StringLiteral name, description, triple, cpu, features;
  /// What a processor may lack of it: for a level of x86-64 what that has, as the psABI lists it.
  llvm::StringLiteral needed;
  int64_t vectorWidth, vectorRegisters, l1Bytes, l2Bytes;
};

struct NamedInstruction {
  Instructions instruction;
  llvm::StringLiteral name;
  /// LLVM's features that imply the instruction, on x86-64 and elsewhere.
  llvm::StringLiteral feature, elsewhere = "";
};
} // namespace

// The machines of an architecture are in ascending order: the host is treated like the last one
// whose features it has. `prefer-256-bit` is what LLVM assumes for some AVX-512 processors; our
// vectors are as wide as the registers and must stay whole. Cache sizes are those of common
// machines.
static constexpr NamedMachine kMachines[] = {
    {"x86-64", "any x86-64 processor", "x86_64-unknown-linux-gnu", "x86-64", "", "", 4, 16,
     32 << 10, 256 << 10},
    {"x86-64-v3", "processors with AVX2", "x86_64-unknown-linux-gnu", "x86-64-v3", "",
     POLYATTN_X86_64_V3, 8, 16, 32 << 10, 256 << 10},
    {"x86-64-v4", "processors with AVX-512", "x86_64-unknown-linux-gnu", "x86-64-v4",
     "-prefer-256-bit", POLYATTN_X86_64_V4, 16, 32, 32 << 10, 1 << 20},
    {"x86-64-v4-bf16", "processors with AVX-512 and bf16 at twice the rate",
     "x86_64-unknown-linux-gnu", "x86-64-v4", "-prefer-256-bit,+avx512bf16",
     POLYATTN_X86_64_V4 ",avx512bf16", 16, 32, 32 << 10, 1 << 20},
    {"aarch64", "any AArch64 processor", "aarch64-unknown-linux-gnu", "generic", "+neon", "", 4, 32,
     64 << 10, 512 << 10},
};

static constexpr NamedInstruction kInstructions[] = {
    {Instructions::Fma, "fma", "fma", "neon"},
    {Instructions::Round, "round", "sse4.1", "neon"},
    {Instructions::AVX512, "avx512", "avx512f"},
    {Instructions::AVX512BF16, "avx512bf16", "avx512bf16"},
    {Instructions::AMX, "amx", "amx-tile"},
    {Instructions::AMXBF16, "amxbf16", "amx-bf16"},
};

Instructions polyattn::instructionsOf(llvm::StringRef features) {
  Instructions result = Instructions::None;
  for (llvm::StringRef feature : llvm::split(features, ',')) {
    feature.consume_front("+");
    for (const NamedInstruction &named : kInstructions)
      if (!feature.empty() && (named.feature == feature || named.elsewhere == feature))
        result = result | named.instruction;
  }
  return result;
}

std::string polyattn::toText(Instructions instructions) {
  llvm::SmallVector<llvm::StringRef> names;
  for (const NamedInstruction &named : kInstructions)
    if ((instructions & named.instruction) != Instructions::None)
      names.push_back(named.name);
  return names.empty() ? "none" : llvm::join(names, ",");
}

llvm::Expected<Instructions> polyattn::parseInstructions(llvm::StringRef text) {
  Instructions result = Instructions::None;
  if (text == "none")
    return result;
  for (llvm::StringRef name : llvm::split(text, ',')) {
    const auto *known = llvm::find_if(
        kInstructions, [&](const NamedInstruction &named) { return named.name == name; });
    if (known == std::end(kInstructions)) {
      auto names = llvm::map_range(kInstructions, [](const auto &named) { return named.name; });
      return llvm::createStringError("instructions are of " + llvm::join(names, ", ") +
                                     ", or none; got '" + text + "'");
    }
    result = result | known->instruction;
  }
  return result;
}

static MachineDescription describe(const NamedMachine &machine) {
  MachineDescription result;
  result.vectorWidth = machine.vectorWidth;
  result.vectorRegisters = machine.vectorRegisters;
  result.l1Bytes = machine.l1Bytes;
  result.l2Bytes = machine.l2Bytes;
  result.name = machine.name.str();
  result.triple = machine.triple.str();
  result.cpu = machine.cpu.str();
  result.features = machine.features.str();
  if (!machine.needed.empty())
    result.level = machine.cpu.str();
  result.needed = machine.needed.str();
  result.instructions = instructionsOf(machine.needed) | instructionsOf(machine.features);
  return result;
}

/// What the operating system says of a cache, or `fallback` where it says nothing.
static int64_t cacheBytes(int name, int64_t fallback) {
  long bytes = sysconf(name);
  return bytes > 0 ? bytes : fallback;
}

/// Whether this processor has a feature in the eyes of what checks it before kernels run.
static bool isCheckedFeature(llvm::StringRef name) {
  polyattn_rt_cpu_features feature = {};
  return polyattn_rt_add_cpu_feature(name.data(), name.size(), &feature) == 0 &&
         !polyattn_rt_missing_cpu_feature(&feature);
}

/// The set without these.
static Instructions without(Instructions set, Instructions dropped) {
  return Instructions(uint32_t(set) & ~uint32_t(dropped));
}

/// The named machine that this processor is like: it has all that the other needs.
static const NamedMachine &findLikeHost(const llvm::Triple &host) {
  const NamedMachine *like = &kMachines[0];
  for (const NamedMachine &machine : kMachines) {
    bool has = llvm::Triple(machine.triple).getArch() == host.getArch();
    for (llvm::StringRef feature : llvm::split(machine.needed, ','))
      has = has && (feature.empty() || isCheckedFeature(feature));
    if (has)
      like = &machine;
  }
  return *like;
}

static MachineDescription describeHost() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  llvm::Triple triple(llvm::sys::getProcessTriple());
  MachineDescription result = describe(findLikeHost(triple));
  result.name = "native";
  result.triple = triple.str();
  result.cpu = llvm::sys::getHostCPUName().str();
#ifdef _SC_LEVEL1_DCACHE_SIZE
  result.l1Bytes = cacheBytes(_SC_LEVEL1_DCACHE_SIZE, result.l1Bytes);
  result.l2Bytes = cacheBytes(_SC_LEVEL2_CACHE_SIZE, result.l2Bytes);
#endif
  // Sorted: the text is part of the cache's key.
  std::vector<std::string> names, needed;
  for (const auto &feature : features) {
    llvm::StringRef name = feature.getKey();
    bool has = feature.getValue();
    // Code may use what the runtime can ask for, wherever the code gets.
    if (has && triple.isX86() && name != "prefer-256-bit") {
      has = isCheckedFeature(name);
      if (has)
        needed.push_back(name.str());
    }
    if (name != "prefer-256-bit")
      names.push_back((has ? "+" : "-") + name.str());
  }
  llvm::sort(needed);
  result.needed = llvm::join(needed, ",");
  llvm::sort(names);
  if (triple.isX86())
    names.push_back("-prefer-256-bit");
  result.features = llvm::join(names, ",");
  result.instructions = instructionsOf(result.features);
  // Not every processor that has products of bf16 executes them faster than those of f32.
  constexpr double leastGain = 1.3;
  if (result.has(Instructions::AVX512BF16) && measureBF16Gain() < leastGain)
    result.instructions = without(result.instructions, Instructions::AVX512BF16);
  return result;
}

llvm::SmallVector<MachineName> polyattn::namedMachines() {
  llvm::SmallVector<MachineName> names = {{"cpu", "the processor that we run on"}};
  for (const NamedMachine &machine : kMachines)
    names.push_back({machine.name, machine.description});
  return names;
}

llvm::Expected<MachineDescription> polyattn::findMachine(llvm::StringRef name) {
  if (name == "cpu" || name == "native") {
    static const MachineDescription host = describeHost();
    return host;
  }
  std::string known = "cpu, native";
  for (const NamedMachine &machine : kMachines) {
    if (machine.name == name)
      return describe(machine);
    known += ", " + machine.name.str();
  }
  return llvm::createStringError("unknown target '" + name + "', expected one of " + known +
                                 didYouMean(name, known));
}

bool polyattn::isHostArchitecture(const MachineDescription &machine) {
  return llvm::Triple(machine.triple).getArch() ==
         llvm::Triple(llvm::sys::getProcessTriple()).getArch();
}
