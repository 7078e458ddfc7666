//===- BuildIdentity.h - which build this process runs ----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_JIT_BUILDIDENTITY_H
#define POLYATTN_JIT_BUILDIDENTITY_H

#include <string>

namespace polyattn {

/// What tells this build of the compiler from every other, read from the running image and from
/// those of LLVM's libraries: the linker's build id, which is a hash of what was linked. Neither
/// the name under which a program was found nor the time of its file counts.
const std::string &buildIdentity();

/// The identity of the loaded program or library that contains `address`: its build id, or a hash
/// of its code and constants where it was linked without one. Empty where there is no such image.
std::string imageIdentity(const void *address);

} // namespace polyattn

#endif // POLYATTN_JIT_BUILDIDENTITY_H
