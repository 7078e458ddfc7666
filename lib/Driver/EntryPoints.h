//===- EntryPoints.h - the C functions of a shared library ------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_DRIVER_ENTRYPOINTS_H
#define POLYATTN_LIB_DRIVER_ENTRYPOINTS_H

#include "polyattn/Kernel/KernelDescription.h"

namespace llvm {
class Module;
} // namespace llvm

namespace polyattn {

/// Adds to the module of compiled code, for every kernel, the tables that the runtime reads and
///   int polyattn_<entry>(const polyattn_tensor *argument..., int threads, char *error,
///                        size_t error_size)
///   int polyattn_<entry>_with(const polyattn_tensor *argument...,
///                             const polyattn_call_options *options, char *error, size_t
///                             error_size)
/// and, for the library,
///   void polyattn_<stem>_set_parallel_for(polyattn_parallel_for parallel_for, void *user)
///   const char *polyattn_<stem>_version(void)
/// All else becomes internal, so that an entry may have any name.
void addEntryPoints(llvm::Module &module, llvm::StringRef stem,
                    llvm::ArrayRef<KernelDescription> kernels);

/// The names of these functions.
std::string functionName(const KernelDescription &kernel);
std::string optionsFunctionName(const KernelDescription &kernel);
std::string setterName(llvm::StringRef stem);
std::string versionName(llvm::StringRef stem);

/// The C99 header that declares these functions.
std::string writeHeader(llvm::StringRef stem, llvm::ArrayRef<KernelDescription> kernels);

/// An error where an entry's name cannot be part of a C function's, or two functions would have one
/// name.
llvm::Error checkCNames(llvm::StringRef stem, llvm::ArrayRef<KernelDescription> kernels);

} // namespace polyattn

#endif // POLYATTN_LIB_DRIVER_ENTRYPOINTS_H
