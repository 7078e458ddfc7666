//===- ReferenceTarget.cpp - the oracle as a target -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

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

namespace {

class ReferenceExecutable : public Executable {
public:
  ReferenceExecutable(AttentionOp attention, Reading reading)
      : attention(attention), reading(reading) {}

  Error run(const Call &call) override {
    std::vector<Array> arguments;
    for (const HostTensor &tensor : call.arguments)
      arguments.push_back(toArray(tensor));
    auto results = evaluate(attention, arguments, call.sizes, reading);
    if (failed(results))
      return make_error<ReportedError>();
    for (auto [array, tensor] : zip(*results, call.results))
      tensor.forEach([&, &array = array, &tensor = tensor](int64_t linear, void *address) {
        storeElement(tensor.type, address, array.data[linear]);
      });
    return Error::success();
  }

private:
  AttentionOp attention;
  Reading reading;
};

class ReferenceTarget : public Target {
public:
  explicit ReferenceTarget(Reading reading) : reading(reading) {}

  Expected<std::unique_ptr<Executable>> compile(const EntrySource &source) override {
    return std::make_unique<ReferenceExecutable>(source.attention, reading);
  }
  bool isReference() const override { return reading == Reading::Scores; }

private:
  Reading reading;
};

} // namespace

void polyattn::registerReferenceTargets(TargetRegistry &registry) {
  registry.add("reference", "the oracle: every score by its definition, in f64",
               [] { return std::make_unique<ReferenceTarget>(Reading::Scores); });
  registry.add("reference-recurrent", "the oracle: features and a running state, in f64",
               [] { return std::make_unique<ReferenceTarget>(Reading::Recurrent); });
}
