//===- Emit.cpp - what polyattn-compile writes ----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emit.h"
#include "dialects/Attributes/DidYouMean.h"

using namespace polyattn;

namespace {
struct EmitKind {
  llvm::StringRef name;
  Emit kind;
  bool forCPU, forGPU;
};
} // namespace

static const EmitKind kKinds[] = {
    {"tile", Emit::Tile, true, true},     {"llvm", Emit::LLVM, true, true},
    {"asm", Emit::Assembly, true, false}, {"obj", Emit::Object, true, false},
    {"lib", Emit::Library, true, false},  {"warp", Emit::Warp, false, true},
    {"ptx", Emit::PTX, false, true},      {"cubin", Emit::Cubin, false, true},
    {"json", Emit::JSON, false, true},    {"kernels", Emit::Kernels, false, true},
};

llvm::Expected<Emit> polyattn::parseEmit(llvm::StringRef name, llvm::StringRef target, bool isGPU) {
  if (name.empty())
    return isGPU ? Emit::Kernels : Emit::Library;
  std::string fitting;
  bool known = false;
  for (const EmitKind &kind : kKinds) {
    bool fits = isGPU ? kind.forGPU : kind.forCPU;
    if (kind.name == name && fits)
      return kind.kind;
    known |= kind.name == name;
    if (fits)
      fitting += (fitting.empty() ? "" : ", ") + kind.name.str();
  }
  if (!known)
    return llvm::createStringError("unknown --emit '" + name + "', expected one of " + fitting +
                                   didYouMean(name, fitting));
  return llvm::createStringError("--emit " + name + " is for " + (isGPU ? "processors" : "GPUs") +
                                 "; target '" + target + "' has " + fitting);
}
