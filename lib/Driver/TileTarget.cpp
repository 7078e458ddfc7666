//===- TileTarget.cpp - block programs as a target ------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Pass/PassManager.h"
#include "polyattn/Driver/Target.h"
#include "polyattn/Pipelines/CPU.h"
#include "polyattn/Reference/EvaluateTile.h"

using namespace mlir;
using namespace polyattn;
using llvm::Error;
using llvm::Expected;

namespace {

class TileExecutable : public Executable {
public:
  TileExecutable(OwningOpRef<ModuleOp> owned, StringRef name)
      : module(std::move(owned)), kernel(module->lookupSymbol<tile::KernelOp>(name)),
        combine(module->lookupSymbol<tile::KernelOp>((name + "__combine").str())) {}

  Error run(const Call &call) override {
    std::vector<Array> tensors;
    for (const HostTensor &tensor : call.arguments)
      tensors.push_back(toArray(tensor));
    for (const HostTensor &tensor : call.results)
      tensors.push_back(toArray(tensor));
    if (failed(combine ? runParts(tensors, call) : evaluateTile(kernel, tensors)))
      return llvm::make_error<ReportedError>();
    for (auto [i, result] : llvm::enumerate(call.results))
      result.forEach([&, &result = result, i = i](int64_t linear, void *address) {
        storeElement(result.type, address, tensors[call.arguments.size() + i].data[linear]);
      });
    return Error::success();
  }

private:
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

  OwningOpRef<ModuleOp> module;
  tile::KernelOp kernel, combine;
};

class TileTarget : public Target {
public:
  Expected<std::unique_ptr<Executable>> compile(const EntrySource &source) override {
    AttentionOp attention = source.attention;
    OwningOpRef<ModuleOp> module = attention->getParentOfType<ModuleOp>().clone();
    std::string name = attention.getSymName().str();
    for (auto other : llvm::make_early_inc_range(module->getOps<AttentionOp>()))
      if (other.getSymName() != name)
        other.erase();
    PassManager passes(module->getContext());
    CPUPipelineOptions options;
    options.stopAfter = CPUPipelinePhase::Tile;
    buildCPUPipeline(passes, options);
    if (failed(passes.run(*module)))
      return llvm::make_error<ReportedError>();
    return std::make_unique<TileExecutable>(std::move(module), name);
  }
};

} // namespace

void polyattn::registerTileTarget(TargetRegistry &registry) {
  registry.add("tile", "the block programs, interpreted in f64",
               [] { return std::make_unique<TileTarget>(); });
}
