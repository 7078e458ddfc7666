//===- Subject.cpp - what a run computes ----------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Subject.h"
#include "ProgressLine.h"
#include "polyattn/Compiler/ChosenEntry.h"

using namespace polyattn;
using namespace polyattn::driver;
using llvm::Error;
using llvm::Expected;

Expected<Subject> Subject::create(AttentionOp definition, CallDirection direction,
                                  const RunOptions &options, const Target &target) {
  Subject result(definition, direction);
  if (direction == CallDirection::Backward && target.derivesGradients()) {
    Expected<Signature> forward = signatureOf(definition);
    if (!forward)
      return forward.takeError();
    Expected<Signature> backward = backwardSignature(*forward, options.gradients);
    if (!backward)
      return backward.takeError();
    result.signature = std::move(*backward);
    return std::move(result);
  }
  if (direction != CallDirection::Forward)
    result.module = cloneAlone(definition);
  if (!result.module) {
    Expected<Signature> signature = signatureOf(definition);
    if (!signature)
      return signature.takeError();
    result.signature = std::move(*signature);
    return std::move(result);
  }
  auto entries = makeEntries(*result.module, {direction, /*pair=*/false, options.gradients});
  if (!entries)
    return entries.takeError();
  result.attention = entries->front().attention;
  result.signature = std::move(entries->front().signature);
  return std::move(result);
}

Expected<std::unique_ptr<Executable>> Subject::compile(Target &target, llvm::StringRef text,
                                                       const RunOptions &options) const {
  ProgressLine progress("polyattn-run: compiling @" + AttentionOp(attention).getSymName().str());
  return target.compile({attention, text, options.spec, options.dtype, options.profile,
                         options.invariant, options.packed, direction, options.gradients,
                         AttentionOp(definition).getSymName(), options.sizes});
}

static bool isMissing(const TensorSignature &tensor, const RunOptions &options) {
  return tensor.role == Role::Saved &&
         llvm::none_of(options.inputs, [&](const NamedFile &f) { return f.name == tensor.name; });
}

/// The argument of the backward call that the forward call's result is for.
static const HostTensor *findMissing(const Signature &backward, const Inputs &inputs,
                                     const RunOptions &options, llvm::StringRef result) {
  for (auto [tensor, argument] : llvm::zip_equal(inputs.arguments, backward.arguments))
    if (isMissing(argument, options) && argument.savedFrom == result)
      return &tensor;
  return nullptr;
}

Expected<std::unique_ptr<ForwardRun>> driver::computeSaved(const Subject &backward, Target &target,
                                                           llvm::StringRef text,
                                                           const RunOptions &options,
                                                           const Inputs &inputs) {
  const Signature &signature = backward.getSignature();
  if (options.direction != CallDirection::Backward)
    return nullptr;
  bool isNeeded = llvm::any_of(signature.arguments, [&](const TensorSignature &tensor) {
    return isMissing(tensor, options);
  });
  bool isTimed = options.bench.has_value();
  if (target.derivesGradients() || (!isNeeded && !isTimed))
    return nullptr;
  Expected<Subject> forward =
      Subject::create(backward.getDefinition(), CallDirection::Training, options, target);
  if (!forward)
    return forward.takeError();
  auto run = std::make_unique<ForwardRun>();
  auto executable = forward->compile(target, text, options);
  if (!executable)
    return executable.takeError();
  run->executable = std::move(*executable);
  // The definition's arguments are the first ones of both halves.
  const Signature &own = forward->getSignature();
  run->arguments.assign(inputs.arguments.begin(), inputs.arguments.begin() + own.arguments.size());
  for (const TensorSignature &tensor : own.results) {
    if (const HostTensor *missing = findMissing(signature, inputs, options, tensor.name)) {
      run->results.push_back(*missing);
      continue;
    }
    auto unused = allocateTensor(tensor.type, shapeOf(tensor, inputs.sizes), Layout::Contiguous);
    if (!unused)
      return unused.takeError();
    run->results.push_back(std::move(*unused));
  }
  run->call = {run->arguments, run->results, inputs.sizes, options.threads};
  if (Error error = run->executable->run(run->call))
    return std::move(error);
  return std::move(run);
}
