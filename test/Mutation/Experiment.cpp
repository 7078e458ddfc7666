//===- Experiment.cpp - what becomes of a kernel's mutants ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Experiment.h"
#include "dialects/Warp/Warp.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "polyattn/Schedule/Schedule.h"
#include "polyattn/Target/NVPTX.h"
#include "test/Support/Processes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <cstring>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::mutation;
using llvm::Error;
using llvm::Expected;

/// Far more than a thread of a small input needs between two meetings.
static constexpr uint64_t kAccessLimit = uint64_t(1) << 20;

static AttentionOp attentionOf(LoweredModule &module) {
  return *module.module->getOps<AttentionOp>().begin();
}

static void setStateFrom(LoweredModule &module, int64_t positions) {
  module.module->walk([&](AttendOp attend) {
    std::optional<ScheduleAttr> schedule = attend.getSchedule();
    if (!schedule || schedule->getForm() != ScheduleForm::Both)
      return;
    Schedule changed = Schedule::of(*schedule);
    changed.quadraticBelow = positions;
    attend.setScheduleAttr(changed.toAttribute(attend.getContext()));
  });
}

Error Experiment::compile(const Options &options) {
  auto buffer = llvm::MemoryBuffer::getFile(options.spec);
  if (!buffer)
    return llvm::createStringError(options.spec + ": " + buffer.getError().message());
  StringRef name = llvm::sys::path::filename(options.spec);
  for (auto *module : {&spec, &lowered}) {
    auto parsed = parseForGPU((*buffer)->getBuffer(), name, {options.entry, options.storage});
    if (!parsed)
      return parsed.takeError();
    module->emplace(std::move(*parsed));
  }
  Expected<Signature> described = signatureOf(attentionOf(*spec));
  if (!described)
    return described.takeError();
  signature = std::move(*described);
  Expected<GPUDescription> chip = findGPU(options.chip);
  if (!chip)
    return chip.takeError();
  if (options.stateFrom) {
    if (Error error = lowerForGPU(*lowered, *chip, GPUPipelinePhase::Schedule))
      return error;
    setStateFrom(*lowered, *options.stateFrom);
  }
  if (Error error = lowerForGPU(*lowered, *chip, GPUPipelinePhase::Warp))
    return error;
  std::string kernelName = signature->name + (options.stage.empty() ? "" : "__" + options.stage);
  gpu::GPUFuncOp function;
  lowered->module->walk([&](gpu::GPUFuncOp op) {
    if (op.getName() == kernelName)
      function = op;
  });
  if (!function)
    return llvm::createStringError("there is no kernel " + kernelName);
  // A mutant may change how often a loop runs; the emulator unrolls nothing.
  function.walk([](scf::ForOp loop) { loop->removeAttr(warp::kUnrollAttrName); });
  std::string text;
  llvm::raw_string_ostream stream(text);
  mutated = plantMutants(function, kernelName, stream);
  if (!options.kernelFile.empty()) {
    std::error_code code;
    llvm::raw_fd_ostream file(options.kernelFile, code);
    if (code)
      return llvm::createStringError(options.kernelFile + ": " + code.message());
    file << text;
  }
  return EmulatedEntry::compile(*lowered->module, signature->name).moveInto(kernel);
}

/// A poisoned tensor; the rows of an odd one have a gap of one element.
static Expected<HostTensor> makeTensor(const TensorSignature &tensor, ArrayRef<int64_t> shape,
                                       bool odd) {
  SmallVector<int64_t, 4> sizes(shape);
  if (odd && !sizes.empty())
    ++sizes.back();
  auto made = allocateTensor(tensor.type, sizes);
  if (made)
    made->sizes.assign(shape.begin(), shape.end());
  return made;
}

static void copyScaled(const HostTensor &from, const HostTensor &to, double factor) {
  std::vector<void *> places;
  to.forEach([&](int64_t, void *address) { places.push_back(address); });
  from.forEach([&](int64_t linear, void *address) {
    storeElement(to.type, places[linear], factor * loadElement(from.type, address));
  });
}

static double factorOf(const InputShape &shape, Role role) {
  if (role == Role::Weight)
    return shape.weights;
  return role == Role::Query || role == Role::Key ? shape.activations : 1;
}

static std::vector<std::string> bytesOfAll(ArrayRef<HostTensor> tensors) {
  std::vector<std::string> bytes;
  for (const HostTensor &tensor : tensors)
    bytes.emplace_back(static_cast<const char *>(tensor.storage.get()),
                       tensor.storageElements * bytesOf(tensor.type));
  return bytes;
}

