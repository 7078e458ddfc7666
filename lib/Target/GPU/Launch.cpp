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

/// n, [tensor, dimension], or [k] for S + k.
static std::optional<LaunchSize> readSize(Attribute attribute) {
  if (auto number = dyn_cast_if_present<IntegerAttr>(attribute))
    return LaunchSize{LaunchSize::Constant, {0, 0}, number.getInt()};
  if (std::optional<SizeReference> reference = readReference(attribute))
    return LaunchSize{LaunchSize::Size, *reference, 0};
  auto array = dyn_cast_if_present<ArrayAttr>(attribute);
  if (!array || array.size() != 1 || !isa<IntegerAttr>(array[0]))
    return std::nullopt;
  return LaunchSize{LaunchSize::Segments, {0, 0}, cast<IntegerAttr>(array[0]).getInt()};
}

static std::optional<std::vector<LaunchSize>> readSizes(Attribute attribute) {
  auto array = dyn_cast_if_present<ArrayAttr>(attribute);
  if (!array)
    return std::nullopt;
  std::vector<LaunchSize> sizes;
  for (Attribute element : array) {
    std::optional<LaunchSize> size = readSize(element);
    if (!size)
      return std::nullopt;
    sizes.push_back(*size);
  }
  return sizes;
}

static std::optional<SegmentRule> readRule(DictionaryAttr attribute) {
  SegmentRule rule;
  auto states = attribute.getAs<StringAttr>("states");
  auto positions = readReference(attribute.get("positions"));
  auto heads = readReference(attribute.get("state_heads"));
  if (!states || !positions || !heads)
    return std::nullopt;
  rule.states = states.str();
  rule.positions = *positions;
  rule.stateHeads = *heads;
  std::pair<StringRef, int64_t *> numbers[] = {{"block", &rule.block},
                                               {"unit", &rule.unit},
                                               {"whole_below", &rule.wholeBelow},
                                               {"states_percent", &rule.statesPercent}};
  for (auto [name, number] : numbers) {
    auto value = attribute.getAs<IntegerAttr>(name);
    if (!value || value.getInt() < 0)
      return std::nullopt;
    *number = value.getInt();
  }
  return rule.block > 0 && rule.unit >= rule.block ? std::optional(rule) : std::nullopt;
}

/// Hidden tensors and the rule of segments, where there are any.
static llvm::Error readSegments(gpu::GPUFuncOp function, LaunchDescription &launch) {
  if (Attribute attribute = function->getAttr("warp.hidden")) {
    auto tensors = dyn_cast<ArrayAttr>(attribute);
    if (!tensors)
      return missing(function, "warp.hidden is not a list of lists of sizes");
    for (Attribute tensor : tensors) {
      std::optional<std::vector<LaunchSize>> sizes = readSizes(tensor);
      if (!sizes)
        return missing(function, "warp.hidden is not a list of lists of sizes");
      launch.hidden.push_back({std::move(*sizes)});
    }
  }
  if (Attribute attribute = function->getAttr("warp.segment_rule")) {
    auto dictionary = dyn_cast<DictionaryAttr>(attribute);
    launch.segments = dictionary ? readRule(dictionary) : std::nullopt;
    if (launch.programs.empty() || launch.programs.front().kind != LaunchSize::Size)
      return missing(function, "warp.programs does not begin with batches and heads");
    if (!launch.segments)
      return missing(function, "warp.segment_rule lacks a number, or has one that cannot be");
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
  auto programs = function->getAttrOfType<ArrayAttr>("warp.programs");
  if (!programs)
    return missing(function, "no attribute warp.programs");
  std::optional<std::vector<LaunchSize>> sizes = readSizes(programs);
  if (!sizes)
    return missing(function, "warp.programs is not a list of sizes");
  launch.programs = std::move(*sizes);
  if (llvm::Error error = readCluster(function, launch))
    return std::move(error);
  if (llvm::Error error = readSegments(function, launch))
    return std::move(error);
  return launch;
}

static int64_t valueOf(const LaunchSize &size, llvm::ArrayRef<LaunchTensor> tensors,
                       int64_t segments) {
  if (size.kind == LaunchSize::Size)
    return tensors[size.reference.tensor].sizes[size.reference.dimension];
  return size.number + (size.kind == LaunchSize::Segments ? segments : 0);
}

std::vector<int64_t> polyattn::sizesOf(const HiddenTensor &hidden,
                                       llvm::ArrayRef<LaunchTensor> tensors, int64_t segments) {
  std::vector<int64_t> sizes;
  for (const LaunchSize &size : hidden.sizes)
    sizes.push_back(valueOf(size, tensors, segments));
  return sizes;
}

int64_t polyattn::countPrograms(const LaunchDescription &launch,
                                llvm::ArrayRef<LaunchTensor> tensors, int64_t segments) {
  int64_t count = 1;
  for (const LaunchSize &size : launch.programs)
    count *= valueOf(size, tensors, segments);
  return count;
}

int64_t polyattn::countCTAs(const LaunchDescription &launch, llvm::ArrayRef<LaunchTensor> tensors,
                            int64_t segments) {
  return countPrograms(launch, tensors, segments) * launch.cluster;
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
