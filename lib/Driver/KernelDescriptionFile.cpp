//===- KernelDescriptionFile.cpp - the JSON beside a GPU's kernel ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// docs/GPU.md says what the keys mean.
//
//===----------------------------------------------------------------------===//

#include "Emit.h"
#include "polyattn/Compiler/Version.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace polyattn;
using llvm::json::Array;
using llvm::json::Object;

static llvm::StringRef kindOf(const LaunchParameter &parameter) {
  switch (parameter.kind) {
  case LaunchParameter::Pointer:
    return "pointer";
  case LaunchParameter::Size:
    return "size";
  case LaunchParameter::Stride:
    return "stride";
  case LaunchParameter::Workspace:
    return "workspace";
  case LaunchParameter::Profile:
    return "profile";
  }
  return "";
}

static Object describe(const LaunchParameter &parameter) {
  Object result{{"kind", kindOf(parameter)}};
  if (parameter.kind <= LaunchParameter::Stride)
    result["tensor"] = parameter.tensor;
  if (parameter.kind == LaunchParameter::Size || parameter.kind == LaunchParameter::Stride)
    result["dimension"] = parameter.dimension;
  return result;
}

/// What a caller must pass, and how the entry's kernels are launched.
static Object describeParameters(const LaunchDescription &launch, const LaunchPlan &plan,
                                 const KernelDescription *entry) {
  Array parameters;
  for (const LaunchParameter &parameter : launch.parameters)
    parameters.push_back(describe(parameter));
  Object result{{"version", KernelDescription::kVersion},
                {"parameters", std::move(parameters)},
                {"threads", launch.threads},
                {"plan", plan.toJSON()}};
  if (!entry)
    return result;
  Array tensors;
  for (const TensorDescription &tensor : entry->tensors) {
    Array shape;
    for (int64_t size : tensor.sizes) {
      if (size < 0 && entry->fixedSizes[-size - 1] >= 0)
        size = entry->fixedSizes[-size - 1];
      shape.push_back(size < 0 ? llvm::json::Value(sizeToString(size)) : size);
    }
    Object object{{"name", tensor.name},
                  {"dtype", nameOf(tensor.dtype)},
                  {"shape", std::move(shape)},
                  {"role", nameOf(tensor.role)},
                  {"result", tensor.isResult}};
    if (tensor.argument)
      object["in"] = *tensor.argument;
    if (!tensor.gradientOf.empty())
      object["gradient_of"] = tensor.gradientOf;
    if (!tensor.savedFrom.empty())
      object["saved_from"] = tensor.savedFrom;
    tensors.push_back(std::move(object));
  }
  Array limits;
  for (const LimitDescription &limit : entry->limits)
    limits.push_back(
        Object{{"size", sizeToString(limit.size)}, {"most", limit.most}, {"tensor", limit.tensor}});
  if (!limits.empty())
    result["limits"] = std::move(limits);
  if (entry->firstPosition)
    result["first_position"] =
        Object{{"tensor", entry->firstPosition->tensor}, {"unit", entry->firstPosition->unit}};
  if (entry->slots)
    result["slots"] = *entry->slots;
  if (entry->lengths)
    result["lengths"] = *entry->lengths;
  if (entry->offsets)
    result["packed"] = *entry->offsets;
  result["entry"] = entry->entry;
  result["direction"] = nameOf(entry->direction);
  result["invariant"] = entry->invariant;
  result["tensors"] = std::move(tensors);
  return result;
}

llvm::json::Value polyattn::describeKernelFile(const LaunchDescription &launch,
                                               const LaunchPlan &plan, const GPUDescription &gpu,
                                               const KernelDescription *entry,
                                               llvm::StringRef code) {
  int64_t arch = 0;
  llvm::StringRef(gpu.name).drop_front(3).getAsInteger(10, arch);
  Object result{
      {"name", launch.function},
      {"target", Object{{"backend", "cuda"}, {"arch", arch}, {"warp_size", gpu.warpSize}}},
      {"num_warps", launch.threads / gpu.warpSize},
      {"warp_size", gpu.warpSize},
      {"num_ctas", launch.cluster},
      {"cluster_dims", Array{launch.cluster, 1, 1}},
      {"shared", launch.sharedBytes},
      {"tmem_size", 0},
      {"launch_cooperative_grid", false},
      {"launch_pdl", false},
      {"global_scratch_size", launch.workspaceBytes},
      {"global_scratch_align", 128},
      {"profile_scratch_size", 0},
      {"profile_scratch_align", 1},
      {"compiler", version()},
      {"interface", POLYATTN_ABI_VERSION},
      {"polyattn", describeParameters(launch, plan, entry)}};
  if (!code.empty()) {
    auto bytes = llvm::ArrayRef(reinterpret_cast<const uint8_t *>(code.data()), code.size());
    result["hash"] = llvm::toHex(llvm::SHA256::hash(bytes), /*LowerCase=*/true);
  }
  return result;
}
