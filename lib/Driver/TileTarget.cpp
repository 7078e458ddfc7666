//===- TileTarget.cpp - block programs as a target ------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Pass/PassManager.h"
#include "polyattn/Compiler/ChosenEntry.h"
#include "polyattn/Driver/Target.h"
#include "polyattn/Pipelines/CPU.h"
#include "polyattn/Pipelines/GPU.h"
#include "polyattn/Reference/EvaluateTile.h"
#include "polyattn/Target/NVPTX.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace polyattn;
using llvm::Error;
using llvm::Expected;

namespace {

/// The number of positions, batches, heads or features that `polyattn.hidden` asks for.
int64_t sizeOf(Attribute size, ArrayRef<Array> tensors, int64_t segments) {
  if (auto number = dyn_cast<IntegerAttr>(size))
    return number.getInt();
  auto numbers = llvm::map_to_vector(cast<ArrayAttr>(size).getAsRange<IntegerAttr>(),
                                     [](IntegerAttr number) { return number.getInt(); });
  return numbers.size() == 1 ? segments + numbers[0] : tensors[numbers[0]].shape[numbers[1]];
}

class TileExecutable : public Executable {
public:
  /// `spec` has the attention alone, `owned` its block programs, for processors or with `rounds`,
  /// which makes each op round as the machine does, for a GPU.
  TileExecutable(OwningOpRef<ModuleOp> spec, OwningOpRef<ModuleOp> owned, StringRef name,
                 bool rounds)
      : spec(std::move(spec)), module(std::move(owned)), name(name),
        kernel(module->lookupSymbol<tile::KernelOp>(name)),
        combine(module->lookupSymbol<tile::KernelOp>((name + "__combine").str())), rounds(rounds) {}

  Error run(const Call &call) override {
    std::vector<Array> tensors;
    for (const HostTensor &tensor : call.arguments)
      tensors.push_back(toArray(tensor));
    for (const HostTensor &tensor : call.results)
      tensors.push_back(toArray(tensor));
    if (rounds) {
      if (Error error = runSegments(*module, tensors, std::max<int64_t>(call.segments, 1)))
        return error;
    } else if (call.segments) {
      if (Error error = lowerForGPU())
        return error;
      if (Error error = runSegments(*gpuModule, tensors, call.segments))
        return error;
    } else if (kernel.getSegments()) {
      if (Error error = runSegments(*module, tensors, call.threads))
        return error;
    } else if (failed(combine ? runParts(tensors, call) : evaluateTile(kernel, tensors))) {
      return llvm::make_error<ReportedError>();
    }
    for (auto [i, result] : llvm::enumerate(call.results))
      result.forEach([&, &result = result, i = i](int64_t linear, void *address) {
        storeElement(result.type, address, tensors[call.arguments.size() + i].data[linear]);
      });
    return Error::success();
  }

private:
  /// Lowers the spec once more, to the block programs for GPUs: more of their positions can be cut.
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

  Error runSegments(ModuleOp programs, std::vector<Array> &tensors, int64_t segments) {
    auto main = programs.lookupSymbol<tile::KernelOp>(name);
    auto states = programs.lookupSymbol<tile::KernelOp>(name + "__states");
    if (segments > 1 && !states)
      return llvm::createStringError("@" + name + ": its positions cannot be cut into " +
                                     llvm::Twine(segments) + " segments");
    size_t visible = tensors.size();
    // The first kernel's programs are those of pieces of segments.
    int64_t sums = segments;
    if (auto rule = main->getAttrOfType<DictionaryAttr>("polyattn.segment_rule"))
      sums = 1 + (segments - 1) * rule.getAs<IntegerAttr>("pieces").getInt();
    if (states) {
      for (Attribute sizes : main->getAttrOfType<ArrayAttr>("polyattn.hidden")) {
        SmallVector<int64_t> shape;
        for (Attribute size : cast<ArrayAttr>(sizes))
          shape.push_back(sizeOf(size, tensors, sums));
        // What no program writes shows in the results.
        llvm::fill(tensors.emplace_back(shape).data, std::nan(""));
      }
    }
    auto evaluate = [&](tile::KernelOp kernel, int64_t segments) {
      TileOptions options;
      options.segments = segments;
      options.round = rounds;
      return evaluateTile(kernel, tensors, options);
    };
    if ((states && failed(evaluate(states, sums))) || failed(evaluate(main, segments)))
      return llvm::make_error<ReportedError>();
    tensors.resize(visible, Array(ArrayRef<int64_t>()));
    return Error::success();
  }

  LogicalResult runParts(std::vector<Array> &tensors, const Call &call) {
    auto number = [&](StringRef name) {
      return kernel->getAttrOfType<IntegerAttr>(("polyattn." + name).str()).getInt();
    };
    int64_t parts = std::min<int64_t>(call.threads, number("max_splits"));
    if (call.sizes.queries < number("split_from"))
      parts = 1;
    int64_t columns = number("partial_columns");
    std::vector<Array> sums;
    for (int64_t part = 0; part < parts; ++part) {
      tensors.emplace_back(
          ArrayRef({call.sizes.batch, call.sizes.queries, call.sizes.heads, columns}));
      Array &launch = tensors.emplace_back(ArrayRef<int64_t>(3));
      launch.data = {double(part), double(parts), 0};
      if (failed(evaluateTile(kernel, tensors)))
        return failure();
      tensors.pop_back();
      sums.push_back(std::move(tensors.back()));
      tensors.pop_back();
    }
    if (parts == 1)
      return success();
    Array &all = tensors.emplace_back(
        ArrayRef({parts, call.sizes.batch, call.sizes.queries, call.sizes.heads, columns}));
    for (auto [i, part] : llvm::enumerate(sums))
      llvm::copy(part.data, all.data.begin() + i * part.data.size());
    tensors.emplace_back(ArrayRef<int64_t>(3));
    for (int64_t part = 0; part < parts; ++part) {
      tensors.back().data = {double(part), double(parts), 0};
      if (failed(evaluateTile(combine, tensors)))
        return failure();
    }
    return success();
  }

  OwningOpRef<ModuleOp> spec, module, gpuModule;
  std::string name;
  tile::KernelOp kernel, combine;
  bool rounds;
};

/// The block programs for a GPU where `chip` names one, else those for processors.
class TileTarget : public Target {
public:
  explicit TileTarget(StringRef chip = "") : chip(chip) {}

  std::optional<ElementType> arithmetic(ElementType storage) const override {
    return chip.empty() ? std::nullopt : std::optional(storage);
  }

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
  registry.add("tile", "the block programs, interpreted in f64",
               [] { return std::make_unique<TileTarget>(); });
  registry.add("tile-sm_80", "the block programs for sm_80, interpreted with its precision",
               [] { return std::make_unique<TileTarget>("sm_80"); });
}
