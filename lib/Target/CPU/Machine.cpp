//===- Machine.cpp - the processors that have a name ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Target/CPU.h"
#include "runtime/runtime.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <unistd.h>

using namespace polyattn;

namespace {
struct NamedMachine {
  llvm::StringRef name, triple, cpu, features;
  int64_t vectorWidth, vectorRegisters, l1Bytes, l2Bytes;
};
} // namespace

// `prefer-256-bit` is what LLVM assumes for some AVX-512 processors; our vectors are as wide
// as the registers and must stay whole. Cache sizes are those of common machines.
static const NamedMachine kMachines[] = {
    {"x86-64", "x86_64-unknown-linux-gnu", "x86-64", "", 4, 16, 32 << 10, 256 << 10},
    {"x86-64-v3", "x86_64-unknown-linux-gnu", "x86-64-v3", "", 8, 16, 32 << 10, 256 << 10},
    {"x86-64-v4", "x86_64-unknown-linux-gnu", "x86-64-v4", "-prefer-256-bit", 16, 32, 32 << 10,
     1 << 20},
    {"aarch64", "aarch64-unknown-linux-gnu", "generic", "+neon", 4, 32, 64 << 10, 512 << 10},
};

#define POLYATTN_X86_64_V2 "cx16,popcnt,sahf,sse3,sse4.1,sse4.2,ssse3"
#define POLYATTN_X86_64_V3 POLYATTN_X86_64_V2 ",avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe,xsave"

/// What a level has beyond the one before it, as the psABI lists it.
static llvm::StringRef featuresOfLevel(llvm::StringRef level) {
  if (level == "x86-64-v3")
    return POLYATTN_X86_64_V3;
  if (level == "x86-64-v4")
    return POLYATTN_X86_64_V3 ",avx512bw,avx512cd,avx512dq,avx512f,avx512vl";
  return "";
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
  if (machine.name.starts_with("x86-64-v"))
    result.level = machine.name.str();
  result.needed = featuresOfLevel(result.level).str();
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

static MachineDescription describeHost() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  MachineDescription host;
  host.triple = llvm::sys::getProcessTriple();
  llvm::Triple triple(host.triple);
  const NamedMachine *like = &kMachines[0];
  if (triple.isAArch64())
    like = &kMachines[3];
  else if (features.lookup("avx512f") && features.lookup("avx512bw") &&
           features.lookup("avx512dq") && features.lookup("avx512vl"))
    like = &kMachines[2];
  else if (features.lookup("avx2") && features.lookup("fma"))
    like = &kMachines[1];
  MachineDescription result = describe(*like);
  result.name = "native";
  result.triple = host.triple;
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
  return result;
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
  return llvm::createStringError("unknown target '" + name + "', expected one of " + known);
}

bool polyattn::isHostArchitecture(const MachineDescription &machine) {
  return llvm::Triple(machine.triple).getArch() ==
         llvm::Triple(llvm::sys::getProcessTriple()).getArch();
}
