//===- GPUKernel.h - kernels on an NVIDIA GPU -------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CUDA_GPUKERNEL_H
#define POLYATTN_CUDA_GPUKERNEL_H

#include "polyattn/Compiler/Compile.h"
#include "polyattn/Kernel/KernelDescription.h"
#include "polyattn/Target/GPUDescription.h"
#include "runtime/cuda/kernel.h"
#include "llvm/ADT/ArrayRef.h"
#include <memory>

namespace polyattn {

/// A GPU of this machine. Whatever uses it shares it.
class CUDADevice {
public:
  /// The device of the calling thread's context if `ordinal` is negative and there is one, else of
  /// that number. `driver` is the driver's library, libcuda.so.1 where empty.
  static llvm::Expected<std::shared_ptr<CUDADevice>> open(int ordinal = -1,
                                                          const std::string &driver = "");
  ~CUDADevice();
  CUDADevice(const CUDADevice &) = delete;

  const polyattn_cuda_device &get() const { return device; }
  const polyattn_cuda_properties &getProperties() const { return device.properties; }
  /// What the compiler is told: the newest chip that it knows and this device runs the code of,
  /// with the shared memory and the multiprocessors of this one.
  const GPUDescription &getDescription() const { return description; }

private:
  CUDADevice() = default;
  polyattn_cuda_device device = {};
  GPUDescription description;
};

/// Bytes on a device.
class DeviceMemory {
public:
  static llvm::Expected<DeviceMemory> allocate(std::shared_ptr<CUDADevice> device, int64_t bytes);
  DeviceMemory(DeviceMemory &&other) noexcept;
  ~DeviceMemory();

  void *get() const { return memory; }
  int64_t size() const { return bytes; }
  /// All of it, from or to the host.
  llvm::Error copyIn(const void *from);
  llvm::Error copyOut(void *to) const;

private:
  DeviceMemory() = default;
  std::shared_ptr<CUDADevice> device;
  void *memory = nullptr;
  int64_t bytes = 0;
};

/// An entry of a spec, compiled for a device and loaded there. It may be used by any number of
/// threads.
class GPUKernel {
public:
  /// Compiles in this process; needs no CUDA toolkit. `entry` may be empty where there is only
  /// one; tensors hold `storage`, or what the spec says where it is empty.
  static llvm::Expected<std::unique_ptr<GPUKernel>> compile(llvm::StringRef text,
                                                            llvm::StringRef fileName,
                                                            const SpecOptions &options,
                                                            std::shared_ptr<CUDADevice> device);
  ~GPUKernel();

  const KernelDescription &getDescription() const;
  const polyattn_cuda_entry_rule &getRule() const;
  const CUDADevice &getDevice() const;

  /// Into how many segments a launch on tensors of these sizes cuts their positions, from sizes and
  /// the device's multiprocessors alone (docs/GPU.md).
  int64_t chooseSegments(llvm::ArrayRef<polyattn_tensor> tensors) const;

  /// Bytes of workspace for a launch on tensors of these sizes; their data may be null. `segments`
  /// as for the launch.
  llvm::Expected<int64_t> workspaceBytes(llvm::ArrayRef<polyattn_tensor> tensors,
                                         int64_t segments = 0) const;

  /// Checks the tensors, which are on the device, arguments first and then results, puts the kernel
  /// on the stream, or the two of an entry that is cut into segments, and returns. With 0
  /// `segments` there are as many as chooseSegments says. See polyattn_cuda_launch for the
  /// workspace.
  llvm::Error launch(llvm::ArrayRef<polyattn_tensor> tensors, void *workspace,
                     int64_t workspaceBytes, polyattn_cu_stream stream, int64_t segments = 0) const;

private:
  struct Code;
  explicit GPUKernel(std::unique_ptr<Code> code);
  std::unique_ptr<Code> code;
};

/// Runs `work` and returns the seconds between its begin and its end on the stream.
llvm::Expected<double> timeOnDevice(const CUDADevice &device, polyattn_cu_stream stream,
                                    llvm::function_ref<llvm::Error()> work);

} // namespace polyattn

#endif // POLYATTN_CUDA_GPUKERNEL_H
