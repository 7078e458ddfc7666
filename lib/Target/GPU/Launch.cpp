//===- Launch.cpp - what a launch of a GPU kernel needs -------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Target/Launch.h"
#include "dialects/Warp/Warp.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "polyattn/Launch/FromModule.h"

using namespace mlir;
using namespace polyattn;

static llvm::Error missing(gpu::GPUFuncOp function, const llvm::Twine &what) {
  return llvm::createStringError("kernel @" + function.getName() + ": " + what);
}

/// [tensor, dimension].
static LaunchExtent readReference(ArrayAttr pair) {
  return LaunchExtent::dimensionOf(cast<IntegerAttr>(pair[0]).getInt(),
                                   cast<IntegerAttr>(pair[1]).getInt());
}

/// Programs of a kernel that no entry launches: n or [tensor, dimension] each.
static std::optional<std::vector<LaunchExtent>> readPrograms(gpu::GPUFuncOp function) {
  auto sizes = function->getAttrOfType<ArrayAttr>(warp::kProgramsAttrName);
  if (!sizes)
    return std::nullopt;
  std::vector<LaunchExtent> programs;
  for (Attribute size : sizes) {
    auto number = dyn_cast<IntegerAttr>(size);
    programs.push_back(number ? LaunchExtent::number(number.getInt())
                              : readReference(cast<ArrayAttr>(size)));
  }
  return programs;
}

static std::optional<LaunchParameter> readParameter(gpu::GPUFuncOp function, unsigned i) {
  if (auto tensor = function.getArgAttrOfType<IntegerAttr>(i, warp::kPointerAttrName))
    return LaunchParameter{LaunchParameter::Pointer, tensor.getInt(), 0};
  using Kind = LaunchParameter::Kind;
  for (auto [name, kind] : {std::pair<StringRef, Kind>{warp::kSizeAttrName, Kind::Size},
                            {warp::kStrideAttrName, Kind::Stride}})
    if (auto pair = function.getArgAttrOfType<ArrayAttr>(i, name)) {
      LaunchExtent extent = readReference(pair);
      return LaunchParameter{kind, extent.tensor, extent.dimension};
    }
  if (function.getArgAttr(i, warp::kWorkspaceAttrName))
    return LaunchParameter{LaunchParameter::Workspace};
  if (function.getArgAttr(i, warp::kProfileAttrName))
    return LaunchParameter{LaunchParameter::Profile};
  return std::nullopt;
}

// The verifier has looked at each attribute that is there; what is not there is missing.
llvm::Expected<LaunchDescription> polyattn::describeLaunch(gpu::GPUFuncOp function) {
  LaunchDescription launch;
  launch.function = function.getName().str();
  std::pair<StringRef, int64_t *> numbers[] = {
      {warp::kThreadsAttrName, &launch.threads},
      {warp::kSharedBytesAttrName, &launch.sharedBytes},
      {warp::kWorkspaceBytesAttrName, &launch.workspaceBytes}};
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
  launch.programs = readPrograms(function);
  launch.cluster = warp::getClusterSize(function);
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
