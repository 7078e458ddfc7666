//===- TileTrial.cpp - one kernel of the tile dialect on its targets ------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interpreter says what is right, in f64. How well that is determined says the interpreter
// again, with inputs that differ by a rounding and with rounded results of ops.
//
//===----------------------------------------------------------------------===//

#include "Judge.h"
#include "Trial.h"
#include "dialects/Tile/Tile.h"
#include "lib/TileAnalysis/TileValues.h"
#include "mlir/Pass/PassManager.h"
#include "polyattn/Emulator/EmulatedEntry.h"
#include "polyattn/Pipelines/GPU.h"
#include "polyattn/Reference/EvaluateTile.h"
#include "polyattn/Target/CPU.h"
#include "polyattn/Target/NVPTX.h"
#include "polyattn/TileTransforms/Passes.h"
#include "test/Support/KernelRunner.h"
#include <cstring>
#include <random>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::random;

namespace {

class TileTrial {
public:
  TileTrial(const Case &trial, ModuleOp module, tile::KernelOp kernel, std::string &diagnostics,
            TrialReport &report)
      : trial(trial), module(module), kernel(kernel), diagnostics(diagnostics), report(report) {}

  void run() {
    TrialReport::Entry &interpreter = addEntry(report, "interpreter");
    makeTensors();
    std::mt19937_64 random(trial.seed);
    std::vector<Array> exact = inputs;
    if (failed(evaluateTile(kernel, exact)))
      return conclude(interpreter, Outcome::Refused, diagnostics);
    interpreter.outcome = Outcome::Right;
    for (const std::string &target : trial.targets) {
      if (target == "tile") // the interpreter is what is right
        continue;
      TrialReport::Entry &entry = addEntry(report, target);
      diagnostics.clear();
      bool gpu = StringRef(target).starts_with("emulator");
      std::optional<MachineDescription> machine;
      if (!gpu) {
        auto found = findMachine(target);
        if (!found) {
          conclude(entry, Outcome::Wrong, llvm::toString(found.takeError()));
          continue;
        }
        machine = *found;
      }
      bool rounds = gpu || machine->has(Instructions::AVX512BF16);
      ElementType type = rounds ? types[0] : ElementType::F32;
      Judge judge = Judge::of(Arithmetic::of(type), exact, trial.sizes.queries);
      addSamples(judge, type);
      if (gpu)
        runOnEmulator(StringRef(target).split('-').second, judge, entry);
      else
        runOnCPU(*machine, exact, judge, entry);
    }
  }

private:
  int64_t numInputs() { return kernel.getNumInputs(); }

  /// Random inputs and zeros for results, which have the heads and batches of the first input.
  void makeTensors() {
    std::mt19937_64 random(trial.seed);
    for (unsigned i = 0; i < kernel.getNumTensors(); ++i) {
      auto type = cast<MemRefType>(kernel.getTensor(i).getType());
      SmallVector<int64_t> shape(type.getShape());
      int64_t heads = i == 1 ? trial.sizes.kvHeads : trial.sizes.heads;
      // [B, T, H, d], or [B, H, ...] of what a buffer held.
      bool sequence = shape.size() == 4 && ShapedType::isDynamic(shape[2]);
      int64_t sizes[] = {trial.sizes.batch, sequence ? trial.sizes.queries : heads, heads};
      for (size_t d = 0; d < shape.size(); ++d)
        if (ShapedType::isDynamic(shape[d]))
          shape[d] = sizes[d];
      types.push_back(type.getElementType().isBF16() ? ElementType::BF16 : ElementType::F32);
      Array &array = inputs.emplace_back(shape);
      for (double &x : array.data)
        if (int64_t(i) < numInputs())
          x = roundTo(types[i], double(random() >> 11) * 0x1p-52 - 1);
    }
  }

