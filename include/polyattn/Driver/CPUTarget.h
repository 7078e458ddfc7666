//===- CPUTarget.h - polyattn-run on this processor -------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DRIVER_CPUTARGET_H
#define POLYATTN_DRIVER_CPUTARGET_H

#include "polyattn/Driver/Target.h"

namespace polyattn {

/// Adds `cpu`: code compiled for this processor and run in this process.
void registerCPUTarget(TargetRegistry &registry);

} // namespace polyattn

#endif // POLYATTN_DRIVER_CPUTARGET_H
