//===- ReferenceTarget.cpp - the oracle as a target -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gradients.h"
#include "polyattn/Driver/Target.h"
#include "polyattn/Reference/Evaluate.h"

using namespace llvm;
using namespace polyattn;

Array polyattn::toArray(const HostTensor &tensor) {
  Array array(tensor.sizes);
  tensor.forEach([&](int64_t linear, void *address) {
    array.data[linear] = loadElement(tensor.type, address);
  });
  return array;
}

static std::vector<Array> toArrays(ArrayRef<HostTensor> tensors) {
  std::vector<Array> arrays;
  for (const HostTensor &tensor : tensors)
    arrays.push_back(toArray(tensor));
  return arrays;
}

static void store(const Array &array, const HostTensor &tensor) {
  tensor.forEach([&](int64_t linear, void *address) {
    storeElement(tensor.type, address, array.data[linear]);
  });
}

namespace {

class ReferenceExecutable : public Executable {
public:
  ReferenceExecutable(AttentionOp attention, Reading reading)
      : attention(attention), reading(reading) {}

  Error run(const Call &call) override {
    auto results = evaluate(attention, toArrays(call.arguments), call.sizes, reading);
    if (failed(results))
      return make_error<ReportedError>();
    for (auto [array, tensor] : zip(*results, call.results))
      store(array, tensor);
    return Error::success();
  }

private:
  AttentionOp attention;
  Reading reading;
};

/// The gradients of the oracle. Arguments of the attention come first, gradients in its results
/// then.
class GradientExecutable : public Executable {
public:
  GradientExecutable(AttentionOp attention, Signature signature)
      : attention(attention), signature(std::move(signature)) {}

  Error run(const Call &call) override {
    auto gradients = driver::askGradients(attention, signature, call.arguments, call.sizes);
    if (!gradients)
      return gradients.takeError();
    for (auto [array, tensor] : zip(*gradients, call.results))
      store(array, tensor);
    return Error::success();
  }

private:
  AttentionOp attention;
  Signature signature; // of the gradients
};

class ReferenceTarget : public Target {
public:
  explicit ReferenceTarget(Reading reading) : reading(reading) {}

  Expected<std::unique_ptr<Executable>> compile(const EntrySource &source) override {
    if (source.direction == CallDirection::Backward) {
      auto signature = signatureOf(source.attention);
      if (!signature)
        return signature.takeError();
      auto backward = backwardSignature(*signature, source.gradients);
      if (!backward)
        return backward.takeError();
      return std::make_unique<GradientExecutable>(source.attention, std::move(*backward));
    }
    return std::make_unique<ReferenceExecutable>(source.attention, reading);
  }
  bool isReference() const override { return reading == Reading::Scores; }
  bool hasDirection(CallDirection direction) const override {
    return direction != CallDirection::Backward || reading == Reading::Scores;
  }
  bool derivesGradients() const override { return true; }

private:
  Reading reading;
};

} // namespace

void polyattn::registerReferenceTargets(TargetRegistry &registry) {
  registry.add("reference", "the reference implementation: every score by its definition, in f64",
               [] { return std::make_unique<ReferenceTarget>(Reading::Scores); });
  registry.add("reference-recurrent",
               "the reference implementation: features and a running state, in f64",
               [] { return std::make_unique<ReferenceTarget>(Reading::Recurrent); });
}