  void addSamples(Judge &judge, ElementType type) {
    for (uint64_t sample = 0; sample < 4; ++sample) {
      std::vector<Array> arrays = inputs;
      Disturbance disturbance(Arithmetic::of(type), trial.seed + sample);
      for (int64_t i = 0; i < numInputs(); ++i)
        for (double &x : arrays[i].data)
          x = disturbance(x);
      TileOptions options;
      options.round = sample != 0;
      // The nearest number may be the exact one: one of the others is off by half a unit.
      if (sample > 1)
        options.rounding =
            sample == 2 ? llvm::RoundingMode::TowardPositive : llvm::RoundingMode::TowardNegative;
      if (succeeded(evaluateTile(kernel, arrays, options)))
        judge.addSample(arrays);
    }
  }

  void compare(const Judge &judge, const std::vector<Array> &arrays, TrialReport::Entry &entry) {
    Judge::Verdict verdict;
    for (unsigned i = numInputs(); i < kernel.getNumTensors(); ++i) {
      StringRef name = cast<StringAttr>(kernel.getArgNames()[i]).getValue();
      judge.judge(i, name, types[i], arrays[i], verdict);
    }
    entry.worst = verdict.worst;
    entry.compared = verdict.compared;
    entry.undetermined = verdict.undetermined;
    conclude(entry, verdict.failure.empty() ? Outcome::Right : Outcome::Wrong, verdict.failure);
  }

  /// The program with the products of a machine. It is wrong, and none is returned, where the
  /// interpreter, which does not round here, gives other bits for it than `exact`.
  std::optional<std::string> prepare(const MachineDescription &machine,
                                     const std::vector<Array> &exact, TrialReport::Entry &entry) {
    OwningOpRef<ModuleOp> lowered = module.clone();
    PassManager passes(module.getContext());
    passes.addPass(createSetPrecision());
    if (failed(passes.run(*lowered))) {
      conclude(entry, Outcome::Wrong, diagnostics);
      return std::nullopt;
    }
    // All products of matrices, also small ones, which gain nothing.
    if (machine.has(Instructions::AVX512BF16) && types[0] == ElementType::BF16) {
      auto round = [](auto product) {
        if (isMatrixProduct(product) && product.multipliesIn() == tile::Precision::F32)
          product.setPrecision(product.getRhs().getType().getRows() % 2 ? tile::Precision::F32
                                                                        : tile::Precision::BF16);
      };
      lowered->walk([&](tile::DotOp dot) { round(dot); });
      lowered->walk([&](tile::AccumulateOp update) { round(update); });
    }
    passes.clear();
    passes.addPass(createPackOperands());
    std::vector<Array> packed = inputs;
    bool isSame = succeeded(passes.run(*lowered)) &&
                  succeeded(evaluateTile(*lowered->getOps<tile::KernelOp>().begin(), packed)) &&
                  llvm::equal(exact, packed, haveSameBits);
    if (!isSame) {
      conclude(entry, Outcome::Wrong, "packed operands change the result: " + diagnostics);
      return std::nullopt;
    }
    std::string text;
    llvm::raw_string_ostream(text) << *lowered;
    return text;
  }

  static bool haveSameBits(const Array &a, const Array &b) {
    return a.shape == b.shape &&
           std::memcmp(a.data.data(), b.data.data(), a.data.size() * sizeof(double)) == 0;
  }

