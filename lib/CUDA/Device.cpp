//===- Device.cpp - a GPU of this machine ---------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Errors.h"
#include "polyattn/CUDA/GPUKernel.h"
#include "polyattn/Target/NVPTX.h"

using namespace polyattn;
using llvm::Error;
using llvm::Expected;

Expected<std::shared_ptr<CUDADevice>> CUDADevice::open(int ordinal, const std::string &driver) {
  CUDAError error;
  polyattn_cuda_driver table;
  std::shared_ptr<CUDADevice> device(new CUDADevice);
  if (polyattn_cuda_load_driver(driver.empty() ? nullptr : driver.c_str(), &table, error.text,
                                sizeof error.text) != 0 ||
      polyattn_cuda_open(&table, ordinal, &device->device, error.text, sizeof error.text) != 0)
    return error.take();
  const polyattn_cuda_properties &properties = device->getProperties();
  Expected<GPUDescription> chip = findNearestGPU(properties.major, properties.minor);
  if (!chip)
    return llvm::createStringError(llvm::Twine(properties.name) + ": " +
                                   llvm::toString(chip.takeError()));
  device->description = *chip;
  device->description.sharedBytesPerBlock = properties.shared_bytes;
  device->description.multiprocessors = properties.multiprocessors;
  return device;
}

CUDADevice::~CUDADevice() { polyattn_cuda_close(&device); }

Expected<DeviceMemory> DeviceMemory::allocate(std::shared_ptr<CUDADevice> device, int64_t bytes) {
  CUDAError error;
  DeviceMemory result;
  if (polyattn_cuda_allocate(&device->get(), bytes, &result.memory, error.text,
                             sizeof error.text) != 0)
    return error.take();
  result.device = std::move(device);
  result.bytes = bytes;
  return std::move(result);
}

DeviceMemory::DeviceMemory(DeviceMemory &&other) noexcept
    : device(std::move(other.device)), memory(other.memory), bytes(other.bytes) {
  other.memory = nullptr;
}

DeviceMemory::~DeviceMemory() {
  // A failure here is one of an earlier kernel, which has been reported.
  if (memory)
    polyattn_cuda_free(&device->get(), memory, nullptr, 0);
}

Error DeviceMemory::copyIn(const void *from) {
  CUDAError error;
  if (bytes && polyattn_cuda_copy_in(&device->get(), memory, from, bytes, error.text,
                                     sizeof error.text) != 0)
    return error.take();
  return Error::success();
}

Error DeviceMemory::copyOut(void *to) const {
  CUDAError error;
  if (bytes &&
      polyattn_cuda_copy_out(&device->get(), to, memory, bytes, error.text, sizeof error.text) != 0)
    return error.take();
  return Error::success();
}

Expected<double> polyattn::timeOnDevice(const CUDADevice &device, polyattn_cu_stream stream,
                                        llvm::function_ref<Error()> work) {
  struct State {
    llvm::function_ref<Error()> work;
    Error error;
  } state{work, Error::success()};
  auto call = [](void *argument, char *, size_t) -> int {
    auto *state = static_cast<State *>(argument);
    llvm::cantFail(std::move(state->error));
    state->error = state->work();
    return state->error ? 1 : 0;
  };
  CUDAError error;
  double seconds = 0;
  int failed = polyattn_cuda_time(&device.get(), stream, call, &state, &seconds, error.text,
                                  sizeof error.text);
  if (state.error)
    return std::move(state.error);
  if (failed)
    return error.take();
  return seconds;
}
