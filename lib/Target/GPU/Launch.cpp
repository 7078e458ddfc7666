//===- Launch.cpp - what a launch of a GPU kernel needs -------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Target/Launch.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "polyattn/Launch/FromModule.h"

using namespace mlir;
using namespace polyattn;

static llvm::Error missing(gpu::GPUFuncOp function, const llvm::Twine &what) {
  return llvm::createStringError("kernel @" + function.getName() + ": " + what);
}

/// [tensor, dimension].
static std::optional<LaunchExtent> readReference(Attribute attribute) {
  auto array = dyn_cast_if_present<ArrayAttr>(attribute);
  if (!array || array.size() != 2 || !llvm::all_of(array, llvm::IsaPred<IntegerAttr>))
    return std::nullopt;
  return LaunchExtent::dimensionOf(cast<IntegerAttr>(array[0]).getInt(),
                                   cast<IntegerAttr>(array[1]).getInt());
}

/// Programs of a kernel that no entry launches: n or [tensor, dimension] each.
static llvm::Error readPrograms(gpu::GPUFuncOp function, LaunchDescription &launch) {
  Attribute attribute = function->getAttr("warp.programs");
  if (!attribute)
    return llvm::Error::success();
  auto array = dyn_cast<ArrayAttr>(attribute);
  if (!array || array.size() > POLYATTN_RT_MAX_FACTORS)
    return missing(function, "warp.programs is not a list of sizes");
  launch.programs.emplace();
  for (Attribute element : array) {
    auto number = dyn_cast<IntegerAttr>(element);
    std::optional<LaunchExtent> size =
        number ? LaunchExtent::number(number.getInt()) : readReference(element);
    if (!size)
      return missing(function, "warp.programs is not a list of sizes");
    launch.programs->push_back(*size);
  }
  return llvm::Error::success();
}

/// The CTAs of a cluster, where there are clusters.
static llvm::Error readCluster(gpu::GPUFuncOp function, LaunchDescription &launch) {
  Attribute attribute = function->getAttr("warp.cluster");
  if (!attribute)
    return llvm::Error::success();
  auto size = dyn_cast<IntegerAttr>(attribute);
  if (!size || !llvm::is_contained({2, 4, 8}, size.getInt()))
    return missing(function, "warp.cluster is not 2, 4 or 8");
  launch.cluster = size.getInt();
  return llvm::Error::success();
}

static std::optional<LaunchParameter> readParameter(gpu::GPUFuncOp function, unsigned i) {
  if (auto tensor = function.getArgAttrOfType<IntegerAttr>(i, "warp.pointer"))
    return LaunchParameter{LaunchParameter::Pointer, tensor.getInt(), 0};
  if (auto size = readReference(function.getArgAttr(i, "warp.size")))
    return LaunchParameter{LaunchParameter::Size, size->tensor, size->dimension};
  if (auto stride = readReference(function.getArgAttr(i, "warp.stride")))
    return LaunchParameter{LaunchParameter::Stride, stride->tensor, stride->dimension};
  if (function.getArgAttr(i, "warp.workspace"))
    return LaunchParameter{LaunchParameter::Workspace};
  if (function.getArgAttr(i, "warp.profile"))
    return LaunchParameter{LaunchParameter::Profile};
  return std::nullopt;
}

llvm::Expected<LaunchDescription> polyattn::describeLaunch(gpu::GPUFuncOp function) {
  LaunchDescription launch;
  launch.function = function.getName().str();
  std::pair<StringRef, int64_t *> numbers[] = {{"warp.threads", &launch.threads},
                                               {"warp.shared_bytes", &launch.sharedBytes},
                                               {"warp.workspace_bytes", &launch.workspaceBytes}};
  for (auto [name, number] : numbers) {
    auto attribute = function->getAttrOfType<IntegerAttr>(name);
    if (!attribute)
      return missing(function, "no attribute " + name);
    *number = attribute.getInt();
  }
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto parameter = readParameter(function, i);
    if (!parameter)
      return missing(function, "nothing says what parameter " + llvm::Twine(i) + " is");
    launch.parameters.push_back(*parameter);
  }
  if (llvm::Error error = readPrograms(function, launch))
    return std::move(error);
  if (llvm::Error error = readCluster(function, launch))
    return std::move(error);
  return launch;
}

llvm::Expected<LaunchDescription> polyattn::describeLaunch(ModuleOp module, StringRef kernel) {
  for (auto kernels : module.getOps<gpu::GPUModuleOp>())
    if (auto function = kernels.lookupSymbol<gpu::GPUFuncOp>(kernel))
      return describeLaunch(function);
  return llvm::createStringError("no kernel @" + kernel);
}

llvm::Expected<LaunchPlan> polyattn::planForGPU(ModuleOp module, StringRef entry) {
  LaunchPlan plan;
  if (hasPlan(module, entry)) {
    auto described = planOf(module, entry);
    if (!described)
      return described.takeError();
    plan = std::move(*described);
  } else {
    LaunchStage &stage = plan.stages.emplace_back();
    stage.function = entry.str();
  }
  for (LaunchStage &stage : plan.stages) {
    auto launch = describeLaunch(module, stage.function);
    if (!launch)
      return launch.takeError();
    stage.scratchBytes = launch->workspaceBytes;
    stage.cluster = launch->cluster;
    if (hasPlan(module, entry))
      continue;
    if (!launch->programs)
      return llvm::createStringError("kernel @" + entry +
                                     ": neither a tile.entry nor warp.programs says how many "
                                     "programs there are");
    stage.programs = *launch->programs;
  }
  return plan;
}

std::vector<std::vector<int64_t>> polyattn::shapesOf(llvm::ArrayRef<LaunchTensor> tensors) {
  std::vector<std::vector<int64_t>> shapes;
  for (const LaunchTensor &tensor : tensors)
    shapes.push_back(tensor.sizes.vec());
  return shapes;
}

std::vector<uint64_t> polyattn::bindParameters(const LaunchDescription &launch,
                                               llvm::ArrayRef<LaunchTensor> tensors,
                                               void *scratch) {
  std::vector<uint64_t> values;
  for (const LaunchParameter &parameter : launch.parameters) {
    switch (parameter.kind) {
    case LaunchParameter::Pointer:
      values.push_back(reinterpret_cast<uint64_t>(tensors[parameter.tensor].data));
      break;
    case LaunchParameter::Size:
      values.push_back(tensors[parameter.tensor].sizes[parameter.dimension]);
      break;
    case LaunchParameter::Stride:
      values.push_back(tensors[parameter.tensor].strides[parameter.dimension]);
      break;
    case LaunchParameter::Workspace:
      values.push_back(reinterpret_cast<uint64_t>(scratch));
      break;
    case LaunchParameter::Profile:
      values.push_back(0);
      break;
    }
  }
  return values;
}