  void runOnCPU(const MachineDescription &machine, const std::vector<Array> &exact,
                const Judge &judge, TrialReport::Entry &entry) {
    std::optional<std::string> text = prepare(machine, exact, entry);
    if (!text)
      return;
    test::Kernel compiled(*text, machine);
    if (!compiled.valid())
      return conclude(entry, compiled.error().empty() ? Outcome::Wrong : Outcome::Refused,
                      compiled.error());
    std::vector<std::unique_ptr<test::TestTensor>> tensors;
    std::vector<test::TestTensor *> pointers;
    for (auto [array, type] : llvm::zip(inputs, types)) {
      bool bf16 = type == ElementType::BF16;
      tensors.push_back(std::make_unique<test::TestTensor>(
          std::vector<int64_t>(array.shape.begin(), array.shape.end()),
          bf16 ? test::TestTensor::Element::BF16 : test::TestTensor::Element::F32));
      pointers.push_back(tensors.back().get());
      if (int64_t(tensors.size()) <= numInputs())
        forEach(array,
                [&](ArrayRef<int64_t> index, double &x) { pointers.back()->set(index.vec(), x); });
    }
    compiled.run(pointers, 0, trial.sizes.batch * trial.sizes.heads);
    if (!compiled.error().empty())
      return conclude(entry, Outcome::Wrong, compiled.error());
    std::vector<Array> arrays = inputs;
    for (auto [array, tensor] : llvm::zip(arrays, pointers))
      forEach(array, [&, tensor = tensor](ArrayRef<int64_t> index, double &x) {
        x = tensor->get(index.vec());
      });
    compare(judge, arrays, entry);
    for (test::TestTensor *tensor : pointers)
      if (!tensor->paddingIsIntact())
        conclude(entry, Outcome::Wrong, "memory between rows of a tensor was written");
  }

  void runOnEmulator(StringRef chip, const Judge &judge, TrialReport::Entry &entry) {
    OwningOpRef<ModuleOp> lowered = module.clone();
    auto description = findGPU(chip);
    if (!description)
      return conclude(entry, Outcome::Wrong, llvm::toString(description.takeError()));
    PassManager passes(module.getContext());
    SetPrecisionOptions precision;
    precision.tensorCores = true;
    passes.addPass(createSetPrecision(precision));
    buildWarpKernels(passes, {*description, GPUPipelinePhase::Warp});
    if (failed(passes.run(*lowered)))
      return conclude(entry, diagnostics.empty() ? Outcome::Wrong : Outcome::Refused, diagnostics);
    auto compiled = EmulatedEntry::compile(*lowered, kernel.getSymName());
    if (!compiled)
      return conclude(entry, Outcome::Refused, llvm::toString(compiled.takeError()));
    std::vector<HostTensor> tensors;
    std::vector<EmulatedTensor> views;
    for (auto [i, array] : llvm::enumerate(inputs)) {
      tensors.push_back(llvm::cantFail(allocateTensor(types[i], array.shape, Layout::Padded)));
      if (int64_t(i) < numInputs())
        tensors.back().forEach([&, &array = array, type = types[i]](int64_t at, void *address) {
          storeElement(type, address, array.data[at]);
        });
    }
    for (auto [i, tensor] : llvm::enumerate(tensors))
      views.push_back({{tensor.data, tensor.sizes, tensor.strides},
                       bytesOf(tensor.type),
                       int64_t(i) >= numInputs()});
    EmulatorOptions options;
    options.chip = chip;
    options.threads = 1;
    auto done = (*compiled)->run(views, options);
    if (!done)
      return conclude(entry, Outcome::Wrong, llvm::toString(done.takeError()));
    std::vector<Array> arrays;
    arrays.reserve(tensors.size());
    for (const HostTensor &tensor : tensors)
      arrays.push_back(toArray(tensor));
    compare(judge, arrays, entry);
  }

  static void forEach(Array &array, llvm::function_ref<void(ArrayRef<int64_t>, double &)> visit) {
    SmallVector<int64_t> index(array.shape.size(), 0);
    for (double &x : array.data) {
      visit(index, x);
      for (size_t d = index.size(); d-- > 0;) {
        if (++index[d] < array.shape[d])
          break;
        index[d] = 0;
      }
    }
  }

  const Case &trial;
  ModuleOp module;
  tile::KernelOp kernel;
  std::string &diagnostics;
  TrialReport &report;
  std::vector<ElementType> types;
  std::vector<Array> inputs;
};

} // namespace

void polyattn::random::runTileTrial(const Case &trial, ModuleOp module, std::string &diagnostics,
                                    TrialReport &report) {
  for (auto kernel : module.getOps<tile::KernelOp>())
    return TileTrial(trial, module, kernel, diagnostics, report).run();
}
