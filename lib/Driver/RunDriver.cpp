//===- RunDriver.cpp - polyattn-run as a library --------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Driver/RunDriver.h"
#include "Gradients.h"
#include "ProgressLine.h"
#include "Report.h"
#include "Subject.h"
#include "dialects/Attributes/DidYouMean.h"
#include "polyattn/Compiler/Compile.h"
#include "polyattn/Compiler/Version.h"
#include "polyattn/Files/InputFile.h"
#include "polyattn/Numpy/Npy.h"
#include "polyattn/Schedule/Cost.h"
#include "polyattn/Schedule/Invariant.h"
#include "polyattn/Spec/ParseSpec.h"
#include "polyattn/Tasks/Task.h"
#include "polyattn/Transforms/PackSequences.h"
#include "polyattn/Transforms/SetDType.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include <chrono>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::driver;
using llvm::Error;
using llvm::Expected;

namespace {

/// Chooses the entry: the named one, or the only one.
Expected<AttentionOp> chooseEntry(ModuleOp module, StringRef name) {
  std::string names;
  SmallVector<AttentionOp> entries(module.getOps<AttentionOp>());
  for (AttentionOp entry : entries) {
    if (entry.getSymName() == name || (name.empty() && entries.size() == 1))
      return entry;
    names += (names.empty() ? "" : ", ") + entry.getSymName().str();
  }
  if (entries.empty())
    return llvm::createStringError("the spec has no polyattn.attention");
  if (name.empty())
    return llvm::createStringError("the spec has several entries; expected --entry with one of " +
                                   names);
  return llvm::createStringError("entry '" + name + "': expected one of " + names +
                                 didYouMean(name, names));
}

/// Opens every output before the work, so that what cannot be written fails at once.
Expected<std::vector<NpyWriter>> openFiles(ArrayRef<NamedFile> files,
                                           const std::vector<TensorSignature> &tensors,
                                           const CallSizes &sizes) {
  std::vector<NpyWriter> writers;
  for (const NamedFile &file : files)
    for (const TensorSignature &tensor : tensors) {
      if (tensor.name != file.name)
        continue;
      auto writer = NpyWriter::open(file.path, tensor.type, shapeOf(tensor, sizes));
      if (!writer)
        return llvm::createStringError("output '" + file.name +
                                       "': " + llvm::toString(writer.takeError()));
      writers.push_back(std::move(*writer));
    }
  return writers;
}

Error writeFiles(std::vector<NpyWriter> &writers, ArrayRef<NamedFile> files,
                 const std::vector<TensorSignature> &signatures, ArrayRef<HostTensor> tensors) {
  for (auto [writer, file] : llvm::zip(writers, files))
    for (auto [signature, tensor] : llvm::zip(signatures, tensors))
      if (signature.name == file.name)
        if (Error error = writer.write(tensor))
          return error;
  return Error::success();
}

/// The files of --save-inputs; its folder is made where it is missing.
Expected<std::vector<NamedFile>> inputFiles(const Signature &signature, StringRef folder) {
  std::vector<NamedFile> files;
  if (folder.empty())
    return files;
  if (std::error_code code = llvm::sys::fs::create_directories(folder))
    return llvm::createStringError("--save-inputs: '" + folder + "': " + code.message());
  for (const TensorSignature &argument : signature.arguments) {
    SmallString<128> path(folder);
    llvm::sys::path::append(path, argument.name + ".npy");
    files.push_back({argument.name, path.str().str()});
  }
  return files;
}

/// Holds results against the oracle; a target that is the oracle itself against what it gives in
/// another way.
Expected<CheckReport> checkResults(const Subject &subject, const Inputs &inputs,
                                   const RunOptions &options, const Target &target,
                                   ArrayRef<HostTensor> results) {
  bool backward = options.direction == CallDirection::Backward;
  // Gradients are the oracle's own, of the definition.
  AttentionOp attention = backward ? subject.getDefinition() : subject.getAttention();
  const Signature &signature = subject.getSignature();
  ProgressLine progress("polyattn-run: checking @" + attention.getSymName().str());
  if (backward && (target.isReference() || options.check == CheckAgainst::Differences))
    return checkDifferences(attention, signature, inputs, results, options.tolerance, options.seed);
  ElementType products = typeOfProducts(attention, signature);
  double tolerance = options.tolerance.value_or(defaultTolerance(signature, products));
  auto arithmetic = target.arithmetic(products);
  Oracle oracle{attention, inputs, arithmetic.value_or(ElementType::F32)};
  if (backward) {
    auto gradients = askGradients(attention, signature, inputs.arguments, inputs.sizes);
    if (!gradients)
      return gradients.takeError();
    Expectation expectation;
    expectation.results = std::move(*gradients);
    expectation.backward = true;
    oracle.backward = &signature;
    oracle.usesTensorCores = target.usesTensorCores();
    return compareResults(signature, expectation, results, tolerance, &oracle);
  }
  auto expected = askOracle(attention, inputs, options.seed, target.isReference());
  if (!expected)
    return expected.takeError();
  return compareResults(signature, *expected, results, tolerance, arithmetic ? &oracle : nullptr);
}

/// What the target cannot do.
Error checkTarget(const Target &target, const RunOptions &options) {
  StringRef name = options.target;
  if (!target.hasDirection(options.direction))
    return llvm::createStringError("--direction " + nameOf(options.direction) + ": target '" +
                                   name + "' does not compute it");
  if (!options.profile.empty() && !target.hasProfile())
    return llvm::createStringError("--profile: target '" + name +
                                   "' does not count what the lines of a tile kernel cost");
  if (options.segments && !target.hasSegments())
    return llvm::createStringError("--segments: target '" + name + "' does not cut positions");
  return Error::success();
}

Error runEntry(AttentionOp attention, StringRef text, const RunOptions &options,
               const TargetRegistry &targets) {
  // Everything that can be refused is, before anything long begins.
  auto target = targets.create(options.target);
  if (!target)
    return target.takeError();
  if (Error error = checkTarget(**target, options))
    return error;
  Expected<Subject> subject = Subject::create(attention, options.direction, options, **target);
  if (!subject)
    return subject.takeError();
  const Signature *signature = &subject->getSignature();
  Expected<Inputs> inputs = gatherInputs(*signature, options);
  if (!inputs)
    return inputs.takeError();
  auto savedFiles = inputFiles(*signature, options.saveInputs);
  if (!savedFiles)
    return savedFiles.takeError();
  auto savedInputs = openFiles(*savedFiles, signature->arguments, inputs->sizes);
  if (!savedInputs)
    return savedInputs.takeError();
  auto outputs = openFiles(options.outputs, signature->results, inputs->sizes);
  if (!outputs)
    return outputs.takeError();
  std::vector<HostTensor> results;
  for (const TensorSignature &tensor : signature->results) {
    auto result = allocateTensor(tensor.type, shapeOf(tensor, inputs->sizes),
                                 options.padded ? Layout::Padded : Layout::Contiguous);
    if (!result)
      return result.takeError();
    results.push_back(std::move(*result));
  }

  // Arguments that a call updates: what is checked against has them as they were.
  std::vector<HostTensor> arguments = inputs->arguments;
  auto restore = [&] {
    for (auto [tensor, result] : llvm::zip(signature->results, results))
      if (tensor.argument)
        copyElements(inputs->arguments[*tensor.argument], result);
      else
        result.poison();
  };
  restore();
  for (auto [tensor, result] : llvm::zip(signature->results, results))
    if (tensor.argument)
      arguments[*tensor.argument] = result;

  auto start = std::chrono::steady_clock::now();
  auto executable = subject->compile(**target, text, options);
  if (!executable)
    return executable.takeError();
  RunReport report{*signature, options, inputs->sizes, results, 0, 0, {}, {}, {}, {}};
  report.compileMs =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  report.flops = forwardCost(subject->getAttention(), inputs->sizes).total();

  auto forward = computeSaved(*subject, **target, text, options, *inputs);
  if (!forward)
    return forward.takeError();
  Call call{arguments, results, inputs->sizes, options.threads, options.segments};
  if (options.bench) {
    auto measurement = measure(**executable, call, report.flops, *options.bench);
    if (!measurement)
      return measurement.takeError();
    report.measurement = *measurement;
    if (*forward) {
      auto ofForward =
          measure(*(*forward)->executable, (*forward)->call, report.flops, *options.bench);
      if (!ofForward)
        return ofForward.takeError();
      report.forwardSeconds = ofForward->median;
    }
    // What is checked and written is one run's work, not the sum of many.
    restore();
  }
  if (Error error = (*executable)->run(call))
    return error;
  if (options.check != CheckAgainst::Nothing) {
    auto check = checkResults(*subject, *inputs, options, **target, results);
    if (!check)
      return check.takeError();
    report.check = std::move(*check);
  }
  report.findings = (*executable)->getFindings(report.flops);
  printRun(report, llvm::outs());
  if (!options.json)
    (*executable)->printFindings(llvm::outs());
  llvm::outs().flush();
  if (report.check && !report.check->failure.empty())
    return llvm::createStringError(report.check->failure);
  if (Error error = writeFiles(*savedInputs, *savedFiles, signature->arguments, inputs->arguments))
    return error;
  if (Error error = writeFiles(*outputs, options.outputs, signature->results, results))
    return error;
  for (std::vector<NpyWriter> *writers : {&*savedInputs, &*outputs})
    for (NpyWriter &writer : *writers)
      if (Error error = writer.commit())
        return error;
  return Error::success();
}

Error describeEntries(ModuleOp module, const RunOptions &options, const TargetRegistry &targets) {
  auto target = targets.create(options.target);
  if (!target)
    return target.takeError();
  std::vector<Signature> signatures;
  auto describe = [&](AttentionOp attention) -> Error {
    Expected<Subject> subject = Subject::create(attention, options.direction, options, **target);
    if (!subject)
      return subject.takeError();
    signatures.push_back(subject->getSignature());
    return Error::success();
  };
  if (!options.entry.empty()) {
    auto entry = chooseEntry(module, options.entry);
    if (!entry)
      return entry.takeError();
    if (Error error = describe(*entry))
      return error;
  } else {
    for (auto attention : module.getOps<AttentionOp>())
      if (Error error = describe(attention))
        return error;
  }
  printDescription(signatures, options.json, llvm::outs());
  return Error::success();
}

Error runSpec(const RunOptions &options, const DialectRegistry &dialects,
              const TargetRegistry &targets) {
  auto buffer = readSpecFileOrStandardInput(options.spec);
  if (!buffer)
    return llvm::createStringError("'" + options.spec + "': " + llvm::toString(buffer.takeError()));
  // One entry is compiled: idle worker threads would only disturb what is measured.
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  std::string text = (*buffer)->getBuffer().str();
  sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);
  OwningOpRef<ModuleOp> module = parseSpecSource(sources, context, {options.sizes, options.entry});
  if (!module)
    return llvm::make_error<ReportedError>();
  context.appendDialectRegistry(dialects);
  if (!options.dtype.empty())
    if (Error error = setDType(*module, options.dtype))
      return error;
  if (options.invariant)
    setInvariant(*module);
  if (options.packed && failed(packSequences(*module)))
    return llvm::make_error<ReportedError>();
  if (options.describe)
    return describeEntries(*module, options, targets);
  auto entry = chooseEntry(*module, options.entry);
  if (!entry)
    return entry.takeError();
  return runEntry(*entry, text, options, targets);
}

} // namespace

