//===- Launch.cpp - what a launch of a GPU kernel needs -------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Target/Launch.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace polyattn;

static llvm::Error missing(gpu::GPUFuncOp function, const llvm::Twine &what) {
  return llvm::createStringError("kernel @" + function.getName() + ": " + what);
}

/// [tensor, dimension].
static std::optional<SizeReference> readReference(Attribute attribute) {
  auto array = dyn_cast_if_present<ArrayAttr>(attribute);
  if (!array || array.size() != 2 || !llvm::all_of(array, llvm::IsaPred<IntegerAttr>))
    return std::nullopt;
  return SizeReference{cast<IntegerAttr>(array[0]).getInt(), cast<IntegerAttr>(array[1]).getInt()};
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
  auto programs = function->getAttrOfType<ArrayAttr>("warp.programs");
  if (!programs)
    return missing(function, "no attribute warp.programs");
  for (Attribute attribute : programs) {
    auto size = readReference(attribute);
    if (!size)
      return missing(function, "warp.programs is not a list of [tensor, dimension]");
    launch.programs.push_back(*size);
  }
  return launch;
}

int64_t polyattn::countPrograms(const LaunchDescription &launch,
                                llvm::ArrayRef<LaunchTensor> tensors) {
  int64_t count = 1;
  for (SizeReference size : launch.programs)
    count *= tensors[size.tensor].sizes[size.dimension];
  return count;
}

std::vector<uint64_t> polyattn::bindParameters(const LaunchDescription &launch,
                                               llvm::ArrayRef<LaunchTensor> tensors,
                                               void *workspace) {
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
      values.push_back(reinterpret_cast<uint64_t>(workspace));
      break;
    case LaunchParameter::Profile:
      values.push_back(0);
      break;
    }
  }
  return values;
}
