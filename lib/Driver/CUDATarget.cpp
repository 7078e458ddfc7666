//===- CUDATarget.cpp - kernels on this machine's GPU as a target ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorView.h"
#include "polyattn/CUDA/GPUKernel.h"
#include "polyattn/Driver/Target.h"

using namespace polyattn;
using llvm::Error;
using llvm::Expected;

namespace {

/// The tensors of one call on the device. Storage is copied with its padding and its poison, so
/// what a kernel leaves unwritten, or writes beside its rows, is seen on the host.
class DeviceCall {
public:
  static Expected<DeviceCall> create(const std::shared_ptr<CUDADevice> &device,
                                     const GPUKernel &kernel, const Call &call) {
    DeviceCall result;
    for (llvm::ArrayRef<HostTensor> list : {call.arguments, call.results})
      for (const HostTensor &tensor : list)
        if (Error error = result.add(device, tensor))
          return std::move(error);
    result.asked = call.segments;
    result.segments = call.segments ? call.segments : kernel.chooseSegments(result.views);
    Expected<int64_t> bytes = kernel.workspaceBytes(result.views, result.segments);
    if (!bytes)
      return bytes.takeError();
    Expected<DeviceMemory> workspace = DeviceMemory::allocate(device, *bytes);
    if (!workspace)
      return workspace.takeError();
    result.workspace.emplace(std::move(*workspace));
    return std::move(result);
  }

  Error copyIn(const Call &call) {
    size_t i = 0;
    for (llvm::ArrayRef<HostTensor> list : {call.arguments, call.results})
      for (const HostTensor &tensor : list)
        if (Error error = memory[i++]->copyIn(tensor.storage.get()))
          return error;
    return Error::success();
  }

  Error copyOut(const Call &call) {
    size_t i = call.arguments.size();
    for (const HostTensor &tensor : call.results)
      if (Error error = memory[i++]->copyOut(tensor.storage.get()))
        return error;
    return Error::success();
  }

  Error launch(const GPUKernel &kernel) {
    return kernel.launch(views, workspace->get(), workspace->size(), /*stream=*/nullptr, segments);
  }

  /// Whether these are the tensors of that call, whose contents are here then.
  bool isOf(const Call &call) const {
    std::vector<std::shared_ptr<void>> others;
    for (llvm::ArrayRef<HostTensor> list : {call.arguments, call.results})
      for (const HostTensor &tensor : list)
        others.push_back(tensor.storage);
    return others == hosts && call.segments == asked;
  }

  int64_t getSegments() const { return segments; }

private:
  Error add(const std::shared_ptr<CUDADevice> &device, const HostTensor &tensor) {
    // A result that lives in an argument is that tensor.
    auto same = llvm::find(hosts, tensor.storage);
    std::shared_ptr<DeviceMemory> copy;
    if (same != hosts.end()) {
      copy = memory[same - hosts.begin()];
    } else {
      Expected<DeviceMemory> own =
          DeviceMemory::allocate(device, tensor.storageElements * bytesOf(tensor.type));
      if (!own)
        return own.takeError();
      copy = std::make_shared<DeviceMemory>(std::move(*own));
    }
    polyattn_tensor view = driver::viewOf(tensor);
    auto offset = static_cast<char *>(tensor.data) - static_cast<char *>(tensor.storage.get());
    view.data = static_cast<char *>(copy->get()) + offset;
    views.push_back(view);
    memory.push_back(std::move(copy));
    hosts.push_back(tensor.storage);
    return Error::success();
  }

  std::vector<std::shared_ptr<DeviceMemory>> memory;
  std::vector<polyattn_tensor> views;
  std::vector<std::shared_ptr<void>> hosts;
  std::optional<DeviceMemory> workspace;
  int64_t asked = 0, segments = 1;
};

class CUDAExecutable : public Executable {
public:
  CUDAExecutable(std::shared_ptr<CUDADevice> device, std::unique_ptr<GPUKernel> kernel)
      : device(std::move(device)), kernel(std::move(kernel)) {}

  Error run(const Call &call) override {
    if (Error error = upload(call))
      return error;
    if (Error error = tensors->launch(*kernel))
      return error;
    return tensors->copyOut(call);
  }

  /// Without the copies: what a caller whose tensors are on the device waits for.
  Expected<double> time(const Call &call, int64_t count) override {
    if (!tensors || !tensors->isOf(call))
      if (Error error = upload(call))
        return std::move(error);
    Expected<double> seconds = timeOnDevice(*device, /*stream=*/nullptr, [&]() -> Error {
      for (int64_t i = 0; i < count; ++i)
        if (Error error = tensors->launch(*kernel))
          return error;
      return Error::success();
    });
    if (!seconds)
      return seconds.takeError();
    return *seconds / double(count);
  }

  void printFindings(llvm::raw_ostream &stream) const override {
    if (tensors && tensors->getSegments() > 1)
      stream << "  positions in " << tensors->getSegments() << " segments\n";
  }

  std::optional<DataSheet> getDataSheet() const override {
    const GPUDescription &gpu = device->getDescription();
    bool isSingle =
        llvm::none_of(kernel->getDescription().tensors,
                      [](const TensorDescription &tensor) { return bytesOf(tensor.dtype) < 4; });
    return DataSheet{device->getProperties().name, gpu.name,
                     isSingle ? gpu.tf32FlopsPerSecond : gpu.bf16FlopsPerSecond};
  }

private:
  Error upload(const Call &call) {
    tensors.reset();
    Expected<DeviceCall> created = DeviceCall::create(device, *kernel, call);
    if (!created)
      return created.takeError();
    tensors.emplace(std::move(*created));
    return tensors->copyIn(call);
  }

  std::shared_ptr<CUDADevice> device;
  std::unique_ptr<GPUKernel> kernel;
  std::optional<DeviceCall> tensors;
};

class CUDATarget : public polyattn::Target {
public:
  explicit CUDATarget(std::string driver) : driver(std::move(driver)) {}

  std::optional<ElementType> arithmetic(ElementType storage) const override { return storage; }
  bool usesTensorCores() const override { return true; }

  Expected<std::unique_ptr<Executable>> compile(const EntrySource &source) override {
    auto device = CUDADevice::open(/*ordinal=*/-1, driver);
    if (!device)
      return device.takeError();
    SpecOptions options{source.nameInText().str(),
                        source.storage.str(),
                        source.invariant,
                        {source.direction, /*pair=*/false, source.gradients},
                        source.packed,
                        source.sizes};
    auto kernel = GPUKernel::compile(source.text, source.fileName, options, *device);
    if (!kernel)
      return kernel.takeError();
    return std::make_unique<CUDAExecutable>(std::move(*device), std::move(*kernel));
  }
  bool hasSegments() const override { return true; }

private:
  std::string driver;
};

} // namespace

void polyattn::registerCUDATarget(TargetRegistry &registry, const std::string &driver) {
  registry.add("cuda", "a GPU kernel on this machine's NVIDIA GPU",
               [driver] { return std::make_unique<CUDATarget>(driver); });
}