int polyattn::runMain(int argc, char **argv, const DialectRegistry &dialects,
                      const TargetRegistry &targets) {
  auto options = parseOptions(ArrayRef(argv, argc).drop_front());
  if (options && options->help) {
    printHelp(targets, llvm::outs());
    return 0;
  }
  if (options && options->version) {
    printVersion(llvm::outs());
    return 0;
  }
  Error error = options ? Error::success() : options.takeError();
  if (!error) {
    // The oracle keeps the vectors of a head in standard containers, which throw.
    try {
      onLargeStack([&] { error = runSpec(*options, dialects, targets); });
    } catch (const std::bad_alloc &) {
      llvm::errs() << "polyattn-run: error: there is not enough memory for this run\n";
      return 1;
    }
  }
  llvm::outs().flush();
  if (std::error_code code = llvm::outs().error()) {
    llvm::outs().clear_error();
    error = llvm::joinErrors(std::move(error),
                             llvm::createStringError("standard output: " + code.message()));
  }
  if (!error)
    return 0;
  llvm::handleAllErrors(
      std::move(error), [](const ReportedError &) {},
      [](const SpecError &located) { llvm::errs() << located.message() << "\n"; },
      [](const llvm::ErrorInfoBase &info) {
        llvm::errs() << "polyattn-run: error: " << info.message() << "\n";
      });
  return 1;
}
