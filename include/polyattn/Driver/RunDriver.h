//===- RunDriver.h - polyattn-run as a library ------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DRIVER_RUNDRIVER_H
#define POLYATTN_DRIVER_RUNDRIVER_H

#include "mlir/IR/DialectRegistry.h"
#include "polyattn/Driver/Target.h"

namespace polyattn {

/// The whole of polyattn-run: parses the command line, runs one entry of a spec and gives the
/// exit status. Whatever a user can do wrong ends in one line on stderr and status 1.
int runMain(int argc, char **argv, const mlir::DialectRegistry &dialects,
            const TargetRegistry &targets);

} // namespace polyattn

#endif // POLYATTN_DRIVER_RUNDRIVER_H
