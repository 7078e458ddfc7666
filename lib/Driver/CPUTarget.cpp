//===- CPUTarget.cpp - compiled code as a target --------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "TensorView.h"
#include "polyattn/Driver/Target.h"
#include "polyattn/JIT/Compiler.h"
#include "polyattn/Target/CPU.h"

using namespace llvm;
using namespace polyattn;
using driver::viewOf;

namespace {

class CPUExecutable : public Executable {
public:
  CPUExecutable(std::unique_ptr<CompiledKernel> kernel, int64_t lanes, bool inPairs)
      : kernel(std::move(kernel)), lanes(lanes), inPairs(inPairs) {}

  int64_t vectorLanes() const override { return lanes; }
  bool multipliesPairs() const override { return inPairs; }

  Error run(const Call &call) override {
    SmallVector<polyattn_tensor> tensors;
    for (const HostTensor &tensor : call.arguments)
      tensors.push_back(viewOf(tensor));
    for (const HostTensor &tensor : call.results)
      tensors.push_back(viewOf(tensor));
    return kernel->run(tensors, call.threads);
  }

private:
  std::unique_ptr<CompiledKernel> kernel;
  int64_t lanes;
  bool inPairs;
};

class CPUTarget : public polyattn::Target {
public:
  explicit CPUTarget(StringRef machine)
      : machine(machine), description(cantFail(findMachine(machine))) {}

  std::optional<ElementType> arithmetic(ElementType products) const override {
    return multipliesPairs(products) ? ElementType::BF16 : ElementType::F32;
  }

  Expected<std::unique_ptr<Executable>> compile(const EntrySource &source) override {
    JITOptions options;
    options.entry = source.nameInText().str();
    options.target = machine.str();
    options.dtype = source.storage.str();
    options.invariant = source.invariant;
    options.packed = source.packed;
    options.direction = source.direction;
    options.gradients = source.gradients;
    options.sizes = source.sizes;
    auto kernel = compileKernel(source.text, source.fileName, options);
    if (!kernel)
      return kernel.takeError();
    Expected<Signature> signature = signatureOf(source.attention);
    if (!signature)
      return signature.takeError();
    ElementType products = driver::typeOfProducts(source.attention, *signature);
    return std::make_unique<CPUExecutable>(std::move(*kernel), description.vectorWidth,
                                           multipliesPairs(products));
  }

private:
  /// Whether products of this type are of pairs of bf16.
  bool multipliesPairs(ElementType products) const {
    return products == ElementType::BF16 && description.has(Instructions::AVX512BF16);
  }

  StringRef machine;
  MachineDescription description;
};

} // namespace

void polyattn::registerCPUTargets(TargetRegistry &registry) {
  for (const MachineName &machine : namedMachines())
    registry.add(machine.name, ("compiled code for " + machine.description).str(),
                 [name = machine.name] { return std::make_unique<CPUTarget>(name); });
}
