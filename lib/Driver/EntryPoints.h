//===- EntryPoints.h - the C functions of a shared library ------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_DRIVER_ENTRYPOINTS_H
#define POLYATTN_LIB_DRIVER_ENTRYPOINTS_H

#include "polyattn/JIT/KernelDescription.h"

namespace llvm {
class Module;
} // namespace llvm

namespace polyattn {

/// Adds to the module of compiled code, for every kernel, the tables that the runtime reads and
///   int polyattn_<entry>(const polyattn_tensor *argument..., int threads, char *error,
///                        size_t error_size)
/// All else becomes internal, so that an entry may have any name.
void addEntryPoints(llvm::Module &module, llvm::ArrayRef<KernelDescription> kernels);

/// The C99 header that declares these functions.
std::string writeHeader(llvm::StringRef stem, llvm::ArrayRef<KernelDescription> kernels);

/// An error where an entry's name cannot be part of a C function's.
llvm::Error checkCNames(llvm::ArrayRef<KernelDescription> kernels);

} // namespace polyattn

#endif // POLYATTN_LIB_DRIVER_ENTRYPOINTS_H
