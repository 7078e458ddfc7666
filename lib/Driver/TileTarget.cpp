//===- TileTarget.cpp - tile kernels as a target --------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Pass/PassManager.h"
#include "polyattn/Compiler/ChosenEntry.h"
#include "polyattn/Driver/Target.h"
#include "polyattn/Launch/FromModule.h"
#include "polyattn/Pipelines/CPU.h"
#include "polyattn/Pipelines/GPU.h"
#include "polyattn/Reference/EvaluateTile.h"
#include "polyattn/Target/NVPTX.h"

using namespace mlir;
using namespace polyattn;
using llvm::Error;
using llvm::Expected;

namespace {

/// What the stages of a launch have between them.
class Workspaces {
public:
  Workspaces(const LaunchPlan &plan, const polyattn_rt_launch &launch)
      : runtime(plan), splits(launch.splits) {
    for (const LaunchWorkspace &workspace : plan.workspaces) {
      SmallVector<int64_t> shape;
      for (const LaunchExtent &extent : workspace.shape) {
        polyattn_rt_extent rule = runtimeExtent(extent);
        shape.push_back(polyattn_rt_extent_value(&rule, &launch));
      }
      // What no program writes shows in the results.
      bool isZero = workspace.fill == LaunchWorkspace::Zero;
      llvm::fill(arrays.emplace_back(shape).data, isZero ? 0 : std::nan(""));
    }
  }

  /// A workspace for a stage that runs for one split, or where `combines` is true for the program
  /// of that number among as many as there are splits.
  Array take(int64_t number, int64_t split, bool combines) {
    if (runtime.get().workspaces[number].fill == POLYATTN_RT_FILL_LAUNCH)
      arrays[number].data = {double(split), double(combines ? splits : split + 1), 0, 0};
    return std::move(arrays[number]);
  }

  void giveBack(int64_t number, Array array) { arrays[number] = std::move(array); }

private:
  RuntimePlan runtime;
  int64_t splits;
  std::vector<Array> arrays;
};

class TileExecutable : public Executable {
public:
  /// `spec` has the attention alone, `owned` its tile kernels, for processors or with `rounds`,
  /// which makes each op round as the machine does, for a GPU.
  TileExecutable(OwningOpRef<ModuleOp> spec, OwningOpRef<ModuleOp> owned, StringRef name,
                 bool rounds)
      : spec(std::move(spec)), module(std::move(owned)), name(name), rounds(rounds) {}

  Error run(const Call &call) override {
    std::vector<Array> tensors;
    for (const HostTensor &tensor : call.arguments)
      tensors.push_back(toArray(tensor));
    for (const HostTensor &tensor : call.results)
      tensors.push_back(toArray(tensor));
    if (rounds) {
      if (Error error = runPlan(*module, tensors, call, std::max<int64_t>(call.segments, 1)))
        return error;
    } else if (call.segments) {
      if (Error error = lowerForGPU())
        return error;
      if (Error error = runPlan(*gpuModule, tensors, call, call.segments))
        return error;
    } else if (Error error = runPlan(*module, tensors, call, call.threads)) {
      return error;
    }
    for (auto [i, result] : llvm::enumerate(call.results))
      result.forEach([&, &result = result, i = i](int64_t linear, void *address) {
        storeElement(result.type, address, tensors[call.arguments.size() + i].data[linear]);
      });
    return Error::success();
  }

private:
  /// Lowers the spec once more, to the tile kernels for GPUs: more of their positions can be cut.
  Error lowerForGPU() {
    if (gpuModule)
      return Error::success();
    gpuModule = spec->clone();
    PassManager passes(gpuModule->getContext());
    GPUPipelineOptions options;
    options.stopAfter = GPUPipelinePhase::Tile;
    buildGPUPipeline(passes, options);
    if (failed(passes.run(*gpuModule)))
      return llvm::make_error<ReportedError>();
    return Error::success();
  }

