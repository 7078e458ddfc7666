//===- EmulatedEntry.cpp - the kernels of an entry on the host ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Emulator/EmulatedEntry.h"
#include "llvm/Support/MathExtras.h"
#include <deque>

using namespace mlir;
using namespace polyattn;
using llvm::Error;
using llvm::Expected;

namespace {
/// Memory for the hidden tensors of a launch, each aligned as a device's is. What no program has
/// written is NaN.
class HiddenMemory {
public:
  void add(std::vector<int64_t> sizes) {
    Tensor &tensor = tensors.emplace_back();
    tensor.sizes = std::move(sizes);
    tensor.strides.resize(tensor.sizes.size());
    int64_t count = 1;
    for (size_t i = tensor.sizes.size(); i-- > 0; count *= tensor.sizes[i])
      tensor.strides[i] = count;
    tensor.storage.assign(count * sizeof(float) + kAlignment, std::byte(0xff));
  }

  void appendTo(std::vector<EmulatedTensor> &list, bool isResult) {
    for (Tensor &tensor : tensors) {
      auto first = llvm::alignTo(reinterpret_cast<uint64_t>(tensor.storage.data()), kAlignment);
      list.push_back({{reinterpret_cast<void *>(first), tensor.sizes, tensor.strides},
                      sizeof(float),
                      isResult});
    }
  }

private:
  static constexpr uint64_t kAlignment = 256;
  struct Tensor {
    std::vector<int64_t> sizes, strides;
    std::vector<std::byte> storage;
  };
  std::deque<Tensor> tensors; // its elements stay where they are
};
} // namespace

Expected<std::unique_ptr<EmulatedEntry>> EmulatedEntry::compile(ModuleOp module, StringRef name) {
  auto kernel = EmulatedKernel::compile(module, name);
  if (!kernel)
    return kernel.takeError();
  std::unique_ptr<EmulatedEntry> entry(new EmulatedEntry());
  entry->kernel = std::move(*kernel);
  if (entry->getLaunch().segments)
    entry->module = module.clone();
  return std::move(entry);
}

Expected<EmulatedEntry::Report> EmulatedEntry::run(ArrayRef<EmulatedTensor> tensors,
                                                   const EmulatorOptions &options) {
  const LaunchDescription &launch = getLaunch();
  if (options.segments != 1 && (!launch.segments || options.segments < 1))
    return llvm::createStringError("@" + launch.function + ": its positions cannot be cut into " +
                                   Twine(options.segments) + " segments");
  std::vector<LaunchTensor> views = viewsOf(tensors);
  HiddenMemory hidden;
  for (const HiddenTensor &tensor : launch.hidden)
    hidden.add(sizesOf(tensor, views, options.segments));

  auto runKernel = [&](const EmulatedKernel &which, bool writesHidden) {
    std::vector<EmulatedTensor> all = tensors.vec();
    hidden.appendTo(all, writesHidden);
    return which.run(all, options);
  };

  Report report;
  if (options.segments > 1) {
    if (!states) {
      auto compiled = EmulatedKernel::compile(*module, launch.segments->states);
      if (!compiled)
        return compiled.takeError();
      states = std::move(*compiled);
    }
    Expected<EmulatorReport> done = runKernel(*states, /*writesHidden=*/true);
    if (!done)
      return done.takeError();
    report.states = std::move(*done);
  }
  Expected<EmulatorReport> done = runKernel(*kernel, /*writesHidden=*/false);
  if (!done)
    return done.takeError();
  report.kernel = std::move(*done);
  return std::move(report);
}
