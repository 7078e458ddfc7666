//===- CompiledKernel.h - machine code in this process ----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_JIT_COMPILEDKERNEL_H
#define POLYATTN_JIT_COMPILEDKERNEL_H

#include "polyattn/Kernel/KernelDescription.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace polyattn {

/// An entry that can be called. Any number of threads may run one kernel at once.
class CompiledKernel {
public:
  /// Links a relocatable object of this machine into the process.
  static llvm::Expected<std::unique_ptr<CompiledKernel>>
  load(KernelDescription description, std::unique_ptr<llvm::MemoryBuffer> object);
  ~CompiledKernel();

  /// The entry's name, its arguments and results, and how it is called.
  const KernelDescription &getDescription() const;

  /// Checks the tensors, arguments in the spec's order and then results, and computes the
  /// results on `threads` threads, the caller's included. An error is one line that names the
  /// argument, what was expected and what came; nothing has been computed then. A call that the
  /// caller has cancelled (`is_cancelled` of the options) ends with a CancelledError.
  llvm::Error run(llvm::ArrayRef<polyattn_tensor> tensors, int threads) const;
  /// Runs the kernel on the threads that the options name.
  llvm::Error run(llvm::ArrayRef<polyattn_tensor> tensors,
                  const polyattn_call_options &options) const;

private:
  struct Code;
  explicit CompiledKernel(std::unique_ptr<Code> code);
  std::unique_ptr<Code> code;
};

} // namespace polyattn

#endif // POLYATTN_JIT_COMPILEDKERNEL_H
