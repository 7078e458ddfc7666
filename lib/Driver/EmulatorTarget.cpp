//===- EmulatorTarget.cpp - GPU kernels on the host as a target -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/LocationSnapshot.h"
#include "polyattn/Compiler/ChosenEntry.h"
#include "polyattn/Driver/Target.h"
#include "polyattn/Emulator/EmulatedEntry.h"
#include "polyattn/Files/OutputFile.h"
#include "polyattn/Launch/LaunchCall.h"
#include "polyattn/Pipelines/GPU.h"
#include "polyattn/Target/NVPTX.h"

using namespace mlir;
using namespace polyattn;
using llvm::Error;
using llvm::Expected;

namespace {

/// The file name in locations of ops of a tile kernel.
constexpr char kTileKernel[] = "tile kernel";

class EmulatorExecutable : public Executable {
public:
  EmulatorExecutable(std::unique_ptr<EmulatedEntry> entry, EmulatorOptions options,
                     int64_t multiprocessors, std::string tileKernel, StringRef profile)
      : entry(std::move(entry)), options(std::move(options)), multiprocessors(multiprocessors),
        tileKernel(std::move(tileKernel)), profile(profile) {}

  Error run(const Call &call) override {
    std::vector<EmulatedTensor> tensors;
    auto add = [&](const HostTensor &tensor, bool isResult, bool isUpdated = false) {
      tensors.push_back(
          {{tensor.data, tensor.sizes, tensor.strides}, bytesOf(tensor.type), isResult, isUpdated});
    };
    auto isAmong = [](const auto &tensors, const HostTensor &tensor) {
      return llvm::any_of(tensors,
                          [&](const HostTensor &other) { return other.storage == tensor.storage; });
    };
    // What reads an argument that the call updates, and not the result that lives there, does so
    // before a stage writes it: with memory of their own a program that did both would be found.
    std::vector<HostTensor> copies;
    copies.reserve(call.arguments.size());
    for (const HostTensor &tensor : call.arguments) {
      bool isUpdated = isAmong(call.results, tensor);
      if (isUpdated) {
        Expected<HostTensor> copy = allocateTensor(tensor.type, tensor.sizes);
        if (!copy)
          return copy.takeError();
        copyElements(tensor, *copy);
        copies.push_back(std::move(*copy));
      }
      add(isUpdated ? copies.back() : tensor, false);
    }
    for (const HostTensor &tensor : call.results)
      add(tensor, true, isAmong(call.arguments, tensor));
    LaunchCall sizes(entry->getPlan(), shapesOf(viewsOf(tensors)));
    sizes.choose(polyattn_rt_multiprocessors(multiprocessors, /*resident_ctas=*/1));
    options.segments = call.segments ? call.segments : sizes.getSegments();
    Expected<EmulatedEntry::Report> done = entry->run(tensors, options);
    if (!done)
      return done.takeError();
    states = std::move(done->states);
    report = std::move(done->kernel);
    return profile.empty() ? Error::success() : writeProfile();
  }

  void printFindings(llvm::raw_ostream &stream) const override {
    if (states) {
      stream << "  " << options.segments << " segments; what those before the last add:\n";
      states->print(stream);
    }
    report.print(stream);
  }

  // The prediction is for one CTA on one multiprocessor; all of them together need what their
  // number and the chip's say.
  llvm::json::Object getFindings(double flops) const override {
    const emulator::Counters &counters = report.counters;
    double programs = double(std::max<int64_t>(report.programs, 1));
    double atBest = flops / 2 / report.chip.multiplyAddsPerClock;
    llvm::json::Object object;
    object["programs"] = report.programs;
    object["cluster"] = report.cluster;
    object["mma"] = (double(counters.mma[0]) + counters.mma[1] + counters.mma[2]) / programs;
    object["barriers"] = double(counters.barriers) / programs;
    object["shared_wavefronts"] = double(counters.sharedWavefronts) / programs;
    object["cluster_bytes_read"] = double(counters.clusterBytesRead) / programs;
    object["global_bytes_read"] = double(counters.globalBytesRead) / programs;
    object["global_bytes_written"] = double(counters.globalBytesWritten) / programs;
    object["tensor_clocks"] = report.perProgram(counters.tensorClocks);
    object["shared_clocks"] = report.perProgram(counters.sharedClocks);
    object["predicted_clocks"] = report.perProgram(counters.predictedClocks);
    object["segments"] = options.segments;
    double allClocks = counters.predictedClocks;
    if (states) { // the kernel before, whose work is not the algorithm's
      allClocks += states->counters.predictedClocks;
      object["states_programs"] = states->programs;
      object["states_predicted_clocks"] = states->perProgram(states->counters.predictedClocks);
    }
    if (allClocks > 0)
      object["predicted_fraction_of_tensor_rate"] = atBest / allClocks;
    return llvm::json::Object{{"prediction", std::move(object)}};
  }

private:
  Error writeProfile() const {
    Expected<OutputFile> file = OutputFile::open(profile);
    if (!file)
      return llvm::createStringError("--profile: '" + profile +
                                     "': " + llvm::toString(file.takeError()));
    if (Error error = file->write([&](llvm::raw_ostream &stream) {
          report.printProfile(tileKernel, kTileKernel, stream);
        }))
      return error;
    return file->commit();
  }

  std::unique_ptr<EmulatedEntry> entry;
  EmulatorOptions options;
  int64_t multiprocessors;
  std::optional<EmulatorReport> states;
  EmulatorReport report;
  std::string tileKernel, profile;
};

class EmulatorTarget : public polyattn::Target {
public:
  explicit EmulatorTarget(StringRef chip) : chip(chip) {}

  std::optional<ElementType> arithmetic(ElementType storage) const override { return storage; }
  bool usesTensorCores() const override { return true; }

  Expected<std::unique_ptr<Executable>> compile(const EntrySource &source) override {
    AttentionOp attention = source.attention;
    OwningOpRef<ModuleOp> module = cloneAlone(attention);
    Expected<GPUDescription> description = findGPU(chip);
    if (!description)
      return description.takeError();
    GPUPipelineOptions pipeline{*description, GPUPipelinePhase::Warp};
    PassManager tileKernels(module->getContext()), kernels(module->getContext());
    buildTileKernels(tileKernels, pipeline);
    buildWarpKernels(kernels, pipeline);
    if (failed(tileKernels.run(*module)))
      return llvm::make_error<ReportedError>();
    std::string text;
    if (!source.profile.empty()) {
      llvm::raw_string_ostream stream(text);
      generateLocationsFromIR(stream, kTileKernel, *module, OpPrintingFlags());
    }
    if (failed(kernels.run(*module)))
      return llvm::make_error<ReportedError>();
    auto entry = EmulatedEntry::compile(*module, attention.getSymName());
    if (!entry)
      return entry.takeError();
    EmulatorOptions options;
    options.chip = chip;
    return std::make_unique<EmulatorExecutable>(std::move(*entry), std::move(options),
                                                description->multiprocessors, std::move(text),
                                                source.profile);
  }
  bool hasProfile() const override { return true; }
  bool hasSegments() const override { return true; }

private:
  std::string chip;
};

} // namespace

void polyattn::registerEmulatorTargets(TargetRegistry &registry) {
  auto add = [&](StringRef name, StringRef chip) {
    registry.add(name, ("a GPU kernel for " + chip + ", emulated and checked").str(),
                 [=] { return std::make_unique<EmulatorTarget>(chip); });
  };
  add("emulator", "sm_80");
  add("emulator-sm_80", "sm_80");
  add("emulator-sm_90", "sm_90");
}