Error Experiment::addInput(const InputShape &shape) {
  Input input;
  input.shape = shape;
  driver::RunOptions options;
  options.random = shape.sizes;
  auto gathered = driver::gatherInputs(*signature, options);
  if (!gathered)
    return gathered.takeError();
  input.tensors = std::move(*gathered);
  for (auto [tensor, argument] : llvm::zip(input.tensors.arguments, signature->arguments)) {
    auto made = makeTensor(argument, tensor.sizes, shape.odd);
    if (!made)
      return made.takeError();
    copyScaled(tensor, *made, factorOf(shape, argument.role));
    tensor = std::move(*made);
  }
  for (const TensorSignature &result : signature->results) {
    auto made = makeTensor(result, shapeOf(result, input.tensors.sizes), shape.odd);
    if (!made)
      return made.takeError();
    input.results.push_back(std::move(*made));
  }
  auto expected =
      driver::askOracle(attentionOf(*spec), input.tensors, /*seed=*/0, /*reference=*/false);
  if (!expected)
    return expected.takeError();
  input.expected = std::move(*expected);

  std::fill(mutated.switches->seen.begin(), mutated.switches->seen.end(), 0);
  if (Error error = runOn(input))
    return error;
  double most = tolerance.value_or(
      driver::defaultTolerance(*signature, driver::typeOfProducts(attentionOf(*spec), *signature)));
  driver::CheckReport report =
      driver::compareResults(*signature, input.expected, input.results, most);
  if (!report.failure.empty())
    return llvm::createStringError("without a mutation, " + shape.text + ": " + report.failure);
  allowed = report.tolerance;
  input.bytes = bytesOfAll(input.results);
  input.seen = mutated.switches->seen;
  inputs.push_back(std::move(input));
  return Error::success();
}

Error Experiment::runOn(const Input &input) {
  std::vector<EmulatedTensor> tensors;
  auto add = [&](const HostTensor &tensor, bool isResult) {
    tensors.push_back(
        {{tensor.data, tensor.sizes, tensor.strides}, bytesOf(tensor.type), isResult});
  };
  for (const HostTensor &tensor : input.tensors.arguments)
    add(tensor, false);
  for (const HostTensor &tensor : input.results) {
    tensor.poison();
    add(tensor, true);
  }
  EmulatorOptions options;
  options.threads = 1;
  options.accessLimit = kAccessLimit;
  options.keepGoing = true;
  return kernel->run(tensors, options).takeError();
}

Expected<std::unique_ptr<Experiment>> Experiment::prepare(const Options &options) {
  auto experiment = std::make_unique<Experiment>();
  experiment->tolerance = options.tolerance;
  if (Error error = experiment->compile(options))
    return std::move(error);
  for (const InputShape &shape : options.inputs)
    if (Error error = experiment->addInput(shape))
      return std::move(error);
  return std::move(experiment);
}

Verdict Experiment::run(int number) {
  Verdict verdict;
  mutated.switches->chosen = number;
  auto say = [&](StringRef text) {
    text = text.split('\n').first;
    std::snprintf(verdict.message, sizeof(verdict.message), "%.*s", int(text.size()), text.data());
  };
  for (const Input &input : inputs) {
    uint8_t seen = input.seen[number];
    if (seen & Switches::kReached && verdict.kind == Verdict::NotReached)
      verdict.kind = Verdict::Same;
    if (!(seen & Switches::kDiffers))
      continue;
    verdict.kind = Verdict::Ran;
    driver::CheckReport report;
    if (Error error = runOn(input)) {
      verdict.byChecker = true;
      say(llvm::toString(std::move(error)));
    }
    report = driver::compareResults(*signature, input.expected, input.results, allowed);
    if (!report.failure.empty()) {
      verdict.byNumbers = true;
      if (!verdict.byChecker)
        say(report.failure);
    }
    if (verdict.isCaught())
      return verdict;
    verdict.identical &= bytesOfAll(input.results) == input.bytes;
    verdict.error = std::max(verdict.error, report.relativeError);
  }
  return verdict;
}

std::vector<Verdict> Experiment::judge(ArrayRef<int> numbers, unsigned jobs) {
  std::vector<Verdict> verdicts(numbers.size());
  test::forEachInProcess(
      [&](size_t i) { return i < numbers.size(); }, jobs, sizeof(Verdict), {},
      [&](size_t i, void *answer) { *static_cast<Verdict *>(answer) = run(numbers[i]); },
      [&](size_t i, const void *answer, const test::ProcessEnd &end) {
        if (end.empty())
          verdicts[i] = *static_cast<const Verdict *>(answer);
        else
          verdicts[i].kind = Verdict::Crashed;
      });
  return verdicts;
}