  /// Runs the stages of the entry's plan one after another, as the runtime does: in this many
  /// segments, or splits where the plan has those.
  Error runPlan(ModuleOp programs, std::vector<Array> &tensors, const Call &call, int64_t cuts) {
    Expected<LaunchPlan> plan = planOf(programs, name);
    if (!plan)
      return plan.takeError();
    if (call.segments > 1 && !plan->find(LaunchExtent::Segments))
      return llvm::createStringError("@" + name + ": its positions cannot be cut into " +
                                     llvm::Twine(cuts) + " segments");
    std::vector<const int64_t *> sizes;
    sizes.reserve(tensors.size());
    for (const Array &tensor : tensors)
      sizes.push_back(tensor.shape.data());
    polyattn_rt_launch launch = {sizes.data(), 1, 1, 1};
    if (plan->find(LaunchExtent::Segments))
      launch.segments = cuts;
    const LaunchChoice *splits = plan->find(LaunchExtent::Splits);
    if (splits && call.sizes.queries >= splits->minPositions)
      launch.splits = std::min(cuts, splits->max);
    launch.parts = polyattn_rt_choose_parts(&RuntimePlan(*plan).get(), &launch);

    Workspaces workspaces(*plan, launch);
    for (const LaunchStage &stage : plan->stages)
      if (failed(runStage(programs.lookupSymbol<tile::KernelOp>(stage.function), stage, tensors,
                          workspaces, launch)))
        return llvm::make_error<ReportedError>();
    return Error::success();
  }

  /// The programs of one stage, once for each split where it wants that.
  LogicalResult runStage(tile::KernelOp kernel, const LaunchStage &stage,
                         std::vector<Array> &tensors, Workspaces &workspaces,
                         const polyattn_rt_launch &launch) {
    bool combines = stage.kind == LaunchStage::CombinesSplits;
    int64_t times = combines || stage.kind == LaunchStage::PerSplit ? launch.splits : 1;
    if (combines && times == 1)
      return success();
    TileOptions options;
    options.round = rounds;
    options.segments = launch.segments;
    options.splits = launch.splits;
    options.parts = launch.parts;
    size_t visible = tensors.size();
    LogicalResult result = success();
    for (int64_t split = 0; split < times && succeeded(result); ++split) {
      for (int64_t number : stage.workspaces)
        tensors.push_back(workspaces.take(number, split, combines));
      result = evaluateTile(kernel, tensors, options);
      for (auto [i, number] : llvm::enumerate(stage.workspaces))
        workspaces.giveBack(number, std::move(tensors[visible + i]));
      tensors.resize(visible, Array(ArrayRef<int64_t>()));
    }
    return result;
  }

  OwningOpRef<ModuleOp> spec, module, gpuModule;
  std::string name;
  bool rounds;
};

/// The tile kernels for a GPU where `chip` names one, else those for processors.
class TileTarget : public Target {
public:
  explicit TileTarget(StringRef chip = "") : chip(chip) {}

  std::optional<ElementType> arithmetic(ElementType storage) const override {
    return chip.empty() ? std::nullopt : std::optional(storage);
  }
  bool usesTensorCores() const override { return !chip.empty(); }

  Expected<std::unique_ptr<Executable>> compile(const EntrySource &source) override {
    AttentionOp attention = source.attention;
    OwningOpRef<ModuleOp> module = cloneAlone(attention);
    OwningOpRef<ModuleOp> spec = module->clone();
    PassManager passes(module->getContext());
    if (chip.empty()) {
      CPUPipelineOptions options;
      options.stopAfter = CPUPipelinePhase::Tile;
      buildCPUPipeline(passes, options);
    } else {
      Expected<GPUDescription> description = findGPU(chip);
      if (!description)
        return description.takeError();
      buildGPUPipeline(passes, {*description, GPUPipelinePhase::Tile});
    }
    if (failed(passes.run(*module)))
      return llvm::make_error<ReportedError>();
    return std::make_unique<TileExecutable>(std::move(spec), std::move(module),
                                            attention.getSymName(), /*rounds=*/!chip.empty());
  }
  bool hasSegments() const override { return true; }

private:
  std::string chip;
};

} // namespace

void polyattn::registerTileTarget(TargetRegistry &registry) {
  registry.add("tile", "the tile kernels, interpreted in f64",
               [] { return std::make_unique<TileTarget>(); });
  registry.add("tile-sm_80", "the tile kernels for sm_80, interpreted with its precision",
               [] { return std::make_unique<TileTarget>("sm_80"); });
}
